import { type Bracket, closerOf, goesOn, matches, QUOTED_KEY, skipSpace } from './closing-quote.ts';

/** A bracket that is open. */
export interface OpenBracket {
  readonly kind: Bracket;
  /** White space before the line that it is in. */
  readonly indent: number;
  /** Keys of this object go without quotes. */
  readonly bareKeys: boolean;
}

/** What a closing bracket is meant for. */
export type BracketMeaning =
  /** It closes the innermost bracket. */
  | 'closes'
  /** It closes the innermost bracket, but is of the wrong kind. */
  | 'wrong'
  /** It closes nothing. */
  | 'superfluous'
  /** It closes something further out, so the innermost bracket was never closed. */
  | 'outer';

/** Characters that are looked at for the beginning of a line. */
const MAX_LINE = 200;

/**
 * Says what the closing bracket at a place is meant for, going by its kind, by what follows it, and by how far it is
 * indented.
 *
 * @param open - All open brackets, the innermost last.
 */
export function meaningOf(source: string, at: number, open: readonly OpenBracket[]): BracketMeaning {
  const character = source[at];
  const fits = (one: OpenBracket | undefined): boolean => one !== undefined && character === closerOf(one.kind);
  const behind = at + 1;
  if (fits(open.at(-1))) {
    if (open.length === 1 && couldFollow(source, behind, open) && !couldFollow(source, behind, [])) {
      return 'superfluous';
    }
    return isIndentedLikeOuter(source, at, open) ? 'outer' : 'closes';
  }
  const outer = open.findLastIndex(fits);
  if (outer >= 0 && couldFollow(source, behind, open.slice(0, outer))) return 'outer';
  if (couldFollow(source, behind, open.slice(0, -1))) return 'wrong';
  if (couldFollow(source, behind, open)) return 'superfluous';
  return outer >= 0 ? 'outer' : 'wrong';
}

/** White space at the beginning of the line of a place; 0 for the first line and for long ones. */
export function indentOf(source: string, at: number): number {
  return /^[ \t]*/.exec(lineBefore(source, at) ?? '')?.[0].length ?? 0;
}

/** Whether what follows a bracket can, when only certain brackets are open behind it. */
function couldFollow(source: string, at: number, open: readonly OpenBracket[]): boolean {
  let depth = open.length;
  let next = skipSpace(source, at);
  for (;;) {
    const around = open[depth - 1];
    const character = source[next] ?? '';
    if (around === undefined) {
      return !/^(?:[}\]]|,\s*["“'{[\w]|"[^"\n]{1,120}"\s*:)/.test(source.slice(next, next + 150));
    }
    if (character === '') return false;
    if (character === closerOf(around.kind)) {
      depth -= 1;
      next = skipSpace(source, next + 1);
      continue;
    }
    const comma = character === ',';
    const member = comma ? skipSpace(source, next + 1) : next;
    if (!comma && !/["“'{[]/.test(character)) return false;
    if (around.kind !== 'object' && matches(QUOTED_KEY, source, member)) return false;
    return goesOn(source, member, around.kind, around.bareKeys);
  }
}

/** A bracket that begins a line belongs to what began a line that is indented as far. */
function isIndentedLikeOuter(source: string, at: number, open: readonly OpenBracket[]): boolean {
  const inner = open.at(-1);
  const line = lineBefore(source, at);
  if (inner === undefined || line === undefined || line.length >= inner.indent || line.trim() !== '') return false;
  return open.some((one) => one !== inner && one.indent === line.length && source[at] === closerOf(one.kind));
}

/** The line of a place, up to there; undefined for the first line and for a long one. */
function lineBefore(source: string, at: number): string | undefined {
  const before = source.slice(Math.max(0, at - MAX_LINE), at);
  const line = before.lastIndexOf('\n') + 1;
  return line === 0 ? undefined : before.slice(line);
}

/** Characters at the end of a text that may be brackets. */
const MAX_TAIL = 200;

/**
 * A text that ran to the end of an answer without the brackets of its objects and lists: it only lost its closing quote.
 *
 * @param written - As JSON writes it, with quotes.
 */
export function withoutBrackets(written: string, open: readonly OpenBracket[]): string {
  const json = written.replace(/(?:\\n|\s){0,20}(?:```|~~~)(?:\\n|\s){0,20}"$/, '"');
  const tail = /[\s}\]]*$/.exec(json.slice(-MAX_TAIL, -1).replaceAll('\\n', '  '))?.[0] ?? '';
  const brackets = tail.replaceAll(/\s/g, '');
  const expected = open.map((one) => (one.kind === 'object' ? '}' : ']')).toReversed();
  if (brackets === '' || !expected.join('').startsWith(brackets)) return json;
  return `${json.slice(0, json.length - 1 - tail.length)}"`;
}
