import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type {
  AssistantMessage,
  Message,
  SystemMessage,
  ToolCall,
  ToolMessage,
  UserMessage,
} from '../../protocol/message.ts';
import { EncodeError } from '../codec.ts';
import { ToolIds } from '../tool-ids.ts';
import {
  type Block,
  type ContentBlock,
  type TextBlock,
  TOOL_ID_RULE,
  type ToolResultBlock,
  type ToolUseBlock,
  type Turn,
} from './blocks.ts';
import { encodeContent, encodeText, textBlocks } from './encode-content.ts';
import type { ModelRules } from './plan-thinking.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { isJsonObject } from '../../protocol/json.ts';
import type { RedactedThinkingBlock, ThinkingBlock } from '../../protocol/messages/block.ts';

/** A conversation as the wire has it. */
interface Conversation {
  readonly system: readonly TextBlock[];
  readonly turns: readonly Turn[];
}

/** Said for a user who said nothing where the API wants a message from one. */
const FILLER = 'Continue.';
/** Result of a call that the client left without one: the API wants one for each. */
const NO_RESULT = 'This call gave no result.';

/**
 * Writes messages as turns of user and assistant. System messages go to the top, unless the model takes them where they
 * stand; neighbours of one role become one turn; results of tools come first in the turn behind their calls.
 *
 * @throws {@link EncodeError} for content that this wire has no form for.
 */
export function encodeConversation({ messages }: NormalizedRequest, rules: ModelRules): Conversation {
  const writer = new ConversationWriter(rules);
  for (const [index, message] of messages.entries()) writer.add(message, index, messages);
  return writer.finish();
}

class ConversationWriter {
  readonly #rules: ModelRules;
  readonly #ids = new ToolIds(TOOL_ID_RULE);
  readonly #system: TextBlock[] = [];
  readonly #turns: Turn[] = [];
  /** Turn behind which the result of a call belongs, by the call's id on the wire. */
  readonly #callers = new Map<string, Turn>();
  readonly #answered = new Set<string>();
  #lastAssistant = 0;

  constructor(rules: ModelRules) {
    this.#rules = rules;
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
        this.#lastAssistant = index;
        return this.#addAssistant(message);
      case 'tool':
        return this.#addResult(message, `messages[${index}].content`);
    }
  }

  finish(): Conversation {
    for (const [id, caller] of this.#callers) {
      if (this.#answered.has(id)) continue;
      this.#insertResult(caller, { type: 'tool_result', tool_use_id: id, content: NO_RESULT, is_error: true });
    }
    const turns = this.#turns;
    if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', content: textBlocks(FILLER) });
    const last = turns.at(-1);
    return {
      system: this.#system,
      turns: last?.role === 'assistant' ? [...turns.slice(0, -1), ...this.#prefill(last)] : turns,
    };
  }

  /** Where the model takes it, a system message may be behind a user's turn, at the end or before an answer. */
  #addSystem(message: SystemMessage, next: Message | undefined): void {
    const blocks = encodeText(message.content);
    const previous = this.#turns.at(-1)?.role;
    const mayStay = previous === 'user' && (next === undefined || speaks(next));
    if (this.#rules.systemTurns && mayStay) this.#append('system', blocks);
    else this.#system.push(...blocks);
  }

  #addAssistant(message: AssistantMessage): void {
    const blocks = encodeAssistant(message, this.#ids, this.#rules.thinking !== 'none');
    const turn = this.#append('assistant', blocks);
    for (const block of blocks) if (block.type === 'tool_use' && turn !== undefined) this.#callers.set(block.id, turn);
  }

  /** A result is in the turn right behind its call, before everything else there; a second one among the rest. */
  #addResult(message: ToolMessage, path: string): void {
    const id = this.#ids.result(message.tool_call_id);
    const caller = id === undefined ? undefined : this.#callers.get(id);
    if (id === undefined || caller === undefined) return;
    if (this.#answered.has(id)) {
      this.#append('user', encodeContent(message.content, path));
      return;
    }
    this.#answered.add(id);
    this.#insertResult(caller, resultBlock(id, message, path));
  }

  #insertResult(caller: Turn, result: ToolResultBlock): void {
    const position = this.#turns.indexOf(caller) + 1;
    let turn = this.#turns[position];
    if (turn?.role !== 'user') {
      turn = { role: 'user', content: [] };
      this.#turns.splice(position, 0, turn);
    }
    const results = turn.content.findLastIndex(({ type }) => type === 'tool_result') + 1;
    turn.content.splice(results, 0, result);
  }

  /** Models that go on with a prefill refuse thinking in it, and a space at its end; the others refuse any. */
  #prefill({ content }: Turn): readonly Turn[] {
    if (!this.#rules.prefill) {
      throw new EncodeError(
        `messages[${this.#lastAssistant}] is an assistant message for the model to go on with, which this model ` +
          'does not do: end with a user message',
      );
    }
    const said = content.filter(({ type }) => type !== 'thinking' && type !== 'redacted_thinking');
    const last = said.pop();
    if (last !== undefined) said.push(last.type === 'text' ? { ...last, text: last.text.trimEnd() } : last);
    return said.length === 0 ? [] : [{ role: 'assistant', content: said }];
  }

  #append(role: Turn['role'], blocks: readonly Block[]): Turn | undefined {
    const last = this.#turns.at(-1);
    if (blocks.length === 0) return last;
    if (last?.role === role) {
      last.content.push(...blocks);
      return last;
    }
    const turn: Turn = { role, content: [...blocks] };
    this.#turns.push(turn);
    return turn;
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
function resultBlock(id: string, message: ToolMessage, path: string): ToolResultBlock {
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
 *
 * @param withThinking - Whether the model can be given thinking at all.
 */
function encodeAssistant(message: AssistantMessage, ids: ToolIds, withThinking: boolean): Block[] {
  const said = message.content == null ? [] : encodeText(message.content);
  const text = said.length > 0 ? said : textBlocks(message.refusal ?? '');
  const calls = (message.tool_calls ?? []).map((call) => encodeToolCall(call, ids));
  return withThinking ? interleave(thinkingOf(message.reasoning_details ?? []), text, calls) : [...text, ...calls];
}

/** A name as the API accepts it. */
function toolName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, MAX_NAME_LENGTH);
}

function encodeToolCall({ id, function: { name, arguments: text } }: ToolCall, ids: ToolIds): ToolUseBlock {
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
