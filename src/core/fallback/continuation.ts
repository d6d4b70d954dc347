/** Decides how a stream of text that broke after its first token goes on at another endpoint. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { quarterTokens } from '../tokens/token-estimate.ts';
import { type AttemptFailure, FAILURE_RULES, type Addition, type Continuation } from '../../contracts/failure.ts';
import type { Attempt } from './attempt.ts';

/** Whether the answer to a request is of a kind that another endpoint can go on with. */
export function canBeContinued({ stream, parameters, outputModalities, audio, native }: NormalizedRequest): boolean {
  const isText = audio === undefined && (outputModalities ?? ['text']).every((modality) => modality === 'text');
  const hasScores = parameters.logprobs === true || parameters.top_logprobs !== undefined;
  return stream && isText && !hasScores && native?.requiredBy === undefined;
}

/** Whether a failure in the middle of a stream leaves something to another endpoint. */
export function goesOnAfter({ kind }: Pick<AttemptFailure, 'kind'>): boolean {
  return FAILURE_RULES[kind].next === 'endpoint' && kind !== 'superseded';
}

/** A request that goes on with a text. */
export interface ContinuedRequest extends Continuation {
  readonly request: NormalizedRequest;
  /** What its answer says once more of the text. */
  readonly expected: string;
  /** UTF-16 units of the text before its answer. */
  readonly textBefore: number;
}

/**
 * The request with which an endpoint goes on with a text. Where it is declared to go on from an assistant message, the text
 * is one; where that is not so, or was refused, it answers anew, and repeats the text if all is well. So does an answer
 * in a format, which must be of one piece, and one that is thought about first.
 *
 * @param request - As it would go to the endpoint.
 */
export function continuedRequest(
  request: NormalizedRequest,
  endpoint: Pick<Endpoint, 'id' | 'prefill'>,
  text: string,
  attempts: readonly Attempt[],
): ContinuedRequest {
  const prefill = endpoint.prefill === true && mayPrefill(request) ? prefillOf(text) : '';
  const messages =
    prefill === '' || wasRefused(attempts, endpoint, 'prefill') ? undefined : prefilled(request, prefill);
  if (messages === undefined) {
    return { way: 'repetition', after: text.length, request, expected: text, textBefore: 0 };
  }
  return {
    way: 'prefill',
    after: text.length,
    request: { ...request, messages, parameters: withLessToSay(request.parameters, prefill) },
    expected: text.slice(prefill.length),
    textBefore: prefill.length,
  };
}

function mayPrefill({ responseFormat, reasoning }: NormalizedRequest): boolean {
  const isThinking = reasoning !== undefined && reasoning.effort !== 'none';
  return responseFormat === undefined && !isThinking;
}

/** A text as providers take it at the end of a prompt: without space at its end, and without half of a character. */
function prefillOf(text: string): string {
  const end = text.charCodeAt(text.length - 1);
  const isHalf = end >= 0xd800 && end <= 0xdbff;
  return (isHalf ? text.slice(0, -1) : text).trimEnd();
}

/** The messages with a text at their end; undefined where they end in something that no text can be added to. */
function prefilled({ messages }: NormalizedRequest, text: string): NormalizedRequest['messages'] | undefined {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return [...messages, { role: 'assistant', content: text }];
  if (typeof last.content !== 'string' || last.tool_calls?.length) return undefined;
  return [...messages.slice(0, -1), { ...last, content: last.content + text }];
}

/** The caller's limit is one of all of the answer. */
function withLessToSay(parameters: NormalizedRequest['parameters'], text: string): NormalizedRequest['parameters'] {
  const { max_completion_tokens: most } = parameters;
  if (most === undefined) return parameters;
  return { ...parameters, max_completion_tokens: Math.max(1, most - Math.ceil(quarterTokens(text) / 4)) };
}

function wasRefused(attempts: readonly Attempt[], { id }: Pick<Endpoint, 'id'>, addition: Addition): boolean {
  return attempts.some(
    ({ step, outcome }) => step.endpoint.id === id && !outcome.ok && outcome.failure.addition === addition,
  );
}
