/** Reads the answers that nearly all are, one choice of text and a report of three counts, in one look at each member. */
import type { ReportedUsageNames } from '../../core/accepts.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { ReportedUsage, UpstreamResult } from '../../contracts/stream-piece.ts';
import { decodeUsage } from './decode-usage.ts';
import type { VendorQuirks } from './vendor-quirks.ts';

/** Members of an answer that nothing but themselves depends on. */
const MEMBERS: ReadonlySet<string> = new Set([
  'id',
  'object',
  'created',
  'model',
  'choices',
  'usage',
  'system_fingerprint',
  'service_tier',
]);

/** Words for an end that mean what they say. */
const ENDS: ReadonlySet<unknown> = new Set(['stop', 'length']);

/** A count above this is looked at more closely. */
const MANY_TOKENS = 1e6;

/**
 * The result of an answer with one choice that is text and nothing else. Undefined for any other, which is read the long
 * way (`decodeAnswer`); a property test holds the two to the same result.
 *
 * @param names - What the server calls cached tokens. Default: every name that is in use.
 */
export function plainAnswer(
  answer: JsonObject,
  quirks: VendorQuirks,
  names: ReportedUsageNames | undefined,
): UpstreamResult | undefined {
  for (const name in answer) if (!MEMBERS.has(name) && answer[name] !== null) return undefined;
  const { id, choices, usage, system_fingerprint: fingerprint, service_tier: tier } = answer;
  if (!Array.isArray(choices) || choices.length !== 1 || !isJsonObject(usage)) return undefined;
  const choice: unknown = choices[0];
  if (!isJsonObject(choice)) return undefined;
  for (const name in choice) {
    if (name !== 'index' && name !== 'message' && name !== 'finish_reason' && choice[name] !== null) return undefined;
  }
  const { index, message, finish_reason: reason } = choice;
  if (index !== 0 || !ENDS.has(reason) || !isJsonObject(message)) return undefined;
  for (const name in message) {
    const value = message[name];
    // Servers write null or an empty list for what an answer might have and has not.
    if (name === 'content' || name === 'role' || value === null) continue;
    if (!Array.isArray(value) || value.length > 0) return undefined;
  }
  const { content } = message;
  if (typeof content !== 'string' || content === '') return undefined;
  const finish = reason as 'stop' | 'length';
  return {
    choices: [
      {
        index: 0,
        finish_reason: finish,
        native_finish_reason: finish,
        logprobs: null,
        message: { role: 'assistant', content, refusal: null, reasoning: null },
      },
    ],
    usage: plainUsage(usage) ?? decodeUsage(usage, quirks, names),
    systemFingerprint: typeof fingerprint === 'string' && fingerprint !== '' ? fingerprint : undefined,
    serviceTier: typeof tier === 'string' && tier !== '' ? tier : undefined,
    upstreamId: typeof id === 'string' && id !== '' ? id : undefined,
    findings: undefined,
  };
}

/** A report of nothing but the three counts, which add up; undefined for any other, which `decodeUsage` reads. */
export function plainUsage(usage: JsonObject): ReportedUsage | undefined {
  for (const name in usage) {
    if (name !== 'prompt_tokens' && name !== 'completion_tokens' && name !== 'total_tokens' && usage[name] !== null) {
      return undefined;
    }
  }
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage;
  if (typeof prompt !== 'number' || typeof completion !== 'number' || total !== prompt + completion) return undefined;
  if (!(prompt > 0 && prompt <= MANY_TOKENS && completion > 0 && completion <= MANY_TOKENS)) return undefined;
  if (prompt % 1 !== 0 || completion % 1 !== 0) return undefined;
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total };
}
