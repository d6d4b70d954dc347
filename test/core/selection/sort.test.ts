import { describe, expect, it } from 'vitest';
import type { CallMeasurement } from '../../../src/core/selection/performance.ts';
import type { Timing } from '../../../src/core/selection/adaptive/speed.ts';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import type { ProviderPreferences } from '../../../src/protocol/provider-preferences.ts';
import { recordAfter, recordMeasured, times } from '../../support/records.ts';
import { costing, sceneOf, serving } from '../../support/requests.ts';

const scene = serving({ middling: costing(2), slow: costing(1), quick: costing(4), fresh: {} });

const records = {
  middling: recordMeasured(times(10, { latencyMs: 800, tokensPerSecond: 40 })),
  slow: recordMeasured(times(10, { latencyMs: 3_000, tokensPerSecond: 10 })),
  quick: recordMeasured(times(10, { latencyMs: 200, tokensPerSecond: 120 })),
};

describe('sort', () => {
  const byPrice = ['slow', 'middling', 'quick', 'fresh'];
  const bySpeed = ['quick', 'middling', 'slow', 'fresh'];
  const cases: readonly (readonly [ProviderPreferences['sort'], readonly string[]])[] = [
    ['price', byPrice],
    ['throughput', bySpeed],
    ['latency', bySpeed],
    [{ by: 'price' }, byPrice],
    [{ by: 'latency', partition: 'model' }, bySpeed],
    [{ by: 'throughput', partition: 'none' }, bySpeed],
  ];
  it.each(cases)('by %j puts the best first and what nobody knows last', (sort, expected) => {
    expect(scene.order({ provider: { sort } }, { records })).toEqual(expected);
  });

  it.each([0, 0.3, 0.6, 0.99])('leaves nothing to chance (roll %d)', (roll) => {
    expect(scene.order({ provider: { sort: 'price' } }, { records, roll })).toEqual(byPrice);
  });

  it('keeps the order of declaration among equals', () => {
    const equals = serving({ one: costing(1), two: costing(1), three: costing(1) });
    expect(equals.order({ provider: { sort: 'price' } }, { roll: 0.9 })).toEqual(['one', 'two', 'three']);
  });

  it('looks at the last five minutes, and where nothing was measured in these at what was before', () => {
    const slowNow = [...times(10, { latencyMs: 9_000 })];
    const old = { quick: recordMeasured(times(10, { latencyMs: 200 }), 400_000) };
    expect(scene.order({ provider: { sort: 'latency' } }, { records: old })[0]).toBe('quick');
    const now = { quick: recordMeasured(slowNow), middling: recordMeasured(times(10, { latencyMs: 800 })) };
    expect(scene.order({ provider: { sort: 'latency' } }, { records: now })[0]).toBe('middling');
  });

  it.each(['latency', 'throughput'] as const)('by %s puts first what was hardly called, to be measured', (sort) => {
    const timing = ({ provider }: { readonly provider: string }): Timing | undefined =>
      provider === 'fresh' ? undefined : { baseMs: 1, perTokenMs: 0, queueMs: 0 };
    expect(scene.order({ provider: { sort } }, { records, timing })).toEqual(['fresh', 'quick', 'middling', 'slow']);
  });

  it('is ignored when order is given', () => {
    const provider: ProviderPreferences = { sort: 'latency', order: ['slow'] };
    expect(scene.order({ provider }, { records })).toEqual(['slow', 'middling', 'quick', 'fresh']);
  });

  it('that is an object without "by" balances as always', () => {
    const { steps } = scene.plan({ provider: { sort: { partition: 'none' } } });
    expect(steps[0]?.why).toBe('weighted by price');
  });
});

