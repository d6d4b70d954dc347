import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalizePreferences } from '../../../src/core/normalize/preset.ts';
import { inheritedPolicies } from '../../../src/core/pipeline/inherited-policies.ts';

const names = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 });
const provider = fc.record({
  only: names,
  ignore: names,
  data_collection: fc.constantFrom('allow' as const, 'deny' as const),
  zdr: fc.boolean(),
  enforce_distillable_text: fc.boolean(),
  max_price: fc.record({ prompt: fc.integer({ min: 0, max: 9 }), completion: fc.integer({ min: 0, max: 9 }) }),
  order: names,
  sort: fc.constantFrom('price' as const, 'throughput' as const),
});

describe('the rules of a request for the calls of its plugins', () => {
  it('hold in full, whatever the inner request says; wishes do not', () => {
    fc.assert(
      fc.property(provider, provider, (outer, inner) => {
        const rules = normalizePreferences({ provider: outer }, []);
        const made = normalizePreferences({ provider: inner }, inheritedPolicies(rules));
        expect(made.only).toEqual([outer.only, inner.only]);
        expect(made.ignore).toEqual([...outer.ignore, ...inner.ignore]);
        expect(made.denyDataCollection).toBe(outer.data_collection === 'deny' || inner.data_collection === 'deny');
        expect(made.zeroDataRetention).toBe(outer.zdr || inner.zdr);
        expect(made.distillableOnly).toBe(outer.enforce_distillable_text || inner.enforce_distillable_text);
        expect(made.maxPrice).toEqual({
          prompt: Math.min(outer.max_price.prompt, inner.max_price.prompt),
          completion: Math.min(outer.max_price.completion, inner.max_price.completion),
        });
        expect([made.order, made.sort]).toEqual([inner.order, inner.sort]);
      }),
    );
  });
});
