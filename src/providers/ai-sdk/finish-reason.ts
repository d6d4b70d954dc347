import type { FinishReason } from '../../protocol/chat-result.ts';
import { isJsonObject } from '../../protocol/json.ts';
import { mapFinishReason } from '../openai-compatible/finish-reason.ts';

/** How an answer ended: well, with an error, or without anybody saying how. */
export type AnswerEnd =
  | { readonly type: 'finish'; readonly reason: FinishReason; readonly native: string | null }
  | { readonly type: 'broken' };

/** What is known about an answer when its end is judged. */
export interface AnswerSoFar {
  /** Something was said or called. */
  readonly hasContent: boolean;
  readonly hasToolCalls: boolean;
  /** The answer came in pieces, so that it can have been cut off. */
  readonly streamed: boolean;
}

const KNOWN: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
  error: 'error',
};

/**
 * Reads a finish reason: a word in version 2, a word and the provider's own in 3 and 4. Where the interface has no word
 * the provider's own counts, and one that nobody knows is a normal end as long as something was said. A stream whose provider never
 * gave a reason was cut off. Tool calls that the caller does not see are none of its business, so `tool-calls` without
 * any is a normal end, and a normal end with some is not.
 */
export function readFinishReason(value: unknown, { hasContent, hasToolCalls, streamed }: AnswerSoFar): AnswerEnd {
  const { unified, raw } = isJsonObject(value) ? value : { unified: value, raw: value };
  const word = typeof unified === 'string' ? unified : '';
  const native = typeof raw === 'string' ? raw : word || null;
  if (word === 'interrupted' || (streamed && word === 'other' && typeof raw !== 'string')) return { type: 'broken' };
  const known = KNOWN[word] ?? mapFinishReason(native ?? '');
  if (KNOWN[word] === undefined && known === 'stop' && !hasContent) return { type: 'finish', reason: 'error', native };
  const ended = known === 'stop' || known === 'tool_calls';
  return { type: 'finish', reason: ended ? (hasToolCalls ? 'tool_calls' : 'stop') : known, native };
}
