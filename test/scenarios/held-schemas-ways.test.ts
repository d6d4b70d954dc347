import {
  type AttemptEvent,
  createRouter,
  defaultPlugins,
  definePlugin,
  handle,
  memoryStore,
  openaiCompatible,
  type Plugin,
  type ProviderReply,
  type Router,
  type RouterConfig,
} from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { all, answer, type Behave, batchProvider, batchScene } from '../support/batches.ts';
import { askAndWait, metadataOf, textOf, TIMEOUTS } from '../support/driving.ts';
import { type FedProvider, fedProvider } from '../support/fed-provider.ts';
import { chatBody, httpCall } from '../support/http-call.ts';
import { MOUNTS } from '../support/mounts.ts';
import { type ToolScript, toolUpstream } from '../support/tool-upstream.ts';
import { until } from '../support/until.ts';
import { answerWith, sendJson, startUpstream, type Upstream, type UpstreamHandler } from '../support/upstream.ts';
import '../../src/plugins/response-healing/healed-result.ts';

type Json = Readonly<Record<string, unknown>>;

const MODEL = 'acme/one';
const GOOD = '{"cost":1}';
const MISFIT = '{"cost":"one"}';
const SCHEMA = {
  type: 'object',
  properties: { cost: { type: 'number' } },
  required: ['cost'],
  additionalProperties: false,
};
const HELD = [{ id: 'response-healing', ensure: 'schema' }] as const;
const format = { type: 'json_schema', json_schema: { name: 'plan', schema: SCHEMA } } as const;
const MESSAGES = [{ role: 'user', content: 'Plan it' }] as const;
const MISMATCH = { path: 'cost', problem: 'must be of type number, not string', answer: MISFIT };

/** How each API format asks for an answer in the schema. */
const FORMATS = {
  '/chat/completions': { messages: MESSAGES, response_format: format, plugins: HELD },
  '/messages': {
    max_tokens: 500,
    messages: MESSAGES,
    output_config: { format: { type: 'json_schema', schema: SCHEMA } },
    plugins: HELD,
  },
  '/responses': {
    input: 'Plan it',
    text: { format: { type: 'json_schema', name: 'plan', schema: SCHEMA } },
    plugins: HELD,
  },
} as const;
type Path = keyof typeof FORMATS;
const PATHS = Object.keys(FORMATS) as Path[];
const CHAT = FORMATS['/chat/completions'];

/** Gives its answer after some milliseconds. */
function late(ms: number, handler: UpstreamHandler): UpstreamHandler {
  return (request, response, raw) => void setTimeout(() => handler(request, response, raw), ms);
}

interface Scene extends AsyncDisposable {
  readonly upstreams: readonly Upstream[];
  readonly attempts: readonly AttemptEvent[];
  /** Sends a body to a path of the router. */
  send(path: string, body: object, signal?: AbortSignal): Promise<Response>;
  /** Address of a path of the router. */
  url(path: string): string;
  read(path: string): Promise<Response>;
}

