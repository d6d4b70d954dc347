import type { Preset } from '../core/normalize/preset.ts';
import { flag, having, type OptionKind, type OptionShape, wholeNumber } from '../platform/option-kinds.ts';
import { CHAT_FIELDS, chatFieldsProblem } from '../protocol/chat-fields.ts';
import type { ChatRequest } from '../protocol/chat-request.ts';
import { isJsonObject } from '../protocol/json.ts';
import { nearName } from '../protocol/near-name.ts';

/** What a preset says beside fields of requests. */
const OWN: OptionShape<Omit<Preset, keyof ChatRequest>> = { cache_enabled: flag, cache_ttl_seconds: wholeNumber(1) };

const ownMembers = having('an object with fields of a request', {}, OWN);
const KNOWN = [...CHAT_FIELDS, ...Object.keys(OWN)];

/** Names as short as this are too often a letter away from another one. */
const SHORT = 5;

/**
 * A stored set of request fields. Fields that nobody knows go to providers, as they do in requests; one that is a
 * single letter away from a field of ours was meant to be that.
 */
export const preset: OptionKind = function* check(value, path) {
  yield* ownMembers(value, path);
  if (!isJsonObject(value)) return;
  const fields = Object.fromEntries(Object.entries(value).filter(([name]) => !Object.hasOwn(OWN, name)));
  for (const name of Object.keys(fields)) {
    const near = KNOWN.includes(name) || name.length <= SHORT ? undefined : nearName(name, KNOWN, 1);
    if (near !== undefined) {
      yield { path: `${path}.${name}`, problem: `is not a field of requests; did you mean "${near}"?` };
    }
  }
  const wrong = chatFieldsProblem(fields);
  if (wrong !== undefined) yield { path: `${path}.${wrong.path}`, problem: wrong.problem };
};
