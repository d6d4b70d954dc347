import * as fc from 'fast-check';
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { LONG_MS, ask, askAndWait, benchOf, statusOf } from '../support/driving.ts';
import { PASSING_KINDS, anyProviders } from '../support/fault-schedules.ts';
import { runs, stormOfRuns } from '../support/properties.ts';
import type { StubCall } from '../support/stub-provider.ts';
import { FAILURE_RULES } from '../../src/contracts/failure.ts';

const FAILED = [{ does: 'fail', kind: 'server' }] as const;

/** Calls that repeat an endpoint for the same request. */
function repetitionsIn(calls: readonly StubCall[]): readonly StubCall[] {
  return calls.filter((call, index) =>
    calls.slice(0, index).some((one) => one.request === call.request && one.endpoint === call.endpoint),
  );
}

describe('requests at the same time', () => {
  it('P13 repeat fewer calls, the fewer of them succeed', async () => {
    const kinds = PASSING_KINDS.filter(
      (kind) => FAILURE_RULES[kind].sameEndpoint && FAILURE_RULES[kind].cooldownMs === 0,
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...kinds), fc.boolean(), async (kind, stream) => {
        // A breaker that never opens leaves what comes back as the only bound.
        const bench = benchOf({ p0: { behaves: { does: 'fail', kind } } }, { breaker: false });
        for (let request = 0; request < 300; request += 1) {
          await bench.environment.advance(50);
          ask(bench, { stream });
        }
        const repetitions = repetitionsIn(bench.stubs.calls).filter(
          ({ startedAt }) => startedAt > bench.environment.now() - 10_000,
        );
        // Two hundred requests in that time: two each were wanted, and each was let through at one time in fifty.
        expect(repetitions.length).toBeGreaterThan(0);
        expect(repetitions.length).toBeLessThan(160);
        await bench.environment.advance(LONG_MS);
      }),
      stormOfRuns(20),
    );
  });

  it('send one probe at a time through a half-open breaker while others answer, also in the same instant', async () => {
    const bench = benchOf({
      p0: { behaves: [...Array.from({ length: 5 }, () => FAILED).flat(), { does: 'answer', afterMs: 100 }] },
      p1: { behaves: { does: 'answer', afterMs: 1 } },
    });
    const body = { provider: { order: ['p0', 'p1'] } };
    const callsOfFirst = (): number => bench.stubs.calls.filter(({ endpoint }) => endpoint.startsWith('p0')).length;
    for (let request = 0; request < 7; request += 1) {
      ask(bench, { body });
      await bench.environment.advance(5);
    }
    expect(callsOfFirst()).toBe(5);
    await bench.environment.advance(3_100);
    const probes = Array.from({ length: 5 }, (_, index) => ask(bench, { body, stream: index % 2 === 0 }));
    await bench.environment.advance(50);
    expect(callsOfFirst()).toBe(6);
    await bench.environment.advance(LONG_MS);
    expect(probes.map(({ outcome }) => outcome && statusOf(outcome))).toEqual([200, 200, 200, 200, 200]);
    await askAndWait(bench, { body });
    expect(callsOfFirst()).toBe(7);
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