describe('partition', () => {
  const two = sceneOf({
    providers: {
      alpha: { 'acme/one': costing(3), 'acme/two': costing(1) },
      beta: { 'acme/one': costing(4), 'acme/two': costing(2) },
    },
  });

  function tried(body: Partial<ChatRequest>): readonly string[] {
    return two
      .plan({ model: 'acme/one', models: ['acme/two'], ...body })
      .steps.map(({ endpoint }) => `${endpoint.model} ${endpoint.tag}`);
  }

  const byModel = ['acme/one alpha', 'acme/one beta', 'acme/two alpha', 'acme/two beta'];
  const together = ['acme/two alpha', 'acme/two beta', 'acme/one alpha', 'acme/one beta'];

  it('"model", the default, keeps the order of models and sorts within each', () => {
    expect(tried({ provider: { sort: 'price' } })).toEqual(byModel);
    expect(tried({ provider: { sort: { by: 'price', partition: 'model' } } })).toEqual(byModel);
  });

  it('"none" sorts the endpoints of all models together', () => {
    expect(tried({ provider: { sort: { by: 'price', partition: 'none' } } })).toEqual(together);
  });

  it('may be said by the deprecated route', () => {
    expect(tried({ route: 'sort', provider: { sort: 'price' } })).toEqual(together);
    expect(tried({ route: 'fallback', provider: { sort: 'price' } })).toEqual(byModel);
    expect(tried({ route: 'sort', provider: { sort: { by: 'price', partition: 'model' } } })).toEqual(byModel);
  });

  it('is ignored like every sort when order is given', () => {
    const order = ['beta'];
    const inOrder = ['acme/one beta', 'acme/one alpha', 'acme/two beta', 'acme/two alpha'];
    expect(tried({ provider: { order, sort: { by: 'price', partition: 'none' } } })).toEqual(inOrder);
    expect(tried({ route: 'sort', provider: { order } })).toEqual(inOrder);
    expect(tried({ provider: { order: [], sort: { by: 'price', partition: 'none' } } })).toEqual(together);
  });

  it('"none" still calls the other models a fallback', () => {
    const { steps } = two.plan({
      model: 'acme/one',
      models: ['acme/two'],
      provider: { sort: { by: 'price', partition: 'none' } },
    });
    expect(steps.map(({ strategy, target }) => [strategy, target])).toEqual([
      ['fallback', 1],
      ['fallback', 1],
      ['direct', 0],
      ['direct', 0],
    ]);
  });

  it('"none" lets thresholds put a fallback model ahead of the primary one', () => {
    const fast = { alpha: recordMeasured(times(5, { latencyMs: 100 })) };
    const provider: ProviderPreferences = { sort: { partition: 'none' }, preferred_max_latency: 1 };
    const only = two.plan(
      { model: 'acme/one', models: ['acme/two'], provider },
      { records: { 'alpha#acme/two': fast.alpha } },
    );
    expect(only.steps[0]?.endpoint.model).toBe('acme/two');
  });
});

