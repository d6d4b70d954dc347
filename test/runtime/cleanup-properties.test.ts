import * as fc from 'fast-check';
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { LONG_MS, ask, askAndWait, benchOf, statusOf } from '../support/driving.ts';
import { anyProviders } from '../support/fault-schedules.ts';
import { stormOfRuns } from '../support/properties.ts';
import { storm } from '../support/storms.ts';
import { FAILURE_RULES } from '../../src/contracts/failure.ts';
import type { AttemptEvent } from '../../src/contracts/events.ts';

const seed = fc.nat(1_000_000);
const stream = fc.boolean();

describe('after a request over random faults', () => {
  it('P11 leaves no timer, no open call and no listener behind, however it ends', async () => {
    const leaving = fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined });
    const ends = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        anyProviders,
        stream,
        leaving,
        fc.boolean(),
        seed,
        async (stubs, streamed, leaveAfter, echo, chance) => {
          const bench = benchOf(stubs, { seed: chance });
          const controller = new AbortController();
          const debug = { echo_upstream_body: echo };
          const outcome = await askAndWait(bench, {
            stream: streamed,
            leaveAfter,
            signal: controller.signal,
            body: { debug },
          });
          ends.add(outcome.status);
          expect(bench.environment.pendingTimers).toBe(0);
          expect(bench.stubs.open).toEqual([]);
          expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
          for (const call of bench.stubs.calls) expect(getEventListeners(call.signal, 'abort')).toEqual([]);
        },
      ),
      stormOfRuns(1_000),
    );
    expect([...ends].sort()).toEqual(['failed', 'left', 'ok']);
  });

  it('P12 ends at once when its caller leaves at any moment', async () => {
    const moment = fc.oneof(fc.nat(60), fc.nat(7_000));
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        anyProviders,
        stream,
        moment,
        fc.nat(30),
        fc.boolean(),
        seed,
        async (stubs, streamed, atMs, turns, echo, chance) => {
          const bench = benchOf(stubs, { seed: chance });
          const controller = new AbortController();
          const reason = new Error('the caller left');
          const debug = { echo_upstream_body: echo };
          const running = ask(bench, { stream: streamed, signal: controller.signal, body: { debug } });
          await bench.environment.advance(atMs);
          for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
          const before = running.outcome;
          const callsBefore = bench.stubs.calls.length;
          const openBefore = bench.stubs.open;
          controller.abort(reason);
          expect(openBefore.every((call) => call.signal.aborted || call.endedAt !== undefined)).toBe(true);
          await bench.environment.settle();
          const { outcome } = running;
          expect(bench.stubs.calls).toHaveLength(callsBefore);
          expect(bench.environment.pendingTimers).toBe(0);
          expect(bench.stubs.open).toEqual([]);
          expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
          if (before === undefined) expect(outcome?.error).toBe(reason);
          seen.add(before === undefined ? 'under way' : before.status);
          await bench.environment.advance(LONG_MS);
          expect(bench.stubs.calls).toHaveLength(callsBefore);
        },
      ),
      stormOfRuns(1_000),
    );
    expect([...seen].sort()).toEqual(['failed', 'ok', 'under way']);
  });

  it('P16 records every failure and the success once, for the endpoint it belongs to', async () => {
    let fellBack = 0;
    await fc.assert(
      fc.asyncProperty(anyProviders, stream, seed, async (stubs, streamed, chance) => {
        const events: AttemptEvent[] = [];
        const bench = benchOf(stubs, { seed: chance, on: { attempt: (event) => void events.push(event) } });
        const outcome = await askAndWait(bench, { stream: streamed });
        const { calls } = bench.stubs;
        expect(events.map(({ endpoint }) => endpoint)).toEqual(calls.map(({ endpoint }) => endpoint));
        expect(events.map(({ attempt }) => attempt)).toEqual(calls.map((_, index) => index + 1));
        const wins = events.filter(({ failure }) => failure === undefined);
        expect(wins.length).toBe(outcome.status === 'ok' ? 1 : 0);
        if (outcome.status === 'ok' && calls.length > 1) fellBack += 1;
        const { services } = bench.router.internals;
        for (const endpoint of services.facts.catalog.endpoints('acme/one')) {
          const own = events.filter((event) => event.endpoint === endpoint.id);
          // However often a request fails at an endpoint, that counts once where its calls may be what fails.
          const failed = own.filter(
            ({ failure }) => failure !== undefined && FAILURE_RULES[failure.kind].againstUptime,
          );
          const first = own.findIndex(({ failure }) => failure !== undefined && FAILURE_RULES[failure.kind].breaks);
          const expected = {
            succeeded: own.filter(({ failure }) => failure === undefined).length,
            failed: failed.filter((one) => first < 0 || own.indexOf(one) <= first).length,
          };
          const { day = [], latest } = services.records.record(endpoint)?.health ?? {};
          const counted = [...day, ...(latest === undefined ? [] : [latest])].reduce(
            (sum, slice) => ({ succeeded: sum.succeeded + slice.succeeded, failed: sum.failed + slice.failed }),
            { succeeded: 0, failed: 0 },
          );
          expect(counted).toEqual(expected);
        }
      }),
      stormOfRuns(1_000),
    );
    expect(fellBack).toBeGreaterThan(storm(100));
  });

  it('tells its listeners once how it ended', async () => {
    const leaving = fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined });
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(anyProviders, stream, leaving, seed, async (stubs, streamed, leaveAfter, chance) => {
        const told: number[] = [];
        const on = {
          result: () => void told.push(200),
          error: ({ status }: { status: number }) => void told.push(status),
        };
        const outcome = await askAndWait(benchOf(stubs, { seed: chance, on }), { stream: streamed, leaveAfter });
        for (const status of told) seen.add(status);
        if (outcome.status === 'left') expect([[499], [200]]).toContainEqual(told);
        else expect(told).toEqual([statusOf(outcome)]);
      }),
      stormOfRuns(1_000),
    );
    expect([...seen]).toEqual(expect.arrayContaining([200, 499, 502, 524]));
  });
});
