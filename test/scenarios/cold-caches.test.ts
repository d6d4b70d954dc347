import {
  createRouter,
  memoryStore,
  openaiCompatible,
  type ResultEvent,
  type Router,
  type RouterConfig,
  type WarningEvent,
} from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { startUpstream, type Upstream, type UpstreamHandler } from '../support/upstream.ts';

const MODEL = 'acme/one';
const INSTRUCTIONS = `${'You are an agent that works with care.\n'.repeat(150)}The time is 14:03:22.\nBe brief.`;
const TOOLS = ['read', 'write'].map((name) => ({
  type: 'function',
  function: { name, parameters: { type: 'object' } },
}));

/** A provider with a prefix cache: what was sent before, block by block, is cached. */
function caching(): UpstreamHandler {
  const known = new Set<string>();
  return ({ body }, response) => {
    const {
      messages,
      tools = [],
      model,
      stream,
    } = body as { messages: object[]; tools?: object[]; model: string; stream?: boolean };
    let prefix = model;
    let tokens = 0;
    let cached = 0;
    for (const block of [...tools, ...messages]) {
      const text = JSON.stringify(block);
      prefix += text;
      tokens += Math.ceil(text.length / 4);
      if (known.has(prefix)) cached = tokens;
      known.add(prefix);
    }
    const usage = { prompt_tokens: tokens, completion_tokens: 5, prompt_tokens_details: { cached_tokens: cached } };
    const message = { role: 'assistant', content: 'Done' };
    if (stream !== true) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const head = { id: 'c', object: 'chat.completion.chunk', created: 1, model };
    const events = [
      { ...head, choices: [{ index: 0, delta: message, finish_reason: null }] },
      { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { ...head, choices: [], usage },
    ];
    for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
    response.end('data: [DONE]\n\n');
  };
}

interface Scene extends AsyncDisposable {
  readonly router: Router;
  readonly results: ResultEvent[];
  readonly warnings: WarningEvent[];
  /** Asks, and gives what metadata says of the cache. */
  ask(body: object, stream?: boolean): Promise<object | undefined>;
}

interface SceneOptions {
  readonly ledger?: boolean;
  readonly count?: number;
  /** Those of another instance of the same program. */
  readonly shared?: Pick<RouterConfig, 'state' | 'environment'>;
}

async function open(options: SceneOptions = {}): Promise<Scene> {
  const { ledger = true, count = 1, shared } = options;
  const upstreams: Upstream[] = [];
  for (let index = 0; index < count; index += 1) upstreams.push(await startUpstream(caching()));
  const results: ResultEvent[] = [];
  const warnings: WarningEvent[] = [];
  const price = { prompt: 1, completion: 2, cacheRead: 0.1 };
  const router = createRouter({
    providers: upstreams.map(({ baseURL }, index) =>
      openaiCompatible({
        slug: `p${index}`,
        baseURL,
        models: { [MODEL]: { price, implicitCaching: true }, 'acme/two': { price, implicitCaching: true } },
      }),
    ),
    ledger,
    ...shared,
    on: { result: (event) => results.push(event), warning: (event) => warnings.push(event) },
  });
  if (ledger) {
    // What compares prompts is loaded by the first request.
    await router.chat({ model: MODEL, messages: [{ role: 'user', content: 'Hi' }] });
    while (results.at(-1)?.cache === undefined) {
      await router.chat({
        model: MODEL,
        messages: [{ role: 'user', content: `Hi ${results.length}` }],
        session_id: `${results.length}`,
      });
    }
  }
  return {
    router,
    results,
    warnings,
    async ask(body, stream = false) {
      const request = { model: MODEL, session_id: 's', ...body } as never;
      if (!stream) return (await router.chat(request, { metadata: true })).router_metadata?.cache;
      let cache: object | undefined;
      for await (const chunk of router.stream(request, { metadata: true }))
        cache = chunk.router_metadata?.cache ?? cache;
      return cache;
    },
    async [Symbol.asyncDispose]() {
      await router.close();
      for (const upstream of upstreams) await upstream[Symbol.asyncDispose]();
    },
  };
}

const turn = (count: number, system = INSTRUCTIONS): object[] => [
  { role: 'system', content: system },
  ...Array.from({ length: count }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: `Turn ${index}. ${'Words of it. '.repeat(60)}`,
  })),
];

