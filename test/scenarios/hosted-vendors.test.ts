/** Vendors that are known by a line and a record: each against a fake that refuses what the vendor is known to refuse. */
import * as signalbox from 'signalbox';
import { createRouter, type VendorFactory } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { HOSTED } from '../../src/providers/accepts/hosted.ts';
import { MOUNTS } from '../support/mounts.ts';
import { type ReceivedRequest, answerWith, sendJson, startUpstream } from '../support/upstream.ts';

type Body = Readonly<Record<string, unknown>>;
interface Sent {
  readonly role: string;
  readonly name?: string;
}

/** What a vendor refuses, in its words; undefined for a request that it takes. */
type Refusal = (body: Body) => readonly [status: number, body: object] | undefined;

const unsupported =
  (names: readonly string[], say: (name: string) => object, status = 400): Refusal =>
  (body) => {
    const found = names.find((name) => body[name] !== undefined);
    return found === undefined ? undefined : [status, say(found)];
  };

const hotterThan =
  (most: number, message: string): Refusal =>
  ({ temperature }) =>
    typeof temperature === 'number' && temperature > most
      ? [400, { error: { message, type: 'invalid_request_error' } }]
      : undefined;

const first =
  (...refusals: readonly Refusal[]): Refusal =>
  (body) => {
    for (const refusal of refusals) {
      const refused = refusal(body);
      if (refused !== undefined) return refused;
    }
    return undefined;
  };

const VENDORS: Readonly<Record<string, { readonly model: string; readonly refusal: Refusal }>> = {
  cerebras: {
    model: 'gpt-oss-120b',
    refusal: unsupported(['frequency_penalty', 'presence_penalty', 'logit_bias'], (name) => ({
      message: `property 'body.${name}' is unsupported`,
      type: 'invalid_request_error',
      param: 'validation_error',
      code: 'wrong_api_format',
    })),
  },
  perplexity: {
    model: 'sonar-pro',
    refusal({ messages }) {
      const sent = (messages as readonly Sent[]).filter(({ role }) => role !== 'system');
      const isLate = (messages as readonly Sent[]).some(
        ({ role }, index, all) => role === 'system' && all[index - 1] && all[index - 1]?.role !== 'system',
      );
      const alternates = sent.every(({ role }, index) => (index % 2 === 0) === (role === 'user' || role === 'tool'));
      if (alternates && !isLate) return undefined;
      const message =
        'After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).';
      return [400, { error: { message, type: 'invalid_message', code: 400 } }];
    },
  },
  cohere: {
    model: 'command-a-03-2025',
    refusal: unsupported(['logit_bias', 'top_logprobs', 'prediction', 'parallel_tool_calls'], (name) => ({
      message: `unknown field: parameter '${name}' is not a valid field`,
    })),
  },
  huggingface: { model: 'openai/gpt-oss-120b', refusal: () => undefined },
  sambanova: { model: 'Meta-Llama-3.3-70B-Instruct', refusal: () => undefined },
  nvidia: { model: 'nvidia/llama-3.1-nemotron-ultra-253b-v1', refusal: () => undefined },
  github: { model: 'openai/gpt-4.1', refusal: () => undefined },
  cloudflare: { model: '@cf/openai/gpt-oss-120b', refusal: () => undefined },
  moonshot: {
    model: 'kimi-k2.6',
    refusal: first(
      unsupported(['temperature', 'top_p', 'frequency_penalty', 'presence_penalty'], (name) => ({
        error: {
          message: `invalid ${name}: only the default is allowed for this model`,
          type: 'invalid_request_error',
        },
      })),
    ),
  },
  'moonshot v1': { model: 'moonshot-v1-32k', refusal: hotterThan(1, 'invalid temperature: must be between 0 and 1') },
  qwen: { model: 'qwen-plus', refusal: () => undefined },
  minimax: {
    model: 'MiniMax-M2.7',
    refusal: hotterThan(1, 'invalid params, temperature must be in (0, 1]'),
  },
  zhipu: {
    model: 'glm-4.7',
    refusal: first(
      hotterThan(1, 'temperature must be in [0, 1]'),
      unsupported(['stream_options', 'frequency_penalty', 'presence_penalty'], (name) => ({
        error: { code: '1210', message: `unsupported field ${name}` },
      })),
      ({ tool_choice: choice }) =>
        choice === undefined || choice === 'auto'
          ? undefined
          : [400, { error: { code: '1210', message: 'tool_choice only supports auto' } }],
      ({ messages }) =>
        (messages as readonly Sent[]).some(({ name }) => name !== undefined)
          ? [400, { error: { code: '1210', message: 'unsupported field name' } }]
          : undefined,
    ),
  },
};

const TOOL = { name: 'f', description: 'Does it.', parameters: { type: 'object', properties: {} } } as const;
const SAMPLING = { temperature: 1.8, top_p: 0.9 };

