import { type AttemptFailure, failure } from '../../core/fallback/failure.ts';
import type { FactsPiece } from '../../core/stream/pieces.ts';
import type { FinishReason } from '../../protocol/chat-result.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { isError, isErrorBody } from '../error-shape.ts';
import type { DecodedResult } from '../codec.ts';
import { parseJson } from '../parse-json.ts';
import { type ErrorContext, failureInBand } from '../upstream-failure.ts';
import { decodeItems } from './decode-items.ts';
import { decodeUsage } from './decode-usage.ts';

/**
 * Decodes a whole answer of the Responses wire, and keeps it as it is. An answer that failed is a failure, although it
 * comes with a good status; so is one that is not over.
 */
export function decodeResponse(body: string, context: ErrorContext): DecodedResult {
  const text = body.trim();
  if (text === '') return bad('The provider sent an empty answer');
  if (text.startsWith('<')) return bad('The provider sent a web page instead of an answer');
  const parsed = parseJson(text);
  if (!isJsonObject(parsed)) return bad('The provider sent an answer that is not valid JSON');
  const problem = failureOfResponse(parsed, context);
  if (problem !== undefined) return { ok: false, failure: problem };
  const items = itemsOf(parsed);
  if (items === undefined) return bad('The provider sent an answer without output');
  const { message, logprobs } = decodeItems(items);
  const { reason, native } = finishOf(parsed, message.tool_calls !== undefined);
  const { systemFingerprint, serviceTier, upstreamId } = factsOf(parsed);
  return {
    ok: true,
    result: {
      choices: [{ index: 0, finish_reason: reason, native_finish_reason: native, logprobs, message }],
      usage: decodeUsage(parsed['usage']),
      systemFingerprint,
      serviceTier,
      upstreamId,
      native: parsed,
    },
  };
}

/** The failure that an answer tells of itself, if it does. */
export function failureOfResponse(response: JsonObject, context: ErrorContext): AttemptFailure | undefined {
  const { error, status } = response;
  if (isErrorBody(response) || isError(error)) return failureInBand({ error: error ?? response }, context);
  if (status === 'failed' || status === 'cancelled')
    return failure('server', 'The provider could not finish its answer');
  if (status === 'queued' || status === 'in_progress') {
    return failure('bad_response', 'The provider sent an answer that is not over');
  }
  return undefined;
}

/** How an answer ended. */
export function finishOf(
  response: JsonObject,
  called: boolean,
): { readonly reason: FinishReason; readonly native: string | null } {
  const { status, incomplete_details: details } = response;
  const word = isJsonObject(details) ? details['reason'] : undefined;
  const native = typeof word === 'string' ? word : typeof status === 'string' ? status : null;
  if (status === 'incomplete') return { reason: word === 'content_filter' ? 'content_filter' : 'length', native };
  return { reason: called ? 'tool_calls' : 'stop', native };
}

/** Facts about the answer as a whole. */
export function factsOf({ id, service_tier: tier }: JsonObject): FactsPiece {
  return {
    type: 'facts',
    upstreamId: typeof id === 'string' ? id : undefined,
    serviceTier: typeof tier === 'string' ? tier : undefined,
  };
}

function itemsOf({ output }: JsonObject): readonly JsonObject[] | undefined {
  return Array.isArray(output) ? output.filter(isJsonObject) : undefined;
}

function bad(message: string): DecodedResult {
  return { ok: false, failure: failure('bad_response', message) };
}
