/** Translates ids of tool calls for APIs that restrict them. */
import type { NormalizedRequest } from '../contracts/request.ts';
import type { Message } from '../protocol/message.ts';

/**
 * Beginning of the ids of tool calls on wires that give none: unique among requests, and the same in every repetition
 * of one.
 */
export function callIdPrefix({ id }: Pick<NormalizedRequest, 'id'>): string {
  return `call_${id.slice(-12)}`;
}

/** What a wire allows as the id of a tool call. */
export interface ToolIdRule {
  /** Matches ids that may stay as they are. */
  readonly allowed: RegExp;
  /**
   * Makes an allowed id of one that may not stay. `attempt` counts from 0 and is raised while the result belongs to
   * another call already, so every attempt must give another id.
   */
  readonly replace: (id: string, attempt: number) => string;
}

/** Ids of letters, digits, `_` and `-`. */
export const WORD_CHARACTERS: ToolIdRule = {
  allowed: /^[a-zA-Z0-9_-]+$/,
  replace: (id, attempt) => `${id.replace(/[^a-zA-Z0-9_-]/g, '_')}${attempt === 0 ? '' : `_${attempt}`}`,
};

/** The caller's id for one on the wire. */
export type OriginalId = (onWire: string) => string;

/**
 * Turns ids of an answer into those that the caller's conversation has for the same calls. The conversation is only
 * looked through when an answer has calls; ids that the provider made stay as they are.
 *
 * @param rule - What the wire allows; undefined where ids may be anything, and so were never changed.
 */
export function originalIds(messages: readonly Message[], rule: ToolIdRule | undefined): OriginalId {
  if (rule === undefined) return (onWire) => onWire;
  let ids: ToolIds | undefined;
  return (onWire) => (ids ??= ToolIds.of(messages, rule)).original(onWire);
}

/**
 * The ids of the tool calls of one conversation: the caller's, and what stands for them on a wire with rules of its own.
 * The same conversation always gets the same ids, also when it has grown, so that prompt caches keep working; no two
 * calls share one, even if the caller gave them the same. What an answer says in ids of the wire can be turned back.
 */
export class ToolIds {
  readonly #rule: ToolIdRule;
  readonly #originals = new Map<string, string>();
  /** Calls by the caller's id: those without a result, and the last one that got one. */
  readonly #calls = new Map<string, { readonly open: string[]; answered?: string }>();

  constructor(rule: ToolIdRule) {
    this.#rule = rule;
  }

  /** The ids of all calls in a conversation. */
  static of(messages: readonly Message[], rule: ToolIdRule): ToolIds {
    const ids = new ToolIds(rule);
    for (const message of messages) {
      if (message.role === 'assistant') for (const { id } of message.tool_calls ?? []) ids.call(id);
    }
    return ids;
  }

  /** The id on the wire of the next call in the conversation. */
  call(id: string): string {
    const { allowed, replace } = this.#rule;
    let onWire = allowed.test(id) ? id : replace(id, 0);
    for (let attempt = 1; this.#originals.has(onWire); attempt += 1) onWire = replace(id, attempt);
    this.#originals.set(onWire, id);
    const known = this.#calls.get(id);
    if (known === undefined) this.#calls.set(id, { open: [onWire] });
    else known.open.push(onWire);
    return onWire;
  }

  /** The id on the wire of the call that a result belongs to: the first without one, or the last that got one. */
  result(id: string): string | undefined {
    const known = this.#calls.get(id);
    const next = known?.open.shift();
    if (known !== undefined && next !== undefined) known.answered = next;
    return known?.answered;
  }

  /** The caller's id for one on the wire. Ids that the provider made stay as they are. */
  original(onWire: string): string {
    return this.#originals.get(onWire) ?? onWire;
  }
}