/** A request that touches what these vendors are known to refuse, as far as a format has words for it. */
const BODIES: Readonly<Record<string, object>> = {
  '/chat/completions': {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', name: 'Ada', content: 'One' },
      { role: 'user', content: 'Two' },
      {
        role: 'assistant',
        content: 'Yes',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'Done' },
      { role: 'user', content: 'Three' },
      { role: 'system', content: 'Be polite.' },
    ],
    tools: [{ type: 'function', function: TOOL }],
    tool_choice: 'required',
    parallel_tool_calls: true,
    frequency_penalty: 0.5,
    presence_penalty: 0.5,
    logit_bias: { 1: 1 },
    logprobs: true,
    top_logprobs: 2,
    prediction: { type: 'content', content: 'x' },
    ...SAMPLING,
  },
  '/messages': {
    max_tokens: 100,
    system: 'Be brief.',
    messages: [
      { role: 'user', content: 'One' },
      { role: 'user', content: 'Two' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', content: 'Done' },
          { type: 'text', text: 'Three' },
        ],
      },
    ],
    tools: [{ name: TOOL.name, description: TOOL.description, input_schema: TOOL.parameters }],
    tool_choice: { type: 'any' },
    temperature: 1,
    top_p: 0.9,
  },
  '/responses': {
    instructions: 'Be brief.',
    input: [
      { role: 'user', content: 'One' },
      { role: 'user', content: 'Two' },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'Done' },
      { role: 'user', content: 'Three' },
    ],
    tools: [{ type: 'function', ...TOOL }],
    tool_choice: 'required',
    parallel_tool_calls: true,
    ...SAMPLING,
  },
};

const factories = signalbox as unknown as Readonly<Record<string, VendorFactory>>;

describe.each(Object.entries(VENDORS))('%s', (name, { model, refusal }) => {
  const [slug = ''] = name.split(' ');

  it('takes a rich conversation in every format, streaming and not, at the first try', async () => {
    const bodies: Body[] = [];
    await using upstream = await startUpstream((request: ReceivedRequest, response, raw) => {
      bodies.push(request.body);
      const refused =
        request.headers.authorization === 'Bearer vendor-key' ? refusal(request.body) : ([401, {}] as const);
      if (refused !== undefined) return sendJson(response, refused[0], refused[1]);
      return answerWith('Hello there')(request, response, raw);
    });
    const factory = factories[slug];
    if (factory === undefined) throw new RangeError(`there is no ${slug}`);
    const router = createRouter({
      providers: [factory({ baseURL: upstream.baseURL, apiKey: 'vendor-key' })],
      allowAnonymous: true,
      on: { warning: () => {} },
    });
    const mounted = await MOUNTS['node']?.(router);
    for (const [path, body] of Object.entries(BODIES)) {
      for (const stream of [false, true]) {
        const response = await fetch(`${mounted?.baseURL}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ ...body, model: `${slug}/${model}`, stream }),
        });
        const text = await response.text();
        expect([path, stream, response.status, response.ok ? '' : text]).toEqual([path, stream, 200, '']);
        expect(text).toContain('Hello');
      }
    }
    expect(bodies).toHaveLength(Object.keys(BODIES).length * 2);
    expect(new Set(bodies.map((body) => body['model']))).toEqual(new Set([model]));
    await mounted?.[Symbol.asyncDispose]();
    await router.close();
  });
});

it('that cannot be forced to call a tool are told to, and say so in metadata', async () => {
  await using upstream = await startUpstream();
  const router = createRouter({
    providers: [signalbox.zhipu({ baseURL: upstream.baseURL, apiKey: 'k' })],
    on: { warning: () => {} },
  });
  const tools = [{ type: 'function' as const, function: TOOL }];
  const ask = async (choice: unknown) => {
    const request = { model: 'zhipu/glm-4.7', messages: [{ role: 'user', content: 'Hi' }], tools, tool_choice: choice };
    const { router_metadata: metadata } = await router.chat(request as never, { metadata: true });
    const { body } = upstream.requests.at(-1) ?? {};
    const messages = body?.['messages'] as readonly { readonly content: string }[];
    return [messages.at(-1)?.content, body?.['tool_choice'], body?.['tools'] !== undefined, JSON.stringify(metadata)];
  };
  const forced = { type: 'function', function: { name: 'f' } };
  const became = expect.stringContaining('tool_choice became an instruction') as string;
  expect(await ask(forced)).toEqual(['Call the tool f now.', undefined, true, became]);
  expect(await ask('required')).toEqual(['Call one of the tools now.', undefined, true, became]);
  expect(await ask('auto')).toEqual(['Hi', 'auto', true, expect.not.stringContaining('became')]);
  expect(await ask('none')).toEqual(['Hi', undefined, false, expect.stringContaining('tools were left out')]);
  await router.close();
});

it('are all of them here', () => {
  const tested = new Set(Object.keys(VENDORS).map((name) => name.split(' ')[0]));
  expect(tested).toEqual(new Set(Object.keys(HOSTED)));
});
