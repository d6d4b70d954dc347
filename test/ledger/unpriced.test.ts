import { createRouter, memoryStorage, type Router, type RouterConfig, RouterError } from 'signalbox';
import { replay, replayTable } from 'signalbox/replay';
import { describe, expect, it } from 'vitest';
import { csvLine, CSV_HEAD } from '../../src/core/ledger/csv.ts';
import { send } from '../support/http-call.ts';
import { ask, instant } from '../support/simulated.ts';

const PRICED = { 'acme/one': { price: { prompt: 1, completion: 2 } } };
const FREE = { 'acme/free': { price: { prompt: 0, completion: 0 } } };
const UNPRICED = { 'acme/unknown': {} };

function routerOf(config: Partial<RouterConfig> = {}): Router {
  return createRouter({
    providers: [instant({ slug: 'a', models: { ...PRICED, ...FREE, ...UNPRICED } })],
    catalog: [],
    allowAnonymous: true,
    ledger: true,
    on: { warning: () => {} },
    ...config,
  });
}

const say = async (router: Router, model: string): Promise<string> => (await router.chat({ ...ask('Hi'), model })).id;

describe('a request whose price is unknown', () => {
  it('has no cost in its record, and counts apart in every sum; what is free stays 0', async () => {
    const router = routerOf();
    const ids = [await say(router, 'acme/one'), await say(router, 'acme/free'), await say(router, 'acme/unknown')];
    const [one, free, unknown] = await Promise.all(ids.map((id) => router.ledger?.one(id)));
    expect(one?.cost_nano_usd).toBeGreaterThan(0);
    expect(free?.cost_nano_usd).toBe(0);
    expect(free?.attempts[0]).not.toHaveProperty('unpriced');
    expect(unknown).not.toHaveProperty('cost_nano_usd');
    expect(unknown?.attempts).toMatchObject([{ unpriced: true }]);
    const costs = (await router.ledger?.costs({ by: 'model' })) ?? [];
    expect(Object.fromEntries(costs.map(({ key, unpriced }) => [key, unpriced]))).toEqual({
      'acme/one': 0,
      'acme/free': 0,
      'acme/unknown': 1,
    });
    const cells = (line: string): Record<string, string | undefined> =>
      Object.fromEntries(CSV_HEAD.split(',').map((name, index) => [name, line.split(',')[index]]));
    expect(unknown && cells(csvLine(unknown))).toMatchObject({ cost_nano_usd: '', cost_usd: '' });
    expect(free && cells(csvLine(free))).toMatchObject({ cost_nano_usd: '0', cost_usd: '0.000000000' });
  });

  it('is null in GET /generation, and counted in GET /ledger/costs', async () => {
    const router = routerOf({ authenticate: () => ({ id: 'operator', scopes: ['operator', 'inference'] }) });
    const id = await say(router, 'acme/unknown');
    await say(router, 'acme/one');
    const headers = { authorization: 'Bearer key' };
    const generation = await send(router, { method: 'GET', path: '/generation', query: `id=${id}`, headers });
    expect(JSON.parse(generation.text)).toMatchObject({ data: { total_cost: null, usage: null } });
    const costs = await send(router, { method: 'GET', path: '/ledger/costs', query: 'by=account', headers });
    expect(JSON.parse(costs.text)).toMatchObject({ total: { requests: 2, unpriced: 1 } });
  });

  it('is not charged to a budget that allows it, and is unknown in its record all the same', async () => {
    const router = routerOf({ budgets: { default: { limitUsd: 1 }, unknownPrice: 'allow' } });
    const record = await router.ledger?.one(await say(router, 'acme/unknown'));
    expect(record).not.toHaveProperty('cost_nano_usd');
    expect(record?.attempts).toMatchObject([{ unpriced: true }]);
    const refusing = routerOf({ budgets: { default: { limitUsd: 1 } } });
    const error: unknown = await say(refusing, 'acme/unknown').catch((thrown: unknown) => thrown);
    expect(RouterError.isInstance(error) && error.status).toBe(402);
    // Nobody was called, so it cost nothing, which is known.
    const { records } = (await refusing.ledger?.read()) ?? { records: [] };
    expect(records).toMatchObject([
      { status: 402, cost_nano_usd: 0, reason: expect.stringMatching(/^This account has a budget/) },
    ]);
  });

  it('is left out of the cost of a replay, which says so', async () => {
    const router = routerOf();
    for (let sent = 0; sent < 3; sent += 1) await say(router, 'acme/unknown');
    await say(router, 'acme/one');
    const { records } = (await router.ledger?.read()) ?? { records: [] };
    const report = await replay(records, {
      providers: [instant({ slug: 'a', models: { ...PRICED, ...FREE, ...UNPRICED } })],
      catalog: [],
    });
    expect(report).toMatchObject({ decided: 4, unpriced: 3, cost_nano_usd: { requests: 1 } });
    expect(replayTable(report)).toContain('And 3 of unknown price');
  });

  it('counts in a batch as anywhere else', async () => {
    const router = routerOf({ batches: { storage: memoryStorage() } });
    await router.batches.start();
    const { id } = await router.batches.create({
      endpoint: '/v1/chat/completions',
      model: 'acme/unknown',
      requests: [{ custom_id: 'a', body: { messages: [{ role: 'user', content: 'Hi' }] } }],
    });
    await expect.poll(async () => (await router.batches.retrieve(id)).status).toBe('completed');
    const { records } = (await router.ledger?.read()) ?? { records: [] };
    expect(records[0]).toMatchObject({ batch: true, attempts: [{ unpriced: true }] });
    await router.close();
  });
});