describe('why a prompt was not in the cache of its provider', () => {
  it.each([false, true])('is in metadata, with what it cost (stream: %s)', async (stream) => {
    await using scene = await open();
    expect(await scene.ask({ messages: turn(1), tools: TOOLS }, stream)).toMatchObject({ cause: 'first', lost_usd: 0 });
    const warm = await scene.ask({ messages: turn(3), tools: TOOLS }, stream);
    expect(warm).toMatchObject({ expected_tokens: expect.any(Number) });
    expect(warm).not.toHaveProperty('cause');
    const later = turn(5, INSTRUCTIONS.replace(':22', ':23'));
    const cold = await scene.ask({ messages: later, tools: TOOLS }, stream);
    expect(cold).toMatchObject({ cause: 'system_changed', at: 'system[0]', line: 151 });
    expect((cold as { lost_usd: number }).lost_usd).toBeGreaterThan(0.001);
    expect(
      await scene.ask({ messages: turn(7, INSTRUCTIONS.replace(':22', ':23')), tools: TOOLS.toReversed() }, stream),
    ).toMatchObject({
      cause: 'tools_changed',
      at: 'tools[0]',
      change: 'order',
    });
    expect(await scene.ask({ model: 'acme/two', messages: later, tools: TOOLS.toReversed() }, stream)).toMatchObject({
      cause: 'model_changed',
    });
  });

  it('is found of a session that nobody named', async () => {
    await using scene = await open();
    await scene.ask({ messages: turn(3), session_id: undefined });
    const later = turn(5, INSTRUCTIONS.replace(':22', ':23'));
    expect(await scene.ask({ messages: later, session_id: undefined })).toMatchObject({
      cause: 'system_changed',
      line: 151,
    });
  });

  it('names the endpoint that the session left, and why', async () => {
    await using scene = await open({ count: 2 });
    await scene.ask({ messages: turn(3), provider: { only: ['p0'] } });
    expect(await scene.ask({ messages: turn(5), provider: { only: ['p1'] } })).toMatchObject({
      cause: 'other_endpoint',
      moved: expect.stringContaining('it was excluded'),
    });
  });

  it('is in the record, without a word of the prompt, and small', async () => {
    await using scene = await open();
    await scene.ask({ messages: turn(39), tools: TOOLS });
    await scene.ask({ messages: turn(41, INSTRUCTIONS.replace(':22', ':23')), tools: TOOLS });
    const { records = [] } = (await scene.router.ledger?.read({ order: 'latest', limit: 1 })) ?? {};
    const { prompt, cold } = records[0] ?? {};
    expect(cold).toMatchObject({ cause: 'system_changed', at: 'system[0]', line: 151 });
    expect(JSON.stringify({ prompt, cold }).length).toBeLessThanOrEqual(200);
    expect(JSON.stringify(records)).not.toContain('works with care');
  });

  it('is told to the operator once, when a session meets it three times in a row', async () => {
    await using scene = await open();
    for (let time = 0; time < 6; time += 1) {
      await scene.ask({ messages: turn(3 + 2 * time, INSTRUCTIONS.replace(':22', `:3${time}`)) });
    }
    const told = scene.warnings.filter(({ code }) => code === 'cache_cold');
    expect(told).toHaveLength(1);
    expect(told[0]?.message).toContain('system_changed at system[0], line 151');
    expect(told[0]?.message).not.toContain('The time is');
  });

  it('compares each of the agents that share a session with its own prompts', async () => {
    await using scene = await open();
    const other = (count: number): object[] => [
      { role: 'system', content: 'You look for files.\n'.repeat(300) },
      ...turn(count)
        .slice(1)
        .map((message) => ({ ...message, content: `Find. ${JSON.stringify(message)}` })),
    ];
    await scene.ask({ messages: turn(1), tools: TOOLS });
    expect(await scene.ask({ messages: other(1) })).toMatchObject({ cause: 'first' });
    expect(await scene.ask({ messages: turn(3), tools: TOOLS })).not.toHaveProperty('cause');
    expect(await scene.ask({ messages: other(3) })).not.toHaveProperty('cause');
    expect(await scene.ask({ messages: turn(5, INSTRUCTIONS.replace(':22', ':23')), tools: TOOLS })).toMatchObject({
      cause: 'system_changed',
    });
  });

  it('is not an edit where a conversation is taken up again at an earlier place', async () => {
    await using scene = await open();
    for (const count of [1, 3, 5, 7]) await scene.ask({ messages: turn(count) });
    const edited = turn(9).with(2, { role: 'assistant', content: 'Edited. '.repeat(60) });
    expect(await scene.ask({ messages: edited })).toMatchObject({ cause: 'message_edited', at: 'messages[1]' });
    const again = [...turn(4), { role: 'user', content: 'Another way. '.repeat(60) }];
    expect(await scene.ask({ messages: again })).not.toHaveProperty('cause');
  });

  it('is unknown where another instance has served the session meanwhile', async () => {
    await using scene = await open();
    await scene.ask({ messages: turn(1) });
    // The answers in the prompt say that two requests came between, of which this process has seen none.
    const later = turn(7, INSTRUCTIONS.replace(':22', ':23'));
    expect(await scene.ask({ messages: later })).toMatchObject({ cause: 'evicted_or_unknown' });
    expect(await scene.ask({ session_id: 'never seen', messages: turn(5, `Other. ${INSTRUCTIONS}`) })).toMatchObject({
      cause: 'evicted_or_unknown',
    });
  });

  it.each([true, false])(
    'is unknown where the shared store says that another instance came between: %s',
    async (isShared) => {
      const environment = fakeEnvironment();
      const store = memoryStore({ now: environment.now });
      const instance = (): Promise<Scene> =>
        open({ count: 2, shared: { environment, state: isShared ? store : memoryStore({ now: environment.now }) } });
      await using one = await instance();
      await using two = await instance();
      await one.ask({ messages: turn(3) });
      await environment.advance(10_000);
      await two.ask({ messages: turn(3, `Other. ${INSTRUCTIONS}`) });
      await environment.advance(10_000);
      // Of the prompt alone it could not be seen: it has one more answer than the last one had here.
      const cold = await one.ask({ messages: turn(5, INSTRUCTIONS.replace(':22', ':23')) });
      expect(cold).toMatchObject({ cause: isShared ? 'evicted_or_unknown' : 'system_changed' });
    },
  );

  it('is the length of a prompt at an endpoint that has never had so short a one cached', async () => {
    await using scene = await open();
    const short = (count: number): object[] => turn(count, 'Be brief. '.repeat(100));
    for (let count = 1; count <= 45; count += 2) await scene.ask({ messages: turn(count) });
    // The provider keeps it all the same, so it is sent under another name each time: what was seen is what counts.
    await scene.ask({ session_id: 'short', messages: short(1) });
    expect(
      await scene.ask({ session_id: 'short', messages: short(3).map((one) => ({ ...one, name: 'anew' })) }),
    ).toMatchObject({
      cause: 'too_short',
    });
  });

  it('is not looked for without a ledger', async () => {
    await using scene = await open({ ledger: false });
    expect(await scene.ask({ messages: turn(3) })).toBeUndefined();
    expect(scene.results[0]).not.toHaveProperty('cache.cause');
  });
});
