import { type BatchUpdateEvent, localQueue } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { all, answer, batchProvider, batchScene, chatBatch, failing } from '../../support/batches.ts';
import { embedsWith, embeddingStub } from '../../support/embedding-providers.ts';
import { refusal } from '../../support/refusal.ts';

describe('a batch', () => {
  it('goes from its creation to its results, with counts, usage and cost', async () => {
    const provider = batchProvider('up', ({ text }) => answer(`Hello ${text}`));
    const events: BatchUpdateEvent[] = [];
    const scene = batchScene({ providers: [provider], on: { batch: (event) => events.push(event) } });
    const created = await scene.router.batches.create(chatBatch(20));
    expect(created).toEqual({
      id: expect.stringMatching(/^batch_[A-Za-z0-9]{24}$/) as string,
      object: 'batch',
      endpoint: '/v1/chat/completions',
      model: 'acme/one',
      completion_window: '24h',
      status: 'validating',
      created_at: 1_767_225_600,
      finalized_at: null,
      expires_at: null,
      provider: null,
      request_counts: { total: 20, completed: 0, failed: 0 },
      usage: null,
      results: null,
      error: null,
      errors: null,
      input_file_id: null,
      output_file_id: null,
      error_file_id: null,
      completed_at: null,
      failed_at: null,
      expired_at: null,
      cancelled_at: null,
      webhook: null,
      metadata: null,
      warnings: null,
    });
    await scene.router.batches.start();
    const ended = await scene.ended(created.id);
    expect(ended).toMatchObject({
      status: 'completed',
      request_counts: { total: 20, completed: 20, failed: 0 },
      expires_at: 1_767_225_600 + 86_400,
      results: null,
    });
    expect(ended.usage).toMatchObject({ prompt_tokens: 200, completion_tokens: 100, total_tokens: 300, cost: 0.0004 });
    const results = await all(scene.router.batches.results(created.id));
    expect(results.map(({ custom_id: name }) => name)).toEqual(Array.from({ length: 20 }, (_, index) => `r${index}`));
    expect(results[3]).toMatchObject({
      id: expect.stringMatching(/^batch_req_/) as string,
      error: null,
      response: {
        status_code: 200,
        request_id: expect.stringMatching(/^req_/) as string,
        body: {
          id: expect.stringMatching(/^gen-batch-\d+-[0-9a-f]{20}$/) as string,
          choices: [{ message: { content: 'Hello r3' } }],
        },
      },
    });
    expect(events.flatMap((event) => (event.type === 'status' ? [event.batch.status] : []))).toEqual([
      'validating',
      'in_progress',
      'finalizing',
      'completed',
    ]);
    const counts = events.flatMap((event) => (event.type === 'progress' ? [event.batch.request_counts.completed] : []));
    expect(counts.at(-1)).toBe(20);
    expect(counts).toEqual(counts.toSorted((left, right) => left - right));
    await scene.router.batches.stop();
    expect(scene.environment.pendingTimers).toBe(0);
  });

  it('sets no timer and calls nobody before somebody starts it', async () => {
    const provider = batchProvider('up');
    const scene = batchScene({ providers: [provider] });
    const { id } = await scene.router.batches.create(chatBatch(3));
    await scene.environment.advance(3_600_000);
    expect(scene.environment.pendingTimers).toBe(0);
    expect(provider.calls).toHaveLength(0);
    expect((await scene.router.batches.retrieve(id)).status).toBe('validating');
  });

  it('runs by ticks alone, where nothing may run in between', async () => {
    const scene = batchScene();
    const { id } = await scene.router.batches.create(chatBatch(9));
    await scene.router.batches.tick();
    expect((await scene.router.batches.retrieve(id)).status).toBe('completed');
    expect(scene.environment.pendingTimers).toBe(0);
  });

  it.each([
    ['/v1/responses', { input: 'Hi' }, { object: 'response', output: [{ type: 'message' }] }],
    [
      '/v1/messages',
      { max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] },
      { type: 'message', content: [{ type: 'text', text: 'Hello' }] },
    ],
  ] as const)('answers in the shape of %s', async (endpoint, body, shape) => {
    const scene = batchScene();
    const { id } = await scene.router.batches.create({
      endpoint,
      model: 'acme/one',
      requests: [{ custom_id: 'a', body }],
    });
    await scene.router.batches.tick();
    const [result] = await all(scene.router.batches.results(id));
    expect(result?.response?.body).toMatchObject(shape);
    expect((await scene.router.batches.retrieve(id)).usage).toMatchObject({ total_tokens: 15 });
  });

  it('makes embeddings', async () => {
    const stub = embeddingStub('up', [embedsWith()]);
    const scene = batchScene({ providers: [stub] });
    const { id } = await scene.router.batches.create({
      endpoint: '/v1/embeddings',
      model: 'acme/embed',
      requests: [{ custom_id: 'a', body: { input: ['one', 'two'] } }],
    });
    await scene.router.batches.tick();
    const [result] = await all(scene.router.batches.results(id));
    expect(result?.response?.body).toMatchObject({
      id: expect.stringMatching(/^gen-batch-/) as string,
      object: 'list',
      data: [{ index: 0 }, { index: 1 }],
    });
    expect((await scene.router.batches.retrieve(id)).usage).toMatchObject({ prompt_tokens: 10 });
  });

  it('takes its model from its requests, and its requests from anywhere', async () => {
    const scene = batchScene();
    async function* rows() {
      for (let row = 0; row < 500; row += 1) {
        await Promise.resolve();
        yield {
          custom_id: `row ${row}`,
          body: { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] },
        } as const;
      }
    }
    const batch = await scene.router.batches.create({ endpoint: '/v1/chat/completions', requests: rows() });
    expect(batch).toMatchObject({ model: 'acme/one', request_counts: { total: 500 } });
  });

  it('runs a model that is named by its batch price', async () => {
    const scene = batchScene();
    const batch = await scene.router.batches.create(chatBatch(1, { model: 'acme/one:batch' }));
    expect(batch.model).toBe('acme/one:batch');
    await scene.router.batches.tick();
    expect((await scene.router.batches.retrieve(batch.id)).status).toBe('completed');
  });

  it('keeps to the providers that it names', async () => {
    const [first, second] = [batchProvider('first'), batchProvider('second')];
    const scene = batchScene({ providers: [first, second] });
    await scene.router.batches.create(chatBatch(6, { provider: { only: ['second'] } }));
    await scene.router.batches.tick();
    expect([first.calls.length, second.calls.length]).toEqual([0, 6]);
  });

  it.each([
    ['second', 'SECOND'],
    ['SECOND', 'second'],
    ['second', 'second/turbo'],
  ])('keeps to them with requests that write them otherwise: only %s, and %s', async (ofBatch, ofRequest) => {
    const endpoints = [1, 2].map((prompt) => ({
      tag: prompt === 1 ? undefined : 'turbo',
      price: { prompt, completion: 1 },
    }));
    const second = batchProvider('second', undefined, { models: { 'acme/one': endpoints } });
    const scene = batchScene({ providers: [batchProvider('first'), second] });
    const body = { messages: [{ role: 'user', content: 'Hi' }], provider: { only: [ofRequest] } } as never;
    const provider = { only: [ofBatch] };
    const { id } = await scene.router.batches.create(chatBatch(1, { provider, requests: [{ custom_id: 'a', body }] }));
    await scene.router.batches.tick();
    expect((await scene.router.batches.retrieve(id)).request_counts).toEqual({ total: 1, completed: 1, failed: 0 });
    expect(second.calls.map(({ endpoint }) => endpoint.tag)).toEqual([ofRequest.toLowerCase()]);
  });

  it('fails a request that leaves none of them, and no other', async () => {
    const scene = batchScene({ providers: [batchProvider('first'), batchProvider('second')] });
    const bodies = [undefined, { only: ['first'] }].map((provider) => ({
      messages: [{ role: 'user', content: 'Hi' }],
      provider,
    }));
    const requests = bodies.map((body, index) => ({ custom_id: `n${index}`, body })) as never;
    const { id } = await scene.router.batches.create(chatBatch(0, { provider: { only: ['second'] }, requests }));
    await scene.router.batches.tick();
    const messages: (string | undefined)[] = [];
    for await (const { error } of scene.router.batches.results(id)) messages.push(error?.message);
    expect(messages).toEqual([undefined, expect.stringContaining('No allowed providers are available')]);
  });

  it.each([
    ['/v1/chat/completions', { models: ['acme/two'] }, 'models[0]'],
    ['/v1/chat/completions', { models: ['acme/one', 'acme/two'] }, 'models[1]'],
    ['/v1/messages', { max_tokens: 5, fallbacks: [{ model: 'acme/two' }] }, 'fallbacks[0]'],
  ] as const)('has one model, and says so to a request that names others: %s %j', async (endpoint, more, path) => {
    const provider = batchProvider('up', undefined, { models: { 'acme/one': {}, 'acme/two': {} } });
    const scene = batchScene({ providers: [provider] });
    const requests = [{ custom_id: 'a', body: { ...more, messages: [{ role: 'user', content: 'Hi' }] } }];
    const { id } = await scene.router.batches.create({ endpoint, model: 'acme/one', requests });
    await scene.router.batches.tick();
    expect(await scene.router.batches.retrieve(id)).toMatchObject({
      status: 'failed',
      error: {
        message: expect.stringContaining(`requests[0].body.${path} must not name another model than "acme/one"`),
      },
    });
    expect(provider.calls).toHaveLength(0);
  });

  it.each(['acme/one', 'acme/one:batch'])('takes a list of models that repeats its own: %s', async (model) => {
    const provider = batchProvider('up', undefined, { models: { 'acme/one': {} } });
    const scene = batchScene({ providers: [provider] });
    const body = { models: ['acme/one', 'acme/one:batch'], messages: [{ role: 'user', content: 'Hi' }] };
    const requests = [{ custom_id: 'a', body }] as never;
    const { id } = await scene.router.batches.create({ endpoint: '/v1/chat/completions', model, requests });
    await scene.router.batches.tick();
    expect(await scene.router.batches.retrieve(id)).toMatchObject({
      status: 'completed',
      request_counts: { failed: 0 },
    });
  });

  it('is served by endpoints that are for batches, before all others', async () => {
    const half = { variant: 'batch', price: { prompt: 500, completion: 500 } } as const;
    const whole = { price: { prompt: 1_000, completion: 1_000 } };
    const both = batchProvider('both', undefined, { models: { 'acme/one': [whole, half] } });
    const scene = batchScene({ providers: [both] });
    for (const model of ['acme/one', 'acme/one:batch']) {
      const { id } = await scene.router.batches.create(chatBatch(3, { model }));
      await scene.router.batches.tick();
      const [result] = await all(scene.router.batches.results(id));
      expect(await scene.router.batches.retrieve(id)).toMatchObject({ model, status: 'completed' });
      // 15 tokens at 500 USD per million.
      expect(result?.response?.body).toMatchObject({ usage: { cost: 0.0075 } });
    }
    expect(both.calls.map(({ endpoint }) => endpoint.variant)).toEqual(Array.from({ length: 6 }, () => 'batch'));
    await scene.router.chat({ model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] });
    expect(both.calls.at(-1)?.endpoint.variant).toBeUndefined();
  });

  it('may be of a model that serves nothing else', async () => {
    const only = batchProvider('only', undefined, { models: { 'acme/one': { variant: 'batch' } } });
    const scene = batchScene({ providers: [only] });
    const { id } = await scene.router.batches.create(chatBatch(1));
    await scene.router.batches.tick();
    expect(await scene.router.batches.retrieve(id)).toMatchObject({ status: 'completed', provider: 'ONLY' });
    const chat = scene.router.chat({ model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] });
    await expect(chat).rejects.toMatchObject({ status: 400, availability: { code: 'wrong_endpoint' } });
  });

  it('names the provider that ran all of it, and none where several did', async () => {
    const alone = batchScene({ providers: [batchProvider('up')] });
    const { id } = await alone.router.batches.create(chatBatch(3));
    await alone.router.batches.tick();
    expect(await alone.router.batches.retrieve(id)).toMatchObject({ status: 'completed', provider: 'UP' });
    const refusing = batchProvider('a', ({ text }) =>
      text === 'r1' ? failing('unsupported_parameter', 400) : answer('ok'),
    );
    const two = batchScene({ providers: [refusing, batchProvider('b')] });
    const mixed = await two.router.batches.create({
      ...chatBatch(0),
      requests: ['r0', 'r1'].map((text) => ({
        custom_id: text,
        body: { provider: { order: ['a'] }, messages: [{ role: 'user' as const, content: text }] },
      })),
    });
    await two.router.batches.tick();
    expect(await two.router.batches.retrieve(mixed.id)).toMatchObject({ status: 'completed', provider: null });
  });

  it('names its provider while it runs, where there is only one', async () => {
    const seen: (string | null)[] = [];
    const scene = batchScene({
      providers: [batchProvider('up')],
      on: { batch: ({ batch }) => seen.push(`${batch.status} ${batch.provider}`) },
    });
    const body = { max_tokens: 9, messages: [{ role: 'user' as const, content: 'Hi' }] };
    await scene.router.batches.create({
      endpoint: '/v1/messages',
      model: 'acme/one',
      requests: [{ custom_id: 'a', body }],
    });
    await scene.router.batches.tick();
    expect(seen).toContain('in_progress UP');
    expect(seen.at(-1)).toBe('completed UP');
  });

  it.each([
    ['input_type', { input: 'one', input_type: 'query' }],
    ['provider', { input: 'one', provider: { only: ['up'] } }],
    ['input[1]', { input: [{ content: [] }, { content: [] }].map((one, index) => (index === 0 ? 'one' : one)) }],
    ['input[0]', { input: [{ content: [{ type: 'text', text: 'one' }] }] }],
  ])('embeds text alone, and routes as a whole: %s', async (path, body) => {
    const scene = batchScene({ providers: [embeddingStub('up', [embedsWith()])] });
    const requests = [{ custom_id: 'a', body }] as never;
    const { id } = await scene.router.batches.create({ endpoint: '/v1/embeddings', model: 'acme/embed', requests });
    await scene.router.batches.tick();
    const { status, error } = await scene.router.batches.retrieve(id);
    expect([status, error?.message.startsWith(`requests[0].body.${path} `)]).toEqual(['failed', true]);
  });

  const [JSON_OBJECT, ONE, OTHER] = [
    { type: 'json_object' },
    { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } },
    { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'array' } } },
  ];
  it.each([
    ['google/one', undefined, { type: 'text' }, 'completed'],
    ['google/one', JSON_OBJECT, JSON_OBJECT, 'completed'],
    ['google/one', ONE, ONE, 'completed'],
    ['google/one', undefined, JSON_OBJECT, 'failed'],
    ['google/one', JSON_OBJECT, ONE, 'failed'],
    ['google/one', ONE, OTHER, 'failed'],
    ['acme/one', ONE, OTHER, 'completed'],
  ])("has one response format where it is for one of Google's models: %s, %j and %j is %s", async (model, ...rest) => {
    const [first, second, expected] = rest;
    const provider = batchProvider('up', undefined, { models: { 'google/one': {}, 'acme/one': {} } });
    const scene = batchScene({ providers: [provider] });
    const requests = [first, second].map((format, index) => ({
      custom_id: `r${index}`,
      body: { messages: [{ role: 'user', content: 'Hi' }], response_format: format },
    })) as never;
    const { id } = await scene.router.batches.create({ endpoint: '/v1/chat/completions', model, requests });
    await scene.router.batches.tick();
    const { status, error } = await scene.router.batches.retrieve(id);
    expect(status).toBe(expected);
    expect(error?.message.startsWith('requests[1].body.response_format must be the same') ?? false).toBe(
      expected === 'failed',
    );
    expect(provider.calls).toHaveLength(expected === 'failed' ? 0 : 2);
  });

  it('keeps what a provider found out about tool calls, answer by answer', async () => {
    const findings = {
      alignment: { calls: [{ call: 'a', outcome: 'aligned', rules: [] }] },
      safeguard_results: [{ type: 'dangerous_tool_use', status: { type: 'completed', tool_uses: {} } }],
    };
    const finding = batchProvider('up', () => {
      const reply = answer('ok');
      return reply.type === 'whole' ? { ...reply, result: { ...reply.result, findings } } : reply;
    });
    const scene = batchScene({ providers: [finding] });
    const { id } = await scene.router.batches.create(chatBatch(2));
    await scene.router.batches.tick();
    for (const { response } of await all(scene.router.batches.results(id)))
      expect(response?.body).toMatchObject(findings);
  });

  it('counts requests that fail, and says why', async () => {
    const provider = batchProvider('up', ({ text }) =>
      text === 'r1' ? failing('invalid_request', 400) : answer('ok'),
    );
    const scene = batchScene({ providers: [provider] });
    const { id } = await scene.router.batches.create(chatBatch(3));
    await scene.router.batches.tick();
    expect(await scene.router.batches.retrieve(id)).toMatchObject({
      status: 'completed',
      request_counts: { total: 3, completed: 2, failed: 1 },
      usage: { total_tokens: 30 },
    });
    const results = await all(scene.router.batches.results(id));
    expect(results[1]).toMatchObject({
      custom_id: 'r1',
      response: null,
      error: { type: 'invalid_request_error', error_type: 'invalid_request', param: null },
    });
  });
});

