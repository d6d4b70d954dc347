import { failure } from '../../core/fallback/failure.ts';
import { ToolCallCollector } from '../../core/stream/tool-calls.ts';
import type { Choice, FinishReason, ResultToolCall } from '../../protocol/chat-result.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { DecodedResult } from '../codec.ts';
import { readJsonAnswer } from '../read-json-answer.ts';
import type { OriginalId } from '../tool-ids.ts';
import { type ErrorContext, failureInBand } from '../upstream-failure.ts';
import { decodeCitations, decodeContent, decodeLogprobs } from './decode-content.ts';
import { decodeUsage, findUsage } from './decode-usage.ts';
import type { Dialect } from './dialect.ts';
import { errorInside } from './error-inside.ts';
import { mapFinishReason } from './finish-reason.ts';
import { ToolCallIndexer } from './tool-call-indexer.ts';

/** What decoding one answer depends on. */
export interface DecodeContext extends ErrorContext {
  readonly dialect: Dialect;
  /** Beginning of ids for tool calls that came without one. */
  readonly idPrefix: string;
  /** The caller's id of a tool call. Default: the one that came. */
  readonly originalId?: OriginalId | undefined;
}

/**
 * Decodes a whole answer of the chat completions wire. A body that is HTML, empty, not JSON, an error in disguise or
 * without choices is a failure, whatever status it came with.
 */
export function decodeResult(body: string, context: DecodeContext): DecodedResult {
  const answer = readJsonAnswer(body, 'choices');
  if (!answer.ok) return answer;
  const parsed = answer.value;
  const error = errorInside(parsed);
  if (error !== undefined) return { ok: false, failure: failureInBand(error, context) };
  const choices = Array.isArray(parsed['choices']) ? parsed['choices'].filter(isJsonObject) : [];
  if (choices.length === 0) return bad('The provider sent an answer without choices');
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
      usage: decodeUsage(findUsage(parsed, choices), context.dialect),
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
  context: DecodeContext,
): Choice | undefined {
  const message = isJsonObject(choice['message']) ? choice['message'] : undefined;
  const native = textOf(choice['finish_reason']) ?? null;
  if (message === undefined) return undefined;
  const index = typeof choice['index'] === 'number' && choice['index'] >= 0 ? Math.floor(choice['index']) : position;
  const calls = decodeToolCalls(message, (call) => `${context.idPrefix}_${index}_${call}`, context.originalId);
  if (calls === undefined) return undefined;
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

/** Every entry of a whole answer is a call of its own, whatever its index says. */
function decodeToolCalls(
  { tool_calls: entries, function_call: legacy }: JsonObject,
  newId: (index: number) => string,
  originalId: OriginalId | undefined,
): readonly ResultToolCall[] | undefined {
  const found: unknown = entries ?? (isJsonObject(legacy) ? [{ function: legacy }] : []);
  const indexer = new ToolCallIndexer(newId, originalId);
  const fragments = indexer.read(
    Array.isArray(found) ? found.filter(isJsonObject).map((entry, index) => ({ ...entry, index })) : [],
  );
  if (fragments === undefined) return undefined;
  const collector = new ToolCallCollector();
  collector.add(fragments);
  collector.add(indexer.finish());
  return collector.finish();
}

/** Some servers say "stop", or nothing, although the model called tools. */
function finishOf(native: string | null, called: boolean): FinishReason {
  const mapped = native === null ? 'stop' : mapFinishReason(native);
  return mapped === 'stop' && called ? 'tool_calls' : mapped;
}

function bad(message: string): DecodedResult {
  return { ok: false, failure: failure('bad_response', message) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
