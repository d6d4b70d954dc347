import { createAnthropic } from '@ai-sdk/anthropic';
import { anthropic, azure, createRouter, fromAiSdk, openai, openaiCompatible, type Provider } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { type Asked, CALLERS, type Format, type Heard, sendAs } from '../support/callers.ts';
import { anthropicSchemaProblem, answerOnAnyWire, openaiSchemaProblem, refuse } from '../support/strict-schemas.ts';
import { type ReceivedRequest, startUpstream, type Upstream } from '../support/upstream.ts';

type Json = Readonly<Record<string, unknown>>;

/** What one provider received, and what the client heard. */
interface Talked extends Heard {
  readonly requests: readonly ReceivedRequest[];
}

/** Asks a router whose only provider refuses what `problem` finds. */
async function talk(
  make: (upstream: Upstream) => Provider,
  problem: (request: ReceivedRequest) => string | undefined,
  [format, stream, asked]: readonly [Format, boolean, Asked],
): Promise<Talked> {
  await using upstream = await startUpstream((request, response, raw) => {
    const said = problem(request);
    if (said === undefined) answerOnAnyWire(request, response, raw);
    else refuse(response, request, said);
  });
  const router = createRouter({ providers: [make(upstream)], allowAnonymous: true });
  try {
    const heard = await sendAs(router, format, stream, asked);
    return { ...heard, requests: upstream.requests };
  } finally {
    await router.close();
  }
}

const A = { type: 'string' };
const B = { type: 'number' };
const UNIONS: Readonly<Record<string, Json>> = {
  'conditions at the root': {
    type: 'object',
    properties: { a: A, b: B },
    anyOf: [{ required: ['a'] }, { required: ['b'] }],
  },
  'one of several objects': {
    oneOf: [
      { type: 'object', properties: { a: A }, required: ['a'] },
      { type: 'object', properties: { b: B } },
    ],
  },
  'all of several': {
    allOf: [{ type: 'object', properties: { a: A } }, { $ref: '#/$defs/B' }],
    $defs: { B: { properties: { b: B } } },
  },
};
const CLAUDE = 'anthropic/claude-opus-4-7';

describe.each(CALLERS)('tools of a client on %s', (_name, format, stream) => {
  const wires: Readonly<Record<string, (upstream: Upstream) => Provider>> = {
    'the AI SDK': ({ baseURL }) =>
      fromAiSdk({
        slug: 'sdk',
        models: { [CLAUDE]: createAnthropic({ baseURL, apiKey: 'any' })('claude-opus-4-7') },
      }),
    'chat completions': ({ baseURL }) =>
      openaiCompatible({ slug: 'gateway', baseURL, models: { [CLAUDE]: { upstreamModel: CLAUDE } } }),
    // A client of Messages has its own body passed on here.
    ...(format === '/messages'
      ? {}
      : { Messages: ({ baseURL }: Upstream) => anthropic({ baseURL, apiKey: 'any', models: { [CLAUDE]: {} } }) }),
  };
  const rooted = Object.entries(UNIONS).flatMap(([what, parameters]) =>
    Object.entries(wires).map(([wire, make]) => [what, wire, make, parameters] as const),
  );

  it.each(rooted)('with %s go to Claude through %s', async (_what, _wire, make, parameters) => {
    const asked = { model: CLAUDE, tools: [{ name: 'look', parameters }] };
    const problem = ({ body, path }: ReceivedRequest): string | undefined =>
      path.endsWith('/chat/completions') ? openaiSchemaProblem(body) : anthropicSchemaProblem(body);
    const { status, text, requests } = await talk(make, problem, [format, stream, asked]);
    expect([status, text.includes('Fine.')]).toEqual([200, true]);
    expect(requests).toHaveLength(1);
    const written = JSON.stringify(requests[0]?.body['tools']);
    for (const property of ['"a":{"type":"string"}', '"b":{"type":"number"}']) expect(written).toContain(property);
  });

  it.each<readonly [string, Json]>([
    ['no properties', { type: 'object' }],
    ['an array of anything', { type: 'object', properties: { a: { type: 'array' } } }],
    ...Object.entries(UNIONS),
  ])('with %s go to OpenAI', async (_what, parameters) => {
    const asked = { model: 'openai/gpt-4.1', tools: [{ name: 'look', parameters }] };
    const make = ({ baseURL }: Upstream): Provider =>
      openai({ baseURL, apiKey: 'any', models: { 'openai/gpt-4.1': {} }, nativeApiFormats: [] });
    const { status, text } = await talk(make, ({ body }) => openaiSchemaProblem(body), [format, stream, asked]);
    expect([status, text.includes('Fine.')]).toEqual([200, true]);
  });

  it.each(['gpt-5.6-terra', 'gpt-5.4'])('go to %s by the wire on which they work', async (model) => {
    const problem = ({ path, body }: ReceivedRequest): string | undefined => {
      const hasTools = Array.isArray(body['tools']);
      const effort = body['reasoning_effort'] ?? (model === 'gpt-5.4' ? 'none' : 'medium');
      if (!path.endsWith('/chat/completions') || !hasTools || effort === 'none') return undefined;
      return `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`;
    };
    const asked: Asked = {
      model: `openai/${model}`,
      tools: [{ name: 'look', parameters: { type: 'object', properties: { a: A } } }],
      chat: { reasoning_effort: 'high', max_tokens: 5, response_format: { type: 'json_object' } },
      messages: { thinking: { type: 'enabled', budget_tokens: 31_999 } },
      responses: { reasoning: { effort: 'high' } },
    };
    const make = ({ baseURL }: Upstream): Provider =>
      openai({ baseURL, apiKey: 'any', models: { [`openai/${model}`]: {} } });
    const { status, text, requests } = await talk(make, problem, [format, stream, asked]);
    expect([status, text.includes('Fine.')]).toEqual([200, true]);
    expect(requests.map(({ path }) => path)).toEqual(['/v1/responses']);
    // A client of Responses has its own body passed on.
    if (format === '/responses') return;
    expect(requests[0]?.body).toMatchObject({
      store: false,
      tools: [{ type: 'function', name: 'look', strict: false }],
      reasoning: { effort: format === '/messages' ? 'xhigh' : 'high' },
    });
    expect(text).not.toContain('resp_1');
  });

  it('go to a model that is only on another wire', async () => {
    const problem = ({ path }: ReceivedRequest): string | undefined =>
      path.endsWith('/responses')
        ? undefined
        : 'This model is only supported in v1/responses and not in v1/chat/completions.';
    const make = ({ baseURL }: Upstream): Provider =>
      openai({ baseURL, apiKey: 'any', models: { 'openai/gpt-5-codex': {} } });
    const { status, text } = await talk(make, problem, [format, stream, { model: 'openai/gpt-5-codex' }]);
    expect([status, text.includes('Fine.')]).toEqual([200, true]);
  });
});

