import { createServer } from 'node:http';
import { type Router } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  BatchErrors,
  CostList,
  EndpointList,
  PlanNow,
  RecordPage,
  RequestList,
  RequestPage,
} from '../../src/inspector/wire.ts';
import { batchOf, inspectedRouter, sendTraffic } from '../support/inspected.ts';
import { listen, type Mounted } from '../support/mounts.ts';

let router: Router;
let mounted: Mounted;

beforeAll(async () => {
  router = inspectedRouter();
  mounted = await listen(createServer(nodeRouter(router)));
  await sendTraffic(router, 24);
});

afterAll(async () => {
  await mounted[Symbol.asyncDispose]();
  await router.close();
});

async function ask<Answer>(path: string): Promise<Answer> {
  const response = await fetch(`${mounted.baseURL}/inspector/api/${path}`);
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

describe('what the page is told', () => {
  it('of requests: the latest first, by every filter', async () => {
    const { rows } = await ask<RequestList>('requests');
    const ends = rows.map(({ at, duration_ms: ms = 0 }) => Math.round(at + ms));
    // Clocks are read one after the other.
    for (const [index, end] of ends.entries()) expect(end).toBeLessThan((ends[index - 1] ?? Infinity) + 5);
    const filters: readonly (readonly [string, (row: (typeof rows)[number]) => boolean])[] = [
      ['model=acme/quick', ({ model }) => model === 'acme/quick'],
      ['provider=alpha', ({ provider }) => provider === 'alpha'],
      ['account=team-b', ({ account }) => account === 'team-b'],
      ['error=any', ({ error_type: type }) => type !== undefined],
      ['tag=feature:search', ({ tags }) => tags?.['feature'] === 'search'],
    ];
    for (const [query, matches] of filters) {
      const found = await ask<RequestList>(`requests?${query}`);
      expect(found.rows.length).toBeGreaterThan(0);
      expect(found.rows.length).toBeLessThan(rows.length);
      expect([query, found.rows.map(({ id }) => id)]).toEqual([query, rows.filter(matches).map(({ id }) => id)]);
    }
  });

  it('of one request: its decision then and now, and cost parts that add up to what was charged', async () => {
    const { rows } = await ask<RequestList>('requests?model=acme/writer');
    for (const { id } of rows) {
      const { record, parts, now, draw } = await ask<RequestPage>(`requests/${id}`);
      expect(record.excluded).toMatchObject([{ endpoint: 'epsilon#acme/writer', reason: 'max_output_tokens' }]);
      expect(now?.steps.map(({ tag }) => tag).toSorted()).toEqual(['alpha', 'beta', 'delta', 'gamma/eu']);
      expect(now?.rejected).toMatchObject([{ tag: 'epsilon', reason: 'max_output_tokens' }]);
      for (const { attempt, parts: lines } of parts) {
        const cost = record.attempts.find(({ number }) => number === attempt)?.cost_nano_usd;
        expect(lines.reduce((sum, { nanoUsd }) => sum + nanoUsd, 0)).toBe(cost);
      }
      if (record.status === 200) expect(parts.length).toBeGreaterThan(0);
      // Where the order of the chances is told, the recorded number draws the one that came first.
      const shares = new Map(record.candidates.map(({ endpoint, share = 0 }) => [endpoint, share]));
      let left = record.decision?.roll ?? 0;
      const drawn = draw?.find((endpoint) => (left -= shares.get(endpoint) ?? 0) < 0);
      if (draw !== undefined) expect(drawn).toBe(record.candidates[0]?.endpoint);
    }
  });

  it('of endpoints: the one that fails has an open circuit, and shares of a model add up', async () => {
    const failing = { model: 'acme/broken', messages: [{ role: 'user' as const, content: 'Hello' }] };
    await Promise.all(Array.from({ length: 12 }, () => router.chat(failing).catch(() => {})));
    const { models, configuration } = await ask<EndpointList>('endpoints');
    expect(configuration).toEqual(router.configuration);
    const writer = models.find(({ model }) => model === 'acme/writer');
    const [broken] = models.find(({ model }) => model === 'acme/broken')?.endpoints ?? [];
    expect(broken).toMatchObject({ tag: 'delta', circuit: expect.stringMatching(/open/), calls: 0, uptime: 0 });
    expect(broken?.health).toBeLessThan(1);
    expect(writer?.endpoints.reduce((sum, { share = 0 }) => sum + share, 0)).toBeCloseTo(1);
    expect(writer?.endpoints[0]).toMatchObject({
      tag: 'alpha',
      price: { prompt: 0.5, completion: 2, cacheRead: 0.125 },
    });
    expect(writer?.endpoints[0]?.slices).toHaveLength(36);
    expect((await ask<EndpointList>('endpoints?q=quick')).models.map(({ model }) => model)).toEqual(['acme/quick']);
  });

  it('of the plan right now, without calling anybody', async () => {
    const before = (await ask<RequestList>('requests')).rows.length;
    const { steps } = await ask<PlanNow>('plan?model=acme/quick');
    expect(steps).toMatchObject([{ tag: 'alpha', why: 'only endpoint' }]);
    expect((await ask<RequestList>('requests')).rows).toHaveLength(before);
    expect((await fetch(`${mounted.baseURL}/inspector/api/plan?model=nobody/nothing`)).status).toBe(404);
  });

  it('of costs: the same total by every property', async () => {
    const totals = await Promise.all(
      ['day', 'model', 'provider', 'account', 'tag&tag=feature'].map(async (by) => {
        const { data, total } = await ask<CostList>(`costs?by=${by}`);
        expect(data.length).toBeGreaterThan(0);
        return total.cost_nano_usd;
      }),
    );
    expect(new Set(totals).size).toBe(1);
    const { records } = await ask<RecordPage>('records');
    expect(records.reduce((sum, record) => sum + (record.cost_nano_usd ?? 0), 0)).toBe(totals[0]);
    expect((await ask<CostList>('costs?by=tag')).tags).toEqual(['feature']);
  });

  it('of errors of a batch, by kind', async () => {
    await router.batches.start();
    const { id } = await router.batches.create(batchOf(6, 'acme/quick', 3));
    await expect.poll(async () => (await router.batches.retrieve(id)).status).toBe('completed');
    expect(await ask<BatchErrors>(`batches/${id}/errors?account=anonymous`)).toMatchObject({
      looked_at: 6,
      kinds: [{ kind: 'not_found', count: 2 }],
    });
  });

  it('has nothing at other addresses', async () => {
    for (const path of ['api', 'api/', 'api/nothing', 'api/batches/x', 'nothing', 'live/more']) {
      expect([path, (await fetch(`${mounted.baseURL}/inspector/${path}`)).status]).toEqual([path, 404]);
    }
  });
});