/** A router on a port, over one provider for each handler, asked in their order. */
async function open(handlers: readonly UpstreamHandler[], config: Partial<RouterConfig> = {}): Promise<Scene> {
  const upstreams = await Promise.all(handlers.map((handler) => startUpstream(handler)));
  const attempts: AttemptEvent[] = [];
  const price = { prompt: 1, completion: 2 };
  const router = createRouter({
    providers: upstreams.map(({ baseURL }, index) =>
      openaiCompatible({
        slug: `p${index}`,
        baseURL,
        models: { [index === 2 ? 'acme/two' : MODEL]: { price } },
      }),
    ),
    allowAnonymous: true,
    on: { warning: () => {}, attempt: (event) => void attempts.push(event) },
    keepAlive: { firstMs: 20, everyMs: 20 },
    ...config,
  });
  const mounted = await mount(router);
  return {
    upstreams,
    attempts,
    url: (path) => `${mounted.baseURL}${path}`,
    read: (path) => fetch(`${mounted.baseURL}${path}`),
    send: (path, body, signal = new AbortController().signal) =>
      fetch(`${mounted.baseURL}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          model: MODEL,
          provider: { order: upstreams.map((_, index) => `p${index}`) },
          ...body,
        }),
        signal,
      }),
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      for (const upstream of upstreams) await upstream[Symbol.asyncDispose]();
    },
  };
}

function mount(router: Router) {
  const { node } = MOUNTS;
  if (node === undefined) throw new Error('no such mount');
  return node(router);
}

/** All text of a response in any API format. */
function saidIn(body: string): string {
  const events = body.startsWith('{')
    ? [JSON.parse(body) as Json]
    : body.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)) as Json] : []));
  return events.map(textIn).join('');
}

function textIn(event: Json): string {
  const {
    choices = [],
    content = [],
    output = [],
    delta,
  } = event as {
    choices?: readonly { message?: { content?: string }; delta?: { content?: string } }[];
    content?: readonly { text?: string }[];
    output?: readonly { content?: readonly { text?: string }[] }[];
    delta?: string | { text?: string };
  };
  return [
    ...choices.map(({ message, delta: part }) => message?.content ?? part?.content ?? ''),
    ...content.map(({ text = '' }) => text),
    ...output.flatMap((item) => item.content ?? []).map(({ text = '' }) => text),
    typeof delta === 'string' ? delta : (delta?.text ?? ''),
  ].join('');
}

describe.each(PATHS)('a stream that is held back, in %s', (path) => {
  const body = { ...FORMATS[path], stream: true };

  it('is kept open while answers are waited for, and then is the one that fits', async () => {
    await using scene = await open([late(100, answerWith(MISFIT)), late(100, answerWith(GOOD))]);
    const response = await scene.send(path, body);
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).toMatch(/^(?:: ROUTER PROCESSING\n\n|event: ping\ndata: \{"type":"ping"\}\n\n){2}/);
    expect(saidIn(text)).toBe(GOOD);
  });

  it('says in an event which value does not fit, once its status was sent', async () => {
    await using scene = await open([late(100, answerWith(MISFIT))]);
    const response = await scene.send(path, body);
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).toContain('"error_type":"schema_mismatch"');
    expect(text).toContain(`"schema_mismatch":${JSON.stringify(MISMATCH)}`);
    expect(text).not.toContain('was called at');
    expect(saidIn(text)).toBe('');
  });
});

describe('the time of a stream that is held back', () => {
  /** Begins a stream on a clock that stands still, and notes when each frame comes. */
  async function listen(providers: readonly FedProvider[]) {
    const environment = fakeEnvironment();
    const router = createRouter({ providers, environment });
    const startedAt = environment.now();
    const heard: [ms: number, frame: string][] = [];
    let status: number | undefined;
    const order = providers.map(({ slug }) => slug);
    const body = chatBody({ ...CHAT, stream: true, provider: { order } });
    void handle(router, httpCall({ body })).then(async (reply) => {
      status = reply?.status;
      if (reply?.type === 'whole') heard.push([environment.now() - startedAt, reply.body]);
      if (reply?.type !== 'stream') return;
      for await (const frame of reply.frames) heard.push([environment.now() - startedAt, frame]);
    });
    // What is loaded on first use takes real time.
    await until(() => (providers[0]?.calls.length ?? 0) > 0);
    return { environment, heard, status: () => status };
  }

  const COMMENT = ': ROUTER PROCESSING\n\n';

  it('has a comment after a second and then every five, whoever is asked', async () => {
    const [first, second] = [fedProvider({ slug: 'first' }), fedProvider({ slug: 'second' })];
    const { environment, heard, status } = await listen([first, second]);
    await environment.advance(8_000);
    first.calls[0]?.answer(MISFIT);
    await environment.advance(8_000);
    expect(heard).toEqual([1, 6, 11, 16].map((seconds) => [seconds * 1_000, COMMENT]));
    second.calls[0]?.answer(GOOD);
    await environment.settle();
    expect(status()).toBe(200);
    expect(saidIn(heard.map(([, frame]) => frame).join(''))).toBe(GOOD);
    expect(environment.pendingTimers).toBe(0);
  });

  it('does not send a status before the first comment, nor just before the fault is named', async () => {
    const only = fedProvider();
    const { environment, heard, status } = await listen([only]);
    await environment.advance(900);
    only.calls[0]?.answer(MISFIT);
    await environment.advance(2_500);
    expect([only.calls.length, status()]).toEqual([2, undefined]);
    only.calls[1]?.answer(MISFIT);
    await environment.settle();
    expect(status()).toBe(502);
    expect(JSON.parse(heard[0]?.[1] ?? '')).toMatchObject({
      error: { code: 502, metadata: { error_type: 'schema_mismatch', schema_mismatch: MISMATCH } },
    });
    expect(environment.pendingTimers).toBe(0);
  });
});

it('a client that disconnects while its stream is held back ends the call, and no other is made', async () => {
  await using scene = await open([late(60_000, answerWith(GOOD)), answerWith(GOOD)]);
  const controller = new AbortController();
  const response = await scene.send('/chat/completions', { ...CHAT, stream: true }, controller.signal);
  expect(response.status).toBe(200);
  controller.abort();
  await until(() => scene.upstreams[0]?.connections === 0 && scene.attempts.length > 0);
  expect(scene.attempts.map(({ failure }) => failure?.kind)).toEqual(['aborted']);
  expect(scene.upstreams[1]?.requests).toHaveLength(0);
});

describe.each([false, true])('an answer after server tools (stream: %s)', (stream) => {
  const tools = [{ type: 'router:datetime' }];

  it.each(PATHS)('is all the text there is in %s', async (path) => {
    const script: ToolScript = (messages) =>
      messages.some(({ role }) => role === 'tool') ? GOOD : { call: 'datetime', args: {} };
    await using scene = await open([toolUpstream(script)]);
    const response = await scene.send(path, { ...FORMATS[path], tools, stream });
    expect([response.status, saidIn(await response.text())]).toEqual([200, GOOD]);
    expect(scene.upstreams[0]?.requests).toHaveLength(2);
  });

  it('is asked for again with what the tools said, and every call is charged', async () => {
    const script: ToolScript = (messages) => {
      if (!messages.some(({ role }) => role === 'tool')) return { call: 'datetime', args: {} };
      return messages.at(-1)?.role === 'user' ? GOOD : MISFIT;
    };
    await using scene = await open([toolUpstream(script)]);
    const response = await scene.send('/chat/completions', { ...CHAT, tools, stream });
    const text = await response.text();
    expect(saidIn(text)).toBe(GOOD);
    expect(text).toContain('"prompt_tokens":60,"completion_tokens":15,');
    expect(text).toContain('"cost":0.00009,');
    const last = scene.upstreams[0]?.requests.at(-1)?.body['messages'] as readonly { role: string }[];
    expect(last.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
  });

  it('fails where the model calls a tool although none may be called any more', async () => {
    await using scene = await open([toolUpstream(() => ({ call: 'datetime', args: {} }))]);
    const response = await scene.send('/chat/completions', { ...CHAT, tools, stream, max_tool_calls: 1 });
    const text = await response.text();
    expect(text).toContain('"schema_mismatch":{"path":"$","problem":"must be JSON","answer":"One moment."}');
    expect(saidIn(text)).toBe('');
  });

  it('leaves the calls of the caller alone, with their words', async () => {
    const named = { type: 'function', function: { name: 'look', parameters: {} } };
    await using scene = await open([toolUpstream(() => ({ call: 'look', args: {} }))]);
    const response = await scene.send('/chat/completions', { ...CHAT, tools: [...tools, named], stream });
    const text = await response.text();
    expect([response.status, saidIn(text)]).toEqual([200, 'One moment.']);
    expect(text).toContain('"finish_reason":"tool_calls"');
  });
});

describe.each([false, true])('an answer that a plugin gives (stream: %s)', (stream) => {
  function answering(text: string): Plugin {
    const message = { role: 'assistant', content: text, refusal: null, reasoning: null } as const;
    const end = { finish_reason: 'stop', native_finish_reason: null, logprobs: null } as const;
    return definePlugin({
      id: 'own',
      whenItThrows: 'fail',
      runsUnasked: () => true,
      onRequest: () => ({ type: 'answer', answer: { choices: [{ index: 0, message, ...end }] } }),
    });
  }

  it('is healed', async () => {
    const plugins = [...defaultPlugins(), answering(`\`\`\`json\n${GOOD}\n\`\`\``)];
    await using scene = await open([answerWith(MISFIT)], { plugins });
    const response = await scene.send('/chat/completions', { ...CHAT, stream });
    expect(saidIn(await response.text())).toBe(GOOD);
  });

  it('fails where it does not fit, and no provider is called', async () => {
    await using scene = await open([answerWith(GOOD)], { plugins: [...defaultPlugins(), answering(MISFIT)] });
    const response = await scene.send('/chat/completions', { ...CHAT, stream });
    const text = await response.text();
    expect(text).toContain('"error_type":"schema_mismatch"');
    expect(text).toContain(`"schema_mismatch":${JSON.stringify(MISMATCH)}`);
    expect(scene.upstreams[0]?.requests).toHaveLength(0);
  });
});

