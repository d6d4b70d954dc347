/** Translates bodies of `POST /messages` into the chat form. */
import { CHAT_FIELDS } from '../../protocol/chat-request.ts';
import { type Checked, failed, faultAt, passed } from '../../protocol/fault.ts';
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import { MAX_STOP_SEQUENCES, type RequestLimits } from '../../protocol/limits.ts';
import { type MessagesRequest, type MessagesTurn, parseMessagesRequest } from './protocol/messages-request.ts';
import type { ApiFormatRequest } from '../api-format.ts';
import { chatToolName, toolsOfMessages } from './chat-tools.ts';
import { chatOnly, nativeBody, nativeOnly } from './native-body.ts';
import {
  type DocumentBlock,
  type ImageSource,
  type MessagesBlock,
  type SearchResultBlock,
  SERVER_TOOL_RESULTS,
  type ServerToolResultBlock,
  type ServerToolUseBlock,
  type TextBlock,
  type ToolResultBlock,
  type ToolUseBlock,
} from './protocol/block.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { detailOfBlock } from './thinking-blocks.ts';

/** Fields that are named as in the chat request, but mean something else there or are translated. */
const TRANSLATED = new Set(['messages', 'tools', 'tool_choice', 'metadata', 'service_tier']);

/**
 * Checks a body of `POST /messages` and says the same as a chat request.
 *
 * @param routing - Ids of plugins that only decide where a request goes, or whether it goes at all.
 */
export function messagesToChat(
  body: unknown,
  limits: RequestLimits,
  routing: ReadonlySet<string> = new Set(),
): Checked<ApiFormatRequest> {
  const parsed = parseMessagesRequest(body, limits);
  if (!parsed.ok) return parsed;
  const request = parsed.value;
  const requiredBy = nativeOnly(request);
  const routersOwn = chatOnly(request, routing);
  if (requiredBy !== undefined && routersOwn !== undefined) {
    const problem = `can only be sent to a provider that supports this API natively, which has no field for ${routersOwn}`;
    return failed(faultAt(requiredBy, problem));
  }
  return passed({
    chat: chatBody(request),
    native: routersOwn === undefined ? { body: nativeBody(request), requiredBy } : undefined,
  });
}

/** Fields that neither wire knows stay behind: most are new ones of Anthropic's, and only its endpoints know them. */
function chatBody(request: MessagesRequest): JsonObject {
  const body: Record<string, JsonValue | undefined> = {};
  for (const name in request) {
    if (CHAT_FIELDS.has(name) && !TRANSLATED.has(name)) body[name] = request[name] as JsonValue | undefined;
  }
  return {
    ...body,
    messages: chatMessages(request),
    // Zero is for endpoints of this wire only, and only they are asked then.
    max_tokens: Math.max(1, request.max_tokens),
    ...toolsOfMessages(request),
    ...chatReasoning(request),
    ...stopOf(request),
    ...formatOf(request),
    ...userOf(request),
    ...tierOf(request),
    ...modelsOf(request),
  };
}

function stopOf({ stop_sequences: sequences }: MessagesRequest): JsonObject {
  return sequences == null || sequences.length === 0 ? {} : { stop: sequences.slice(0, MAX_STOP_SEQUENCES) };
}

function formatOf({ output_config: config }: MessagesRequest): JsonObject {
  if (config?.format == null) return {};
  const schema = config.format.schema as JsonObject;
  return { response_format: { type: 'json_schema', json_schema: { name: 'output', schema, strict: true } } };
}

/** The end user may be named as on chat as well; the other pairs of `metadata` are the chat request's. */
function userOf({ metadata, user }: MessagesRequest): JsonObject {
  const { user_id: id, ...pairs } = metadata ?? {};
  return {
    ...(id == null || user != null ? {} : { user: id }),
    ...(Object.keys(pairs).length === 0 ? {} : { metadata: pairs as JsonObject }),
  };
}

function tierOf({ service_tier: tier, speed }: MessagesRequest): JsonObject {
  if (tier != null && tier !== 'auto') return { service_tier: tier === 'standard_only' ? 'default' : tier };
  return speed === 'fast' ? { service_tier: 'priority' } : {};
}

function modelsOf({ fallbacks }: MessagesRequest): JsonObject {
  return fallbacks == null || fallbacks === 'default' ? {} : { models: fallbacks.map(({ model }) => model) };
}