describe.each(CALLERS)('efforts of a client on %s', (_name, format, stream) => {
  const NONE: Pick<Asked, 'chat' | 'messages' | 'responses'> = {
    chat: { reasoning: { effort: 'none' } },
    messages: { thinking: { type: 'disabled' } },
    responses: { reasoning: { effort: 'none' } },
  };
  const MOST: typeof NONE = {
    chat: { reasoning_effort: 'xhigh' },
    messages: { thinking: { type: 'enabled', budget_tokens: 31_999 } },
    responses: { reasoning: { effort: 'xhigh' } },
  };

  it.each([
    ['none', 'gpt-5-mini', NONE, 'minimal'],
    ['the most', 'gpt-5-mini', MOST, 'high'],
    ['the most', 'gpt-4.1', MOST, undefined],
    ['none', 'gpt-5.1', NONE, 'none'],
  ])('as %s are what %s takes', async (_what, model, members, effort) => {
    const make = ({ baseURL }: Upstream): Provider =>
      openai({ baseURL, apiKey: 'any', models: { [`openai/${model}`]: {} }, nativeApiFormats: [] });
    const asked = { model: `openai/${model}`, ...members };
    const { status, requests } = await talk(make, () => undefined, [format, stream, asked]);
    expect(status).toBe(200);
    expect(requests[0]?.body['reasoning_effort']).toBe(effort);
  });
});

describe.each([
  ['whole', false],
  ['streamed', true],
])('the form of an answer that is asked for %s', (_form, stream) => {
  const schema = {
    type: 'object',
    properties: {
      a: { oneOf: [{ type: 'string', minLength: 2 }, { type: 'null' }] },
      b: { type: 'integer', not: { const: 3 } },
    },
    required: ['a', 'b'],
    if: { properties: { b: { const: 1 } } },
    // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema.
    then: { properties: { a: { type: 'string' } } },
  };
  const asked: Asked = {
    model: CLAUDE,
    chat: { response_format: { type: 'json_schema', json_schema: { name: 'form', schema, strict: true } } },
  };
  it.each<readonly [string, (upstream: Upstream) => Provider]>([
    ['Messages', ({ baseURL }) => anthropic({ baseURL, apiKey: 'any', models: { [CLAUDE]: {} } })],
    [
      'the AI SDK',
      ({ baseURL }) =>
        fromAiSdk({
          slug: 'sdk',
          models: { [CLAUDE]: createAnthropic({ baseURL, apiKey: 'any' })('claude-opus-4-7') },
        }),
    ],
  ])('is held by Claude through %s, in words that it takes', async (_wire, make) => {
    const { status, requests } = await talk(make, ({ body }) => anthropicSchemaProblem(body), [
      '/chat/completions',
      stream,
      asked,
    ]);
    expect(status).toBe(200);
    const written = JSON.stringify(requests[0]?.body);
    expect(written).toContain('not: {');
    expect(written).toContain('"anyOf":[{');
  });
});

describe('Azure', () => {
  it('is asked by Responses for the same models', () => {
    expect(azure({ resource: 'acme', apiKey: 'any', models: { 'openai/gpt-5.6': {} } }).apiFormats).toEqual([]);
  });
});