describe.each([false, true])('one request (stream: %s)', (stream) => {
  it('with several choices is answered once all of them fit', async () => {
    const two: UpstreamHandler = ({ body }, response) => {
      const isShown = (body['messages'] as unknown[]).length > 1;
      const choices = [GOOD, isShown ? GOOD : MISFIT].map((content, index) => {
        return { index, message: { role: 'assistant', content }, finish_reason: 'stop' };
      });
      sendJson(response, 200, { choices });
    };
    await using scene = await open([two]);
    const response = await scene.send('/chat/completions', { ...CHAT, n: 2, stream });
    expect(saidIn(await response.text())).toBe(GOOD + GOOD);
    expect(scene.upstreams[0]?.requests).toHaveLength(2);
  });

  it('with several models goes on with the next, which is shown the fault after two', async () => {
    await using scene = await open([answerWith(MISFIT), answerWith(MISFIT), answerWith(GOOD)]);
    const response = await scene.send('/chat/completions', { ...CHAT, models: [MODEL, 'acme/two'], stream });
    const text = await response.text();
    expect(saidIn(text)).toBe(GOOD);
    expect(text).toContain('"model":"acme/two"');
    expect(scene.upstreams[2]?.requests[0]?.body['messages']).toHaveLength(3);
  });
});

