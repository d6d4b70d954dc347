import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import { fitsSchema } from './fits-schema.ts';
import { isQuote, readText } from './read-text.ts';
import { readWord } from './read-word.ts';

/** Longer answers are prose. */
const MAX_LENGTH = 10_000;
const IN_FENCE = /^(?:```|~~~)[ \t]*(?:json[5cl]?|text|txt)?[ \t]*\n([\s\S]*?)\n?(?:```|~~~)?$/i;

/**
 * The JSON of an answer that is one number, literal or text, where the schema allows it: `True`, `'yes'`, `42` in a
 * fence, or, where the schema lists its values, one of them without quotes. Undefined for everything else, so that
 * prose never becomes a text.
 */
export function scalarOf(answer: string, schema: JsonObject): string | undefined {
  const trimmed = answer.trim();
  if (trimmed === '' || trimmed.length > MAX_LENGTH) return undefined;
  const written = (IN_FENCE.exec(trimmed)?.[1] ?? trimmed).trim();
  return [written, quotedText(written), word(written), JSON.stringify(written)].find((json, index, all) => {
    const value = json === undefined ? undefined : parsed(json);
    if (value === undefined || fitsSchema(schema, value) !== true) return false;
    // Words without quotes are a text only where the schema knows these very words.
    return index < all.length - 1 || fitsSchema(schema, `${written} and more`) === false;
  });
}

function quotedText(written: string): string | undefined {
  if (!isQuote(written[0])) return undefined;
  const text = readText(written, 0, { place: 'array', open: [], bareKeys: false, latex: false });
  return text.closed && !text.guessed && text.end === written.length ? text.json : undefined;
}

function word(written: string): string | undefined {
  const read = readWord(`${written} `, 0);
  return read !== undefined && !read.cut && read.end === written.length && read.repair !== 'quotes'
    ? read.json
    : undefined;
}

/** A value that is neither object nor list. */
function parsed(json: string): JsonValue | undefined {
  try {
    const value = JSON.parse(json) as JsonValue;
    return typeof value === 'object' && value !== null ? undefined : value;
  } catch {
    return undefined;
  }
}
