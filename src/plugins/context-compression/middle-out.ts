import type { ContentPart, RefusalPart } from '../../protocol/content-part.ts';
import type { Message } from '../../protocol/message.ts';
import { type PromptLimits, chooseUnits } from './choose-units.ts';
import type { CountedMessage, TokenCounter } from './count-message.ts';
import { Measured } from './measured.ts';
import { shortenText } from './shorten-text.ts';
import { keptUnits, unitsOf } from './units.ts';

/** A prompt that was made to fit. */
export interface Compressed {
  readonly messages: readonly Message[];
  /** Messages that were taken out, and messages that were shortened. */
  readonly removed: number;
  readonly shortened: number;
}

/** No text is cut to fewer tokens than this. */
const LEAST = 16;

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
  const shares = new Map<number, number>();
  const room = { tokens: limits.tokens - stays.tokens, messages: limits.messages - stays.count };
  if (room.tokens < 0) {
    // What has to stay is too long by itself, so nothing else stays.
    const share = stays.shareOf(limits.tokens);
    if (share < LEAST) return undefined;
    for (const index of stays.indexes) shares.set(index, share);
    return written(messages, sizes, shares, count);
  }
  for (const index of stays.indexes) shares.set(index, Infinity);
  const { whole, rest, left } = chooseUnits({ units, kept, messages, sizes }, room, LEAST);
  const reserved = Math.min(rest?.tokens ?? 0, left);
  const share = whole.shareOf(room.tokens - reserved);
  for (const index of whole.indexes) shares.set(index, share);
  const shareOfRest = rest?.shareOf(room.tokens - whole.cappedAt(share)) ?? 0;
  for (const index of rest?.indexes ?? []) shares.set(index, shareOfRest);
  return written(messages, sizes, shares, count);
}

/** Tokens that a prompt can be brought down to, if it need not keep more than it must. */
export function leastTokens(messages: readonly Message[], sizes: readonly CountedMessage[]): number {
  const units = unitsOf(messages);
  const indexes = [...keptUnits(units, messages)].flatMap((index) => units[index]?.messages ?? []);
  return new Measured(indexes, sizes).cappedAt(LEAST);
}

/**
 * Writes the messages that stay, in their order.
 *
 * @param shares - How many tokens each text of a message may have; messages without an entry go.
 */
function written(
  messages: readonly Message[],
  sizes: readonly CountedMessage[],
  shares: ReadonlyMap<number, number>,
  count: TokenCounter,
): Compressed {
  let shortened = 0;
  const result = messages.flatMap((message, index) => {
    const share = shares.get(index);
    if (share === undefined) return [];
    const long = sizes[index]?.texts.filter((text) => text.tokens > share) ?? [];
    if (long.length === 0) return message;
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
