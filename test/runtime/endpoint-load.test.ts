import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EndpointLoad, type RunningCall } from '../../src/runtime/endpoints/endpoint-load.ts';

describe('the calls under way at an endpoint', () => {
  it('are those that began and have not ended, in whatever order they end, and however often', () => {
    const orders = fc.array(fc.record({ end: fc.nat(20), again: fc.boolean() }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(orders, (steps) => {
        const load = new EndpointLoad();
        const expected = new Set<RunningCall>();
        const calls: { readonly call: RunningCall; readonly end: () => void }[] = [];
        for (const [startedAt, step] of steps.entries()) {
          const call: RunningCall = {
            startedAt,
            kind: 'whole',
            patience: 1,
            onHang: () => undefined,
            index: -1,
            among: 0,
            tokens: 0,
            spared: 0,
            work: 0,
            mostWork: 0,
            isAccepted: false,
          };
          load.waiting(call);
          calls.push({ call, end: () => load.waited(call, 'answered', 0) });
          expected.add(call);
          const ended = calls[step.end];
          ended?.end();
          if (step.again) ended?.end();
          if (ended !== undefined) expected.delete(ended.call);
          expect(new Set(load.running)).toEqual(expected);
          expect(load.running).toHaveLength(expected.size);
        }
      }),
    );
  });
});
