/** Writes messages as turns of the Messages API. */
import type { NormalizedRequest } from '../../contracts/request.ts';
import type {
  AssistantMessage,
  Message,
  SystemMessage,
  ToolCall,
  ToolMessage,
  UserMessage,
} from '../../protocol/message.ts';
import { EncodeError } from '../codec.ts';
import { ToolIds, WORD_CHARACTERS } from '../tool-ids.ts';
import {
  type Block,
  type ContentBlock,
  type RequestTextBlock,
  type RequestToolResultBlock,
  type RequestToolUseBlock,
  type RequestTurn,
} from './blocks.ts';
import { encodeContent, encodeText, textBlocks } from './encode-content.ts';
import type { AcceptedConversation } from '../../core/accepts.ts';
import { FILLER } from '../../core/conversation/repair.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { isJsonObject } from '../../protocol/json.ts';
import type { RedactedThinkingBlock, ThinkingBlock } from '../../formats/messages/protocol/block.ts';

/** A conversation as the wire has it. */
interface Conversation {
  readonly system: readonly RequestTextBlock[];
  readonly turns: readonly RequestTurn[];
}

/**
 * Writes messages as turns of user and assistant. System messages go to the top, unless the model takes them where they
 * stand; neighbours of one role, which results of tools have as well, become one turn. Calls have their results behind
 * them already (`core/conversation`).
 *
 * @throws {@link EncodeError} for content that this wire has no form for.
 */
export function encodeConversation(
  { messages }: NormalizedRequest,
  accepts: AcceptedConversation,
  earlier: EarlierAnswers,
): Conversation {
  const writer = new ConversationWriter(accepts, earlier);
  for (const [index, message] of messages.entries()) writer.add(message, index, messages);
  return writer.finish(messages);
}

/** What of earlier answers goes to the model. */
interface EarlierAnswers {
  /** Whether it can be given thinking at all. */
  readonly withThinking: boolean;
}

class ConversationWriter {
  readonly #accepts: AcceptedConversation;
  readonly #earlier: EarlierAnswers;
  readonly #ids = new ToolIds(WORD_CHARACTERS);
  readonly #system: RequestTextBlock[] = [];
  readonly #turns: RequestTurn[] = [];

  constructor(accepts: AcceptedConversation, earlier: EarlierAnswers) {
    this.#accepts = accepts;
    this.#earlier = earlier;
  }

  add(message: Message, index: number, messages: readonly Message[]): void {
    switch (message.role) {
      case 'system':
      case 'developer':
        return this.#addSystem(message, messages[index + 1]);
      case 'user':
        this.#append('user', userBlocks(message, `messages[${index}].content`));
        return;
      case 'assistant':
        this.#append('assistant', encodeAssistant(message, this.#ids, this.#earlier));
        return;
      case 'tool':
        return this.#addResult(message, `messages[${index}].content`);
    }
  }

  /** Blank texts are gone by now, so users may have turns to be made for them. */
  finish(messages: readonly Message[]): Conversation {
    const turns = this.#turns;
    if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', content: textBlocks(FILLER) });
    const last = turns.at(-1);
    if (last?.role !== 'assistant') return { system: this.#system, turns };
    const isPrefill = messages.at(-1)?.role === 'assistant';
    const end: readonly RequestTurn[] = isPrefill
      ? this.#prefill(last, messages.length - 1)
      : [last, { role: 'user', content: textBlocks(FILLER) }];
    return { system: this.#system, turns: [...turns.slice(0, -1), ...end] };
  }

  /** Where the model takes it, a system message may be behind a user's turn, at the end or before an answer. */
  #addSystem(message: SystemMessage, next: Message | undefined): void {
    const blocks = encodeText(message.content);
    const previous = this.#turns.at(-1)?.role;
    const mayStay = previous === 'user' && (next === undefined || speaks(next));
    if (this.#accepts.systemTurns === 'top-or-between' && mayStay) this.#append('system', blocks);
    else this.#system.push(...blocks);
  }

  #addResult(message: ToolMessage, path: string): void {
    const id = this.#ids.result(message.tool_call_id);
    if (id !== undefined) this.#append('user', [resultBlock(id, message, path)]);
  }

  /** Models that go on with a prefill refuse thinking in it, and a space at its end; the others refuse any. */
  #prefill({ content }: RequestTurn, index: number): readonly RequestTurn[] {
    if (this.#accepts.prefill === 'refused') {
      throw new EncodeError(
        `messages[${index}] is an assistant message for the model to go on with, which this model does not do: ` +
          'end with a user message',
      );
    }
    const said = content.filter(({ type }) => type !== 'thinking' && type !== 'redacted_thinking');
    const last = said.pop();
    if (last !== undefined) said.push(last.type === 'text' ? { ...last, text: last.text.trimEnd() } : last);
    return said.length === 0 ? [] : [{ role: 'assistant', content: said }];
  }

