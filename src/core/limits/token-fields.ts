/** Finds passed-through fields by which an answer could cost more than is reserved for it. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';

/**
 * Names of limits and multipliers of an answer, without case and separators: `num_predict` of Ollama, `n_predict` of
 * llama.cpp, `max_new_tokens` of TGI and SGLang, `min_tokens`, `best_of` and `use_beam_search` of vLLM,
 * `max_tokens_to_sample`, `maxOutputTokens` and `candidateCount` of Gemini, and whatever else is named like them. What a
 * server makes of two limits is not known, so none but the one that is reserved for is sent.
 */
const GENERATES_MORE =
  /(?:max|min|num|total|new|output|generat\w*|completion|target|thinking|reasoning|budget|limit).*(?:token|length)|tokens?(?:limit|budget|max|min|to|count)|(?:max|min)(?:new|gen|output|out|len|completion)|(?:num|n|max|min)predict|bestof|beam|ignoreeos|bans?eos|candidatecount|returnsequences|num(?:samples|completions|generations|choices|outputs|responses)|(?:thinking|reasoning)budget|outputlimit/;

/** Members that hold no fields of the request but schemas and data, in which such a name means something else. */
const HOLDS_DATA = /schema|json|grammar|regex|choice|tool|function|metadata|template|message|prompt|document|bias/;

/** Fields without those that {@link GENERATES_MORE}; `dropped` names these by their path. */
export interface LimitedFields {
  readonly extra: JsonObject;
  readonly dropped: readonly string[];
}

/** Leaves such fields out, wherever they are. `n` at the top is counted instead, where it is a number. */
export function limitedFields(extra: JsonObject): LimitedFields {
  const dropped: string[] = [];
  const left = withoutFields(extra, '', dropped);
  return { extra: dropped.length === 0 ? extra : left, dropped };
}

function withoutFields(fields: JsonObject, path: string, dropped: string[]): JsonObject {
  const left = Object.create(null) as Record<string, JsonValue>;
  for (const [name, value] of Object.entries(fields)) {
    const place = path === '' ? name : `${path}.${name}`;
    if (value !== undefined && multiplies(name, value, path)) dropped.push(place);
    else if (value !== undefined) left[name] = HOLDS_DATA.test(squashed(name)) ? value : inner(value, place, dropped);
  }
  return left;
}

function inner(value: JsonValue, place: string, dropped: string[]): JsonValue {
  if (Array.isArray(value)) return value.map((one: JsonValue) => inner(one, place, dropped));
  return isJsonObject(value) ? withoutFields(value, place, dropped) : value;
}

function multiplies(name: string, value: JsonValue, path: string): boolean {
  const plain = squashed(name);
  if (plain === 'n') return name !== 'n' || path !== '' || typeof value !== 'number';
  return GENERATES_MORE.test(plain);
}

function squashed(name: string): string {
  return name.replaceAll(/[^a-z0-9]/gi, '').toLowerCase();
}

/** The sentence about a field that is not sent. */
export function notSent(place: string): string {
  const shown = place.length > 100 ? `${place.slice(0, 100)}…` : place;
  return `${shown} was left out, because the account has a budget and nothing is reserved for what it may add`;
}
