import type { ContentPart, RefusalPart } from '../../protocol/content-part.ts';
import type { Message } from '../../protocol/message.ts';
import type { CountedMessage, TokenCounter } from './count-message.ts';
import { fairShare } from './share.ts';
import { shortenText } from './shorten-text.ts';
import { type Unit, keptUnits, unitsOf } from './units.ts';

/** What a prompt may be at most. */
export interface PromptLimits {
  /** Tokens of all messages together. */
  readonly tokens: number;
  readonly messages: number;
}

/** A prompt that was made to fit. */
export interface Compressed {
  readonly messages: readonly Message[];
  /** Messages that were taken out, and messages that were shortened. */
  readonly removed: number;
  readonly shortened: number;
}

/** No text is cut to fewer tokens than this. */
const LEAST = 16;
/** While messages are chosen, a long one counts for at most this part of the room for them all. */
const LONGEST_PART = 8;

/**
 * Makes a prompt fit: takes messages out of its middle and shortens long ones in theirs. Instructions, the last message
 * of the user and what comes last stay; calls of tools and their results stay or go together; the order stays.
 * Undefined when even what has to stay is too much.
 *
 * @param sizes - Of all messages, by the same counter.
 */
export function middleOut(
  messages: readonly Message[],
  sizes: readonly CountedMessage[],
  limits: PromptLimits,
  count: TokenCounter,
): Compressed | undefined {
  const units = unitsOf(messages);
  const kept = keptUnits(units, messages);
  const stays = new Measured(
    [...kept].flatMap((index) => units[index]?.messages ?? []),
    sizes,
  );
  if (stays.count > limits.messages) return undefined;
  if (stays.tokens > limits.tokens) {
    // What has to stay is too long by itself, so nothing else stays.
    const share = stays.shareOf(limits.tokens);
    return share < LEAST ? undefined : written(messages, sizes, stays, share, count);
  }
  const room = { tokens: limits.tokens - stays.tokens, messages: limits.messages - stays.count };
  const chosen = new Measured(alternating(choose(units, kept, sizes, room), units, kept, messages), sizes);
  const share = chosen.shareOf(room.tokens);
  return written(messages, sizes, new Measured([...stays.indexes, ...chosen.indexes], sizes), share, count, stays);
}

/** Tokens that a prompt can be brought down to, if it need not keep more than it must. */
export function leastTokens(messages: readonly Message[], sizes: readonly CountedMessage[]): number {
  const units = unitsOf(messages);
  const indexes = [...keptUnits(units, messages)].flatMap((index) => units[index]?.messages ?? []);
  return new Measured(indexes, sizes).cappedAt(LEAST);
}

/** Some messages and how long they are together. */
class Measured {
  readonly indexes: readonly number[];
  readonly #sizes: readonly CountedMessage[];

  constructor(indexes: readonly number[], sizes: readonly CountedMessage[]) {
    this.indexes = indexes;
    this.#sizes = sizes;
  }

  get count(): number {
    return this.indexes.length;
  }

  get tokens(): number {
    return this.cappedAt(Infinity);
  }

