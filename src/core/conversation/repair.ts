/** Repairs conversations that some provider would refuse, in the same way for all. */
import * as read from '../../platform/json.ts';
import type { AssistantMessage, Message, ToolCall, ToolMessage } from '../../protocol/message.ts';
import { changesConfiguration, isEmptyText, isObjectText } from './needs-repair.ts';

/** A conversation that any provider takes, and what was changed to make it one. */
export interface RepairedConversation {
  /** The same list where nothing had to be changed. */
  readonly messages: readonly Message[];
  /** A sentence for each kind of change. */
  readonly adjustments: readonly string[];
}

/** Said for a user who said nothing where a turn of one is needed. */
export const FILLER = 'Continue.';

/** Result of a call that the client left without one. */
export const NO_RESULT = 'This call gave no result.';

/**
 * Repairs a conversation, the same for every provider: each call has one result, right behind it and in the order of
 * the calls; no turn and no part is empty; a history does not begin with a call;
 * calls of a turn have ids of their own, and arguments. Of a result that comes twice, the first
 * counts, and another one that says something else becomes text of the user, as does a result without a call.
 */
export function repairConversation(messages: readonly Message[]): RepairedConversation {
  const repair = new Repair();
  const placed = repair.placeResults(messages);
  const filled = repair.withoutEmpty(placed);
  const repaired = repair.withBeginning(filled);
  return { messages: repair.adjustments.length === 0 ? messages : repaired, adjustments: repair.adjustments };
}

/** A call, and the result that it got. */
interface Call {
  readonly id: string;
  /** Another id, where a call before it in the turn has the same. */
  readonly newId?: string;
  result?: ToolMessage;
}

class Repair {
  readonly #counts = new Map<string, number>();

  get adjustments(): readonly string[] {
    return [...this.#counts].map(([change, count]) => (count === 1 ? change : `${change} (${count} times)`));
  }

  /** Puts the results of each turn's calls right behind it. */
  placeResults(messages: readonly Message[]): readonly Message[] {
    const { callsOf, left } = this.#matchResults(messages);
    const placed: Message[] = [];
    for (const [index, message] of messages.entries()) {
      if (message.role !== 'tool') {
        const calls = callsOf.get(message);
        placed.push(calls === undefined ? message : this.#withGoodCalls(message as AssistantMessage, calls));
        for (const { id, newId = id, result } of calls ?? []) {
          const own = result ?? this.#missingResult({ id });
          placed.push(newId === own.tool_call_id ? own : { ...own, tool_call_id: newId });
        }
      } else if (left.has(index)) placed.push({ role: 'user', content: message.content });
    }
    const moved = messages.some((message, index) => message.role === 'tool' && placed[index] !== message);
    if (moved && this.#counts.size === 0) this.#note('A result of a tool was moved behind its call');
    return placed;
  }

  /** Finds the call of each result, and the results that are left without one. */
  #matchResults(messages: readonly Message[]): {
    readonly callsOf: ReadonlyMap<Message, readonly Call[]>;
    readonly left: ReadonlySet<number>;
  } {
    const callsOf = new Map<Message, readonly Call[]>();
    const known = new Map<string, Call[]>();
    const left = new Set<number>();
    for (const [index, message] of messages.entries()) {
      if (message.role === 'assistant' && message.tool_calls?.length) {
        const calls = message.tool_calls.map(({ id }, position, all): Call => {
          const isTaken = position > 0 && all.findIndex((call) => call.id === id) < position;
          return isTaken ? { id, newId: `${id}_${position + 1}` } : { id };
        });
        callsOf.set(message, calls);
        for (const call of calls) known.set(call.id, [...(known.get(call.id) ?? []), call]);
      } else if (message.role === 'tool') {
        const calls = known.get(message.tool_call_id) ?? [];
        const open = calls.find(({ result }) => result === undefined);
        if (open !== undefined) open.result = message;
        else if (calls.some(({ result }) => isSame(result, message))) {
          this.#note('A result of a tool that was there twice was left out');
        } else {
          left.add(index);
          this.#note(
            calls.length === 0
              ? 'A result of a tool without a call became text of the user'
              : 'A second result of a call became text of the user',
          );
        }
      }
    }
    return { callsOf, left };
  }

  /** A turn whose calls have ids of their own, and arguments that are a JSON object. */
  #withGoodCalls(message: AssistantMessage, calls: readonly Call[]): AssistantMessage {
    const requested = message.tool_calls ?? [];
    if (!requested.some((call, index) => isBad(call, calls[index]))) return message;
    return {
      ...message,
      tool_calls: requested.map((call, index) => {
        if (!isBad(call, calls[index])) return call;
        const id = calls[index]?.newId;
        if (id !== undefined) this.#note('A second call of one id in a turn got an id of its own');
        const { arguments: input } = call.function;
        return { ...call, id: id ?? call.id, function: { ...call.function, arguments: this.#withObject(input) } };
      }),
    };
  }

  /** Arguments as a JSON object: servers parse them for the template. What a model wrote stays there to be read. */
  #withObject(input: string): string {
    if (isObjectText(input)) return input;
    const value = read.parse(input);
    if (input.trim() === '' || value === null) {
      this.#note('A tool call without arguments got an empty object');
      return '{}';
    }
    this.#note('Arguments of a tool call that are no JSON object were put into one');
    return JSON.stringify({ arguments: value ?? input });
  }

  #missingResult({ id }: Call): ToolMessage {
    this.#note('A tool call without a result got one that says so');
    // Clients of the Messages API mark results of failed calls like this.
    const result: ToolMessage & { readonly is_error: true } = {
      role: 'tool',
      tool_call_id: id,
      content: NO_RESULT,
      is_error: true,
    };
    return result;
  }

