import { withConstants } from '../support/constants.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LONG_MS, askAndWait, benchOf, metadataOf } from '../support/driving.ts';
import { PASSING_KINDS, always, anyProviders, anyProvidersOfTwoModels } from '../support/fault-schedules.ts';
import { stormOfRuns } from '../support/properties.ts';
import type { StubCall } from '../support/stub-provider.ts';
import { storm } from '../support/storms.ts';
import { FAILURE_RULES } from '../../src/contracts/failure.ts';

const seed = fc.nat(1_000_000);
const stream = fc.boolean();

/** Endpoints in the order in which they were first called. */
function firstCalls(calls: readonly StubCall[]): readonly string[] {
  return [...new Set(calls.map((call) => call.endpoint))];
}

describe('the attempts of a request over random faults', () => {
  it('P1 has at most one attempt in flight', async () => {
    let several = 0;
    await always(anyProviders, (_outcome, { stubs }) => {
      if (stubs.calls.length > 1) several += 1;
      expect(stubs.calls.map((call) => call.openBefore)).toEqual(stubs.calls.map(() => 0));
    });
    expect(several).toBeGreaterThan(storm(300));
  });

  it('P2 makes no more attempts than its bounds allow', async () => {
    const bounds = fc.record({
      maxAttempts: fc.integer({ min: 1, max: 6 }),
      triesPerEndpoint: fc.integer({ min: 1, max: 4 }),
    });
    let reached = 0;
    await fc.assert(
      fc.asyncProperty(anyProviders, bounds, stream, seed, async (stubs, fallback, streamed, chance) => {
        const bench = benchOf(stubs, { seed: chance, fallback });
        await askAndWait(bench, { stream: streamed });
        const most = Math.min(fallback.maxAttempts, Object.keys(stubs).length * fallback.triesPerEndpoint);
        if (bench.stubs.calls.length === most) reached += 1;
        expect(bench.stubs.calls.length).toBeLessThanOrEqual(most);
      }),
      stormOfRuns(1_000),
    );
    expect(reached).toBeGreaterThan(storm(200));
  });

  it('P3 makes no attempt after its first content was handed out', async () => {
    let committed = 0;
    await fc.assert(
      fc.asyncProperty(anyProviders, seed, async (stubs, chance) => {
        const bench = benchOf(stubs, { seed: chance });
        let callsAtCommit: number | undefined;
        const reading = (async () => {
          for await (const chunk of bench.router.stream({
            model: 'acme/one',
            messages: [{ role: 'user', content: 'Hi' }],
          })) {
            if (chunk.choices[0]?.delta.content) callsAtCommit ??= bench.stubs.calls.length;
          }
        })().catch(() => {});
        await bench.environment.advance(LONG_MS);
        await reading;
        if (callsAtCommit === undefined) return;
        committed += 1;
        expect(bench.stubs.calls).toHaveLength(callsAtCommit);
      }),
      stormOfRuns(1_000),
    );
    expect(committed).toBeGreaterThan(storm(300));
  });

  it('P4 follows its plan and tries nobody twice unless a rule says so', async () => {
    let repeated = 0;
    await always(
      anyProvidersOfTwoModels,
      (outcome, { stubs }, asked) => {
        const metadata = metadataOf(outcome);
        if (metadata === undefined) {
          // A stream that broke in its middle tells its metadata in the error, a refusal by the caller none at all.
          expect(asked.stream === true || outcome.status === 'aborted').toBe(true);
          return;
        }
        const planned = metadata.endpoints.available.map(({ provider, model }) => `${provider.toLowerCase()}#${model}`);
        const tried = firstCalls(stubs.calls);
        expect(planned.filter((endpoint) => tried.includes(endpoint))).toEqual(tried);
        for (const [index, call] of stubs.calls.entries()) {
          const earlier = stubs.calls.slice(0, index).findLast((one) => one.endpoint === call.endpoint);
          if (earlier === undefined) continue;
          repeated += 1;
          const { behaviour } = earlier;
          const kind = 'kind' in behaviour ? behaviour.kind : behaviour.does === 'truncate' ? 'bad_response' : 'server';
          expect(FAILURE_RULES[kind].sameEndpoint).toBe(true);
        }
      },
      { body: { models: ['acme/two'] } },
    );
    expect(repeated).toBeGreaterThan(storm(50));
  });

  it('P5 without fallbacks calls exactly one provider', async () => {
    await always(
      anyProviders,
      (_outcome, { stubs }) => {
        expect(new Set(stubs.calls.map((call) => call.provider)).size).toBe(1);
      },
      { body: { provider: { allow_fallbacks: false } } },
    );
  });

  it('P6 never calls who is ignored, collects data or may not be distilled', async () => {
    const declarations = fc.array(
      fc.record({
        dataCollection: fc.boolean(),
        zeroDataRetention: fc.boolean(),
        distillable: fc.option(fc.boolean(), { nil: undefined }),
      }),
      { minLength: 5, maxLength: 5 },
    );
    const provider = fc.record({
      ignore: fc.uniqueArray(fc.constantFrom('p0', 'P1', 'p2')),
      data_collection: fc.constantFrom('deny' as const, 'allow' as const),
      zdr: fc.boolean(),
      enforce_distillable_text: fc.boolean(),
    });
    let called = 0;
    await fc.assert(
      fc.asyncProperty(
        anyProviders,
        declarations,
        provider,
        stream,
        seed,
        async (stubs, declared, rules, streamed, chance) => {
          const models = Object.entries(stubs).map(([slug, stub], index) => {
            return [slug, { ...stub, models: { 'acme/one': declared[index] ?? {} } }] as const;
          });
          const bench = benchOf(Object.fromEntries(models), { seed: chance });
          await askAndWait(bench, { stream: streamed, body: { provider: rules } });
          for (const call of bench.stubs.calls) {
            called += 1;
            const own = declared[Number(call.provider.slice(1))];
            expect(rules.ignore.map((slug) => slug.toLowerCase())).not.toContain(call.provider);
            if (rules.data_collection === 'deny') expect(own?.dataCollection).toBe(false);
            if (rules.zdr) expect(own?.zeroDataRetention).toBe(true);
            if (rules.enforce_distillable_text) expect(own?.distillable).toBe(true);
          }
        },
      ),
      stormOfRuns(1_000),
    );
    expect(called).toBeGreaterThan(storm(300));
  });

  it('P15 waits within its cap, and never less than the provider asked for', async () => {
    const faults = fc.record({
      does: fc.constant('fail' as const),
      kind: fc.constantFrom(...PASSING_KINDS.filter((kind) => FAILURE_RULES[kind].sameEndpoint)),
      afterMs: fc.constantFrom(0, 10),
      retryAfterMs: fc.option(fc.nat(2_500), { nil: undefined }),
    });
    const scripts = fc.array(fc.array(faults, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 });
    let waited = 0;
    await fc.assert(
      fc.asyncProperty(
        scripts,
        fc.constantFrom(3_600_000, 10),
        stream,
        seed,
        async (list, maxCooldownMs, streamed, chance) => {
          const providers = list.map((behaves, index) => [`p${index}`, { behaves }] as const);
          const bench = benchOf(Object.fromEntries(providers), {
            seed: chance,
            fallback: { triesPerEndpoint: 3 },
          });
          withConstants(bench.router, { health: { maxCooldownMs } });
          await askAndWait(bench, { stream: streamed });
          const { calls } = bench.stubs;
          for (const [index, call] of calls.entries()) {
            const earlier = calls.slice(0, index).findLast((one) => one.endpoint === call.endpoint);
            const previous = calls[index - 1];
            if (earlier === undefined || previous === undefined) continue;
            waited += 1;
            const asked = earlier.behaviour.does === 'fail' ? (earlier.behaviour.retryAfterMs ?? 0) : 0;
            expect(call.startedAt - (earlier.endedAt ?? 0)).toBeGreaterThanOrEqual(asked);
            // A second wait may follow where the first one ends before its endpoint may be called.
            expect(call.startedAt - (previous.endedAt ?? 0)).toBeLessThanOrEqual(2_250);
          }
        },
      ),
      stormOfRuns(1_000),
    );
    expect(waited).toBeGreaterThan(storm(300));
  });
});
