/** A text that was found in another one, encoded. */
export interface HiddenText {
  readonly text: string;
  /** Where its code stands. */
  readonly start: number;
  readonly end: number;
}

/** Characters of code in one text that are looked into. More than that is a file, not a message. */
const BUDGET = 400_000;
/** Shorter ones hold no sentence. */
const SHORTEST = 16;
/** Of what is decoded, the part that must be letters, digits, blanks and the like to be text. */
const PRINTABLE = 0.9;

/** Texts that are hidden in base64, also over several lines. */
export function hiddenTexts(text: string): readonly HiddenText[] {
  const found: HiddenText[] = [];
  let left = BUDGET;
  for (const match of text.matchAll(CODE)) {
    const [run] = match;
    if (run.length > left) continue;
    left -= run.length;
    const start = match.index;
    const whole = decode(run);
    if (whole !== undefined) found.push({ text: whole, start, end: start + run.length });
    // Lines that only look like parts of one code may each be one.
    else if (run.includes('\n')) found.push(...hiddenLines(run, start));
  }
  return found;
}

function hiddenLines(run: string, start: number): readonly HiddenText[] {
  return [...run.matchAll(/[^\r\n]+/g)].flatMap((line) => {
    const text = decode(line[0]);
    const at = start + line.index;
    return text === undefined ? [] : [{ text, start: at, end: at + line[0].length }];
  });
}

/** Runs of base64; lines of one follow each other directly. */
const CODE = /[A-Za-z0-9+/_-]{16,}(?:\r?\n[A-Za-z0-9+/_-]{4,})*={0,2}/g;

function decode(run: string): string | undefined {
  const code = run.replaceAll(/[\s=]/g, '').replaceAll('-', '+').replaceAll('_', '/');
  if (code.length < SHORTEST) return undefined;
  try {
    const binary = atob(code.slice(0, code.length % 4 === 1 ? -1 : code.length));
    const text = new TextDecoder().decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
    const printable = text.match(/[\p{L}\p{N}\p{P}\p{Z}\n\t]/gu)?.length ?? 0;
    return printable >= Array.from(text).length * PRINTABLE ? text : undefined;
  } catch {
    return undefined;
  }
}
