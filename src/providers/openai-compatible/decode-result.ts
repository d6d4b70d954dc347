import { type AttemptFailure, failure } from '../../core/fallback/failure.ts';
import type { UpstreamResult } from '../../core/stream/upstream-result.ts';
import type { Choice, FinishReason } from '../../protocol/chat-result.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { isErrorBody } from '../error-shape.ts';
import { failureInBand } from '../upstream-failure.ts';
import { decodeCitations, decodeContent, decodeLogprobs } from './decode-content.ts';
import { decodeUsage } from './decode-usage.ts';
import { mapFinishReason } from './finish-reason.ts';
import type { StreamContext } from './stream-decoder.ts';
import { ToolCallIndexer } from './tool-call-indexer.ts';

/** A decoded answer, or what is wrong with it. */
export type DecodedResult =
  | { readonly ok: true; readonly result: UpstreamResult }
  | { readonly ok: false; readonly failure: AttemptFailure };

/**
 * Decodes a whole answer of the chat completions wire. A body that is HTML, empty, not JSON, an error in disguise or
 * without choices is a failure, whatever status it came with.
 */
export function decodeResult(body: string, context: StreamContext): DecodedResult {
  const text = body.trim();
  if (text === '') return bad('The provider sent an empty answer');
  if (text.startsWith('<')) return bad('The provider sent a web page instead of an answer');
  const parsed = parse(text);
  if (parsed === undefined) return bad('The provider sent an answer that is not valid JSON');
  if (isErrorBody(parsed)) return { ok: false, failure: failureInBand(parsed, context) };
  const choices =
    isJsonObject(parsed) && Array.isArray(parsed['choices']) ? parsed['choices'].filter(isJsonObject) : [];
  if (!isJsonObject(parsed) || choices.length === 0) return bad('The provider sent an answer without choices');
  const decoded = choices.map((choice, position) => decodeChoice(choice, position, parsed, context));
  if (decoded.some((choice) => choice === undefined)) return bad('The provider sent an impossible answer');
  const sound = decoded.filter((choice) => choice !== undefined);
  if (sound.some((choice) => choice.finish_reason === 'error')) {
    return { ok: false, failure: failure('server', 'The provider ended its answer with an error') };
  }
  return {
    ok: true,
    result: {
      choices: sound,
      usage: decodeUsage(parsed['usage'] ?? choices[0]?.['usage'], context.dialect),
      systemFingerprint: textOf(parsed['system_fingerprint']),
      serviceTier: textOf(parsed['service_tier']),
      upstreamId: textOf(parsed['id']),
    },
  };
}

function decodeChoice(
  choice: JsonObject,
  position: number,
  result: JsonObject,
  context: StreamContext,
): Choice | undefined {
  const message = isJsonObject(choice['message']) ? choice['message'] : undefined;
  const native = textOf(choice['finish_reason']) ?? null;
  if (message === undefined) return undefined;
  const index = typeof choice['index'] === 'number' && choice['index'] >= 0 ? Math.floor(choice['index']) : position;
  const indexer = new ToolCallIndexer((call) => `${context.idPrefix}_${index}_${call}`);
  const legacy = isJsonObject(message['function_call']) ? [{ function: message['function_call'] }] : undefined;
  const fragments = indexer.read(message['tool_calls'] ?? legacy);
  if (fragments === undefined) return undefined;
  const owed = indexer.finish();
  const calls = fragments.map((call) => ({
    id: call.id ?? '',
    index: call.index,
    type: 'function' as const,
    function: {
      name: call.function?.name ?? '',
      arguments: call.function?.arguments || owed.find((one) => one.index === call.index)?.function?.arguments || '{}',
    },
  }));
  const { content, refusal, reasoning, ...rest } = decodeContent(message);
  const citations = [...(rest.annotations ?? []), ...decodeCitations(result['citations'])];
  return {
    index,
    finish_reason: finishOf(native, calls.length > 0),
    native_finish_reason: native,
    logprobs: decodeLogprobs(choice['logprobs']) ?? null,
    message: {
      role: 'assistant',
      ...rest,
      content: content ?? (calls.length > 0 || refusal != null ? null : ''),
      refusal: refusal ?? null,
      reasoning: reasoning ?? null,
      ...(citations.length > 0 ? { annotations: citations } : {}),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    },
  };
}

/** Some servers say "stop", or nothing, although the model called tools. */
function finishOf(native: string | null, called: boolean): FinishReason {
  const mapped = native === null ? 'stop' : mapFinishReason(native);
  return mapped === 'stop' && called ? 'tool_calls' : mapped;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}

function bad(message: string): DecodedResult {
  return { ok: false, failure: failure('bad_response', message) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
