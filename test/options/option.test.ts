import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import {
  schemaOf,
  type OptionTable,
  type OptionsOf,
  type ResolvedOf,
  computed,
  fill,
  option,
  required,
} from '../../src/options/option.ts';
import { optionProblems } from '../../src/platform/check-options.ts';
import { resolveConfig } from '../../src/config/resolve-config.ts';
import { instant } from '../support/simulated.ts';

const INNER = { waitMs: option.ms({ default: 5 }), name: option.string({ default: 'a' }) } satisfies OptionTable;
interface Inner extends ResolvedOf<typeof INNER> {}

const TABLE = {
  id: required(option.string()),
  tries: option.integer(1, { default: 3 }),
  mode: option.enum(['slow', 'fast'], { default: 'slow' }),
  inner: option.section<Inner>(INNER),
  places: computed(option.integer(0)),
  tags: option.array(option.string()),
} satisfies OptionTable;

function problemsOf(value: unknown): readonly string[] {
  return optionProblems(schemaOf(TABLE), value, 'table').map(({ path, problem }) => `${path} ${problem}`);
}

describe('a table of options', () => {
  it('fills what is left out, also inside, and undefined counts as left out', () => {
    const filled = fill(TABLE, { id: 'x', tries: undefined, mode: 'fast', inner: { name: 'b', waitMs: undefined } });
    expect(filled).toEqual({
      id: 'x',
      tries: 3,
      mode: 'fast',
      inner: { waitMs: 5, name: 'b' },
      places: undefined,
      tags: undefined,
    });
    expect(fill(INNER)).toEqual({ waitMs: 5, name: 'a' });
    expect(fill(INNER, { waitMs: 0, name: '' })).toEqual({ waitMs: 0, name: '' });
  });

  it('gives the type of what programs write', () => {
    expectTypeOf<OptionsOf<typeof TABLE>['id']>().toEqualTypeOf<string>();
    expectTypeOf<OptionsOf<typeof TABLE>['mode']>().toEqualTypeOf<'slow' | 'fast' | undefined>();
    expectTypeOf<{ readonly id: string; readonly inner: { readonly name: string } }>().toExtend<
      OptionsOf<typeof TABLE>
    >();
    expectTypeOf<{ readonly tries: number }>().not.toExtend<OptionsOf<typeof TABLE>>();
  });

  it('gives the type of what the router reads', () => {
    expectTypeOf<ResolvedOf<typeof TABLE>>().toEqualTypeOf<{
      readonly id: string;
      readonly tries: number;
      readonly mode: 'slow' | 'fast';
      readonly inner: Inner;
      readonly places: number;
      readonly tags: readonly string[] | undefined;
    }>();
    expectTypeOf(fill(TABLE).places).toEqualTypeOf<number | undefined>();
  });

  it('finds what is wrong, each option by its kind', () => {
    expect(problemsOf({ id: 'x', tries: 1, mode: 'slow', inner: { waitMs: 0 }, places: 0, tags: ['a'] })).toEqual([]);
    expect(problemsOf({ tries: 0, mode: 'fst', inner: { waitMs: Infinity, nam: 'x' }, tags: [''] })).toEqual([
      'table.tries must be a whole number from 1 on, not 0',
      'table.mode must be "slow" or "fast", did you mean "fast"?',
      'table.inner.waitMs must be a non-negative number of milliseconds, not Infinity',
      'table.inner.nam is not an option; did you mean "name"?',
      'table.tags[0] must be a non-empty string, not an empty string',
      'table.id must be a non-empty string, not undefined',
    ]);
  });
});

describe('a resolved configuration', () => {
  it('has places for as many requests as fit the heap', () => {
    const heapOf = (bytes: unknown): number => {
      vi.spyOn(process, 'getBuiltinModule').mockReturnValue({ getHeapStatistics: () => ({ heap_size_limit: bytes }) });
      const { limits } = resolveConfig({ providers: [instant()], catalog: [], limits: { nodes: 9 } });
      vi.restoreAllMocks();
      expect([limits.nodes, limits.depth]).toEqual([9, 64]);
      return limits.concurrentRequests;
    };
    expect(heapOf(64 * 1_024 ** 2)).toBe(1_000);
    expect(heapOf(256 * 1_024 ** 2)).toBe(2_048);
    expect(heapOf(4 * 1_024 ** 3)).toBe(10_000);
    expect(heapOf(undefined)).toBe(2_000);
    expect(resolveConfig({ providers: [instant()], catalog: [] }).limits.concurrentRequests).toBeGreaterThanOrEqual(
      1_000,
    );
  });

  it('has the defaults of the tables where nothing is given, at every depth', () => {
    const { fallback, batches, usage, health } = resolveConfig({
      providers: [instant()],
      catalog: [],
      fallback: { maxAttempts: 3, maxWaitMs: 1 },
      limits: { concurrentRequests: 21 },
      batches: { limits: { perBatch: 1 } },
      responseCache: { ttlSeconds: 5 },
    });
    expect(fallback).toEqual({
      maxAttempts: 3,
      triesPerEndpoint: 3,
      maxWaitMs: 1,
      afterFirstToken: 'error',
    });
    expect(batches.limits).toMatchObject({ perBatch: 1, perProvider: 16, keepFree: 10 });
    expect(usage.responses).toMatchObject({ policy: { enabled: false, ttlSeconds: 5 }, maxEntryBytes: 1_000_000 });
    expect(health).toMatchObject({ maxCooldownMs: 3_600_000, breaker: { odds: 1_000_000 } });
    const off = resolveConfig({ providers: [instant()], catalog: [], breaker: false });
    expect(off.health.breaker).toMatchObject({ odds: Infinity, openMs: 2_500 });
  });
});