/** The conversation as chat messages, with `system` as the first of them. */
function chatMessages({ system, messages }: MessagesRequest): readonly JsonObject[] {
  const instructions = system == null || system.length === 0 ? [] : [{ role: 'system', content: chatContent(system) }];
  return [...instructions, ...messages.flatMap(messagesOfTurn)];
}

function messagesOfTurn({ role, content }: MessagesTurn): readonly JsonObject[] {
  if (typeof content === 'string' || role === 'system') return [{ role, content: chatContent(content) }];
  return role === 'assistant' ? [assistantMessage(content)] : userMessages(content);
}

/** Results of tools are messages of their own in the chat form, and come before what the user says with them. */
function userMessages(blocks: readonly MessagesBlock[]): readonly JsonObject[] {
  const said = blocks.filter((block) => block.type !== 'tool_result');
  return [
    ...blocks.filter((block) => block.type === 'tool_result').map(toolMessage),
    ...(said.length === 0 ? [] : [{ role: 'user', content: chatContent(said) }]),
  ];
}

function toolMessage({
  tool_use_id: id,
  content,
  is_error: hasFailed,
  cache_control: mark,
}: ToolResultBlock): JsonObject {
  const said = chatContent(content ?? '');
  return {
    role: 'tool',
    tool_call_id: id,
    content: hasFailed === true ? failedContent(said) : said,
    ...(mark == null ? {} : { cache_control: { ...mark } }),
  };
}

/** The chat form has no mark for a tool that failed, so the text says it, unless it does so already. */
function failedContent(content: string | readonly JsonObject[]): string | readonly JsonObject[] {
  if (typeof content !== 'string') {
    const first = content.find((part) => part['type'] === 'text')?.['text'];
    return saysError(first) ? content : [{ type: 'text', text: 'Error:' }, ...content];
  }
  return saysError(content) ? content : `Error: ${content}`;
}

function saysError(text: unknown): boolean {
  return typeof text === 'string' && /^\s*(?:\w+)?error\b/i.test(text);
}