  #append(role: RequestTurn['role'], blocks: readonly Block[]): void {
    if (blocks.length === 0) return;
    const last = this.#turns.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else this.#turns.push({ role, content: [...blocks] });
  }
}

/** This wire has no names, so the text says who speaks. */
function userBlocks({ name, content }: UserMessage, path: string): ContentBlock[] {
  if (name == null) return encodeContent(content, path);
  if (typeof content === 'string') return textBlocks(`${name}: ${content}`);
  return [...textBlocks(`${name}:`), ...encodeContent(content, path)];
}

/** True for an answer of which something is left on this wire. */
function speaks(message: Message): boolean {
  if (message.role !== 'assistant') return false;
  return (message.tool_calls ?? []).length > 0 || encodeText(message.content ?? '').length > 0;
}

/** A mark on a part of a result stands on the result: that is what can be cached. */
function resultBlock(id: string, message: ToolMessage, path: string): RequestToolResultBlock {
  const blocks = encodeContent(message.content, path);
  const mark = blocks.findLast(({ cache_control: own }) => own !== undefined)?.cache_control;
  const content =
    typeof message.content === 'string' ? message.content : blocks.map(({ cache_control: _, ...block }) => block);
  return {
    type: 'tool_result',
    tool_use_id: id,
    ...(blocks.length === 0 ? {} : { content }),
    ...(isFailed(message) ? { is_error: true as const } : {}),
    ...(mark === undefined ? {} : { cache_control: mark }),
  };
}

/** Clients that know this API say of a result that the tool failed. */
function isFailed(message: ToolMessage): boolean {
  return 'is_error' in message && message.is_error === true;
}

/** Which provider family made a piece of reasoning that this API signed (gaps 6.4). */
export const THINKING_FORMAT = 'anthropic-claude-v1';

/** Longest name of a tool. */
const MAX_NAME_LENGTH = 128;

/**
 * Writes an earlier answer as blocks: thinking where it stood, then text, then tool calls. Images and audio of the
 * model's own have no place on this wire.
 */
function encodeAssistant(message: AssistantMessage, ids: ToolIds, { withThinking }: EarlierAnswers): Block[] {
  const said = message.content == null ? [] : encodeText(message.content);
  const text = said.length > 0 ? said : textBlocks(message.refusal ?? '');
  const calls = (message.tool_calls ?? []).map((call) => encodeToolCall(call, ids));
  return withThinking ? interleave(thinkingOf(message.reasoning_details ?? []), text, calls) : [...text, ...calls];
}

/** A name as the API accepts it. */
function toolName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, MAX_NAME_LENGTH);
}

function encodeToolCall({ id, function: { name, arguments: text } }: ToolCall, ids: ToolIds): RequestToolUseBlock {
  return { type: 'tool_use', id: ids.call(id), name: toolName(name), input: inputOf(text) };
}

/** Arguments that are no JSON object are wrapped in one: a call that went wrong must not end the conversation. */
function inputOf(text: string): object {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : { arguments: value };
  } catch {
    return { arguments: text };
  }
}

interface PlacedThinking {
  readonly block: ThinkingBlock | RedactedThinkingBlock;
  /** Position in the turn as it was decoded; see `MessageReader`. */
  readonly index: number | undefined;
}

/** Thinking that this API made, byte for byte. What others made, or nobody signed, it would refuse. */
function thinkingOf(details: readonly ReasoningDetail[]): PlacedThinking[] {
  return details.flatMap((detail): PlacedThinking[] => {
    if (detail.format != null && detail.format !== THINKING_FORMAT) return [];
    const { index } = detail;
    if (detail.type === 'reasoning.encrypted') {
      return [{ index, block: { type: 'redacted_thinking', data: detail.data } }];
    }
    if (detail.type !== 'reasoning.text' || !detail.signature) return [];
    return [{ index, block: { type: 'thinking', thinking: detail.text ?? '', signature: detail.signature } }];
  });
}

/** Puts thinking back between what was said and called. Without positions, or with dense ones, all of it comes first. */
function interleave(thinking: readonly PlacedThinking[], text: readonly Block[], calls: readonly Block[]): Block[] {
  // All text is one position: that is how positions were counted.
  const others: (readonly Block[])[] = [...(text.length > 0 ? [text] : []), ...calls.map((call) => [call])];
  const blocks: Block[] = [];
  let position = 0;
  for (const { block, index = position } of thinking) {
    for (; position < index && others.length > 0; position += 1) blocks.push(...(others.shift() ?? []));
    blocks.push(block);
    position += 1;
  }
  return [...blocks, ...others.flat()];
}
