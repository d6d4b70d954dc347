import { createRouter, openaiCompatible, type AttemptEvent, type Router, type RouterConfig } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { fetchRouter } from '../../adapters/fetch.ts';
import { answerWith, failWith, startUpstream, type Upstream, type UpstreamHandler } from '../support/upstream.ts';

type Json = Readonly<Record<string, unknown>>;

const MODEL = 'acme/one';
const SCHEMA = {
  type: 'object',
  properties: { steps: { type: 'array', items: { $ref: '#/$defs/step' } } },
  required: ['steps'],
  additionalProperties: false,
  $defs: {
    step: { type: 'object', properties: { cost: { type: 'number' } }, required: ['cost'], additionalProperties: false },
  },
};
const HELD = [{ id: 'response-healing', ensure: 'schema' }];
const GOOD = '{"steps":[{"cost":1},{"cost":2.50}]}';
const FENCED = `Here you are:\n\`\`\`json\n${GOOD}\n\`\`\``;
const MISFIT = '{"steps":[{"cost":1},{"cost":2},{"cost":"secret"}]}';
const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
/** Cost of one call of the usage above, in US dollars. */
const CALL_USD = 0.000_12;

/** Answers one after the other; the last one again and again. */
function answers(...texts: readonly (string | UpstreamHandler)[]): UpstreamHandler {
  let next = 0;
  return (request, response, raw) => {
    const text = texts[Math.min(next, texts.length - 1)] ?? '';
    next += 1;
    const handler = typeof text === 'string' ? answerWith(text, USAGE) : text;
    handler(request, response, raw);
  };
}

interface Scene extends AsyncDisposable {
  readonly router: Router;
  readonly upstreams: readonly Upstream[];
  readonly attempts: AttemptEvent[];
  /** Sends a body to a path of the router. */
  send(path: string, body: object): Promise<Response>;
}

