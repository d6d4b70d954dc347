import { describe, expect, it } from 'vitest';
import {
  type Account,
  apiKeys,
  createRouter,
  type Provider,
  type Router,
  type RouterConfig,
  RouterError,
} from 'signalbox';
import { askAndWait, benchOf } from '../support/driving.ts';
import { fakeEnvironment } from 'signalbox/testing';
import { type LedgerRecord, replay } from 'signalbox/replay';
import { batchScene, chatBatch } from '../support/batches.ts';
import { type CallInit, send } from '../support/http-call.ts';
import { nativeProvider } from '../support/native-provider.ts';
import { ask, instant } from '../support/simulated.ts';

async function recordsOf(router: Router): Promise<readonly LedgerRecord[]> {
  return (await router.ledger?.read({ limit: 1_000 }))?.records ?? [];
}

describe('a request that is refused', () => {
  const KEYS = { user: 'key-of-user-0123456789', manager: 'key-of-manager-01234' };

  function guarded(more: RouterConfig = {}): Router {
    return createRouter({
      providers: [instant({ models: { 'acme/one': { price: { prompt: 1, completion: 2 } } } })],
      catalog: [],
      environment: fakeEnvironment(),
      authenticate: apiKeys([
        { key: KEYS.user, id: 'user' },
        { key: KEYS.manager, id: 'manager', scopes: ['management'] },
      ]),
      ledger: { tags: ['team'] },
      ...more,
    });
  }

  function post(router: Router, body: unknown, init: CallInit & { readonly key?: string } = {}) {
    const { key = KEYS.user, headers, ...rest } = init;
    const own = { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers };
    return send(router, { ...rest, headers: own, body });
  }

  it('is recorded once its account is known, with what could be read of it', async () => {
    const router = guarded();
    const asked = { model: 'acme/one', messages: [{ role: 'user', content: 'A secret' }], metadata: { team: 'x' } };
    const told = [
      await post(router, 'not JSON'),
      await post(router, { ...asked, stream: true, temperature: 'hot' }),
      await post(router, { ...asked, model: 'acme/none' }),
      await post(router, asked, { key: KEYS.manager }),
      await post(router, { input: 'A secret', model: 7 }, { path: '/embeddings' }),
      await post(router, { model: 'acme/one', input: 5 }, { path: '/responses' }),
      await post(router, asked, { headers: { 'content-type': 'text/plain' } }),
      await post(router, asked, { key: 'nobody-knows-this-key' }),
    ].map(({ status }) => status);
    const records = await recordsOf(router);
    expect(told).toEqual([400, 400, 400, 403, 400, 400, 415, 401]);
    // Nobody is behind the last one.
    expect(records.map(({ status }) => status)).toEqual(told.slice(0, -1));
    expect(records.map(({ account, format, requested, stream }) => [account, format, requested, stream])).toEqual([
      ['user', 'chat', '', false],
      ['user', 'chat', 'acme/one', true],
      ['user', 'chat', 'acme/none', false],
      ['manager', 'chat', '', false],
      ['user', 'embeddings', '', false],
      ['user', 'responses', 'acme/one', false],
      ['user', 'chat', '', false],
    ]);
    expect(records[1]?.tags).toEqual({ team: 'x' });
    expect(records.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/JSON/),
      expect.stringMatching(/^temperature must be a number/),
      expect.stringMatching(/model/),
      expect.stringMatching(/inference/),
      expect.stringMatching(/^model must/),
      expect.stringMatching(/^input must/),
      expect.stringMatching(/^The content type must/),
    ]);
    // Nobody has checked these bodies: what is kept of them is bounded.
    const members = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`key${index}`, 'v'.repeat(100)]));
    await post(router, {
      model: 'm'.repeat(100_000),
      messages: 7,
      metadata: { ...members, team: 't'.repeat(100_000) },
    });
    const long = (await recordsOf(router)).at(-1);
    expect(Object.keys(long?.tags ?? {})).toEqual(['team']);
    expect(JSON.stringify(long).length).toBeLessThan(2_000);
    expect(new Set(records.map(({ id }) => id)).size).toBe(records.length);
    for (const record of records) {
      expect(record).toMatchObject({ refused: true, cost_nano_usd: 0, candidates: [], attempts: [] });
      expect(record.error_type).toBeDefined();
    }
    expect(JSON.stringify(records)).not.toContain('secret');
  });

  it('by a rule, or because it comes too soon, is recorded too, and an in-process one as well', async () => {
    const router = guarded({
      rules: [{ id: 'no-mars', when: { metadata: { planet: ['mars'] } }, deny: 'Not there' }],
      rateLimits: { default: { requestsPerMinute: 1 } },
    });
    const refuse = async (body: object): Promise<void> => {
      await router.chat(body as never, { account: { id: 'ada' } }).catch((error: unknown) => {
        if (!RouterError.isInstance(error)) throw error;
      });
    };
    const body = { ...ask('Hi'), model: 'acme/one' };
    await refuse({ ...body, metadata: { planet: 'mars' } });
    await refuse(body);
    await refuse({ ...body, session_id: 's' });
    await refuse({ ...body, messages: 'none' });
    const records = await recordsOf(router);
    expect(records.map(({ status, refused }) => [status, refused])).toEqual([
      [403, true],
      [200, undefined],
      [429, true],
      [400, true],
    ]);
    expect(records[2]?.session).toMatch(/^s_/);
    expect(records[0]?.reason).toMatch(/^Not there.*no-mars/);
    expect(records[2]?.reason).toMatch(/^Rate limit exceeded/);
    expect(records[1]).not.toHaveProperty('reason');
  });
});