  /** Tokens when no text has more than a certain number. */
  cappedAt(cap: number): number {
    return this.indexes.reduce((sum, index) => sum + cappedTokens(this.#sizes[index], cap), 0);
  }

  /** How long each text may be so that all fit. */
  shareOf(room: number): number {
    const texts = this.indexes.flatMap((index) => this.#sizes[index]?.texts.map((text) => text.tokens) ?? []);
    const fixed = this.cappedAt(0);
    return fairShare(texts, room - fixed);
  }
}

function cappedTokens(size: CountedMessage | undefined, cap: number): number {
  if (size === undefined) return 0;
  return size.texts.reduce((sum, text) => sum - Math.max(0, text.tokens - cap), size.tokens);
}

/** Takes units from both ends, from the end that has had less so far, until one does not fit any more. */
function choose(
  units: readonly Unit[],
  kept: ReadonlySet<number>,
  sizes: readonly CountedMessage[],
  room: PromptLimits,
): readonly number[] {
  const cap = Math.max(LEAST, Math.floor(room.tokens / LONGEST_PART));
  const free = units.flatMap((_, index) => (kept.has(index) ? [] : [index]));
  const chosen: number[] = [];
  let [left, right] = [0, free.length - 1];
  let [before, behind] = [0, 0];
  let tokens = 0;
  let count = 0;
  while (left <= right) {
    const fromStart = before <= behind;
    const index = free[fromStart ? left : right] ?? 0;
    const { messages } = units[index] ?? { messages: [] };
    tokens += messages.reduce((sum, one) => sum + cappedTokens(sizes[one], cap), 0);
    count += messages.length;
    if (tokens > room.tokens || count > room.messages) break;
    chosen.push(index);
    const used =
      messages.length / room.messages +
      messages.reduce((sum, one) => sum + cappedTokens(sizes[one], cap), 0) / room.tokens;
    if (fromStart) [left, before] = [left + 1, before + used];
    else [right, behind] = [right - 1, behind + used];
  }
  return chosen;
}

/**
 * Messages of the chosen units. Some models insist that user and assistant take turns, so where the gap would bring two
 * messages of one role together, the unit before it goes too.
 */
function alternating(
  chosen: readonly number[],
  units: readonly Unit[],
  kept: ReadonlySet<number>,
  messages: readonly Message[],
): readonly number[] {
  const all = [...chosen, ...kept].sort((left, right) => left - right);
  const firstBehind = all.findIndex((unit, position) => position > 0 && unit !== (all[position - 1] ?? 0) + 1);
  const roleAt = (unit: number | undefined, end: 'first' | 'last'): string => {
    const indexes = unit === undefined ? [] : (units[unit]?.messages ?? []);
    return speakerOf(messages[(end === 'first' ? indexes[0] : indexes.at(-1)) ?? -1]);
  };
  const before = firstBehind < 0 ? undefined : all[firstBehind - 1];
  const clash = before !== undefined && roleAt(before, 'last') === roleAt(all[firstBehind], 'first');
  const dropped =
    clash && !kept.has(before) && roleAt(all[firstBehind - 2], 'last') !== roleAt(before, 'last') ? before : -1;
  return chosen.filter((unit) => unit !== dropped).flatMap((unit) => units[unit]?.messages ?? []);
}

/** Whose turn a message is. */
function speakerOf(message: Message | undefined): string {
  return message === undefined || message.role === 'developer' ? 'system' : message.role;
}

/** Writes the messages that stay, in their order; texts beyond the share are shortened, except those of `whole`. */
function written(
  messages: readonly Message[],
  sizes: readonly CountedMessage[],
  stays: Measured,
  share: number,
  count: TokenCounter,
  whole?: Measured,
): Compressed {
  const untouched = new Set(whole?.indexes);
  const indexes = [...stays.indexes].sort((left, right) => left - right);
  let shortened = 0;
  const result = indexes.flatMap((index) => {
    const message = messages[index];
    const long = untouched.has(index) ? [] : (sizes[index]?.texts.filter((text) => text.tokens > share) ?? []);
    if (message === undefined || long.length === 0) return message ?? [];
    shortened += 1;
    return withShortTexts(message, new Set(long.map((text) => text.part)), (text) => shortenText(text, share, count));
  });
  return { messages: result, removed: messages.length - result.length, shortened };
}

function withShortTexts(message: Message, parts: ReadonlySet<number>, shorten: (text: string) => string): Message {
  const { content } = message;
  if (typeof content === 'string') return { ...message, content: shorten(content) };
  const changed = (content ?? []).map((part: ContentPart | RefusalPart, index) =>
    part.type === 'text' && parts.has(index) ? { ...part, text: shorten(part.text) } : part,
  );
  return { ...message, content: changed } as Message;
}
