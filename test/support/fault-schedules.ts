import * as fc from 'fast-check';
import { type Asked, type Bench, type Outcome, askAndWait, benchOf } from './driving.ts';
import { stormOfRuns } from './properties.ts';
import type { Behaviour, StubOptions } from './stub-provider.ts';
import { FAILURE_RULES, type FailureKind } from '../../src/contracts/failure.ts';

/** Failures that an upstream can cause. */
export const UPSTREAM_KINDS = (Object.keys(FAILURE_RULES) as FailureKind[]).filter(
  (kind) => kind !== 'aborted' && kind !== 'deadline',
);

/** Failures after which another provider of the same model is tried. */
export const PASSING_KINDS = UPSTREAM_KINDS.filter((kind) => FAILURE_RULES[kind].next === 'endpoint');

const afterMs = fc.constantFrom(0, 0, 1, 40, 700, 1_500, 2_500);
const kind = fc.constantFrom(...UPSTREAM_KINDS, 'server', 'rate_limited', 'connection', 'timeout', 'overloaded');
const retryAfterMs = fc.option(fc.constantFrom(0, 50, 900, 1_999, 2_000, 2_001, 30_000), { nil: undefined });

const counts = fc
  .tuple(fc.integer({ min: 1, max: 5_000 }), fc.integer({ min: 0, max: 5_000 }))
  .map(([prompt_tokens, completion_tokens]) => ({
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
  }));
const usage = fc.option(counts, { nil: undefined });

/** An answer that comes in time or not. */
export const anyAnswer: fc.Arbitrary<Behaviour> = fc.record({
  does: fc.constant('answer' as const),
  afterMs,
  pieces: fc.integer({ min: 1, max: 4 }),
  everyMs: fc.constantFrom(0, 1, 30, 600),
  usage,
  reply: fc.constantFrom('stream' as const, 'stream' as const, 'whole' as const),
});

/** Everything that can go wrong with a call. */
export const anyFault: fc.Arbitrary<Behaviour> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant('fail' as const), kind, afterMs, retryAfterMs }) },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('break' as const),
      kind,
      pieces: fc.integer({ min: 0, max: 3 }),
      afterMs,
      everyMs: fc.constantFrom(0, 1, 30),
      usage,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('truncate' as const), pieces: fc.integer({ min: 0, max: 2 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ does: 'finish with error' } as const) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('hang' as const), deaf: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('misbehave' as const),
      how: fc.constantFrom(
        'throws' as const,
        'rejects' as const,
        'gives nothing' as const,
        'gives nonsense' as const,
        'has a stream that throws' as const,
        'has a stream that rejects' as const,
      ),
    }),
  },
);

/** What a provider does, call after call. */
export const anyScript: fc.Arbitrary<readonly Behaviour[]> = fc.array(
  fc.oneof({ weight: 3, arbitrary: anyFault }, { weight: 2, arbitrary: anyAnswer }),
  { minLength: 1, maxLength: 3 },
);

/** One to five providers of one model. */
export const anyProviders: fc.Arbitrary<Readonly<Record<string, StubOptions>>> = fc
  .array(fc.tuple(anyScript, fc.constantFrom(undefined, 0, 1, 3)), { minLength: 1, maxLength: 5 })
  .map((list) =>
    Object.fromEntries(
      list.map(([behaves, usd], index) => [
        `p${index}`,
        { behaves, models: { 'acme/one': usd === undefined ? {} : { price: { prompt: usd, completion: usd } } } },
      ]),
    ),
  );

/** The same, where some providers serve a second model too, or only that. */
export const anyProvidersOfTwoModels: fc.Arbitrary<Readonly<Record<string, StubOptions>>> = fc
  .array(fc.tuple(anyScript, fc.constantFrom('acme/one', 'acme/two', 'both')), { minLength: 1, maxLength: 5 })
  .map((list) =>
    Object.fromEntries(
      list.map(([behaves, serves], index) => {
        const models = serves === 'both' ? ['acme/one', 'acme/two'] : [serves];
        return [`p${index}`, { behaves, models: Object.fromEntries(models.map((model) => [model, {}])) }];
      }),
    ),
  )
  // Both models must be known.
  .map((providers) => ({
    ...providers,
    last: { behaves: { does: 'fail', kind: 'server' } as const, models: { 'acme/one': {}, 'acme/two': {} } },
  }));

/** Makes one request, whole or streamed, over many sets of providers, and asks what came of it. */
export async function always(
  providers: fc.Arbitrary<Readonly<Record<string, StubOptions>>>,
  check: (outcome: Outcome, bench: Bench, asked: Asked) => void | Promise<void>,
  given: Asked = {},
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(providers, fc.boolean(), fc.nat(1_000_000), async (stubs, stream, seed) => {
      const bench = benchOf(stubs, { seed });
      const asked = { ...given, stream, metadata: true };
      await check(await askAndWait(bench, asked), bench, asked);
    }),
    stormOfRuns(1_000),
  );
}
