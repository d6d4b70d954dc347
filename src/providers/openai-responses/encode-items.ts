/** Writes a conversation of the chat form as items of OpenAI's Responses API. */
import type { ContentPart } from '../../protocol/content-part.ts';
import type { AssistantMessage, Message } from '../../protocol/message.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { EncodeError } from '../codec.ts';
import type { ToolIds } from '../tool-ids.ts';

/**
 * A message as items: calls, of ids that no other call has, their results and encrypted reasoning are items of their own.
 *
 * @throws {@link EncodeError} for content that the API has no item for.
 */
export function inputItemsOf(message: Message, path: string, ids: ToolIds): readonly object[] {
  const { role, content } = message;
  if (role === 'tool') {
    const output = typeof content === 'string' ? content : partsOf(content, 'input_text', path);
    return [
      { type: 'function_call_output', call_id: ids.result(message.tool_call_id) ?? message.tool_call_id, output },
    ];
  }
  const calls = role === 'assistant' ? (message.tool_calls ?? []) : [];
  const said =
    content == null || content.length === 0
      ? []
      : [{ role, content: partsOf(content, role === 'assistant' ? 'output_text' : 'input_text', path) }];
  return [
    ...said,
    ...calls.map(({ id, function: called }) => ({
      type: 'function_call',
      call_id: ids.call(id),
      name: called.name,
      arguments: called.arguments,
    })),
  ];
}

function partsOf(content: Message['content'], type: 'input_text' | 'output_text', path: string): readonly object[] {
  if (typeof content === 'string') return [{ type, text: content }];
  return (content ?? []).map((part, index) => partOf(part, type, `${path}.content[${index}]`));
}

function partOf(
  part: ContentPart | { readonly type: 'refusal'; readonly refusal: string },
  type: string,
  path: string,
): object {
  switch (part.type) {
    case 'text':
      return { type, text: part.text };
    case 'refusal':
      return part;
    case 'image_url': {
      const { url, detail } = part.image_url;
      return { type: 'input_image', image_url: url, ...(detail == null ? {} : { detail }) };
    }
    case 'file': {
      const { file_data: data, file_id: id, filename } = part.file;
      if (id != null) return { type: 'input_file', file_id: id };
      const isAddress = data != null && !data.startsWith('data:');
      return isAddress
        ? { type: 'input_file', file_url: data }
        : { type: 'input_file', file_data: data, filename: filename ?? 'file' };
    }
    default:
      throw new EncodeError(`${path} is ${part.type}, which the Responses API has no form for`);
  }
}

/** Formats of encrypted reasoning that servers of this wire made themselves. */
export const OWN_FORMATS: ReadonlySet<unknown> = new Set(['openai-responses-v1', 'azure-openai-responses-v1']);

/** Earlier reasoning as it goes back: only what is encrypted, because nothing is stored that an id could name. */
export function reasoningItemsOf({ reasoning_details: details }: AssistantMessage): readonly object[] {
  if (details == null) return [];
  return details.flatMap((detail) => {
    if (detail.type !== 'reasoning.encrypted' || !OWN_FORMATS.has(detail.format)) return [];
    const { id, data } = detail;
    const summary = details.flatMap((one) => summaryOf(one, detail));
    return [{ type: 'reasoning', ...(id == null ? {} : { id }), summary, encrypted_content: data }];
  });
}

function summaryOf(one: ReasoningDetail, of: ReasoningDetail): readonly object[] {
  if (one.type !== 'reasoning.summary' || one.summary === '') return [];
  const isSame = one.id != null && 'id' in of ? one.id === of.id : one.index === of.index;
  return isSame ? [{ type: 'summary_text', text: one.summary }] : [];
}
