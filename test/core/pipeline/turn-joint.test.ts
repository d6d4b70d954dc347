import { describe, expect, it } from 'vitest';
import { TurnJoint } from '../../../src/core/pipeline/turn-requests.ts';
import { joinReasoningDetails } from '../../../src/core/stream/collect.ts';
import type { ReasoningDetail } from '../../../src/protocol/reasoning.ts';
import type { DeltaPiece, StreamPiece } from '../../../src/contracts/stream-piece.ts';

const delta = (said: DeltaPiece['delta']): DeltaPiece => ({ type: 'delta', index: 0, delta: said });
const text = (index: number, said: string): ReasoningDetail => ({ type: 'reasoning.text', text: said, index });

/** Two turns, joined. */
function joined(first: readonly StreamPiece[], second: readonly StreamPiece[]): readonly StreamPiece[] {
  const joint = new TurnJoint();
  joint.turn();
  const before = first.map((piece) => joint.join(piece));
  joint.turn();
  return [...before, ...second.map((piece) => joint.join(piece))];
}

describe('the texts of two turns', () => {
  it.each<readonly [readonly StreamPiece[], readonly StreamPiece[], readonly StreamPiece[]]>([
    [
      ['a', 'b'],
      ['c', 'd'],
      ['a', 'b', '\\n\\nc', 'd'],
    ],
    [['a\\n'], ['c'], ['a\\n', 'c']],
    [['a '], ['c'], ['a ', 'c']],
    [['a'], [' c'], ['a', ' c']],
    [['a'], ['\\tc'], ['a', '\\tc']],
    [[], ['c'], ['c']],
    [['a'], ['', 'c'], ['a', '', '\\n\\nc']],
    [[delta({ content: 'a' })], ['c'], [delta({ content: 'a' }), '\\n\\nc']],
    [['a'], [delta({ content: 'c' })], ['a', delta({ content: '\n\nc' })]],
  ])('%j and %j get a blank line between them where there is none', (first, second, expected) => {
    expect(joined(first, second)).toEqual(expected);
  });
});

describe('the reasoning of two turns', () => {
  it('is numbered on, so that nobody joins what does not belong together', () => {
    const joint = new TurnJoint();
    const details: ReasoningDetail[] = [];
    const say = (piece: StreamPiece): void => {
      if (typeof piece !== 'string' && piece.type === 'delta') details.push(...(piece.delta.reasoning_details ?? []));
    };
    joint.turn();
    say(joint.join(delta({ reasoning_details: [text(0, 'one ')] })));
    say(joint.join(delta({ reasoning_details: [text(0, 'two'), text(1, 'three')] })));
    const call = { id: 'c', index: 0, type: 'function', function: { name: 'f', arguments: '{}' } } as const;
    say(
      joint.calls([
        { call, result: 'r' },
        { call, result: 's' },
      ]),
    );
    joint.turn();
    say(joint.join(delta({ reasoning_details: [text(0, 'four')] })));
    expect(
      joinReasoningDetails(details).map((detail) => [detail.index, 'text' in detail ? detail.text : 'call']),
    ).toEqual([
      [0, 'one two'],
      [1, 'three'],
      [2, 'call'],
      [3, 'call'],
      [4, 'four'],
    ]);
  });
});