it('clients are advised not to repeat a request that was repeated for its schema', async () => {
  await using scene = await open([answerWith(MISFIT)]);
  const response = await scene.send('/chat/completions', CHAT);
  expect([response.status, response.headers.get('x-should-retry')]).toEqual([502, 'false']);
});

it('requests of a batch are held to their schemas, and those that fail keep the answer', async () => {
  const provider = batchProvider('up', ({ text }) => answer(text === 'good' ? GOOD : MISFIT));
  const { router, ended } = batchScene({ providers: [provider] });
  const { id } = await router.batches.create({
    endpoint: '/v1/chat/completions',
    model: MODEL,
    requests: ['good', 'bad'].map((content) => ({
      custom_id: content,
      body: { messages: [{ role: 'user', content }], response_format: format, plugins: HELD },
    })),
  });
  await router.batches.start();
  expect(await ended(id)).toMatchObject({ request_counts: { completed: 1, failed: 1 } });
  const results = await all(router.batches.results(id));
  expect(results.find((result) => result.custom_id === 'bad')?.error).toMatchObject({
    type: 'server_error',
    error_type: 'schema_mismatch',
    metadata: { schema_mismatch: MISMATCH },
  });
  // One call for the good one; for the bad one a second that names the fault, and no tries of the batch on top.
  expect(provider.calls).toHaveLength(3);
  await router.close();
});

