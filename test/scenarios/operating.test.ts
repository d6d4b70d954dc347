import { createServer } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { apiKeys, createRouter, memoryStore, openaiCompatible, type Router, type RouterConfig } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { listen } from '../support/mounts.ts';
import { answerWith, startUpstream, type Upstream } from '../support/upstream.ts';

const KEYS = { acme: 'sk-acme-0123456789abcdef', zeta: 'sk-zeta-0123456789abcdef' } as const;
const OLD = 'up/old';
const NEW = 'up/new';

const opened: (() => PromiseLike<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

/** What a client sees of an answer. */
interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly id: string;
  readonly model: string;
  readonly message: string;
  readonly applied: unknown;
}

/** Routers behind sockets, all of one configuration and of one upstream. */
async function instances(count: number, config: RouterConfig) {
  const upstream: Upstream = await startUpstream(answerWith('Hello'));
  opened.push(() => upstream[Symbol.asyncDispose]());
  const all = await Promise.all(
    Array.from({ length: count }, async () => {
      const models = Object.fromEntries(
        [OLD, NEW].map((model) => [model, { upstreamModel: model, price: { prompt: 1_000, completion: 1_000 } }]),
      );
      const router: Router = createRouter({
        providers: [openaiCompatible({ slug: 'up', baseURL: upstream.baseURL, apiKey: 'sk-1', models })],
        authenticate: apiKeys(Object.entries(KEYS).map(([id, key]) => ({ id, key }))),
        ...config,
      });
      const mounted = await listen(createServer(nodeRouter(router)));
      opened.push(async () => {
        await mounted[Symbol.asyncDispose]();
        await router.close();
      });
      const ask = async (body: object, account: keyof typeof KEYS = 'acme'): Promise<Seen> => {
        const response = await fetch(`${mounted.baseURL}/chat/completions`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${KEYS[account]}`,
            'content-type': 'application/json',
            'x-router-metadata': 'enabled',
          },
          body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5, ...body }),
        });
        const json = (await response.json()) as {
          id?: string;
          model?: string;
          error?: { message: string };
          router_metadata?: { applied?: unknown };
        };
        return {
          status: response.status,
          headers: response.headers,
          id: json.id ?? '',
          model: json.model ?? '',
          message: json.error?.message ?? '',
          applied: json.router_metadata?.applied,
        };
      };
      return { router, ask };
    }),
  );
  const [first] = all;
  if (first === undefined) throw new RangeError('at least one');
  return { upstream, all, first };
}

describe('a gradual rollout', () => {
  it('keeps each session at its model, on three instances that share nothing, and says so everywhere', async () => {
    const split = [
      { model: OLD, weight: 70 },
      { model: NEW, weight: 30 },
    ];
    const events: unknown[] = [];
    const on = { result: ({ request }: { request: { applied?: unknown } }) => void events.push(request.applied) };
    const { all, first } = await instances(3, { aliases: { fast: { split } }, ledger: true, on });
    const models = new Set<string>();
    const told: unknown[] = [];
    for (let session = 0; session < 30; session += 1) {
      const seen = await Promise.all(all.map(({ ask }) => ask({ model: 'fast', session_id: `s${session}` })));
      const [{ model, applied } = { model: '', applied: undefined }] = seen;
      expect(seen.map((one) => one.model)).toEqual([model, model, model]);
      expect(applied).toEqual({ splits: [{ alias: 'fast', model, by: 'session' }] });
      expect(events.splice(0)).toEqual([applied, applied, applied]);
      models.add(model);
      told.push(applied);
    }
    expect(models).toEqual(new Set([OLD, NEW]));
    const { records = [] } = (await first.router.ledger?.read()) ?? {};
    expect(records.map(({ applied }) => applied)).toEqual(told);
  });
});

describe('rules', () => {
  it('rewrite, refuse and give preferences, by account, date and tag, each under its name', async () => {
    const { first, upstream } = await instances(1, {
      rules: [
        { id: 'retire', when: { accounts: ['acme'], models: [OLD], until: '2999-01-01' }, rewrite: NEW },
        { id: 'over', when: { models: [NEW], until: '2000-01-01' }, rewrite: OLD },
        { id: 'trial', when: { metadata: { plan: ['trial*'] } }, deny: 'The trial has ended' },
        { id: 'cheap', when: { accounts: ['zeta'] }, preferences: { sort: 'price' } },
      ],
    });
    const { ask } = first;
    expect(await ask({ model: OLD })).toMatchObject({ status: 200, model: NEW, applied: { rules: ['retire'] } });
    expect(await ask({ model: OLD }, 'zeta')).toMatchObject({ status: 200, model: OLD, applied: { rules: ['cheap'] } });
    const asked = upstream.requests.length;
    expect(await ask({ model: OLD, metadata: { plan: 'trial-7' } })).toMatchObject({
      status: 403,
      message: 'The trial has ended (rule trial)',
    });
    expect(upstream.requests).toHaveLength(asked);
  });
});

describe('limits and budgets of a tag or a session', () => {
  const shared = () => ({ state: memoryStore() });

  it('hold each value of a tag to its rate, on all instances together, and leave others alone', async () => {
    const rateLimits = { tags: { team: { requestsPerMinute: 3 } }, session: { requestsPerMinute: 2 } };
    const { all } = await instances(2, { rateLimits, ...shared() });
    const askAll = async (fields: object, account: keyof typeof KEYS, times: number): Promise<readonly number[]> => {
      const statuses: number[] = [];
      for (let index = 0; index < times; index += 1) {
        statuses.push((await all[index % 2]?.ask({ model: OLD, ...fields }, account))?.status ?? 0);
      }
      return statuses;
    };
    expect(await askAll({ metadata: { team: 'a' } }, 'acme', 5)).toEqual([200, 200, 200, 429, 429]);
    expect(await askAll({ metadata: { team: 'b' } }, 'acme', 3)).toEqual([200, 200, 200]);
    expect(await askAll({ metadata: { team: 'a' } }, 'zeta', 3)).toEqual([200, 200, 200]);
    expect(await askAll({ session_id: 'one' }, 'acme', 3)).toEqual([200, 200, 429]);
    expect(await askAll({ session_id: 'two' }, 'acme', 2)).toEqual([200, 200]);
    expect(await askAll({}, 'acme', 5)).toEqual([200, 200, 200, 200, 200]);
    const refused = await all[0]?.ask({ model: OLD, metadata: { team: 'a' } });
    expect(refused?.message).toContain('of metadata.team "a"');
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('end what a value of a tag or a session may spend, on all instances together', async () => {
    // A request reserves some 0.05 USD, and costs 0.015.
    const budgets = { tags: { team: { limitUsd: 0.07 } }, session: { limitUsd: 0.07, period: 'day' as const } };
    const { all } = await instances(2, { budgets, ...shared() });
    for (const fields of [{ metadata: { team: 'a' } }, { session_id: 'one' }]) {
      const statuses: number[] = [];
      for (let index = 0; index < 6; index += 1) {
        statuses.push((await all[index % 2]?.ask({ model: OLD, ...fields }))?.status ?? 0);
      }
      expect(statuses[0]).toBe(200);
      expect(statuses.at(-1)).toBe(402);
      // Once it is used up, it stays so.
      expect(statuses.toSorted((left, right) => left - right)).toEqual(statuses);
    }
    expect((await all[0]?.ask({ model: OLD, metadata: { team: 'b' } }))?.status).toBe(200);
    expect((await all[1]?.ask({ model: OLD, session_id: 'two' }))?.status).toBe(200);
  });
});