describe('what the configuration made of a request', () => {
  it('is in its record, and a replay keeps the models that were chosen', async () => {
    const models = { 'acme/one': { price: { prompt: 1, completion: 2 } }, 'acme/two': {}, 'acme/three': {} };
    const config: RouterConfig = {
      providers: [instant({ slug: 'a', models }), instant({ slug: 'b', models })],
      catalog: [],
      aliases: {
        fast: {
          split: [
            { model: 'acme/one', weight: 1 },
            { model: 'acme/two', weight: 1 },
          ],
          by: 'request',
        },
      },
      rules: [
        { id: 'eu', when: { metadata: { region: ['eu'] } }, preferences: { only: ['b'] } },
        { id: 'old', when: { models: ['acme/old'] }, rewrite: ['acme/three', 'acme/one'] },
        { id: 'no-three', when: { models: ['acme/three'] }, deny: 'It is gone (soon)' },
      ],
    };
    const router = createRouter({ ...config, environment: fakeEnvironment(), ledger: true });
    for (let sent = 0; sent < 8; sent += 1) await router.chat({ ...ask('Hi'), model: 'fast' });
    await router.chat({ ...ask('Hi'), model: 'acme/one', metadata: { region: 'eu' } });
    await router.chat({ ...ask('Hi'), model: 'acme/old' });
    await router.chat(
      { ...ask('Hi'), model: 'acme/one' },
      {
        account: { id: 'ada', policy: { excludedModels: ['acme/two'] } },
      },
    );
    const records = await recordsOf(router);
    expect(new Set(records.slice(0, 8).map(({ applied }) => applied?.splits?.[0]?.model)).size).toBe(2);
    expect(records[0]?.applied?.splits?.[0]).toMatchObject({ alias: 'fast', by: 'request' });
    expect(records[8]?.applied).toEqual({ rules: ['eu'] });
    expect(records[9]).toMatchObject({ applied: { rules: ['old'] }, model: 'acme/one' });
    expect(records[9]?.excluded[0]).toMatchObject({ reason: 'rule', detail: 'It is gone (soon) (rule no-three)' });
    expect(records[10]?.applied).toBeUndefined();
    const again = records.map((record) => JSON.parse(JSON.stringify(record)) as LedgerRecord);
    expect(await replay(again, config)).toMatchObject({ identical: true, decided: records.length });
  });
});

