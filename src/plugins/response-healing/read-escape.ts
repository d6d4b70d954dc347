import { isLatexCommand } from './latex.ts';

/** An escape as JSON writes it. */
export interface ReadEscape {
  readonly json: string;
  /** First position behind it. */
  readonly end: number;
  /** True when it had to be written differently. */
  readonly changed: boolean;
}

/** What is known of the text around an escape. */
export interface EscapePlace {
  readonly isKey: boolean;
  /** The text has commands of LaTeX that cannot be escapes. */
  readonly latex: boolean;
  /** The text is a path of Windows, in which every backslash stands for itself. */
  readonly path: boolean;
}

/**
 * Reads the escape at a backslash. What JSON does not know keeps its backslash (`\alpha`, `\d`), and so does what only
 * looks like an escape of JSON (`\theta`, `\frac`). Undefined for an escape that the end of the text cuts off.
 */
export function readEscape(source: string, at: number, place: EscapePlace): ReadEscape | undefined {
  const next = source[at + 1];
  if (next === undefined) return undefined;
  const kept = { json: `\\${next}`, end: at + 2, changed: false };
  const literal = { json: '\\\\', end: at + 1, changed: true };
  if (next === '\\' || next === '"') return kept;
  if (place.path) return literal;
  switch (next) {
    case '/':
      return kept;
    case 'b':
    case 'f':
      return literal;
    case 'n':
    case 'r':
    case 't':
      return isLatexCommand(wordAt(source, at + 1), place.latex) ? literal : kept;
    case 'u':
      return unicodeEscape(source, at, literal);
    case 'U':
      return codeEscape(source, at, 8) ?? literal;
    case 'x':
      return codeEscape(source, at, 2) ?? literal;
    case '\n':
      return { json: '\\n', end: at + 2, changed: true };
    case "'":
    case '`':
      return { json: next, end: at + 2, changed: true };
    default:
      // Markdown escapes underscores, and no key means a backslash.
      return place.isKey && /[_*#.-]/.test(next) ? { json: next, end: at + 2, changed: true } : literal;
  }
}

function unicodeEscape(source: string, at: number, literal: ReadEscape): ReadEscape | undefined {
  const digits = source.slice(at + 2, at + 6);
  if (/^[\da-fA-F]{4}$/.test(digits)) return { json: source.slice(at, at + 6), end: at + 6, changed: false };
  return at + 2 + digits.length === source.length && /^[\da-fA-F]*$/.test(digits) ? undefined : literal;
}

/** `\x41` of JavaScript and Python, `\U0001F600` of Python. */
function codeEscape(source: string, at: number, length: number): ReadEscape | undefined {
  const digits = source.slice(at + 2, at + 2 + length);
  const code = digits.length === length && /^[\da-fA-F]+$/.test(digits) ? Number.parseInt(digits, 16) : Infinity;
  if (code > 0x10_ffff) return undefined;
  return { json: JSON.stringify(String.fromCodePoint(code)).slice(1, -1), end: at + 2 + length, changed: true };
}

function wordAt(source: string, at: number): string {
  return /^[a-zA-Z]*/.exec(source.slice(at, at + 24))?.[0] ?? '';
}
