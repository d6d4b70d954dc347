import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ServerCallFilter } from '../../../src/core/pipeline/server-call-filter.ts';
import { ToolCallCollector } from '../../../src/core/stream/collect.ts';
import type { ToolCallDelta } from '../../../src/protocol/chunk.ts';

interface Call {
  readonly name: string;
  readonly pieces: readonly string[];
}

const anyCall: fc.Arbitrary<Call> = fc.record({
  name: fc.constantFrom('ours', 'also_ours', 'theirs', 'also_theirs'),
  pieces: fc.array(fc.string({ maxLength: 4 }), { maxLength: 4 }),
});

/** Fragments of all calls, in any order that keeps the order within each call. */
const streams = fc.array(anyCall, { maxLength: 5 }).chain((calls) =>
  fc
    .shuffledSubarray(
      calls.flatMap(({ pieces }, index) => Array.from({ length: pieces.length + 2 }, () => index)),
      { minLength: calls.reduce((total, { pieces }) => total + pieces.length + 2, 0) },
    )
    .map((order) => {
      const positions = calls.map(() => 0);
      const fragments = order.map((index): ToolCallDelta => {
        const position = positions[index] ?? 0;
        positions[index] = position + 1;
        const one = calls[index];
        if (position === 0) return { index, id: `id-${index}`, type: 'function' };
        if (position === 1) return { index, function: { name: one?.name ?? '' } };
        return { index, function: { arguments: one?.pieces[position - 2] ?? '' } };
      });
      return { calls, fragments };
    }),
);

/** What says nothing is a call without arguments. */
function argumentsOf(pieces: readonly string[]): string {
  const text = pieces.join('');
  return /\S/.test(text) ? text : '{}';
}

const OURS = new Set(['ours', 'also_ours']);

describe('calls of server tools', () => {
  it('are taken out of a stream, and the others stay whole and are numbered from zero', () => {
    fc.assert(
      fc.property(streams, ({ calls, fragments }) => {
        const filter = new ServerCallFilter(OURS);
        const collector = new ToolCallCollector();
        for (const fragment of fragments) {
          const shown = filter.show({ type: 'delta', index: 0, delta: { tool_calls: [fragment] } });
          collector.add(shown?.delta.tool_calls ?? []);
        }
        collector.add(filter.end()?.delta.tool_calls ?? []);
        const seen = collector.finish();
        const theirs = calls.map((one, index) => ({ ...one, id: `id-${index}` })).filter(({ name }) => !OURS.has(name));
        expect(seen.map(({ index }) => index)).toEqual(theirs.map((_, index) => index));
        expect(new Set(seen.map(({ id, function: called }) => `${id} ${called.name} ${called.arguments}`))).toEqual(
          new Set(theirs.map(({ id, name, pieces }) => `${id} ${name} ${argumentsOf(pieces)}`)),
        );
      }),
    );
  });

  it('leave everything else of a chunk alone', () => {
    const filter = new ServerCallFilter(OURS);
    const call = { index: 0, id: 'a', type: 'function', function: { name: 'ours' } } as const;
    expect(filter.show({ type: 'delta', index: 0, delta: { content: 'x', tool_calls: [call] } })).toEqual({
      type: 'delta',
      index: 0,
      delta: { content: 'x' },
    });
    const other = { type: 'delta', index: 1, delta: { tool_calls: [call] } } as const;
    expect(filter.show(other)).toBe(other);
  });

  it('without a name belong to the caller', () => {
    const filter = new ServerCallFilter(OURS);
    const nameless = { index: 3, id: 'a', function: { arguments: '{}' } };
    expect(filter.show({ type: 'delta', index: 0, delta: { tool_calls: [nameless] } })).toBeUndefined();
    expect(filter.end()?.delta.tool_calls).toEqual([{ ...nameless, index: 0 }]);
  });
});