describe('preferred_min_throughput and preferred_max_latency', () => {
  it('reorder over all models of a request', () => {
    const two = sceneOf({
      providers: { slow: { 'acme/one': {} }, quick: { 'acme/two': {} }, fresh: { 'acme/one': {} } },
    });
    const measured = {
      slow: recordMeasured(times(9, { latencyMs: 3_000, tokensPerSecond: 10 })),
      quick: recordMeasured(times(9, { latencyMs: 500, tokensPerSecond: 90 })),
    };
    const models = ['acme/one', 'acme/two'] as const;
    for (const provider of [{ preferred_max_latency: 1 }, { preferred_min_throughput: 50 }]) {
      expect(two.order({ models, provider }, { records: measured })).toEqual(['quick', 'slow', 'fresh']);
      const sticky = two
        .plan({ models, provider }, { records: measured })
        .steps.find((one) => one.endpoint.tag === 'slow');
      expect(two.order({ models, provider }, { records: measured, sticky: sticky?.endpoint.id })[0]).toBe('slow');
    }
    const named = { preferred_max_latency: 1, order: ['slow'] };
    expect(two.order({ models, provider: named }, { records: measured })[0]).toBe('slow');
  });

  /** Nine answers out of ten at one speed and one at another. */
  function mixed(usual: CallMeasurement, rare: CallMeasurement): ReturnType<typeof recordMeasured> {
    return recordMeasured([...times(90, usual), ...times(10, rare)]);
  }

  const uneven = {
    middling: mixed({ latencyMs: 900, tokensPerSecond: 50 }, { latencyMs: 20_000, tokensPerSecond: 2 }),
    slow: mixed({ latencyMs: 3_000, tokensPerSecond: 10 }, { latencyMs: 3_000, tokensPerSecond: 10 }),
    quick: mixed({ latencyMs: 1_500, tokensPerSecond: 30 }, { latencyMs: 1_500, tokensPerSecond: 30 }),
  };
  const cases: readonly (readonly [ProviderPreferences, readonly string[]])[] = [
    [{ preferred_max_latency: 1 }, ['middling', 'slow', 'quick', 'fresh']],
    [{ preferred_max_latency: 2 }, ['middling', 'quick', 'slow', 'fresh']],
    [{ preferred_max_latency: { p50: 2, p99: 2 } }, ['quick', 'slow', 'middling', 'fresh']],
    [{ preferred_max_latency: { p90: 2 } }, ['middling', 'quick', 'slow', 'fresh']],
    [{ preferred_max_latency: { p75: 1, p90: null } }, ['middling', 'slow', 'quick', 'fresh']],
    [{ preferred_max_latency: {} }, ['slow', 'middling', 'quick', 'fresh']],
    [{ preferred_min_throughput: 40 }, ['middling', 'slow', 'quick', 'fresh']],
    [{ preferred_min_throughput: { p90: 25 } }, ['middling', 'quick', 'slow', 'fresh']],
    [{ preferred_min_throughput: { p99: 25 } }, ['quick', 'slow', 'middling', 'fresh']],
    [{ preferred_min_throughput: 25, preferred_max_latency: { p99: 5 } }, ['quick', 'slow', 'middling', 'fresh']],
    [{ preferred_min_throughput: 1_000 }, ['slow', 'middling', 'quick', 'fresh']],
    [{ preferred_min_throughput: null, preferred_max_latency: null }, ['slow', 'middling', 'quick', 'fresh']],
  ];
  it.each(cases)('%j reorders and drops nobody', (provider, expected) => {
    const plan = scene.plan({ provider }, { records: uneven });
    expect(plan.steps.map(({ endpoint }) => endpoint.tag)).toEqual(expected);
    expect(plan.rejected).toEqual([]);
  });

  it('accept exactly what they name', () => {
    // Both are the middle of a bucket, so that nothing is rounded.
    const exact = {
      middling: recordMeasured(times(5, { latencyMs: 1_024, tokensPerSecond: 32 })),
      slow: recordMeasured(times(5, { latencyMs: 2_048, tokensPerSecond: 16 })),
    };
    const first = (provider: ProviderPreferences): string | undefined =>
      scene.order({ provider }, { records: exact })[0];
    expect(first({ preferred_max_latency: 1.024 })).toBe('middling');
    expect(first({ preferred_max_latency: 1.023 })).toBe('slow');
    expect(first({ preferred_min_throughput: 32 })).toBe('middling');
    expect(first({ preferred_min_throughput: 32.1 })).toBe('slow');
  });

  it('that name nothing prefer nobody', () => {
    const plain = serving({ fresh: costing(1), known: costing(2) });
    const seen = { known: recordMeasured(times(5, { latencyMs: 10 })) };
    expect(plain.order({ provider: { preferred_max_latency: {} } }, { records: seen })).toEqual(['fresh', 'known']);
    const named = { preferred_max_latency: 1 };
    expect(plain.order({ provider: named }, { records: seen })).toEqual(['known', 'fresh']);
  });

  it('sort within those who meet them and within those who do not', () => {
    const provider: ProviderPreferences = { sort: 'throughput', preferred_max_latency: 2 };
    expect(scene.order({ provider }, { records: uneven })).toEqual(['middling', 'quick', 'slow', 'fresh']);
  });
});

