import type {
  Annotation,
  ChatResult,
  FinishReason,
  OutputImage,
  ResultMessage,
  ResultToolCall,
} from '../../protocol/chat-result.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import type {
  MessagesResult,
  MessagesUsage,
  ResultBlock,
  StopDetails,
  StopReason,
  WebCitation,
} from './protocol/messages-result.ts';
import type { ApiFormatContext, CompleteAnswer } from '../api-format.ts';
import { originalNames } from './chat-tools.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { blockOfDetail, interleave, type PlacedThinking } from './thinking-blocks.ts';
import * as read from '../../platform/json.ts';
import type { Usage } from '../../protocol/usage.ts';

/** Writes a non-streaming response as a Message. One that came in this shape only gets what the router knows. */
export function messageObject({ result, native }: CompleteAnswer, { body }: ApiFormatContext): JsonObject {
  const message = native === undefined ? translated(result, blockOptions(body)) : completed(native, result);
  return message as unknown as JsonObject;
}

/** How the blocks of the answer to a request are written. */
export function blockOptions(body: JsonObject): BlockOptions {
  const { thinking, tools } = body;
  return {
    toolName: originalNames(tools),
    omitThinking: isJsonObject(thinking) && thinking['display'] === 'omitted',
  };
}

function translated(result: ChatResult, options: BlockOptions): MessagesResult {
  const [choice] = result.choices;
  const refusal = choice?.message.refusal ?? null;
  const reason = stopReason(choice?.finish_reason ?? null, choice?.native_finish_reason ?? null, {
    refused: refusal !== null,
  });
  return {
    id: result.id,
    type: 'message',
    role: 'assistant',
    model: result.model,
    content: choice === undefined ? [] : resultBlocks(choice.message, options),
    stop_reason: reason,
    stop_sequence: null,
    stop_details: reason === 'refusal' ? stopDetails(refusal) : null,
    container: null,
    usage: messagesUsage(result.usage, result.service_tier),
    ...routersOwn(result),
  };
}

/** What is told about a refusal. */
export function stopDetails(explanation: string | null): StopDetails {
  return { type: 'refusal', category: null, explanation };
}

/** A provider's own word for the end, unless tools were called although it says otherwise, or none were. */
export function nativeStop(stop: JsonValue, reason: FinishReason | null): JsonValue {
  if (stop === 'tool_use') return reason === 'stop' ? 'end_turn' : stop;
  return stop === 'end_turn' && reason === 'tool_calls' ? 'tool_use' : stop;
}

/** The provider's own answer, with the model's name in this router, the cost and the metadata. */
function completed(native: JsonObject, result: ChatResult): object {
  const usage = read.object(native['usage']);
  const { stop_reason: stop } = native;
  return {
    ...native,
    ...(stop == null ? {} : { stop_reason: nativeStop(stop, result.choices[0]?.finish_reason ?? null) }),
    model: result.model,
    usage: { ...usage, ...messageCost(result.usage) },
    ...routersOwn(result),
  };
}

function routersOwn({
  provider,
  router_metadata: metadata,
}: ChatResult): Pick<MessagesResult, 'provider' | 'router_metadata'> {
  return {
    ...(provider === undefined ? {} : { provider }),
    ...(metadata === undefined ? {} : { router_metadata: metadata }),
  };
}

/** What an answer is written with. */
export interface BlockOptions {
  /** Gives a tool's name as the caller wrote it. */
  readonly toolName: (chatName: string) => string;
  /** Keep the text of thinking out, as `display: 'omitted'` asks; signatures stay, for the next turn. */
  readonly omitThinking: boolean;
}

/** The blocks of a non-streaming response: text, images and calls, with thinking where it stood. */
function resultBlocks(message: ResultMessage, options: BlockOptions): readonly ResultBlock[] {
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
  const citations = annotations.flatMap(messageCitation);
  if (text === '' && citations.length === 0) return [];
  return [{ type: 'text', text, ...(citations.length === 0 ? {} : { citations }) }];
}

/** A source that an answer cites. Annotations about parsed files have no place on this wire. */
export function messageCitation(annotation: Annotation): readonly WebCitation[] {
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
  return read.parseObject(text) ?? { INVALID_JSON: text };
}

/** For each reason of the chat form, this wire's word for it, and the more exact words that a provider may have used. */
const WORDS: Readonly<Record<FinishReason, readonly [StopReason, ...StopReason[]]>> = {
  stop: ['end_turn', 'stop_sequence', 'pause_turn'],
  length: ['max_tokens', 'model_context_window_exceeded'],
  tool_calls: ['tool_use', 'pause_turn'],
  content_filter: ['refusal'],
  error: ['end_turn'],
};

/** Why an answer ended. A refusal that is in the answer counts as one, whatever reason was given with it. */
export function stopReason(
  finish: FinishReason | null,
  native: string | null,
  { refused }: { readonly refused: boolean },
): StopReason | null {
  if (finish === null) return refused ? 'refusal' : null;
  if (refused && finish === 'stop') return 'refusal';
  const [usual, ...others] = WORDS[finish];
  return others.find((word) => word === native) ?? usual;
}

/** Usage in the words of this wire. What nobody reported is null; cost is added (upstreams 2.12). */
export function messagesUsage(usage: Usage | undefined, serviceTier: string | null | undefined): MessagesUsage {
  const { prompt_tokens_details: prompt, completion_tokens_details: completion } = usage ?? {};
  const cached = prompt?.cached_tokens ?? null;
  const written = prompt?.cache_write_tokens ?? null;
  const { cache_creation: creation, server_tool_use: tools } = usage ?? {};
  return {
    input_tokens: Math.max(0, (usage?.prompt_tokens ?? 0) - (cached ?? 0) - (written ?? 0)),
    output_tokens: usage?.completion_tokens ?? 0,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written,
    cache_creation:
      creation === undefined
        ? null
        : {
            ephemeral_5m_input_tokens: creation.ephemeral_5m_input_tokens ?? 0,
            ephemeral_1h_input_tokens: creation.ephemeral_1h_input_tokens ?? 0,
          },
    output_tokens_details:
      completion?.reasoning_tokens === undefined ? null : { thinking_tokens: completion.reasoning_tokens },
    server_tool_use:
      tools === undefined
        ? null
        : {
            web_search_requests: tools.web_search_requests ?? 0,
            web_fetch_requests: tools.web_fetch_requests ?? 0,
          },
    // This wire calls the ordinary tier "standard" (gaps 2.7).
    service_tier: serviceTier === 'default' ? 'standard' : (serviceTier ?? null),
    ...messageCost(usage),
  };
}

/** What the router adds to usage, whoever counted it. */
export function messageCost(
  usage: Usage | undefined,
): Pick<MessagesUsage, 'cost' | 'cost_details' | 'is_byok' | 'estimated'> {
  return {
    ...(usage?.cost === undefined ? {} : { cost: usage.cost }),
    ...(usage?.cost_details === undefined ? {} : { cost_details: usage.cost_details }),
    ...(usage?.is_byok === undefined ? {} : { is_byok: usage.is_byok }),
    ...(usage?.estimated === undefined ? {} : { estimated: usage.estimated }),
  };
}
