import type { ReasoningDetail } from '../../../protocol/reasoning.ts';
import type { ReasoningItem, ServerCallItem } from '../../../protocol/responses/input-item.ts';
import { isOwnItemId } from './ids.ts';

/** Earlier reasoning in the chat form: as plain text, and in the pieces that its provider wants back. */
export interface EarlierReasoning {
  readonly text: string;
  readonly details: readonly ReasoningDetail[];
}

/**
 * Reads a reasoning item back into what it was made from. Encrypted content and signatures are never changed.
 * Reasoning that was nothing but text has no details: there is nothing in it that a provider could want back.
 */
export function reasoningOfItem(item: ReasoningItem, index: number): EarlierReasoning {
  const summaries = (item.summary ?? []).map(({ text }) => text);
  const contents = (item.content ?? []).map(({ text }) => text);
  const id = item.id != null && item.id !== '' && !isOwnItemId(item.id) ? item.id : undefined;
  const { encrypted_content: data, signature } = item;
  // An encrypted item of nobody in particular can only be OpenAI's own.
  const format = item.format ?? (data == null ? undefined : 'openai-responses-v1');
  const common = { ...(id === undefined ? {} : { id }), ...(format === undefined ? {} : { format }), index };
  const plain = id === undefined && format === undefined && signature == null && summaries.length === 0;
  const text = [...summaries, ...contents].join('\n\n');
  if (plain) return { text, details: [] };
  const last = contents.length - 1;
  return {
    text,
    details: [
      ...summaries.map((summary) => ({ type: 'reasoning.summary' as const, summary, ...common })),
      ...contents.map((content, position) => ({
        type: 'reasoning.text' as const,
        text: content,
        ...(signature != null && position === last ? { signature } : {}),
        ...common,
      })),
      ...(signature != null && last < 0 ? [{ type: 'reasoning.text' as const, text: '', signature, ...common }] : []),
      ...(data == null ? [] : [{ type: 'reasoning.encrypted' as const, data, ...common }]),
    ],
  };
}

/** A call of a server tool that this router ran, to be replayed; undefined for one that a provider ran. */
export function detailOfServerCall(item: ServerCallItem, index: number): ReasoningDetail | undefined {
  const { tool_name: name, arguments: text, result, tool_call_id: id } = item;
  if (name == null || text == null || result == null) return undefined;
  return {
    type: 'reasoning.server_tool_call',
    tool_name: name,
    arguments: text,
    result,
    ...(id == null ? {} : { tool_call_id: id }),
    index,
  };
}