function assistantMessage(blocks: readonly MessagesBlock[]): JsonObject {
  const details = reasoningDetails(blocks);
  const thoughts = blocks.flatMap((block) =>
    block.type === 'thinking' && block.thinking !== '' ? [block.thinking] : [],
  );
  const calls = blocks.filter((block) => block.type === 'tool_use').map(toolCall);
  const said = blocks.filter((block) => !isApart(block));
  return {
    role: 'assistant',
    content: said.length === 0 ? null : chatContent(said),
    ...(thoughts.length === 0 ? {} : { reasoning: thoughts.join('\n\n') }),
    ...(details.length === 0 ? {} : { reasoning_details: details as unknown as readonly JsonObject[] }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** Blocks that the chat form keeps beside the content. */
function isApart({ type }: MessagesBlock): boolean {
  return (
    type === 'thinking' ||
    type === 'redacted_thinking' ||
    type === 'tool_use' ||
    type === 'server_tool_use' ||
    type === 'mcp_tool_use' ||
    (SERVER_TOOL_RESULTS as readonly string[]).includes(type)
  );
}

function toolCall({ id, name, input }: ToolUseBlock): JsonObject {
  return { id, type: 'function', function: { name: chatToolName(name), arguments: JSON.stringify(input) } };
}

/**
 * Reasoning and the calls of tools that a provider ran itself, in their order. Their numbers are places in the turn:
 * every thinking block and every call has one of its own, and all text has one together.
 */
function reasoningDetails(blocks: readonly MessagesBlock[]): readonly ReasoningDetail[] {
  const details: ReasoningDetail[] = [];
  let place = 0;
  let hasText = false;
  for (const block of blocks) {
    if (block.type === 'thinking' || block.type === 'redacted_thinking') {
      details.push(detailOfBlock(block, place));
      place += 1;
    } else if (block.type === 'server_tool_use' || block.type === 'mcp_tool_use') {
      details.push(serverToolCall(block, resultOf(block, blocks), place));
    } else if (block.type === 'tool_use') {
      place += 1;
    } else if (block.type === 'text' && !hasText) {
      hasText = true;
      place += 1;
    }
  }
  return details;
}

function resultOf({ id }: ServerToolUseBlock, blocks: readonly MessagesBlock[]): ServerToolResultBlock | undefined {
  return blocks.find(
    (block): block is ServerToolResultBlock =>
      (SERVER_TOOL_RESULTS as readonly string[]).includes(block.type) &&
      (block as ServerToolResultBlock).tool_use_id === id,
  );
}

function serverToolCall(
  { id, name, input }: ServerToolUseBlock,
  result: ServerToolResultBlock | undefined,
  index: number,
): ReasoningDetail {
  return {
    type: 'reasoning.server_tool_call',
    tool_name: name,
    arguments: JSON.stringify(input ?? {}),
    result: JSON.stringify(result?.content ?? null),
    tool_call_id: id,
    format: 'anthropic-claude-v1',
    index,
  };
}

/** Characters of a document's title that its part may keep. */
const MAX_FILENAME = 512;

/** The content of a chat message: a string where one plain text is all there is. */
function chatContent(blocks: string | readonly MessagesBlock[]): string | readonly JsonObject[] {
  if (typeof blocks === 'string') return blocks;
  const [first] = blocks;
  if (blocks.length === 1 && first?.type === 'text' && first.cache_control == null) return first.text;
  return blocks.flatMap(partsOf);
}

/** The parts of the chat form that say what a block says. A cache mark stays with the last of them. */
function partsOf(block: MessagesBlock): readonly JsonObject[] {
  switch (block.type) {
    case 'text':
      return marked([textPart(block.text)], block);
    case 'image':
      return marked([imagePart(block.source)], block);
    case 'document':
      return marked(documentParts(block), block);
    case 'search_result':
      return marked([textPart(textOfSearchResult(block))], block);
    case 'tool_reference':
      return marked([textPart(`The tool "${chatToolName(block.tool_name)}" is available.`)], block);
    default:
      // A kind of block that needs an endpoint of this wire, which gets the caller's own body.
      return [textPart('')];
  }
}

function marked(
  parts: readonly JsonObject[],
  { cache_control: mark }: Pick<TextBlock, 'cache_control'>,
): readonly JsonObject[] {
  const last = parts.at(-1);
  return mark == null || last === undefined ? parts : [...parts.slice(0, -1), { ...last, cache_control: { ...mark } }];
}

function textPart(text: string): JsonObject {
  return { type: 'text', text };
}

function imagePart(source: ImageSource): JsonObject {
  if (source.type === 'file') return { type: 'file', file: { file_id: source.file_id } };
  const url = source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`;
  return { type: 'image_url', image_url: { url } };
}

/** PDFs stay files. Text becomes text, with its title and context before it: few providers take text files. */
function documentParts({ source, title, context }: DocumentBlock): readonly JsonObject[] {
  const filename = title == null || title === '' ? {} : { filename: title.slice(0, MAX_FILENAME) };
  const heading = [title, context].filter((line) => line != null && line !== '').join('\n');
  const remark = context == null || context === '' ? [] : [textPart(context)];
  switch (source.type) {
    case 'base64':
      return [
        ...remark,
        { type: 'file', file: { ...filename, file_data: `data:${source.media_type};base64,${source.data}` } },
      ];
    case 'url':
      return [...remark, { type: 'file', file: { ...filename, file_data: source.url } }];
    case 'file':
      return [...remark, { type: 'file', file: { ...filename, file_id: source.file_id } }];
    case 'text':
      return [textPart(heading === '' ? source.data : `${heading}\n\n${source.data}`)];
    case 'content': {
      const inner = typeof source.content === 'string' ? [textPart(source.content)] : source.content.flatMap(partsOf);
      return heading === '' ? inner : [textPart(heading), ...inner];
    }
  }
}

function textOfSearchResult({ title, source, content }: SearchResultBlock): string {
  return [title, source, ...content.map((block: TextBlock) => block.text)].join('\n');
}

/**
 * `reasoning` of the chat form from `thinking` and `output_config.effort`. Thinking that adapts is as hard as the
 * effort says, which is `high` on this wire when nothing is said. A budget says more than an effort, so it wins.
 */
function chatReasoning({ thinking, output_config: config }: MessagesRequest): JsonObject {
  const effort = config?.effort ?? undefined;
  switch (thinking?.type) {
    case 'disabled':
      return { reasoning: { effort: 'none' } };
    case 'enabled':
      return { reasoning: { max_tokens: thinking.budget_tokens } };
    case 'adaptive':
      return { reasoning: { effort: effort ?? 'high' } };
    case 'between_tools':
      // The least that a model can do that thinks at all.
      return { reasoning: { effort: effort ?? 'minimal' } };
    case undefined:
      return effort === undefined ? {} : { reasoning: { effort } };
  }
}
