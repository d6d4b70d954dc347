import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeText, unescapeText } from '../../../src/core/stream/pieces.ts';
import { SentText } from '../../../src/core/stream/sent-text.ts';
import { Splice } from '../../../src/core/stream/splice.ts';
import { runs } from '../../support/properties.ts';
import type { StreamPiece } from '../../../src/contracts/stream-piece.ts';

/** Texts with halves of characters in them, which is what a stream that is cut anywhere has. */
const TEXT = fc.array(
  fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('🚋', '\u{1F468}‍👩‍👧', '\\', '"', '\n')),
  {
    minLength: 1,
    maxLength: 12,
  },
);

/** A text in pieces of any length, as text and as deltas. */
function divided(text: string, lengths: readonly number[], asDeltas: readonly boolean[]): readonly StreamPiece[] {
  const pieces: StreamPiece[] = [];
  let position = 0;
  for (let count = 0; position < text.length; count += 1) {
    const length = lengths[count % lengths.length] ?? 1;
    const content = text.slice(position, position + length);
    position += length;
    pieces.push(asDeltas[count % asDeltas.length] === true ? delta({ content }) : escapeText(content));
  }
  return pieces;
}

function delta(said: Extract<StreamPiece, { type: 'delta' }>['delta']): StreamPiece {
  return { type: 'delta', index: 0, delta: said };
}

function textOf(pieces: readonly StreamPiece[]): string {
  const said = pieces.map((piece) => {
    if (typeof piece === 'string') return unescapeText(piece);
    return piece.type === 'delta' ? (piece.delta.content ?? '') : '';
  });
  return said.join('');
}

/** What a splice shows of a stream; undefined where it is a different one. */
function shownBy(splice: Splice, pieces: readonly StreamPiece[]): readonly StreamPiece[] | undefined {
  const shown: StreamPiece[] = [];
  for (const piece of pieces) {
    const taken = splice.take(piece);
    if (taken === undefined) return undefined;
    shown.push(...taken);
  }
  return shown;
}

const FINISH: StreamPiece = { type: 'finish', index: 0, reason: 'stop', native: 'stop' };
const END: StreamPiece = { type: 'end' };
const LENGTHS = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 6 });
const FORMS = fc.array(fc.boolean(), { minLength: 1, maxLength: 4 });

describe('a text that is gone on with', () => {
  it('is the uncut one, wherever it was cut and however both streams divide it', () => {
    fc.assert(
      fc.property(TEXT, LENGTHS, LENGTHS, FORMS, FORMS, (parts, first, second, forms, others) => {
        const whole = parts.join('');
        for (let cut = 0; cut <= whole.length; cut += 1) {
          const sent = new SentText();
          for (const piece of divided(whole.slice(0, cut), first, forms)) sent.note(piece);
          expect(sent.text).toBe(whole.slice(0, cut));
          const splice = new Splice(sent.text, 0);
          const shown = shownBy(splice, [...divided(whole, second, others), FINISH, END]) ?? [];
          expect(sent.text + textOf(shown)).toBe(whole);
          expect(shown.slice(-2)).toEqual([FINISH, END]);
        }
      }),
      runs(200),
    );
  });

  it('shows nothing of a stream that says something else at any place, or ends before that', () => {
    fc.assert(
      fc.property(TEXT, LENGTHS, FORMS, fc.nat(), (parts, lengths, forms, place) => {
        const sent = parts.join('');
        fc.pre(sent.length > 0);
        const at = place % sent.length;
        const other = `${sent.slice(0, at)}${sent[at] === 'x' ? 'y' : 'x'}${sent.slice(at + 1)} and more`;
        expect(shownBy(new Splice(sent, 0), divided(other, lengths, forms))).toBeUndefined();
        expect(shownBy(new Splice(sent, 0), [...divided(sent.slice(0, at), lengths, forms), FINISH])).toBeUndefined();
      }),
      runs(200),
    );
  });

  it('leaves out reasoning until it says something new', () => {
    const splice = new Splice('One', 0);
    const shown = shownBy(splice, [
      delta({ reasoning: 'Hm' }),
      'One',
      delta({ reasoning: 'So' }),
      ' two',
      delta({ reasoning: '!' }),
    ]);
    expect(shown).toEqual([' two', delta({ reasoning: '!' })]);
  });

  it('may end in a call of a tool that comes after all of it, and in none that comes before', () => {
    const call = delta({
      tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
    });
    expect(shownBy(new Splice('Let me look.', 0), ['Let me look.', call, FINISH])).toEqual([call, FINISH]);
    expect(shownBy(new Splice('Let me look.', 0), ['Let me', call])).toBeUndefined();
  });

  it('moves citations that count from the beginning of what was added', () => {
    const cited = (start: number, end: number): StreamPiece =>
      delta({
        annotations: [
          { type: 'url_citation', url_citation: { url: 'https://a.example', start_index: start, end_index: end } },
        ],
      });
    expect(shownBy(new Splice('', 10), [' two', cited(1, 4)])).toEqual([' two', cited(11, 14)]);
    expect(shownBy(new Splice('One', 0), ['One two', cited(4, 7)])).toEqual([' two', cited(4, 7)]);
  });
});

describe('what was sent', () => {
  it.each<[string, StreamPiece, boolean]>([
    ['text', 'Hello', true],
    ['reasoning', delta({ reasoning: 'Hm' }), true],
    [
      'a citation',
      delta({ annotations: [{ type: 'url_citation', url_citation: { url: 'https://a.example' } }] }),
      true,
    ],
    ['a call of a tool', delta({ tool_calls: [{ index: 0 }] }), false],
    ['an image', delta({ images: [{ type: 'image_url', image_url: { url: 'data:,' } }] }), false],
    ['sound', delta({ audio: { data: 'AA' } }), false],
    ['a refusal', delta({ refusal: 'No' }), false],
    ['text of another choice', { type: 'delta', index: 1, delta: { content: 'Hi' } }, false],
    ['log probabilities', { type: 'delta', index: 0, delta: { content: 'Hi' }, logprobs: { content: [] } }, false],
    ['an end', FINISH, false],
  ])('can be gone on with after %s: %s', (_name, piece, can) => {
    const sent = new SentText();
    sent.note(piece);
    expect(sent.canGoOn).toBe(can);
  });
});