/** A router over one provider for each handler, asked in their order. */
async function open(handlers: readonly UpstreamHandler[], config: Partial<RouterConfig> = {}): Promise<Scene> {
  const upstreams = await Promise.all(handlers.map((handler) => startUpstream(handler)));
  const attempts: AttemptEvent[] = [];
  const price = { prompt: 1, completion: 2 };
  const router = createRouter({
    providers: upstreams.map(({ baseURL }, index) =>
      openaiCompatible({ slug: `p${index}`, baseURL, models: { [MODEL]: { price } } }),
    ),
    allowAnonymous: true,
    on: { warning: () => {}, attempt: (event) => attempts.push(event) },
    ...config,
  });
  const handler = fetchRouter(router, { basePath: '/v1' });
  return {
    router,
    upstreams,
    attempts,
    async send(path, body) {
      const request = new Request(`http://router.example/v1${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-router-metadata': 'enabled' },
        body: JSON.stringify({
          model: MODEL,
          provider: { order: upstreams.map((_, index) => `p${index}`) },
          ...body,
        }),
      });
      const response = await handler(request);
      if (response === undefined) throw new Error('no answer');
      return response;
    },
    async [Symbol.asyncDispose]() {
      await router.close();
      for (const upstream of upstreams) await upstream[Symbol.asyncDispose]();
    },
  };
}

const MESSAGES = [{ role: 'user', content: 'Plan it' }];
const format = { type: 'json_schema', json_schema: { name: 'plan', schema: SCHEMA } };

/** How each API format asks for an answer in the schema, and where its text is. */
const FORMATS = {
  chat: {
    path: '/chat/completions',
    body: { messages: MESSAGES, response_format: format },
    text: (answer: Json) => (answer['choices'] as { message: { content: string } }[])[0]?.message.content,
    delta: (event: Json) => (event['choices'] as { delta?: { content?: string } }[] | undefined)?.[0]?.delta?.content,
  },
  messages: {
    path: '/messages',
    body: {
      max_tokens: 500,
      messages: MESSAGES,
      output_config: { format: { type: 'json_schema', schema: SCHEMA } },
    },
    text: (answer: Json) => (answer['content'] as { text: string }[])[0]?.text,
    delta: (event: Json) => (event['delta'] as { text?: string } | undefined)?.text,
  },
  responses: {
    path: '/responses',
    body: { input: 'Plan it', text: { format: { type: 'json_schema', name: 'plan', schema: SCHEMA } } },
    text: (answer: Json) =>
      (answer['output'] as { content: { text: string }[] }[]).flatMap((one) => one.content)[0]?.text,
    delta: (event: Json) => (event['type'] === 'response.output_text.delta' ? (event['delta'] as string) : undefined),
  },
} as const;

type FormatName = keyof typeof FORMATS;
const NAMES = Object.keys(FORMATS) as FormatName[];

/** The text of an answer, whole or streamed. */
async function textOf(
  scene: Scene,
  name: FormatName,
  stream: boolean,
  plugins: readonly object[] = HELD,
): Promise<string> {
  const { path, body, text, delta } = FORMATS[name];
  const response = await scene.send(path, { ...body, stream, plugins });
  if (!stream) return text((await response.json()) as Json) ?? '';
  const events = (await response.text()).split('\n').flatMap((line) => {
    const data = line.startsWith('data: ') ? line.slice(6) : '';
    return data.startsWith('{') ? [JSON.parse(data) as Json] : [];
  });
  return events.map((event) => delta(event) ?? '').join('');
}

function lastMessages({ requests }: Upstream): readonly { role: string; content: string }[] {
  return requests.at(-1)?.body['messages'] as readonly { role: string; content: string }[];
}

describe('answers held to their schema', () => {
  describe.each(NAMES)('in %s', (name) => {
    it.each([false, true])(
      'are healed, then asked for elsewhere, then with the fault named (stream: %s)',
      async (stream) => {
        await using scene = await open([answers(MISFIT), answers(MISFIT), answers(FENCED)]);
        expect(JSON.parse(await textOf(scene, name, stream))).toEqual(JSON.parse(GOOD));
        const [first, second, third] = scene.upstreams;
        expect(scene.upstreams.map(({ requests }) => requests.length)).toEqual([1, 1, 1]);
        expect(first && lastMessages(first)).toHaveLength(1);
        expect(second && lastMessages(second)).toHaveLength(1);
        const [, shown, fault] = third === undefined ? [] : lastMessages(third);
        expect(shown).toMatchObject({ role: 'assistant', content: MISFIT });
        expect(fault?.content).toContain('steps[2].cost must be of type number, not string');
        expect(scene.attempts.map(({ failure }) => failure?.kind)).toEqual([
          'schema_mismatch',
          'schema_mismatch',
          undefined,
        ]);
      },
    );

    it.each([false, true])('fail with the first mismatch and the answer (stream: %s)', async (stream) => {
      await using scene = await open([answers(MISFIT)]);
      const { path, body } = FORMATS[name];
      const response = await scene.send(path, { ...body, stream, plugins: HELD });
      const text = await response.text();
      expect(response.status).toBe(502);
      expect(text).toContain('"error_type":"schema_mismatch"');
      const error = (JSON.parse(text) as { error: { message: string; metadata: Json } }).error;
      expect(error.message).toContain('steps[2].cost must be of type number, not string');
      expect(error.metadata['schema_mismatch']).toEqual({
        path: 'steps[2].cost',
        problem: 'must be of type number, not string',
        answer: MISFIT,
      });
      // Once as it is, once with the fault named.
      expect(scene.upstreams[0]?.requests).toHaveLength(2);
    });
  });

  it('are never changed where they fit, to the byte', async () => {
    await using scene = await open([answers(GOOD)]);
    for (const name of NAMES) {
      for (const stream of [false, true]) expect(await textOf(scene, name, stream)).toBe(GOOD);
    }
    expect(scene.upstreams[0]?.requests).toHaveLength(6);
  });

  it('pay for every call: in usage, in events, and in budgets', async () => {
    for (const stream of [false, true]) {
      const account = { id: 'tenant', budget: { limitUsd: 1 } };
      await using scene = await open([answers(MISFIT), answers('no'), answers(GOOD)], { authenticate: () => account });
      const response = await scene.send('/chat/completions', {
        messages: MESSAGES,
        response_format: format,
        plugins: HELD,
        stream,
      });
      const text = await response.text();
      const usage = stream
        ? text.split('\n').flatMap((line) => {
            const event = line.startsWith('data: {') ? (JSON.parse(line.slice(6)) as Json) : {};
            return event['usage'] == null ? [] : [event['usage']];
          })[0]
        : (JSON.parse(text) as Json)['usage'];
      expect(usage).toMatchObject({ prompt_tokens: 300, completion_tokens: 30, cost: expect.closeTo(3 * CALL_USD, 9) });
      expect(scene.attempts.map(({ costNanoUsd }) => costNanoUsd)).toEqual([120_000, 120_000, 120_000]);
    }
  });

  it('go on after other failures, and stay within maxAttempts', async () => {
    await using scene = await open([answers(MISFIT), failWith(500), answers(MISFIT), answers(GOOD)], {
      fallback: { maxAttempts: 3 },
    });
    const response = await scene.send('/chat/completions', {
      messages: MESSAGES,
      response_format: format,
      plugins: HELD,
    });
    expect(await response.json()).toMatchObject({ error: { code: 502, metadata: { error_type: 'schema_mismatch' } } });
    expect(scene.upstreams.map(({ requests }) => requests.length)).toEqual([1, 1, 1, 0]);
  });

  it('leave endpoints alone for nothing: no breaker, no cooldown, no uptime', async () => {
    await using scene = await open([answers(MISFIT)]);
    const body = { messages: MESSAGES, response_format: format, plugins: HELD };
    for (let time = 0; time < 6; time += 1) {
      expect((await scene.send('/chat/completions', body)).status).toBe(502);
    }
    expect(scene.upstreams[0]?.requests).toHaveLength(12);
  });

  it('make an endpoint come last that breaks its answers, for such requests, and explain says why', async () => {
    // A clock that stands still: how fast this machine is does not count.
    await using scene = await open([answers(MISFIT), answers(GOOD)], { environment: fakeEnvironment() });
    for (let time = 0; time < 40; time += 1) await textOf(scene, 'chat', false);
    const ask = { model: MODEL, messages: MESSAGES } as const;
    for (const body of [{ ...ask }, { ...ask, model: `${MODEL}:exacto` }]) {
      const plan = await scene.router.explain({ ...body, response_format: format } as never);
      expect([plan.steps.at(0)?.provider, plan.steps.at(-1)?.provider]).toEqual(['p1', 'p0']);
    }
    const plan = await scene.router.explain({ ...ask, response_format: format } as never);
    expect(plan.steps.at(-1)?.why).toContain('answers that do not fit their schema');
  });

  it('say in metadata what was done, without a value', async () => {
    await using scene = await open([answers(MISFIT), answers(FENCED)]);
    const response = await scene.send('/chat/completions', {
      messages: MESSAGES,
      response_format: format,
      plugins: HELD,
    });
    const { router_metadata: metadata } = (await response.json()) as { router_metadata: { pipeline: Json[] } };
    expect(metadata.pipeline).toMatchObject([
      { type: 'response_healing', data: { schema: 'does not fit', path: 'steps[2].cost' } },
      { type: 'response_healing', data: { schema: 'fits', improved: true } },
    ]);
    expect(JSON.stringify(metadata)).not.toContain('secret');
  });

  it('are held by a default of the router too, where a request has a schema', async () => {
    await using scene = await open([answers(MISFIT), answers(GOOD)], {
      pluginDefaults: [{ id: 'response-healing', options: { ensure: 'schema' } }],
    });
    expect(await textOf(scene, 'chat', true, [])).toBe(GOOD);
    const plain = await scene.send('/chat/completions', { messages: MESSAGES });
    expect(FORMATS.chat.text((await plain.json()) as Json)).toBe(MISFIT);
  });

  it('are not waited for without the option: a stream passes as it comes', async () => {
    await using scene = await open([answers(MISFIT), answers(GOOD)]);
    expect(await textOf(scene, 'chat', true, [{ id: 'response-healing' }])).toBe(MISFIT);
    expect(scene.upstreams[0]?.requests[0]?.body['stream']).toBe(true);
  });

  it('let tool calls and refusals pass', async () => {
    const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };
    const calling: UpstreamHandler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const message = { role: 'assistant', content: null, tool_calls: [call] };
      response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage: USAGE }));
    };
    await using scene = await open([calling]);
    const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
    const body = { messages: MESSAGES, tools, response_format: format, plugins: HELD };
    const response = await scene.send('/chat/completions', body);
    expect(await response.json()).toMatchObject({ choices: [{ finish_reason: 'tool_calls' }] });
    expect(scene.upstreams[0]?.requests).toHaveLength(1);
  });

  it.each<[string, object, string]>([
    ['without a schema', { messages: MESSAGES, plugins: HELD }, 'needs a schema'],
    [
      'with another value',
      { messages: MESSAGES, plugins: [{ id: 'response-healing', ensure: 'json' }] },
      'plugins[0].ensure must be',
    ],
    ['with another option', { messages: MESSAGES, plugins: [{ id: 'response-healing', insure: 'schema' }] }, 'insure'],
  ])('are refused before any call %s', async (_, body, says) => {
    await using scene = await open([answers(GOOD)]);
    const response = await scene.send('/chat/completions', body);
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining(JSON.stringify(says).slice(1, -1)),
    ]);
    expect(scene.upstreams[0]?.requests).toHaveLength(0);
  });
});
