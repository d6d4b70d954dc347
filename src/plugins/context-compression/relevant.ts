import type { Message } from '../../protocol/message.ts';
import { type CountedMessage, Measured, type TokenCounter } from './count-message.ts';
import { type Compressed, keptUnits, LEAST, middleOut, type PromptLimits, unitsOf, written } from './middle-out.ts';
import { relevance } from './relevance.ts';

/** What is kept of the last turns, as a part of the room, before anything is chosen by what it says. */
const LAST_TURNS = 1 / 8;
/** The part of the room for which another message is shortened. */
const WORTHWHILE = 0.02;

/**
 * Makes a prompt fit by what its messages have to do with the last question: whole messages by relevance, in their
 * order. Instructions, the last message of the user and what comes last stay; calls of tools and their results stay or
 * go together; the turn before the question stays where it is short. Room that no whole message fits into goes to the
 * most relevant one that was left out, without its middle. Where what has to stay is too long by itself, and where
 * nobody asked anything, does as {@link middleOut}.
 *
 * @param sizes - Of all messages, by the same counter.
 */
export function relevant(
  messages: readonly Message[],
  sizes: readonly CountedMessage[],
  limits: PromptLimits,
  count: TokenCounter,
): Compressed | undefined {
  const units = unitsOf(messages);
  const kept = keptUnits(units, messages);
  const measure = (unit: number): Measured => new Measured(units[unit]?.messages ?? [], sizes);
  const room = { tokens: limits.tokens, messages: limits.messages };
  const take = (unit: number): boolean => {
    const { tokens, count: taken } = measure(unit);
    if (tokens > room.tokens || taken > room.messages) return false;
    room.tokens -= tokens;
    room.messages -= taken;
    return true;
  };
  const question = textOf(messages.findLast((message) => message.role === 'user'));
  const fits = [...kept].every(take);
  if (!fits || question === '') return middleOut(messages, sizes, limits, count);
  const chosen = new Set(kept);
  const turns = room.tokens * LAST_TURNS;
  for (const unit of lastTurn(units.length, kept)) {
    if (measure(unit).tokens <= turns / 2 && take(unit)) chosen.add(unit);
  }
  const free = [...units.keys()].filter((unit) => !chosen.has(unit));
  const scores = relevance(
    question,
    free.map((unit) => (units[unit]?.messages ?? []).map((index) => textOf(messages[index])).join('\n')),
  );
  const ranked = free
    .map((unit, index) => ({ unit, score: scores[index] ?? 0 }))
    .toSorted((left, right) => right.score - left.score || right.unit - left.unit);
  const left = ranked.filter(({ unit }) => {
    const taken = take(unit);
    if (taken) chosen.add(unit);
    return !taken;
  });
  const shares = new Map<number, number>();
  for (const unit of chosen) for (const index of units[unit]?.messages ?? []) shares.set(index, Infinity);
  if (room.tokens > limits.tokens * WORTHWHILE) {
    const rest = left
      .map(({ unit }) => measure(unit))
      .find((one) => one.count <= room.messages && one.cappedAt(LEAST) <= room.tokens);
    const share = rest?.shareOf(room.tokens) ?? 0;
    for (const index of rest?.indexes ?? []) shares.set(index, share);
  }
  return written(messages, sizes, shares, count);
}

/** The two units before the last one that stays, the latest first. */
function lastTurn(units: number, kept: ReadonlySet<number>): readonly number[] {
  const turn: number[] = [];
  for (let unit = units - 1; unit >= 0 && turn.length < 2; unit -= 1) if (!kept.has(unit)) turn.push(unit);
  return turn;
}

/** What a message says, and what it asks of tools. */
function textOf(message: Message | undefined): string {
  if (message === undefined) return '';
  const { content } = message;
  const said =
    typeof content === 'string'
      ? content
      : (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
  return calls.length === 0 ? said : [said, ...calls.map((call) => call.function.arguments)].join('\n');
}