describe('exacto', () => {
  const names = ['one', 'two', 'three', 'four', 'five'];
  const five = serving(Object.fromEntries(names.map((name, index) => [name, costing(index + 1)])));
  const calls = (valid: number, invalid: number): readonly CallMeasurement[] => [
    ...times(valid, { tokensPerSecond: 50, toolCalls: 'valid' as const }),
    ...times(invalid, { tokensPerSecond: 50, toolCalls: 'invalid' as const }),
  ];
  const good = recordMeasured(calls(249, 1));
  const bad = recordMeasured(calls(150, 100));
  const TOOLS: Partial<ChatRequest> = { tools: [{ type: 'function', function: { name: 'look_up' } }] };
  const known = { one: bad, two: good, three: good, four: good, five: good };

  it('puts good endpoints first, unknown ones next and clearly bad ones last', () => {
    const seen = { one: bad, two: good, three: good, four: good };
    expect(five.order({ provider: { sort: 'exacto' } }, { records: seen })).toEqual([
      'two',
      'three',
      'four',
      'five',
      'one',
    ]);
    expect(five.order({ model: 'acme/one:exacto' }, { records: seen })).toEqual([
      'two',
      'three',
      'four',
      'five',
      'one',
    ]);
  });

  it('applies to every request with tools, behind the balance of prices', () => {
    expect(five.order(TOOLS, { records: known })).toEqual(['two', 'three', 'four', 'five', 'one']);
    expect(five.order({}, { records: known })[0]).toBe('one');
  });

  it.each([{ sort: 'price' }, { sort: 'latency' }] as const)('does not apply to tools under %j', (provider) => {
    expect(five.order({ ...TOOLS, provider }, { records: known })[0]).toBe('one');
  });

  it('does not apply to tools under :floor', () => {
    expect(five.order({ ...TOOLS, model: 'acme/one:floor' }, { records: known })[0]).toBe('one');
  });

  it('needs four providers to compare', () => {
    const three = serving(Object.fromEntries(names.slice(0, 3).map((name, index) => [name, costing(index + 1)])));
    expect(three.order(TOOLS, { records: { one: bad, two: good, three: good } })[0]).toBe('one');
  });

  it('needs two hundred requests with tools before it judges', () => {
    const few = recordMeasured(calls(100, 99));
    expect(five.order(TOOLS, { records: { ...known, one: few } })[0]).toBe('one');
    const enough = recordMeasured(calls(100, 100));
    expect(five.order(TOOLS, { records: { ...known, one: enough } })[0]).toBe('two');
  });

  it('counts clearly slower endpoints as bad', () => {
    const slow = recordMeasured(times(250, { tokensPerSecond: 4, toolCalls: 'valid' }));
    expect(five.order(TOOLS, { records: { ...known, one: slow } }).at(-1)).toBe('one');
  });

  it('counts clearly weaker benchmark scores as bad', () => {
    const scored = serving(
      Object.fromEntries(
        names.map((name, index) => [
          name,
          { ...costing(index + 1), scores: { tool_calling: index === 0 ? 0.2 : 0.9 } },
        ]),
      ),
    );
    expect(scored.order(TOOLS).at(-1)).toBe('one');
  });

  it('forgets what is older than its windows', () => {
    const old = { ...known, one: recordMeasured(calls(150, 100), 7_300_000) };
    expect(five.order(TOOLS, { records: old })[0]).toBe('one');
  });

  it('puts failing endpoints behind endpoints with bad tool calls', () => {
    const failing = { ...known, two: recordAfter(['server', 'server']) };
    expect(five.order(TOOLS, { records: failing }).slice(-2)).toEqual(['one', 'two']);
  });
});
