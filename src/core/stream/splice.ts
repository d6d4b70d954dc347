/** Goes on with the text of a stream that broke, from another stream. Pure: what is shown depends on the pieces alone. */
import type { Annotation } from '../../protocol/chat-result.ts';
import type { Delta } from '../../protocol/chunk.ts';
import { escapeText, unescapeText } from './pieces.ts';
import { hasMore } from './sent-text.ts';
import type { DeltaPiece, StreamPiece } from '../../contracts/stream-piece.ts';

/**
 * Takes from a second stream what follows the text that was sent. Until then it must repeat that text, however it is
 * divided into pieces; nothing of it is shown meanwhile, and none of the reasoning before its first new content.
 */
export class Splice {
  readonly #expected: string;
  readonly #textBefore: number;
  /** True where only space is expected: it was left out at the end of a prefill, and models go on with other space or none. */
  readonly #isSpace: boolean;
  #position = 0;
  #hasSaid = false;

  /**
   * @param expected - What the second stream says once more of what was sent.
   * @param textBefore - UTF-16 units of text before what the second stream says.
   */
  constructor(expected: string, textBefore: number) {
    this.#expected = expected;
    this.#textBefore = textBefore;
    this.#isSpace = textBefore > 0 && expected.trim() === '';
  }

  /** True once everything that was sent has been repeated. */
  get isOver(): boolean {
    return this.#position === this.#expected.length;
  }

  /** What a piece adds to what was sent; undefined where it says something else. */
  take(piece: StreamPiece): readonly StreamPiece[] | undefined {
    if (typeof piece === 'string') {
      // Commonly there is nothing to compare any more.
      const rest = this.isOver ? piece : this.#escapedRest(piece);
      this.#hasSaid ||= rest !== undefined && rest !== '';
      return rest === undefined ? undefined : rest === '' ? NOTHING : [rest];
    }
    if (piece.type === 'delta') return this.#delta(piece);
    if (piece.type === 'native') return NOTHING;
    return this.isOver || (piece.type !== 'finish' && piece.type !== 'end') ? [piece] : undefined;
  }

  #delta(piece: DeltaPiece): readonly StreamPiece[] | undefined {
    const { index, delta } = piece;
    if (index !== 0) return this.isOver ? [piece] : undefined;
    const { content, reasoning, reasoning_details: details, annotations, ...rest } = delta;
    const said = content ? this.#rest(content) : '';
    if (said === undefined) return undefined;
    if (!this.isOver) return hasMore(delta) ? undefined : NOTHING;
    const isNew = said !== '' || hasMore(delta) || this.#hasSaid;
    const shown: Delta = {
      ...rest,
      ...(said === '' ? {} : { content: said }),
      ...(isNew && reasoning ? { reasoning } : {}),
      ...(isNew && details !== undefined ? { reasoning_details: details } : {}),
      ...(annotations === undefined ? {} : { annotations: annotations.map((one) => this.#moved(one)) }),
    };
    this.#hasSaid = isNew;
    return Object.keys(shown).length === 0 ? NOTHING : [{ ...piece, delta: shown }];
  }

  /** What of a text is new; undefined where it is not what was sent. */
  #rest(text: string): string | undefined {
    const left = this.#expected.length - this.#position;
    if (left === 0) return text;
    if (this.#expected.startsWith(text.slice(0, left), this.#position)) {
      this.#position += Math.min(left, text.length);
      return text.slice(left);
    }
    if (!this.#isSpace) return undefined;
    let same = 0;
    while (text[same] === this.#expected[this.#position + same]) same += 1;
    this.#position = this.#expected.length;
    return text.slice(same);
  }

  #escapedRest(escaped: string): string | undefined {
    const rest = this.#rest(unescapeText(escaped));
    return rest === undefined ? undefined : escapeText(rest);
  }

  /** Citations count from where their own stream began. */
  #moved(annotation: Annotation): Annotation {
    if (this.#textBefore === 0 || annotation.type !== 'url_citation') return annotation;
    const { start_index: start, end_index: end, ...cited } = annotation.url_citation;
    return {
      ...annotation,
      url_citation: {
        ...cited,
        ...(start === undefined ? {} : { start_index: start + this.#textBefore }),
        ...(end === undefined ? {} : { end_index: end + this.#textBefore }),
      },
    };
  }
}

const NOTHING: readonly StreamPiece[] = [];
