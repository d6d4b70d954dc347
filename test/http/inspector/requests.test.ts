import { createServer } from 'node:http';
import { type Router } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  BatchErrorCounts,
  ColdList,
  CostList,
  EndpointRows,
  Overview,
  PlanNow,
  RecordPage,
  RequestList,
  RequestPage,
  Suggestions,
  Timeline,
} from '../../../src/http/inspector/wire.ts';
import { warn } from '../../../src/runtime/events/events.ts';
import { batchOf, inspectedRouter, sendTraffic } from '../../support/inspected.ts';
import { listen, type Mounted } from '../../support/mounts.ts';

let router: Router;
let mounted: Mounted;

beforeAll(async () => {
  router = inspectedRouter({ on: { warning: () => {} } });
  mounted = await listen(createServer(nodeRouter(router)));
  await sendTraffic(router, 24);
  warn(router.internals.services.events, { code: 'test_warning', message: 'Something is not as it should be' });
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
  it('of cold prompt caches, by cause', async () => {
    const { data, requests } = await ask<ColdList>('cold');
    expect(requests).toBeGreaterThan(10);
    expect(data.map(({ cause }) => cause)).toContain('first');
    expect(data.every((one) => one.requests > 0 && one.places.length > 0)).toBe(true);
  });

  it('of requests: the latest first, by every filter', async () => {
    const { rows } = await ask<RequestList>('requests');
    expect(rows.map(({ at }) => at)).toEqual(rows.map(({ at }) => at).toSorted((left, right) => right - left));
    const longest = Math.max(...rows.map(({ duration_ms: ms = 0 }) => ms));
    const filters: readonly (readonly [string, (row: (typeof rows)[number]) => boolean])[] = [
      ['model=acme/quick', ({ model }) => model === 'acme/quick'],
      ['provider=alpha', ({ provider }) => provider === 'alpha'],
      ['account=team-b', ({ account }) => account === 'team-b'],
      ['error=any', ({ error_type: type }) => type !== undefined],
      ['tag=feature:search', ({ tags }) => tags?.['feature'] === 'search'],
      ['stream=true', ({ stream }) => stream],
      ['endpoint=alpha%23acme/writer', ({ attempts }) => attempts.at(-1)?.endpoint === 'alpha#acme/writer'],
      [
        'called=delta%23acme/broken',
        ({ attempts }) => attempts.some(({ endpoint }) => endpoint === 'delta#acme/broken'),
      ],
      [`longer=${longest}`, ({ duration_ms: ms = 0 }) => ms >= longest],
      [`from=${rows[5]?.at}`, ({ at }) => at >= (rows[5]?.at ?? 0)],
      [`to=${rows[5]?.at}`, ({ at }) => at < (rows[5]?.at ?? 0)],
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
    const { models, configuration } = await ask<EndpointRows>('endpoints');
    expect(configuration).toEqual(router.versions.at(-1));
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
    expect((await ask<EndpointRows>('endpoints?q=quick')).models.map(({ model }) => model)).toEqual(['acme/quick']);
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
    // Where no tag is named, the first that there is.
    const byTag = await ask<CostList>('costs?by=tag');
    expect(byTag).toMatchObject({ tags: ['feature'], tag: 'feature', total: { cost_nano_usd: totals[0] } });
    expect(byTag.data.map(({ key }) => key)).toEqual(expect.arrayContaining(['chat', 'search', 'summary']));
  });

  it('of errors of a batch, by kind', async () => {
    await router.batches.start();
    const { id } = await router.batches.create(batchOf(6, 'acme/quick', 3));
    await expect.poll(async () => (await router.batches.retrieve(id)).status).toBe('completed');
    expect(await ask<BatchErrorCounts>(`batches/${id}/errors?account=anonymous`)).toMatchObject({
      looked_at: 6,
      kinds: [{ kind: 'not_found', count: 2 }],
    });
  });

  it('of what is wrong now: failures by endpoint and kind, endpoints that are out, warnings, the last hour', async () => {
    const { failures = [], circuits, hour, warnings } = await ask<Overview>('overview');
    const { rows } = await ask<RequestList>('requests?error=any');
    expect(failures.reduce((sum, { requests }) => sum + requests, 0)).toBe(rows.length);
    // How many were refused while its circuit was open depends on how fast this machine is.
    expect(failures[0]).toMatchObject({ endpoint: 'delta#acme/broken' });
    const most = failures.find(({ error_type: type }) => type === 'provider_unavailable');
    expect(most).toMatchObject({ endpoint: 'delta#acme/broken' });
    const query = new URLSearchParams({ error: most?.error_type ?? '', endpoint: most?.endpoint ?? '' });
    expect((await ask<RequestList>(`requests?${query.toString()}`)).rows).toHaveLength(most?.requests ?? 0);
    expect(circuits[0]).toMatchObject({ id: 'delta#acme/broken', circuit: expect.stringMatching(/open/) });
    expect(hour).toMatchObject({ failed: rows.length, requests: expect.any(Number) });
    expect(warnings.map(({ code }) => code)).toContain('test_warning');
  });

  it('of requests over time: slots without requests are there, too, and their sum is that of the ledger', async () => {
    const { data } = await ask<CostList>('costs?by=day');
    for (const [span, count] of [
      ['hour', 60],
      ['day', 72],
      ['week', 84],
    ] as const) {
      const { slots = [], slot_ms: ms } = await ask<Timeline>(`timeline?span=${span}`);
      expect(slots).toHaveLength(count);
      expect(slots.every(({ at }, index) => at === (slots[0]?.at ?? 0) + index * ms)).toBe(true);
      const sum = (name: 'requests' | 'failed' | 'cost_nano_usd'): number =>
        slots.reduce((all, slot) => all + slot[name], 0);
      const total = (name: 'requests' | 'failed' | 'cost_nano_usd'): number =>
        data.reduce((all, cost) => all + cost[name], 0);
      expect([span, sum('requests'), sum('failed'), sum('cost_nano_usd')]).toEqual([
        span,
        total('requests'),
        total('failed'),
        total('cost_nano_usd'),
      ]);
      expect(slots.some(({ first_token_ms: first = 0 }) => first > 10)).toBe(true);
    }
  });

  it('of filters: values that requests had', async () => {
    const { account, tag, endpoint, error } = await ask<Suggestions>('suggestions');
    expect(account).toEqual(expect.arrayContaining(['team-a', 'team-b', 'team-c']));
    expect(tag).toContain('feature:search');
    expect(endpoint).toContain('alpha#acme/writer');
    expect(error?.[0]).toBe('any');
  });

  it('of pages: every request once, whatever the page', async () => {
    const all = await ask<RequestList>('requests');
    const ids: string[] = [];
    let after: string | undefined;
    do {
      const page: RequestList = await ask(`requests?limit=7${after === undefined ? '' : `&after=${after}`}`);
      expect(page.rows.length).toBeLessThanOrEqual(7);
      ids.push(...page.rows.map(({ id }) => id));
      after = page.next;
    } while (after !== undefined);
    expect(ids.slice(0, all.rows.length)).toEqual(all.rows.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    for (const cursor of ['x', '1.x', '1.2.3']) {
      expect((await fetch(`${mounted.baseURL}/inspector/api/requests?after=${cursor}`)).status).toBe(400);
    }
  });

  it('has nothing at other addresses', async () => {
    for (const path of ['api', 'api/', 'api/nothing', 'api/batches/x', 'nothing', 'live/more']) {
      expect([path, (await fetch(`${mounted.baseURL}/inspector/${path}`)).status]).toEqual([path, 404]);
    }
  });
});
