import * as fc from 'fast-check';
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { FAILURE_RULES } from '../../src/core/fallback/failure.ts';
import { LONG_MS, ask, askAndWait, benchOf, statusOf } from '../support/driving.ts';
import { PASSING_KINDS, anyProviders } from '../support/fault-schedules.ts';
import { runs, stormOfRuns } from '../support/properties.ts';
import type { StubCall } from '../support/stub-provider.ts';
import { storm } from '../support/storms.ts';

/** Calls that repeat an endpoint for the same request. */
function repetitionsIn(calls: readonly StubCall[]): readonly StubCall[] {
  return calls.filter((call, index) =>
    calls.slice(0, index).some((one) => one.request === call.request && one.endpoint === call.endpoint),
  );
}

describe('requests at the same time', () => {
  it('P13 repeat no more than the budget allows in any ten seconds', async () => {
    const behaviour = fc.record({
      does: fc.constant('fail' as const),
      kind: fc.constantFrom(...PASSING_KINDS.filter((kind) => FAILURE_RULES[kind].sameEndpoint)),
      afterMs: fc.constantFrom(0, 5, 400),
    });
    const arrivals = fc.array(fc.nat(600), { minLength: 5, maxLength: 60 });
    const budget = fc.record({ ratio: fc.constantFrom(0, 0.1, 0.2, 1), floor: fc.nat(6) });
    let exhausted = 0;
    let repeated = 0;
    await fc.assert(
      fc.asyncProperty(behaviour, arrivals, budget, fc.boolean(), async (behaves, gaps, retryBudget, stream) => {
        // A breaker that never opens leaves the budget as the only bound.
        const bench = benchOf({ p0: { behaves } }, { retryBudget, breaker: { minimumCalls: 1_000_000 } });
        const requests: number[] = [];
        for (const gap of gaps) {
          await bench.environment.advance(gap);
          requests.push(bench.environment.now());
          ask(bench, { stream });
        }
        await bench.environment.advance(LONG_MS);
        const repetitions = repetitionsIn(bench.stubs.calls).map((call) => call.startedAt);
        repeated += repetitions.length;
        if (repetitions.length < gaps.length) exhausted += 1;
        for (const [index, at] of repetitions.entries()) {
          const recentRequests = requests.filter((one) => one <= at && one > at - 10_000).length;
          const recentRepetitions = repetitions.slice(0, index + 1).filter((one) => one > at - 10_000).length;
          expect(recentRepetitions).toBeLessThanOrEqual(recentRequests * retryBudget.ratio + retryBudget.floor + 1e-9);
        }
      }),
      stormOfRuns(1_000),
    );
    expect(repeated).toBeGreaterThan(storm(1_000));
    expect(exhausted).toBeGreaterThan(storm(300));
  });

  it('send one probe at a time through a half-open breaker, also in the same instant', async () => {
    const bench = benchOf(
      {
        p0: {
          behaves: [
            { does: 'fail', kind: 'server' },
            { does: 'fail', kind: 'server' },
            { does: 'answer', afterMs: 100 },
          ],
        },
      },
      { breaker: { openMs: 1_000 }, fallback: { triesPerEndpoint: 1 } },
    );
    for (const status of [502, 502, 503]) {
      const failing = ask(bench);
      await bench.environment.settle();
      expect(failing.outcome && statusOf(failing.outcome)).toBe(status);
    }
    const before = bench.stubs.calls.length;
    await bench.environment.advance(1_000);
    const probes = Array.from({ length: 5 }, (_, index) => ask(bench, { stream: index % 2 === 0 }));
    await bench.environment.settle();
    expect(bench.stubs.calls).toHaveLength(before + 1);
    await bench.environment.advance(LONG_MS);
    const statuses = probes.map(({ outcome }) => outcome && statusOf(outcome));
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 503)).toHaveLength(4);
    expect(statusOf(await askAndWait(bench))).toBe(200);
  });

  it('leave nothing on a signal that they share, and set off no warning about it', async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listen);
    const controller = new AbortController();
    await fc.assert(
      fc.asyncProperty(anyProviders, fc.integer({ min: 20, max: 60 }), fc.boolean(), async (stubs, count, leaves) => {
        const bench = benchOf(stubs);
        const running = Array.from({ length: count }, (_, index) =>
          ask(bench, { stream: index % 2 === 0, signal: controller.signal, leaveAfter: leaves ? 1 : undefined }),
        );
        await bench.environment.advance(LONG_MS);
        expect(running.every(({ outcome }) => outcome !== undefined)).toBe(true);
        expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
        expect(bench.environment.pendingTimers).toBe(0);
      }),
      runs(100),
    );
    process.off('warning', listen);
    expect(warnings).toEqual([]);
  });

  it('end all when a signal that they share is aborted', async () => {
    const bench = benchOf({ p0: { behaves: { does: 'hang' } }, p1: { behaves: { does: 'hang', deaf: true } } });
    const controller = new AbortController();
    const running = Array.from({ length: 30 }, (_, index) =>
      ask(bench, { stream: index % 2 === 0, signal: controller.signal }),
    );
    await bench.environment.settle();
    controller.abort(new Error('the caller left'));
    await bench.environment.settle();
    expect(running.map(({ outcome }) => outcome?.status)).toEqual(running.map(() => 'aborted'));
    expect(bench.environment.pendingTimers).toBe(0);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });
});