  /** Leaves out parts and turns without content; a user's turn that is needed says {@link FILLER}. */
  withoutEmpty(messages: readonly Message[]): readonly Message[] {
    const kept: Message[] = [];
    for (const message of messages) {
      const full = this.#withoutEmptyParts(message);
      if (!isEmpty(full)) kept.push(full);
      else this.#note('A turn without content was left out');
    }
    const isLastEmpty = messages.at(-1)?.role === 'user' && kept.at(-1)?.role !== 'user';
    if (isLastEmpty || !kept.some(isTurn)) kept.push({ role: 'user', content: FILLER });
    return kept;
  }

  #withoutEmptyParts(message: Message): Message {
    const { role, content } = message;
    if (typeof content === 'string' || !content?.some(isEmptyText)) return message;
    const parts = content.filter((part) => !isEmptyText(part));
    // Instructions may be there for something else than their text, and results must be there.
    if (parts.length === 0 && role !== 'assistant') return { ...message, content: '' };
    this.#note('A part without text was left out');
    return { ...message, content: parts.length === 0 ? null : parts } as Message;
  }

  /** A history that begins with a call gets a user's turn before it. */
  withBeginning(messages: readonly Message[]): readonly Message[] {
    const first = messages.findIndex(isTurn);
    const user = messages.findIndex(({ role }) => role === 'user');
    const call = messages.findIndex((message) => message.role === 'assistant' && message.tool_calls?.length);
    if (call < 0 || (user >= 0 && user < call)) return messages;
    this.#note('A turn of the user was put before the call that the conversation begins with');
    return messages.toSpliced(first, 0, { role: 'user', content: FILLER });
  }

  #note(change: string): void {
    this.#counts.set(change, (this.#counts.get(change) ?? 0) + 1);
  }
}

/** A call that must change: it has the id of another one, or its arguments are no JSON object. */
function isBad({ function: { arguments: input } }: ToolCall, call: Call | undefined): boolean {
  return call?.newId !== undefined || !isObjectText(input);
}

function isTurn({ role }: Message): boolean {
  return role !== 'system' && role !== 'developer';
}

function isSame(left: ToolMessage | undefined, right: ToolMessage): boolean {
  return left !== undefined && JSON.stringify(left.content) === JSON.stringify(right.content);
}

/** True for instructions, or a turn of a user or a model, in which nothing is said. */
function isEmpty(message: Message): boolean {
  const { role, content } = message;
  if (content != null && content.length > 0) return false;
  return role === 'assistant' ? saysNothingElse(message) : role !== 'tool' && !changesConfiguration(message);
}

function saysNothingElse({ tool_calls: calls, refusal, images, audio }: AssistantMessage): boolean {
  return !calls?.length && !refusal && !images?.length && audio?.id === undefined;
}
