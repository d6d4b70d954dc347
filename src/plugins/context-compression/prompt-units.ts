/** Groups messages that must be kept or removed together. */
import type { Message } from '../../protocol/message.ts';
import { type CountedMessage, Measured } from './count-message.ts';

/** No text is cut to fewer tokens than this. */
export const LEAST = 16;

/** Messages that stay or go together: a call of tools with all its results, or one message by itself. */
export interface Unit {
  /** Indexes of its messages, in order. */
  readonly messages: readonly number[];
}

/**
 * Puts the messages of a conversation into units, in the order of their first messages. A result of a tool belongs to
 * the last message before it that made the call.
 */
export function unitsOf(messages: readonly Message[]): readonly Unit[] {
  const units: { readonly messages: number[] }[] = [];
  const callers = new Map<string, number>();
  for (const [index, message] of messages.entries()) {
    const caller = message.role === 'tool' ? callers.get(message.tool_call_id) : undefined;
    if (caller !== undefined) {
      units[caller]?.messages.push(index);
      continue;
    }
    units.push({ messages: [index] });
    if (message.role !== 'assistant') continue;
    for (const call of message.tool_calls ?? []) callers.set(call.id, units.length - 1);
  }
  return units;
}

/**
 * Indexes of the units that always stay: instructions, the last message of the user, and the last unit, to which the
 * model is about to answer.
 */
export function keptUnits(units: readonly Unit[], messages: readonly Message[]): ReadonlySet<number> {
  const roleOf = (unit: Unit): string | undefined => messages[unit.messages[0] ?? -1]?.role;
  const kept = new Set<number>();
  for (const [index, unit] of units.entries()) {
    const role = roleOf(unit);
    if (role === 'system' || role === 'developer') kept.add(index);
  }
  const lastUser = units.findLastIndex((unit) => roleOf(unit) === 'user');
  if (lastUser >= 0) kept.add(lastUser);
  if (units.length > 0) kept.add(units.length - 1);
  return kept;
}

/**
 * Tokens that a prompt can be brought down to, if it need not keep more than it must.
 *
 * @param withInstructions - Whether instructions may be shortened, too.
 */
export function leastTokens(
  messages: readonly Message[],
  sizes: readonly CountedMessage[],
  { withInstructions }: { readonly withInstructions: boolean },
): number {
  const units = unitsOf(messages);
  const indexes = [...keptUnits(units, messages)].flatMap((index) => units[index]?.messages ?? []);
  return new Measured(indexes, withInstructions ? sizes.map(allTexts) : sizes).cappedAt(LEAST);
}

/** Sizes of which texts of instructions may be shortened, too. */
export function allTexts({ tokens, texts, instructions = [] }: CountedMessage): CountedMessage {
  return instructions.length === 0 ? { tokens, texts } : { tokens, texts: instructions };
}