describe('a conversation with encrypted reasoning', () => {
  it('is decided again by who made it, without a word of it in the record', async () => {
    const sealed = (slug: string, prompt: number): Provider => ({
      slug,
      name: slug,
      models: { 'acme/one': { price: { prompt, completion: prompt } } },
      chat: () =>
        Promise.resolve({
          type: 'whole',
          result: {
            choices: [
              {
                index: 0,
                finish_reason: 'stop',
                native_finish_reason: 'stop',
                logprobs: null,
                message: {
                  role: 'assistant',
                  content: 'Hi',
                  refusal: null,
                  reasoning: null,
                  reasoning_details: [{ type: 'reasoning.encrypted', data: `sealed-by-${slug}`, index: 0 }],
                },
              },
            ],
          },
        }),
    });
    const config: RouterConfig = { providers: [sealed('dear', 9), sealed('cheap', 1)], catalog: [] };
    const router = createRouter({ ...config, environment: fakeEnvironment(), ledger: true });
    const first = await router.chat({ ...ask('One'), model: 'acme/one', provider: { order: ['dear'] } });
    const message = first.choices[0]?.message;
    await router.chat({
      model: 'acme/one',
      messages: [
        { role: 'user', content: 'One' },
        { role: 'assistant', content: 'Hi', reasoning_details: message?.reasoning_details },
        { role: 'user', content: 'Two' },
      ],
    });
    const records = await recordsOf(router);
    expect(records[1]?.decision?.reasoning_origins).toEqual(['dear']);
    expect(records[1]?.candidates[0]).toMatchObject({
      endpoint: 'dear#acme/one',
      why: 'made the encrypted reasoning of the conversation',
    });
    expect(JSON.stringify(records)).not.toContain('sealed-by');
    expect(await replay(records, config)).toMatchObject({ identical: true, decided: 2 });
    const forgotten = records.map((record) => ({
      ...record,
      decision: record.decision && { ...record.decision, reasoning_origins: undefined },
    }));
    expect(await replay(forgotten, config)).toMatchObject({ identical: false });
  });
});

describe('endpoints that count tokens in ways of their own', () => {
  it('are decided about again as they were known to count', async () => {
    const long = 'Signals and semaphores are older than radio. '.repeat(60);
    const counting = (slug: string, contextLength: number, factor: number): Provider => {
      const provider = instant({
        slug,
        models: { 'acme/one': { contextLength, price: { prompt: 1, completion: 1 } } },
      });
      return {
        ...provider,
        chat: async (call) => {
          const reply = await provider.chat(call);
          if (reply.type !== 'whole') return reply;
          const tokens = Math.round(600 * factor);
          const usage = { prompt_tokens: tokens, completion_tokens: 5, total_tokens: tokens + 5 };
          return { ...reply, result: { ...reply.result, usage } };
        },
      };
    };
    const config: RouterConfig = {
      providers: [counting('wide', 100_000, 1), counting('tight', 1_000, 2)],
      catalog: [],
    };
    const router = createRouter({ ...config, environment: fakeEnvironment(), ledger: true });
    for (let sent = 0; sent < 12; sent += 1) {
      await router.chat({ ...ask(long), model: 'acme/one', provider: { order: [sent % 2 === 0 ? 'tight' : 'wide'] } });
    }
    for (let sent = 0; sent < 12; sent += 1) await router.chat({ ...ask(long), model: 'acme/one' });
    const records = await recordsOf(router);
    const known = records.flatMap(({ candidates }) => candidates.flatMap(({ seen }) => seen?.tokens ?? []));
    expect(known.length).toBeGreaterThan(0);
    expect(records.at(-1)?.candidates[1]?.why).toContain('its context is likely too short');
    expect(await replay(records, config)).toMatchObject({ identical: true, decided: records.length });
    const forgotten = records.map((record) => ({
      ...record,
      candidates: record.candidates.map((one) => ({ ...one, seen: { ...one.seen, tokens: undefined } })),
    }));
    expect(await replay(forgotten, config)).toMatchObject({ identical: false });
  });
});

