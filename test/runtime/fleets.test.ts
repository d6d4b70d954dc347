import { describe, expect, it } from 'vitest';
import { createRouter } from '../../src/index.ts';
import {
  SIMULATED_MODEL,
  type SimulatedEndpoint,
  type SimulatedSetup,
  simulateTraffic,
  type TrafficClient,
  type TrafficReport,
  type TrafficWorld,
} from '../../src/entries/testing.ts';
import { balancer, leastBusy, prefixHashing } from '../../bench/fleets/policies.ts';
import { atLoad, conversations, dearer, fleet, regions, slowAndFast } from '../../bench/fleets/worlds.ts';

type Options = NonNullable<Parameters<typeof createRouter>[0]>;

const ours = (world: TrafficWorld, options: Partial<Options> = {}): Promise<TrafficReport> =>
  simulateTraffic(world, (setup) => createRouter({ ...setup, ...options }));

describe('a fleet of equal servers', () => {
  const world: TrafficWorld = {
    seed: 1,
    endpoints: fleet(8),
    traffic: { trace: atLoad(conversations(1, 1_000), 8, 0.6) },
  };

  it('answers everything, sooner than the least busy server would', async () => {
    const report = await ours(world);
    const other = await simulateTraffic(world, (_, wire) =>
      balancer(
        world.endpoints.map(({ name }) => wire.direct(name)),
        leastBusy(),
      ),
    );
    expect(report.success).toBe(1);
    expect(report.firstTokenMs.p50).toBeLessThan(0.9 * other.firstTokenMs.p50);
    expect(report.firstTokenMs.p99).toBeLessThan(1.05 * other.firstTokenMs.p99);
    expect(report.cachedShare).toBeGreaterThan(other.cachedShare);
    expect(report.attemptsPerRequest).toBeLessThan(1.1);
  });

  it('sends prompts where they are cached at 75 % load, with hardly any second call', async () => {
    const busy = { ...world, traffic: { trace: atLoad(conversations(1, 2_000), 8, 0.75) } };
    const report = await ours(busy);
    const other = await simulateTraffic(busy, (_, wire) =>
      balancer(
        world.endpoints.map(({ name }) => wire.direct(name)),
        prefixHashing(),
      ),
    );
    expect(report.success).toBeGreaterThan(0.999);
    expect(report.firstTokenMs.p50).toBeLessThan(other.firstTokenMs.p50);
    expect(report.firstTokenMs.p99).toBeLessThan(other.firstTokenMs.p99);
    expect(report.cachedShare).toBeGreaterThan(0.35);
    expect(report.attemptsPerRequest).toBeLessThan(1.02);
  });

  it.each([
    ['without a pacer', {}, { pacer: false }],
    ['without prices', { declaresPrice: false }, { hedge: false }],
  ] as const)('answers everything %s', async (_, endpoints, options) => {
    const report = await ours({ ...world, endpoints: fleet(8, endpoints) }, options);
    expect(report.success).toBeGreaterThan(0.999);
    expect(report.attemptsPerRequest).toBeLessThan(1.1);
  });

  it('finds prompts again that another session has sent, for one account only where others are billed', async () => {
    const text = 'All of a long document. '.repeat(400);
    const asked = async (endpoint: Partial<SimulatedEndpoint>, account: string): Promise<readonly number[]> => {
      const found: number[] = [];
      const ask = async (setup: SimulatedSetup): Promise<void> => {
        const router = createRouter({ ...setup, strategy: 'adaptive' });
        const messages = [{ role: 'user' as const, content: text }];
        const body = { model: SIMULATED_MODEL, messages, metadata: { simulated: 'session-0/0' } };
        for (const id of ['first', account]) {
          const { router_metadata: made } = await router.chat(body, { account: { id }, metadata: true });
          found.push(Math.max(...(made?.endpoints.available.map(({ decision }) => decision?.warmth ?? 0) ?? [])));
        }
      };
      await simulateTraffic(
        { endpoints: fleet(3, endpoint), traffic: { requests: 1, turns: 1, streaming: 0 } },
        (setup): TrafficClient => ({
          chat: () => ask(setup),
          stream: () => createRouter(setup).stream({ messages: [] }),
        }),
      );
      return found;
    };
    const [cold, warm = 0] = await asked({}, 'first');
    expect(cold).toBe(0);
    expect(warm).toBeGreaterThan(0.8);
    expect((await asked({}, 'another'))[1]).toBe(0);
    expect((await asked({ declaresPrice: false }, 'another'))[1]).toBeGreaterThan(0.8);
  });
});

describe('endpoints that cost the same', () => {
  it('are compared by speed', async () => {
    const report = await ours(regions(1, 1_500));
    expect(report.firstTokenMs.p50).toBeLessThan(600);
  });

  it.each(['latency', 'throughput'] as const)('by %s: one that was never measured is', async (sort) => {
    const report = await simulateTraffic(slowAndFast(1, 400), (setup) => {
      const router = createRouter(setup);
      return {
        chat: (body, call) => router.chat({ ...body, provider: { sort } }, call),
        stream: (body, call) => router.stream({ ...body, provider: { sort } }, call),
      };
    });
    expect(report.shares['fast']).toBeGreaterThan(0.95);
  });
});

describe('a price that nobody declared', () => {
  it('is learnt from what answers cost', async () => {
    expect((await ours(dearer(1, 2_000))).regret).toBeLessThan(0.08);
  });
});

describe('where every endpoint is only slow', () => {
  it('requests wait for their turn, and are not refused', async () => {
    const trace = atLoad(conversations(1, 150), 2, 1.1);
    const report = await ours({ seed: 1, endpoints: fleet(2), traffic: { trace } });
    expect(report.failures[429]).toBeUndefined();
    expect(report.success).toBeGreaterThan(0.99);
  });
});
