import { describe, expect, it } from 'vitest';
import { createRouter, type Router, type RouterConfig } from 'signalbox';
import { type LedgerRecord, replay, replayTable } from 'signalbox/replay';
import { simulateTraffic } from 'signalbox/testing';
import { replayedWorld } from '../support/replayed-worlds.ts';
import { storm, STORMS_ARE_FULL } from '../support/storms.ts';

async function traffic(requests: number): Promise<{ records: readonly LedgerRecord[]; config: RouterConfig }> {
  let router: Router | undefined;
  let config: RouterConfig = {};
  await simulateTraffic(
    {
      endpoints: [
        { name: 'cheap', price: { prompt: 0.2, completion: 0.8 }, latency: { medianMs: 900 } },
        { name: 'dear', price: { prompt: 0.6, completion: 2.4 }, latency: { medianMs: 300 } },
        { name: 'middle', price: { prompt: 0.3, completion: 1.2 }, latency: { medianMs: 500 } },
      ],
      outages: { share: 0.05 },
      traffic: { requests, streaming: 0.7 },
    },
    (setup) => {
      config = { providers: setup.providers, strategy: 'balanced' };
      return (router = createRouter({ ...setup, ...config, ledger: { keep: 10_000 } }));
    },
  );
  const { records = [] } = (await router?.ledger?.read({ limit: 10_000 })) ?? {};
  return { records, config };
}

describe('a replay', () => {
  it('changes nothing under the same configuration', async () => {
    const { records, config } = await traffic(600);
    const report = await replay(records, config);
    expect(report).toMatchObject({ identical: true, differing: 0, reordered: 0, unroutable: 0, changes: [] });
    for (const metric of [report.cost_nano_usd, report.failures, report.first_token_ms, report.answer_ms]) {
      expect(metric.difference).toEqual({ value: 0, low: 0, high: 0 });
      expect([metric.before, metric.estimated, metric.unknown]).toEqual([metric.after, 0, 0]);
    }
    expect(report.decided).toBe(records.length);
  });

  it('gives the same bytes twice, also of records from a file that is read line by line', async () => {
    const { records, config } = await traffic(600);
    const next: RouterConfig = { ...config, strategy: 'adaptive' };
    async function* lines(): AsyncGenerator<LedgerRecord> {
      for (const record of records) yield (await Promise.resolve(JSON.parse(JSON.stringify(record)))) as LedgerRecord;
    }
    const [first, second] = [await replay(records, next), await replay(lines(), next)];
    expect(JSON.stringify(second)).toBe(JSON.stringify(first));
    expect(first.differing).toBeGreaterThan(10);
    expect(replayTable(second)).toBe(replayTable(first));
  });

  it('tells what other prices and fewer endpoints would have done', async () => {
    const { records, config } = await traffic(600);
    const {
      records: read,
      differing,
      changes,
      ...report
    } = await replay(records, { ...config, policy: { ignore: ['cheap'] } });
    const wentToCheap = records.filter(
      ({ candidates }) => candidates[0]?.endpoint.startsWith('cheap#') === true,
    ).length;
    expect(read).toBe(records.length);
    expect(differing).toBeGreaterThanOrEqual(wentToCheap);
    expect(changes.some(({ to }) => to === 'cheap#simulated/model')).toBe(false);
    const moved = changes.filter(({ from }) => from === 'cheap#simulated/model');
    expect(moved.reduce((sum, { requests }) => sum + requests, 0)).toBe(wentToCheap);
    expect(report.cost_nano_usd.difference.low).toBeGreaterThan(0);
    expect(report.first_token_ms.difference.high).toBeLessThan(0);
    const table = replayTable({ ...report, records: read, differing, changes });
    expect(table).toContain('| cheap#simulated/model | middle#simulated/model |');
    expect(table).toContain('≈');
  });

  it('says what it does not know: endpoints that nobody was sent to, and models that are gone', async () => {
    const { records, config } = await traffic(400);
    const withoutMiddle = records.filter(
      ({ attempts }) => !attempts.some(({ endpoint }) => endpoint.startsWith('middle#')),
    );
    const elsewhere = await replay(withoutMiddle, { ...config, policy: { only: ['middle'] } });
    expect(elsewhere.failures).toMatchObject({ requests: 0, unknown: withoutMiddle.length, estimated: 0 });
    expect(replayTable(elsewhere)).toContain('–');
    const nowhere = await replay(records, { ...config, policy: { only: ['nobody'] } });
    expect(nowhere).toMatchObject({ unroutable: records.length, differing: records.length });
  });

  it('holds the true difference in its 95 % interval in 93 of 100 worlds', async () => {
    const worlds = storm(100);
    const missed: Record<string, number> = { cost_nano_usd: 0, failures: 0, first_token_ms: 0, answer_ms: 0 };
    let estimated = 0;
    for (let seed = 1; seed <= worlds; seed += 1) {
      const { report, truths } = await replayedWorld(seed);
      estimated += report.failures.estimated;
      for (const { metric, difference, interval } of truths) {
        if (difference < interval.low || difference > interval.high) missed[metric] = (missed[metric] ?? 0) + 1;
      }
    }
    // A replay that estimates nothing would hold every difference.
    expect(estimated).toBeGreaterThan(50 * worlds);
    // Of ten worlds, two may be missed by chance.
    const most = STORMS_ARE_FULL ? 7 : 2;
    console.info(`of ${worlds} worlds the interval misses the true difference: ${JSON.stringify(missed)}`);
    for (const count of Object.values(missed)) expect(count).toBeLessThanOrEqual(most);
  });
});