describe('the batches of an account', () => {
  const [mine, theirs] = [{ account: { id: 'mine' } }, { account: { id: 'theirs' } }];

  it('are not there for others', async () => {
    const { router } = batchScene();
    const { id } = await router.batches.create(chatBatch(1), mine);
    await router.batches.tick();
    const unknown = await refusal(router.batches.retrieve('batch_none', theirs));
    expect(unknown).toMatchObject({ status: 404 });
    for (const attempt of [
      () => router.batches.retrieve(id, theirs),
      () => router.batches.cancel(id, theirs),
      () => router.batches.delete(id, theirs),
      () => all(router.batches.results(id, theirs)),
    ]) {
      expect((await refusal(attempt())).toDetail()).toEqual(unknown.toDetail());
    }
    expect(await router.batches.list(theirs)).toEqual({
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
    expect((await router.batches.list(mine)).data).toHaveLength(1);
  });

  it('keep the policy that the account had', async () => {
    const [first, second] = [batchProvider('first'), batchProvider('second')];
    const { router } = batchScene({ providers: [first, second] });
    await router.batches.create(chatBatch(4), { account: { id: 'mine', policy: { ignore: ['first'] } } });
    await router.batches.tick();
    expect([first.calls.length, second.calls.length]).toEqual([0, 4]);
  });

  it('run with the keys of the account, where somebody finds them', async () => {
    const provider = batchProvider('up');
    const account = { id: 'mine', providerKeys: { up: { apiKey: 'sk-mine' } } };
    const strange = batchScene({ providers: [provider] });
    expect(await refusal(strange.router.batches.create(chatBatch(1), { account }))).toMatchObject({ status: 403 });
    const { router } = batchScene({ providers: [provider], batches: { accountOf: () => account } });
    await router.batches.create(chatBatch(1), { account });
    await router.batches.tick();
    expect(provider.calls.map(({ apiKey }) => apiKey)).toEqual(['sk-mine']);
  });

  it('are listed newest first, in pages and by filters', async () => {
    const { router, environment } = batchScene();
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      ids.unshift((await router.batches.create(chatBatch(1))).id);
      await environment.advance(1_000);
    }
    const first = await router.batches.list({ limit: 2 });
    expect(first).toMatchObject({ first_id: ids[0], last_id: ids[1], has_more: true });
    const rest = await router.batches.list({ limit: 100, after: ids[1] });
    expect(rest.data.map(({ id }) => id)).toEqual(ids.slice(2));
    expect(rest.has_more).toBe(false);
    const [newest] = first.data;
    const bound = newest?.created_at ?? 0;
    expect((await router.batches.list({ createdAfter: bound - 1 })).data.map(({ id }) => id)).toEqual([ids[0]]);
    expect((await router.batches.list({ createdBefore: bound })).data.map(({ id }) => id)).toEqual(ids.slice(1));
    expect((await router.batches.list({ status: ['completed', 'failed'] })).data).toEqual([]);
    expect((await router.batches.list({ status: ['validating'] })).data).toHaveLength(5);
    expect(await refusal(router.batches.list({ limit: 101 }))).toMatchObject({ status: 400 });
  });
});

describe('deleting', () => {
  it('takes a batch that has ended, and no other', async () => {
    const { router } = batchScene();
    const { id } = await router.batches.create(chatBatch(1));
    expect(await refusal(router.batches.delete(id))).toMatchObject({ status: 409 });
    await router.batches.tick();
    expect(await router.batches.delete(id)).toEqual({
      id,
      object: 'batch',
      deletion: { router: 'deleted', upstream: { provider: 'UP', status: 'not_applicable' } },
    });
    expect(await refusal(router.batches.retrieve(id))).toMatchObject({ status: 404 });
    expect(await refusal(router.batches.delete(id))).toMatchObject({ status: 404 });
  });

  it('is done by itself when a batch is thirty days old', async () => {
    const queue = localQueue({ pollMs: 43_200_000 });
    const { router, environment } = batchScene({ batches: { queue } }, {}, { batches: { helpMs: 43_200_000 } });
    await router.batches.start();
    const { id } = await router.batches.create(chatBatch(1));
    await environment.advance(29 * 86_400_000);
    expect((await router.batches.retrieve(id)).status).toBe('completed');
    await environment.advance(2 * 86_400_000);
    expect(await refusal(router.batches.retrieve(id))).toMatchObject({ status: 404 });
    await router.close();
    expect(environment.pendingTimers).toBe(0);
  });
});
