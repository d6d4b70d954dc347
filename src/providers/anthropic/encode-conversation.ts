import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage } from '../../protocol/message.ts';
import { EncodeError } from '../encode-error.ts';
import { ToolIds } from '../tool-ids.ts';
import type { Block, ContentBlock, TextBlock, ToolResultBlock, Turn } from './blocks.ts';
import { encodeAssistant } from './encode-assistant.ts';
import { encodeContent, encodeText, textBlocks } from './encode-content.ts';
import type { ModelRules } from './model-rules.ts';
import { TOOL_ID_RULE } from './tool-id-rule.ts';

/** A conversation as the wire has it. */
export interface Conversation {
  readonly system: readonly TextBlock[];
  readonly turns: readonly Turn[];
}

/** Said for a user who said nothing where the API wants a message from one. */
const FILLER = 'Continue.';
/** Result of a call that the caller left without one: the API wants one for each. */
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

  /** Where the model takes it, a system message may stand behind a user's turn, at the end or before an answer. */
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

  /** A result stands in the turn right behind its call, before everything else there; a second one among the rest. */
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
