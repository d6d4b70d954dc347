import { describe, expect, it } from 'vitest';
import { RouterError } from '../../../src/protocol/router-error.ts';
import {
  type Outage,
  simulateTraffic,
  type SimulatedAdvice,
  type SimulatedFault,
  type TrafficWorld,
} from '../../../src/entries/testing.ts';
import { adviceHeaders, IN_BAND, readByClient, readByRouter } from '../../../src/testing/simulate-traffic/faults.ts';

const NOW = Date.UTC(2026, 0, 1);
const ALWAYS = { fromMs: 0, toMs: Infinity };

/** A world of one endpoint with these failures of single calls. */
function worldOf(
  fault: Omit<Extract<Outage, { kind: 'fault' }>, 'kind' | 'fromMs' | 'toMs'>,
  streaming = 1,
): TrafficWorld {
  return {
    endpoints: [
      {
        name: 'only',
        price: { prompt: 1, completion: 4 },
        latency: { medianMs: 500 },
        outages: [{ kind: 'fault', ...ALWAYS, ...fault }],
      },
    ],
    traffic: { requests: 800, perSecond: 20, turns: 1, streaming },
  };
}

describe('advice on when to come back', () => {
  it.each<[SimulatedAdvice, number]>([
    [{ form: 'seconds', ms: 1_400 }, 2_000],
    [{ form: 'decimals', ms: 1_400 }, 1_400],
    [{ form: 'milliseconds', ms: 1_400 }, 1_400],
    [{ form: 'date', ms: 1_400 }, 2_000],
  ])('is read by client libraries: %o', (advice, ms) => {
    const response = { status: 429, headers: adviceHeaders(advice, NOW) };
    expect(readByClient(response, NOW)).toMatchObject({ status: 429, retryAfterMs: ms });
  });

  it('reaches a router through its own reading of headers', () => {
    const headers = adviceHeaders({ form: 'date', ms: 3_000 }, NOW);
    expect(readByRouter({ status: 503, headers }, NOW)).toMatchObject({ kind: 'overloaded', retryAfterMs: 3_000 });
    expect(readByRouter({ status: 429, headers: {} }, NOW).retryAfterMs).toBeUndefined();
  });
});

describe('failures of single calls', () => {
  it.each<[SimulatedFault, number]>([
    [429, 429],
    [503, 503],
    [408, 408],
    [401, 401],
    ['reset', 502],
    ['empty', 502],
    ['error in a 200', 500],
    ['cut', 502],
  ])('meet as large a share as asked, streaming or not, and say what they are: %s', async (as, status) => {
    for (const streaming of [0, 1]) {
      const report = await simulateTraffic(worldOf({ as, share: 0.3 }, streaming), (_setup, wire) =>
        wire.direct('only'),
      );
      expect(Math.abs(1 - report.success - 0.3)).toBeLessThan(0.05);
      expect(Object.keys(report.failures)).toEqual([String(status)]);
    }
  });

  it('never answer where they are silence', async () => {
    let opened = 0;
    const report = await simulateTraffic(worldOf({ as: 'silence', share: 1 }), (_setup, wire) => ({
      chat: () => Promise.resolve(),
      async *stream(request, options) {
        opened += 1;
        await Promise.race([
          wire.direct('only').stream(request, options)[Symbol.asyncIterator]().next(),
          Promise.resolve(),
        ]);
        yield 'given up';
      },
    }));
    expect(report.attemptsPerRequest).toBe(1);
    expect(opened).toBe(report.requests);
  });

  it.each(['empty', 'error in a 200'] as const)('come with status 200, which a client can tell: %s', async (as) => {
    const seen = new Set<unknown>();
    await simulateTraffic(worldOf({ as, share: 0.5 }, 0.5), (_setup, wire) => {
      const client = wire.direct('only');
      const noted = (error: unknown): never => {
        if (RouterError.isInstance(error)) seen.add(error.metadata[IN_BAND]);
        throw error;
      };
      return {
        chat: (...call) => client.chat(...call).catch(noted),
        async *stream(...call) {
          try {
            yield* client.stream(...call);
          } catch (error) {
            noted(error);
          }
        },
      };
    });
    expect([...seen]).toEqual([true]);
  });

  it('come in bursts', async () => {
    const { traffic, ...world } = worldOf({ as: 503, share: 0.3, burstMs: 2_000 });
    const longer = { ...world, traffic: { ...traffic, requests: 4_000 } };
    const report = await simulateTraffic(longer, (_setup, wire) => wire.direct('only'));
    expect(Math.abs(1 - report.success - 0.3)).toBeLessThan(0.1);
    expect(Object.keys(report.failures)).toEqual(['503']);
  });
});
