import type { Annotation, OutputImage, ResultMessage, ResultToolCall } from '../../../protocol/chat-result.ts';
import { isJsonObject } from '../../../protocol/json.ts';
import type { ResultBlock, WebCitation } from '../../../protocol/messages/messages-result.ts';
import type { ReasoningDetail } from '../../../protocol/reasoning.ts';
import { type PlacedThinking, interleave } from './interleave.ts';
import { blockOfDetail } from './thinking-blocks.ts';

/** What an answer is written with. */
export interface BlockOptions {
  /** Gives a tool's name as the caller wrote it. */
  readonly toolName: (chatName: string) => string;
  /** Keep the text of thinking out, as `display: 'omitted'` asks; signatures stay, for the next turn. */
  readonly omitThinking: boolean;
}

/** The blocks of a whole answer: text, images and calls, with thinking where it stood. */
export function resultBlocks(message: ResultMessage, options: BlockOptions): readonly ResultBlock[] {
  return interleave(thinkingOf(message, options), [
    ...textOf(message),
    ...(message.images ?? []).map(imageBlock),
    ...(message.tool_calls ?? []).map((call) => toolUse(call, options)),
  ]);
}

/** True for a detail with text that somebody can read. */
export function isReadable(detail: ReasoningDetail): boolean {
  return (detail.type === 'reasoning.text' && Boolean(detail.text)) || detail.type === 'reasoning.summary';
}

/** Providers say reasoning twice, as text and as details. The details are the more exact, where they have the text. */
function thinkingOf(
  { reasoning, reasoning_details: details = [] }: ResultMessage,
  { omitThinking }: BlockOptions,
): readonly PlacedThinking[] {
  const placed = details.map((detail): PlacedThinking => ({ index: detail.index, block: blockOfDetail(detail) }));
  if (reasoning && !details.some(isReadable)) {
    placed.unshift({ index: undefined, block: { type: 'thinking', thinking: reasoning, signature: '' } });
  }
  return omitThinking ? placed.flatMap(withoutText) : placed;
}

/** Thinking without text is kept for its signature, and left out where there is none. */
function withoutText({ index, block }: PlacedThinking): readonly PlacedThinking[] {
  if (block.type !== 'thinking') return [{ index, block }];
  return block.signature === '' ? [] : [{ index, block: { ...block, thinking: '' } }];
}

function textOf({ content, refusal, annotations = [] }: ResultMessage): readonly ResultBlock[] {
  const text = `${content ?? ''}${refusal ?? ''}`;
  const citations = annotations.flatMap(citationOf);
  if (text === '' && citations.length === 0) return [];
  return [{ type: 'text', text, ...(citations.length === 0 ? {} : { citations }) }];
}

/** A source that an answer cites. Annotations about parsed files have no place on this wire. */
export function citationOf(annotation: Annotation): readonly WebCitation[] {
  if (annotation.type !== 'url_citation') return [];
  const { url, title, content } = annotation.url_citation;
  return [
    {
      type: 'web_search_result_location',
      url,
      title: title ?? null,
      cited_text: content ?? '',
      encrypted_index: '',
    },
  ];
}

/** An image of an answer, in the form that requests have for images, so that it can come back. */
export function imageBlock({ image_url: { url } }: OutputImage): ResultBlock {
  const data = /^data:([\w.+-]+\/[\w.+-]+);base64,(.*)$/s.exec(url);
  const [, media = '', bytes = ''] = data ?? [];
  return {
    type: 'image',
    source: data === null ? { type: 'url', url } : { type: 'base64', media_type: media, data: bytes },
  };
}

function toolUse({ id, function: called }: ResultToolCall, { toolName }: BlockOptions): ResultBlock {
  return { type: 'tool_use', id, name: toolName(called.name), input: inputOf(called.arguments) };
}

/** Arguments as an object. What was cut off or is none is kept as text, in a member that says so. */
function inputOf(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    const input: unknown = JSON.parse(text);
    if (isJsonObject(input)) return input;
  } catch {
    // Told below.
  }
  return { INVALID_JSON: text };
}
