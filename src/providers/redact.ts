/** Makes texts of providers fit to be shown: without secrets, and short. */
import { toBase64 } from '../platform/data-url.ts';

/** Characters of a provider's text that may be shown. */
export const MAX_PROVIDER_TEXT = 500;

/** Characters of a provider's text that are looked at: more than are shown, because redaction makes it shorter. */
const SCANNED = 8 * MAX_PROVIDER_TEXT;

/** Shorter values are not taken for secrets: replacing them everywhere would destroy the text. */
const SHORTEST_SECRET = 4;

/** Forms in which keys appear in texts: with a known beginning, behind a word that announces one, or in a query. */
const SECRET_FORMS = [
  /\b(?:sk|pk|rk|gsk|csk|xai|fw|hf|r8|tgp|pplx|nvapi|AIza|ya29)[-_.][A-Za-z0-9*_.-]{6,}/g,
  /\b(?:key|api)[-_.](?=[A-Za-z0-9*_.-]*[\d*])[A-Za-z0-9*_.-]{6,}/g,
  /\b(?:AIza[A-Za-z0-9_-]{10,}|A[A-Z]IA[A-Z0-9]{12,})/g,
  /\b(?:gh[a-z]_[A-Za-z0-9]{6,}|github_pat_\w{6,}|glpat-[\w-]{6,})/g,
  /\b(?:xox[a-z]|xapp)-[A-Za-z0-9-]{6,}/g,
  /\b(?:Bearer|Basic)\s+[^\s"']+/gi,
  /([?&](?:key|api[-_]?key|token|access_token|sig|signature)=)[^&\s"']+/gi,
  /(\b(?:api[-_ ]?key|access[-_ ]?key|token|secret|password|authorization)\b["']?\s{0,3}[:=]\s{0,3}["']?)(?=[^\s"',]*\d)[^\s"',]{8,}/gi,
  /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)?/g,
];

/** Where a web page begins inside a text. */
const PAGE = /<(?:!doctype|html|head|body|script|style|iframe)\b/i;

/**
 * Makes a provider's text fit to be shown: known secrets and everything that looks like one are taken out, and it is
 * cut to {@link MAX_PROVIDER_TEXT} characters. HTML is not shown at all, and neither is what follows it.
 *
 * @param secrets - Keys of ours, which are found in every spelling that JSON, addresses and HTML give them, and as base64
 * and hexadecimal digits.
 */
export function presentable(text: string, secrets: readonly string[]): string | undefined {
  const start = wholeWords(text.trimStart());
  if (start.startsWith('<')) return undefined;
  const page = PAGE.exec(start);
  let safe = page === null ? start : start.slice(0, page.index);
  for (const secret of secrets) {
    if (secret.length < SHORTEST_SECRET) continue;
    for (const spelling of [anySpellingOf(secret), ...encodingsOf(secret)]) safe = safe.replace(spelling, REDACTED);
  }
  for (const form of SECRET_FORMS) {
    safe = safe.replace(form, (_, kept) => `${typeof kept === 'string' ? kept : ''}${REDACTED}`);
  }
  safe = safe.trim();
  if (safe === '') return undefined;
  if (safe.length <= MAX_PROVIDER_TEXT) return safe;
  return `${safe.slice(0, MAX_PROVIDER_TEXT - 1).replace(HALF_CHARACTER, '')}…`;
}

const REDACTED = '[redacted]';
const HALF_CHARACTER = /[\ud800-\udbff]$/;

/** The part that is looked at, cut between words: half a key would not be recognised. */
function wholeWords(text: string): string {
  return text.length <= SCANNED ? text : text.slice(0, Math.max(0, text.lastIndexOf(' ', SCANNED)));
}

/** A secret as itself, with backslashes of JSON, of JSON inside JSON, as `\\u002b`, as `%2b`, or as a reference of HTML. */
function anySpellingOf(secret: string): RegExp {
  const characters = Array.from({ length: secret.length }, (_, index) => {
    const character = secret.charAt(index);
    const code = secret.charCodeAt(index);
    const hex = code.toString(16).padStart(2, '0');
    const name = HTML_NAMES[character];
    const named = name === undefined ? '' : `|&(?:amp;)?${name};`;
    const numbered = `&(?:amp;)?#(?:0*${code}|x0*${hex});?`;
    return `\\\\*(?:${escapePattern(character)}|u${hex.padStart(4, '0')}|x${hex}|%${hex}|${numbered}${named})`;
  });
  return new RegExp(characters.join(''), 'gi');
}

const HTML_NAMES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' };

/** Shorter pieces of base64 could be anything. */
const SHORTEST_BASE64 = 8;

/**
 * A secret as hexadecimal digits, and as base64 of either alphabet: by itself or within a longer text, where it may
 * begin at any of three places, and the characters at its edges depend on what is around it.
 */
function encodingsOf(secret: string): readonly RegExp[] {
  const bytes = new TextEncoder().encode(secret);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('(?:\\\\x|0x|%|[: -])?');
  const encoded = [0, 1, 2].flatMap((offset) => {
    const shifted = new Uint8Array(offset + bytes.length);
    shifted.set(bytes, offset);
    const from = Math.ceil((offset * 8) / 6);
    const to = Math.floor((shifted.length * 8) / 6);
    const inner = toBase64(shifted).slice(from, to);
    if (inner.length < SHORTEST_BASE64) return [];
    const pattern = inner.replaceAll(/[+/]/g, (mark) => (mark === '+' ? '[+-]' : '[/_]'));
    return [new RegExp(`[A-Za-z0-9+/_-]{0,${from}}${pattern}[A-Za-z0-9+/_-]?={0,2}`, 'g')];
  });
  return [new RegExp(hex, 'gi'), ...encoded];
}

function escapePattern(character: string): string {
  return /[\w\s]/.test(character) ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
