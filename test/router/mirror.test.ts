import {
  createRouter,
  type LedgerContent,
  memoryStore,
  type Mirror,
  openaiCompatible,
  type RequestFacts,
  type Router,
  type RouterConfig,
} from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { prometheus } from 'signalbox/prometheus';
import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { listen } from '../support/mounts.ts';
import { answerWith, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const USER = [{ role: 'user', content: 'Hello' }];
const BODY = { model: 'fast', messages: USER };
const ADD = { type: 'function', function: { name: 'add', parameters: { type: 'object' } } };

const MIRROR: Mirror = { model: 'candidate/model', share: 1, budget: { limitUsd: 1, period: 'day' } };

/** A server whose alias `fast` answers with one model and copies to another one. */
async function open(mirror: Partial<Mirror> = {}, config: RouterConfig = {}) {
  const [main, candidate] = [await startUpstream(answerWith('main')), await startUpstream(answerWith('candidate'))];
  const provider = (slug: string, upstream: Upstream) =>
    openaiCompatible({
      slug,
      baseURL: upstream.baseURL,
      apiKey: 'sk-1',
      models: {
        [`${slug}/model`]: {
          price: { prompt: 1, completion: 2 },
          upstreamModel: 'm',
          parameters: ['tools', 'max_tokens'],
        },
        [`${slug}/vectors`]: { inputModalities: ['text'], outputModalities: ['embeddings'] },
      },
    });
  const routers: Router[] = [];
  const facts: RequestFacts[] = [];
  const make = (more: RouterConfig = {}): Router => {
    const router: Router = createRouter({
      providers: [provider('main', main), provider('candidate', candidate)],
      aliases: {
        fast: { model: 'main/model', mirror: { ...MIRROR, ...mirror } },
        vectors: { model: 'main/vectors', mirror: { ...MIRROR, model: 'candidate/vectors', ...mirror } },
      },
      ledger: true,
      batches: { worker: false },
      allowAnonymous: true,
      on: { request: ({ request }) => void facts.push(request) },
      ...config,
      ...more,
    });
    routers.push(router);
    return router;
  };
  const router = make();
  const mounted = await listen(createServer(nodeRouter(router)));
  return {
    main,
    candidate,
    router,
    make,
    facts,
    async send(body: object, path = '/chat/completions') {
      const response = await fetch(`${mounted.baseURL}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: response.status, text: await response.text() };
    },
    /** Waits until the candidate has been asked so many times. */
    async copied(times: number) {
      await expect.poll(() => candidate.requests.length).toBe(times);
    },
    /** Records of copies. */
    async copies() {
      const { records } = (await router.ledger?.read()) ?? { records: [] };
      return records.filter(({ mirror: alias }) => alias !== undefined);
    },
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await Promise.all(routers.map((one) => one.close()));
      await Promise.all([main, candidate].map((upstream) => upstream[Symbol.asyncDispose]()));
    },
  };
}

/** The id of a completion in a body. */
function idIn(text: string): string {
  return /gen-\d+-\w+/.exec(text)?.[0] ?? '';
}

describe('a request that is copied to a candidate', () => {
  it('is answered by its model, and the copy is recorded under it and shown to nobody', async () => {
    const kept: LedgerContent[] = [];
    const ledger = {
      tags: ['team'],
      content: (content: LedgerContent) => void kept.push(content),
      redact: (content: LedgerContent) => content,
    };
    await using scene = await open({}, { ledger });
    const { status, text } = await scene.send({ ...BODY, stream: true, metadata: { team: 'search' }, max_tokens: 9 });
    expect(status).toBe(200);
    expect(text).toContain('main');
    expect(text).not.toContain('candidate');
    await scene.copied(1);
    expect(scene.candidate.requests[0]?.body).toMatchObject({ messages: USER, max_tokens: 9 });
    expect(scene.candidate.requests[0]?.body['stream'] ?? false).toBe(false);
    await expect.poll(() => scene.copies()).toHaveLength(1);
    const [copy] = await scene.copies();
    expect(copy).toMatchObject({
      parent: idIn(text),
      mirror: 'fast',
      account: 'mirror/fast',
      requested: 'candidate/model',
      status: 200,
      tags: { team: 'search' },
      cost_nano_usd: 20_000,
      usage: { prompt_tokens: 10, completion_tokens: 5 },
    });
    expect(scene.facts).toMatchObject([
      { id: idIn(text), applied: { mirror: { alias: 'fast', model: 'candidate/model', by: 'session' } } },
      { id: copy?.id, parent: idIn(text), mirror: 'fast', account: 'mirror/fast', stream: false },
    ]);
    await expect.poll(() => kept).toHaveLength(2);
    expect(kept.find(({ mirrorOf }) => mirrorOf === idIn(text))).toMatchObject({
      id: copy?.id,
      model: 'candidate/model',
      choices: [{ message: { content: 'candidate' } }],
    });
  });

  it('costs its caller nothing, and takes nothing of its limits', async () => {
    const account = { id: 'team', budget: { limitUsd: 0.000_075 }, rateLimits: { requestsPerMinute: 2 } };
    await using scene = await open({}, { budgets: { tags: { team: { limitUsd: 0.000_075 } } } });
    const request = { ...BODY, max_tokens: 5, metadata: { team: 'a' } };
    // Each reserves some 0.00005 USD and costs 0.00002: with its copy, the first would leave too little for the second.
    await scene.router.chat(request as never, { account });
    await scene.copied(1);
    await expect.poll(() => scene.copies()).toHaveLength(1);
    await scene.router.chat(request as never, { account });
    await scene.copied(2);
    await expect(scene.router.chat(request as never, { account })).rejects.toMatchObject({ status: 429 });
  });

  it.each([
    ['answers nothing', (_request: unknown, _response: unknown) => {}],
    ['fails', (_request: unknown, response: Parameters<typeof sendJson>[0]) => sendJson(response, 500, { error: {} })],
  ])('is neither late nor lost when the candidate %s', async (_what, handler) => {
    await using scene = await open({}, {});
    scene.candidate.handler = handler;
    for (let sent = 1; sent <= 3; sent += 1) {
      for (const stream of [false, true]) expect((await scene.send({ ...BODY, stream })).text).toContain('main');
    }
    await expect.poll(() => scene.candidate.requests.length).toBeGreaterThan(0);
  });

  it('is answered although its candidate is not there, and the operator is told', async () => {
    const warnings: string[] = [];
    const on = { warning: ({ message }: { message: string }) => void warnings.push(message) };
    await using scene = await open({ model: 'nobody/model' }, { on });
    expect((await scene.send(BODY)).status).toBe(200);
    await expect
      .poll(() => warnings)
      .toContain('Nothing is copied to nobody/model for the alias "fast": nobody/model is not a valid model ID');
  });

  it('is told of by explain, in router_metadata, and in metrics of its own', async () => {
    await using scene = await open();
    const metrics = await prometheus(scene.router);
    const text = async (): Promise<string> => (await metrics.fetch(new Request('http://localhost/'))).text();
    const counted = async (origin: string): Promise<string | undefined> => {
      const name = `signalbox_request_duration_seconds_count{operation="chat",.*,origin="${origin}",error=""}`;
      return new RegExp(`^${name} (\\d+)$`, 'm').exec(await text())?.[1];
    };
    const applied = { mirror: { alias: 'fast', model: 'candidate/model', by: 'session' } };
    expect((await scene.router.explain(BODY as never)).applied).toEqual(applied);
    const answer = await scene.router.chat(BODY as never, { metadata: true });
    expect(answer.router_metadata?.applied).toEqual(applied);
    await expect.poll(() => counted('mirror')).toBe('1');
    expect(await counted('caller')).toBe('1');
  });
});

describe('the share that is copied', () => {
  it('is the same for a session or an end user on every instance, or drawn anew for each request', async () => {
    await using scene = await open({ share: 0.5 });
    const drawnBy = async (by: Mirror['by'], fields: (index: number) => object): Promise<readonly boolean[][]> => {
      const aliases = { fast: { model: 'main/model', mirror: { ...MIRROR, share: 0.5, by } } };
      const routers = [1, 2, 3].map(() => scene.make({ aliases, identitySecret: 'the same on all of them' }));
      return Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          Promise.all(
            routers.map(async (router) => {
              const { applied } = await router.explain({ ...BODY, ...fields(index) } as never);
              return applied?.mirror !== undefined;
            }),
          ),
        ),
      );
    };
    for (const [by, fields] of [
      ['session', (index: number) => ({ session_id: `s${index}` })],
      ['endUser', (index: number) => ({ user: `u${index}` })],
    ] as const) {
      const drawn = await drawnBy(by, fields);
      expect(drawn.every((one) => new Set(one).size === 1)).toBe(true);
      expect(new Set(drawn.map(([first]) => first)).size).toBe(2);
    }
    const anew = await drawnBy('request', () => ({ session_id: 'one' }));
    expect(new Set(anew.flat()).size).toBe(2);
  });
});

describe('requests of which more comes than an answer', () => {
  const NEVER: readonly [what: string, body: object, path?: string][] = [
    ['that offer functions', { ...BODY, tools: [ADD] }],
    ['with a server tool', { ...BODY, tools: [{ type: 'router:datetime' }] }],
    ['with a plugin', { ...BODY, plugins: [{ id: 'response-healing' }] }],
    ['that search', { ...BODY, web_search_options: {} }],
    ['that search by a variant', { ...BODY, model: 'fast:online' }],
    ['with a field that only a provider knows', { ...BODY, run_something: true }],
    [
      'with a tool of the Responses API',
      { model: 'fast', input: 'Hello', tools: [{ type: 'web_search' }] },
      '/responses',
    ],
    [
      'with a tool of the Messages API',
      { ...BODY, max_tokens: 9, tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
      '/messages',
    ],
    ['for a model beside the alias', { ...BODY, model: 'main/model', models: ['fast'] }],
  ];

  it.each(NEVER)('are not copied: %s', async (_what, body, path) => {
    await using scene = await open();
    await scene.send(body, path);
    // What comes after it is copied, so that what was not is seen.
    await scene.send({ model: 'fast', messages: [{ role: 'user', content: 'Copy this' }] });
    await scene.copied(1);
    expect(scene.candidate.requests[0]?.body['messages']).toEqual([{ role: 'user', content: 'Copy this' }]);
  });

  it('are not copied from batches or embeddings', async () => {
    await using scene = await open();
    const requests = [{ custom_id: '1', body: { messages: USER } }];
    await scene.router.batches.create({ endpoint: '/v1/chat/completions', model: 'fast', requests } as never);
    await scene.router.batches.tick({ budgetMs: 5_000 });
    expect(scene.main.requests).toHaveLength(1);
    const answer = scene.main.handler;
    scene.main.handler = (_request, response) => {
      const data = [{ object: 'embedding', index: 0, embedding: [0.5] }];
      sendJson(response, 200, { object: 'list', data, model: 'm', usage: { prompt_tokens: 1, total_tokens: 1 } });
    };
    expect((await scene.send({ model: 'vectors', input: 'Hello' }, '/embeddings')).status).toBe(200);
    scene.main.handler = answer;
    await scene.send({ model: 'fast', messages: [{ role: 'user', content: 'Copy this' }] });
    await scene.copied(1);
    expect(scene.candidate.requests[0]?.body['messages']).toEqual([{ role: 'user', content: 'Copy this' }]);
  });

  it('are copied with functions where the mirror says so, and by other API formats', async () => {
    await using scene = await open({ functionTools: true });
    await scene.send({ ...BODY, tools: [ADD] });
    await scene.copied(1);
    expect(scene.candidate.requests[0]?.body['tools']).toMatchObject([ADD]);
    expect((await scene.send({ model: 'fast', input: 'Hello' }, '/responses')).text).toContain('main');
    expect((await scene.send({ ...BODY, max_tokens: 9 }, '/messages')).text).toContain('main');
    await scene.copied(3);
  });

  it('are not copied when they fail, or when the response cache answers', async () => {
    await using scene = await open({}, { responseCache: { enabled: true } });
    await scene.send(BODY);
    await scene.copied(1);
    await scene.send(BODY);
    expect(scene.main.requests).toHaveLength(1);
    scene.main.handler = (_request, response) => sendJson(response, 400, { error: { message: 'No' } });
    expect((await scene.send({ ...BODY, messages: [{ role: 'user', content: 'Bad' }] })).status).toBe(400);
    scene.main.handler = answerWith('main');
    await scene.send({ ...BODY, messages: [{ role: 'user', content: 'Copy this' }] });
    await scene.copied(2);
    expect(scene.candidate.requests[1]?.body['messages']).toEqual([{ role: 'user', content: 'Copy this' }]);
  });
});

describe('copies', () => {
  it('end with their budget, on all instances that share its state, and requests go on', async () => {
    // Pays for two copies: each reserves some 0.00005 USD, and costs 0.00002.
    const budget = { limitUsd: 0.000_075, period: 'day' as const };
    await using scene = await open({ budget }, { state: memoryStore() });
    const { state } = scene.router.internals.config;
    const other = scene.make({ state });
    const request = { ...BODY, max_tokens: 5 };
    const settled = async (count: number) => {
      await expect.poll(async () => (await scene.copies()).length).toBe(count);
    };
    await scene.router.chat(request as never);
    await settled(1);
    await other.chat(request as never);
    await scene.copied(2);
    await expect.poll(async () => (await other.ledger?.read())?.records.length).toBe(2);
    for (let sent = 0; sent < 5; sent += 1) await scene.router.chat(request as never);
    // The one that there is not enough for is noted, and then nothing is tried for a minute.
    await settled(2);
    expect((await scene.copies()).map(({ status }) => status)).toEqual([200, 402]);
    expect(scene.candidate.requests).toHaveLength(2);
    expect(scene.main.requests).toHaveLength(7);
  });

  it('are no more at the same time than there may be', async () => {
    await using scene = await open({ concurrency: 2 });
    const release: (() => void)[] = [];
    scene.candidate.handler = (request, response, raw) =>
      void release.push(() => answerWith('candidate')(request, response, raw));
    for (let sent = 0; sent < 6; sent += 1) await scene.send(BODY);
    await scene.copied(2);
    for (const one of release.splice(0)) one();
    await expect.poll(() => scene.copies()).toHaveLength(2);
    await scene.send(BODY);
    await scene.copied(3);
  });

  it('do not wait for a place at a candidate that refuses: only requests do, for which somebody waits', async () => {
    await using scene = await open();
    scene.candidate.handler = (_request, response) =>
      sendJson(response, 429, { error: { message: 'slow down' } }, { 'retry-after': '1' });
    await scene.send(BODY);
    await expect.poll(() => scene.copies()).toHaveLength(1);
    await scene.send(BODY);
    await expect.poll(() => scene.copies()).toHaveLength(2);
    // One that had waited for the second would have been sent.
    expect(scene.candidate.requests).toHaveLength(1);
  });

  it('are cancelled when the router closes, and noted', async () => {
    await using scene = await open();
    let closed = 0;
    scene.candidate.handler = (_request, _response, raw) => void raw.socket.on('close', () => (closed += 1));
    const { ledger } = scene.router;
    await scene.send(BODY);
    await scene.copied(1);
    await scene.router.close();
    await expect.poll(() => closed).toBe(1);
    const { records = [] } = (await ledger?.read()) ?? {};
    expect(records.find(({ mirror }) => mirror === 'fast')).toMatchObject({ status: 499 });
  });

  it('go on by the configuration of their request when another one is put in force', async () => {
    await using scene = await open();
    const { providers } = scene.router.internals.config;
    let answer = (): void => {};
    scene.candidate.handler = (request, response, raw) =>
      void (answer = () => answerWith('candidate')(request, response, raw));
    await scene.send(BODY);
    await scene.copied(1);
    scene.router.update({ providers, aliases: { fast: 'main/model' }, allowAnonymous: true });
    answer();
    await expect.poll(async () => (await scene.copies()).map(({ status }) => status)).toEqual([200]);
    await scene.send(BODY);
    expect(scene.candidate.requests).toHaveLength(1);
  });
});

describe('the option', () => {
  it('is checked at the start', () => {
    const aliases = { fast: { model: 'a', mirror: { model: 'b', share: 2, budget: {} } } };
    expect(() => createRouter({ aliases: aliases as never })).toThrow(
      /aliases\.fast\.mirror\.share must be a number from 0 to 1[\s\S]*aliases\.fast\.mirror\.budget\.limitUsd/,
    );
    const loop = { fast: { model: 'a', mirror: { model: 'fast', share: 1, budget: { limitUsd: 1 } } } };
    expect(() => createRouter({ aliases: loop })).toThrow(/must not lead back to itself/);
  });
});
