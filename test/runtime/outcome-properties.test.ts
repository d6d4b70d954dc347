import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RouterError } from '../../src/protocol/router-error.ts';
import { TIMEOUTS, askAndWait, benchOf, metadataOf, statusOf, textOf } from '../support/driving.ts';
import { PASSING_KINDS, always, anyProviders, anyProvidersOfTwoModels } from '../support/fault-schedules.ts';
import { stormOfRuns } from '../support/properties.ts';
import type { Behaviour } from '../support/stub-provider.ts';
import { storm } from '../support/storms.ts';
import type { AttemptEvent } from '../../src/contracts/events.ts';

const seed = fc.nat(1_000_000);
const stream = fc.boolean();

function fails(
  kind: (typeof PASSING_KINDS)[number],
  more: Partial<Extract<Behaviour, { does: 'fail' }>> = {},
): Behaviour {
  return { does: 'fail', kind, ...more };
}

describe('the outcome of a request over random faults', () => {
  it('P7 is answered by one attempt only, and says which', async () => {
    let answered = 0;
    await always(
      anyProvidersOfTwoModels,
      (outcome, { stubs }) => {
        const text = textOf(outcome);
        if (text === '') return;
        answered += 1;
        const winner = stubs.calls.at(-1);
        expect(text.replaceAll(winner?.id ?? '', '')).toBe('');
        const envelopes = outcome.result === undefined ? outcome.chunks : [outcome.result];
        for (const { id, provider, model, created } of envelopes) {
          expect({ id, created }).toEqual({ id: envelopes[0]?.id, created: envelopes[0]?.created });
          expect(`${provider?.toLowerCase()}#${model}`).toBe(winner?.endpoint);
        }
        if (outcome.status !== 'ok') return;
        const selected = metadataOf(outcome)?.endpoints.available.filter((one) => one.selected);
        expect(selected?.map(({ provider, model }) => `${provider.toLowerCase()}#${model}`)).toEqual([
          winner?.endpoint,
        ]);
      },
      { body: { models: ['acme/two'] } },
    );
    expect(answered).toBeGreaterThan(storm(300));
  });

  it('P8 succeeds when somebody would answer in time', async () => {
    const quick = fc.constantFrom(0, 1, 40, 300);
    const fault = fc.oneof(
      fc.record({ does: fc.constant('fail' as const), kind: fc.constantFrom(...PASSING_KINDS), afterMs: quick }),
      fc.record({
        does: fc.constant('break' as const),
        kind: fc.constantFrom(...PASSING_KINDS),
        pieces: fc.constant(0),
        afterMs: quick,
      }),
      fc.constant<Behaviour>({ does: 'truncate', pieces: 0 }),
      fc.constant<Behaviour>({ does: 'finish with error' }),
      fc.constant<Behaviour>({ does: 'misbehave', how: 'throws' }),
      fc.constant<Behaviour>({ does: 'misbehave', how: 'has a stream that throws' }),
      fc.constant<Behaviour>({ does: 'hang', deaf: true }),
    );
    const good = fc.record({
      does: fc.constant('answer' as const),
      afterMs: quick,
      reply: fc.constantFrom('stream' as const, 'whole' as const),
    });
    // At most three hang for as long as they may, and the good one still has its time.
    const faults = fc
      .array(fault, { maxLength: 6 })
      .filter((list) => list.filter(({ does }) => does === 'hang').length <= 2);
    await fc.assert(
      fc.asyncProperty(faults, good, fc.nat(6), stream, seed, async (list, answer, position, streamed, chance) => {
        const scripts: readonly Behaviour[] = [...list.slice(0, position), answer, ...list.slice(position)];
        const providers = Object.fromEntries(scripts.map((behaves, index) => [`p${index}`, { behaves }]));
        const outcome = await askAndWait(benchOf(providers, { seed: chance }), { stream: streamed });
        expect(statusOf(outcome)).toBe(200);
      }),
      stormOfRuns(1_000),
    );
  });

  it('P9 fails with the status of the outcome rules, whoever failed first', async () => {
    const faults = fc.array(
      fc.tuple(
        fc.constantFrom(
          'rate_limited' as const,
          'overloaded' as const,
          'timeout' as const,
          'server' as const,
          'credentials' as const,
        ),
        fc.constantFrom(undefined, 503, 529),
      ),
      { minLength: 1, maxLength: 5 },
    );
    const shuffled = faults.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length })),
    );
    const seen = new Set<number | undefined>();
    await fc.assert(
      fc.asyncProperty(shuffled, stream, seed, async ([one, other], streamed, chance) => {
        const statuses: (number | undefined)[] = [];
        for (const list of [one, other]) {
          const providers = list.map(
            ([kind, status], index) => [`p${index}`, { behaves: fails(kind, { status }) }] as const,
          );
          const bench = benchOf(Object.fromEntries(providers), { seed: chance, fallback: { triesPerEndpoint: 1 } });
          const order = providers.map(([slug]) => slug);
          statuses.push(statusOf(await askAndWait(bench, { stream: streamed, body: { provider: { order } } })));
        }
        const kinds = one.map(([kind]) => kind);
        const all = (kind: string): boolean => kinds.every((own) => own === kind);
        const expected = all('rate_limited')
          ? 429
          : all('timeout')
            ? 524
            : all('overloaded')
              ? one.every(([, status]) => status === 529)
                ? 529
                : 503
              : kinds.every((kind) => kind === 'rate_limited' || kind === 'overloaded')
                ? 503
                : 502;
        expect(statuses).toEqual([expected, expected]);
        seen.add(expected);
      }),
      stormOfRuns(1_000),
    );
    expect(seen).toEqual(new Set([429, 502, 503, 524, 529]));
  });

  it('P10 is decided within its time', async () => {
    let late = 0;
    await always(anyProviders, ({ status, chunks, startedAt, endedAt, error }, _bench, asked) => {
      const tookMs = endedAt - startedAt;
      if (tookMs > TIMEOUTS.totalMs / 2) late += 1;
      // Once a stream has begun only its progress counts.
      if (asked.stream === true && chunks.length > 0) return;
      expect(tookMs).toBeLessThanOrEqual(TIMEOUTS.totalMs + 50);
      expect(status === 'ok' || RouterError.isInstance(error)).toBe(true);
    });
    expect(late).toBeGreaterThan(storm(20));
  });

  it('P17 accounts for the usage of every attempt, and bills the caller for the winner only', async () => {
    let lost = 0;
    await fc.assert(
      fc.asyncProperty(anyProviders, stream, seed, async (stubs, streamed, chance) => {
        const events: AttemptEvent[] = [];
        const bench = benchOf(stubs, { seed: chance, on: { attempt: (event) => void events.push(event) } });
        const outcome = await askAndWait(bench, { stream: streamed });
        for (const [index, { usage, failure }] of events.entries()) {
          const behaviour = bench.stubs.calls[index]?.behaviour;
          if (behaviour?.does !== 'break' || behaviour.usage === undefined) continue;
          if (failure?.message !== `${bench.stubs.calls[index]?.provider} broke off`) continue;
          lost += 1;
          expect(usage).toMatchObject(behaviour.usage);
        }
        if (outcome.status !== 'ok') return;
        const billed = outcome.result?.usage ?? outcome.chunks.at(-1)?.usage;
        const winner = bench.stubs.calls.at(-1);
        expect(billed).toEqual(events.at(-1)?.usage);
        if (winner?.behaviour.does !== 'answer') throw new Error('only answers win');
        if (winner.behaviour.usage === undefined) expect(billed?.estimated).toBe(true);
        else expect(billed).toMatchObject(winner.behaviour.usage);
      }),
      stormOfRuns(1_000),
    );
    expect(lost).toBeGreaterThan(storm(50));
  });
});