describe.each([false, true])('a call that is late and held to a schema (stream: %s)', (stream) => {
  /** Calls of the cheap endpoint before the one that is late: enough to know what is usual, and to pay for a second. */
  const BEFORE = 300;

  /** An answer of as many tokens as are expected. */
  function costing(text: string): ProviderReply {
    const reply = answer(text);
    if (reply.type !== 'whole') return reply;
    const usage = { prompt_tokens: 60, completion_tokens: 5, total_tokens: 65 };
    return { ...reply, result: { ...reply.result, usage } };
  }

  /** What becomes of a late call of the cheap endpoint, beside which the dear one gives some answer. */
  async function besides(text: string) {
    const environment = fakeEnvironment({ seed: 1 });
    const wait = (ms: number) => new Promise<void>((resolve) => void environment.setTimer(resolve, ms));
    const attempts: AttemptEvent[] = [];
    const provider = (slug: string, usd: number, behave: Behave) =>
      batchProvider(slug, behave, { models: { [MODEL]: { price: { prompt: usd, completion: usd } } } });
    const cheap = provider('cheap', 1, async ({ number }) => {
      await wait(number < BEFORE ? 300 : 950);
      return costing(GOOD);
    });
    const dear = provider('dear', 3, async () => {
      await wait(100);
      return costing(text);
    });
    const router = createRouter({
      providers: [cheap, dear],
      timeouts: TIMEOUTS,
      environment,
      on: { warning: () => {}, attempt: (event) => void attempts.push(event) },
    });
    const bench = { environment, router, stubs: { providers: [], calls: [], open: [] } };
    const body = {
      messages: [{ role: 'user' as const, content: 'How long does this take? '.repeat(4) }],
      response_format: format,
      plugins: [...HELD],
    };
    for (let call = 0; call < BEFORE; call += 1) await askAndWait(bench, { stream, body });
    expect([cheap.calls.length, dear.calls.length]).toEqual([BEFORE, 0]);
    const outcome = await askAndWait(bench, { stream, body, metadata: true });
    const usage = outcome.result?.usage ?? outcome.chunks.at(-1)?.usage;
    return { outcome, usage, late: cheap.calls.at(-1), attempts: attempts.slice(BEFORE), open: cheap.open };
  }

  it('is given up once another answer fits, and both are metered once', async () => {
    const { outcome, usage, late: first, attempts } = await besides(GOOD);
    expect(textOf(outcome)).toBe(GOOD);
    expect(first?.signal.aborted).toBe(true);
    expect(attempts.map(({ provider, failure }) => [provider, failure?.kind])).toEqual([
      ['cheap', 'superseded'],
      ['dear', undefined],
    ]);
    expect(usage).toMatchObject({ prompt_tokens: 60, completion_tokens: 5 });
    expect(usage?.cost_details).toMatchObject({ given_up_cost: expect.any(Number) as number });
    expect(metadataOf(outcome)?.attempts).toMatchObject([{ given_up: true }, { status: 200, hedge: true }]);
  });

  it('is waited for when the other answer does not fit, and both are charged', async () => {
    const { outcome, usage, late: first, attempts } = await besides(MISFIT);
    expect(textOf(outcome)).toBe(GOOD);
    expect(first?.signal.aborted).toBe(false);
    expect(attempts.map(({ provider, failure }) => [provider, failure?.kind])).toEqual([
      ['dear', 'schema_mismatch'],
      ['cheap', undefined],
    ]);
    // 65 tokens at 3 dollars a million, and 65 at 1.
    expect(usage).toMatchObject({ prompt_tokens: 120, completion_tokens: 10, cost: expect.closeTo(0.000_26, 9) });
    expect(usage?.cost_details).not.toHaveProperty('given_up_cost');
  });
});

describe.each(PATHS)('an answer held to its schema, in %s', (path) => {
  const misfit: UpstreamHandler = (request, response, raw) => answerWith(MISFIT)(request, response, raw);
  const good: UpstreamHandler = (request, response, raw) => answerWith(GOOD)(request, response, raw);

  it.each(['error', 'continue'] as const)(
    'is resumed as it was sent (after the first token: %s)',
    async (afterFirstToken) => {
      await using scene = await open([misfit, good], {
        streams: { store: memoryStore() },
        fallback: { afterFirstToken },
      });
      const response = await scene.send(path, { ...FORMATS[path], stream: true });
      const sent = await response.text();
      expect(saidIn(sent)).toContain(GOOD);
      expect(sent).not.toContain('one\\"');
      const again = await scene.read(`/streams/${response.headers.get('x-generation-id')}`);
      expect(await again.text()).toBe(sent);
      expect(scene.upstreams.map(({ requests }) => requests.length)).toEqual([1, 1]);
    },
  );

  it('that fails is resumed with its fault', async () => {
    await using scene = await open([late(60, misfit), late(60, misfit)], { streams: { store: memoryStore() } });
    const response = await scene.send(path, { ...FORMATS[path], stream: true });
    const sent = await response.text();
    expect(sent).toContain('schema_mismatch');
    const again = await scene.read(`/streams/${response.headers.get('x-generation-id')}`);
    expect(await again.text()).toBe(sent);
  });

  it.each([false, true])('is cached once it fits, and only then (stream: %s)', async (stream) => {
    await using scene = await open([misfit, good], { responseCache: {} });
    const body = { ...FORMATS[path], stream };
    const ask = async (): Promise<string> => {
      const response = await fetch(scene.url(path), {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-router-cache': 'true' },
        body: JSON.stringify({ model: MODEL, provider: { order: ['p0', 'p1'] }, ...body }),
      });
      return `${response.headers.get('x-router-cache-status')} ${saidIn(await response.text())}`;
    };
    expect(await ask()).toBe(`MISS ${GOOD}`);
    expect(await ask()).toBe(`HIT ${GOOD}`);
    expect(scene.upstreams.map(({ requests }) => requests.length)).toEqual([1, 1]);
  });
});