describe('a request that its provider runs in a batch of its own', () => {
  it('has a record, whether it was answered, failed, expired or was cancelled', async () => {
    const provider = nativeProvider('up', {
      results: ([first, second, third, fourth]) => [
        { id: first?.id ?? '', type: 'answered', body: 'first' },
        { id: second?.id ?? '', type: 'failed', failure: { kind: 'context_length', message: 'too long' } },
        { id: third?.id ?? '', type: 'expired' },
        { id: fourth?.id ?? '', type: 'cancelled' },
        { id: first?.id ?? '', type: 'answered', body: 'again' },
      ],
    });
    const account: Account = { id: 'anonymous' };
    const told: number[] = [];
    const scene = batchScene({
      providers: [provider],
      ledger: true,
      on: { batch: ({ batch }) => void told.push(batch.usage?.cost ?? 0) },
    });
    const { id } = await scene.router.batches.create(chatBatch(4), { account });
    await scene.router.batches.start();
    const batch = await scene.ended(id);
    const records = await recordsOf(scene.router);
    expect(records.map(({ status, error_type: type }) => [status, type])).toEqual([
      [200, undefined],
      [400, 'context_length_exceeded'],
      [408, 'timeout'],
      [499, 'unmapped'],
    ]);
    for (const record of records) {
      expect(record).toMatchObject({ batch: true, provider: 'up', endpoint: 'up#acme/one', account: 'anonymous' });
      expect(record.id).toMatch(/^gen-batch-/);
      expect(record.candidates).toEqual([{ endpoint: 'up#acme/one', why: 'its provider runs the whole batch' }]);
    }
    expect(records[0]).toMatchObject({ finish_reason: 'stop', usage: { prompt_tokens: 10, completion_tokens: 5 } });
    expect(records[0]?.duration_ms).toBeGreaterThan(1_000);
    // Half of 1 USD per million for ten tokens, and of 2 for five.
    expect(records.map(({ cost_nano_usd: cost }) => cost)).toEqual([10_000, 0, 0, 0]);
    expect(Math.round((batch.usage?.cost ?? 0) * 1e9)).toBe(10_000);
    expect(Math.round((told.at(-1) ?? 0) * 1e9)).toBe(10_000);
    await scene.router.batches.stop({ graceMs: 0 });
  });
});

describe('a session that goes on', () => {
  it('expects what providers have reported of the length of prompts, says so in explain, and has it in its record', async () => {
    const usage = { prompt_tokens: 2_000, completion_tokens: 10, total_tokens: 2_010 };
    const models = { 'acme/one': { price: { prompt: 1, completion: 1 } } };
    const bench = benchOf({ east: { models, behaves: () => ({ does: 'answer', usage }) } }, { ledger: true });
    const body = ask('Tell me more. '.repeat(300), { model: 'acme/one' });
    const expectedUsd = async () => (await bench.router.explain(body)).steps[0]?.decision?.expectedCostUsd ?? 0;
    const before = await expectedUsd();
    await askAndWait(bench, { body });
    expect(before).toBeLessThan(0.0016);
    expect(await expectedUsd()).toBeCloseTo(0.00201, 5);
    await askAndWait(bench, { body });
    const [first, second] = await recordsOf(bench.router);
    expect(first?.decision?.prompt_ratio).toBeUndefined();
    expect(second?.decision?.prompt_ratio).toBeCloseTo(2_000 / ((300 * 14) / 4), 1);
    await bench.router.close();
  });

  it('has in its record what further requests were expected to cost, which decided too', async () => {
    const models = (prompt: number) => ({ 'acme/one': { price: { prompt, completion: 2, cacheRead: prompt / 10 } } });
    const router = createRouter({
      providers: [instant({ slug: 'east', models: models(1) }), instant({ slug: 'west', models: models(3) })],
      catalog: [],
      environment: fakeEnvironment(),
      allowAnonymous: true,
      ledger: true,
    });
    const long = ask('Tell me more. '.repeat(500), { model: 'acme/one', session_id: 'long' });
    await router.chat(long);
    await router.chat(long);
    const [first, second] = await recordsOf(router);
    expect(first?.candidates.map(({ later_cost_nano_usd: later }) => later)).toEqual([undefined, undefined]);
    const costs = second?.candidates.map((one) => [one.expected_cost_nano_usd ?? 0, one.later_cost_nano_usd ?? 0]);
    const [[now = 0, later = 0] = [], [nowElsewhere = 0, laterElsewhere = 0] = []] = costs ?? [];
    expect(now).toBeLessThan(nowElsewhere);
    expect(later).toBeGreaterThan(0);
    // Wherever its prompt is cached, a further request costs less than one that is cached nowhere.
    expect(laterElsewhere).toBeGreaterThan(later);
    expect(laterElsewhere).toBeLessThan(nowElsewhere);
    await router.close();
  });
});
