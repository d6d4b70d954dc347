import type { FinishReason } from '../../protocol/chat-result.ts';

/** `depends`: an error when nothing was said, a normal end otherwise. */
type Meaning = Exclude<FinishReason, 'tool_calls'> | 'depends';

/** Google's words for the end of a candidate. There is none for tool calls: they end with `STOP`. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  CONTINUATION: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  MODEL_ARMOR: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  IMAGE_RECITATION: 'content_filter',
  LANGUAGE: 'error',
  MALFORMED_FUNCTION_CALL: 'error',
  UNEXPECTED_TOOL_CALL: 'error',
  TOO_MANY_TOOL_CALLS: 'error',
  MALFORMED_RESPONSE: 'error',
  MISSING_THOUGHT_SIGNATURE: 'error',
  OTHER: 'depends',
  NO_IMAGE: 'depends',
  IMAGE_OTHER: 'depends',
  FINISH_REASON_UNSPECIFIED: 'depends',
};

/** One of the five finish reasons for a word of Google's. Words that are not known yet depend on what was said. */
export function mapFinishReason(
  native: string,
  said: { readonly anything: boolean; readonly calls: boolean },
): FinishReason {
  const meaning = Object.hasOwn(MEANINGS, native) ? (MEANINGS[native] ?? 'depends') : 'depends';
  if (meaning === 'depends') return said.anything ? mapFinishReason('STOP', said) : 'error';
  return meaning === 'stop' && said.calls ? 'tool_calls' : meaning;
}
