/** Compresses a prompt by removing what is in its middle. */
import type { ContentPart, RefusalPart } from '../../protocol/content-part.ts';
import type { Message } from '../../protocol/message.ts';
import { type CountedMessage, Measured, type TokenCounter } from './count-message.ts';
import { keptUnits, LEAST, type Unit, unitsOf } from './prompt-units.ts';

/** A prompt that was made to fit. */
export interface Compressed {
  readonly messages: readonly Message[];
  /** Messages that were taken out, and messages that were shortened. */
  readonly removed: number;
  readonly shortened: number;
}

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
  const { whole, rest, left } = chooseUnits({ units, kept, messages, sizes }, room);
  const reserved = Math.min(rest?.tokens ?? 0, left);
  const share = whole.shareOf(room.tokens - reserved);
  for (const index of whole.indexes) shares.set(index, share);
  const shareOfRest = rest?.shareOf(room.tokens - whole.cappedAt(share)) ?? 0;
  for (const index of rest?.indexes ?? []) shares.set(index, shareOfRest);
  return written(messages, sizes, shares, count);
}

/**
 * Writes the messages that stay, in their order. What a shortened text leaves of its share goes to the next one.
 *
 * @param shares - How many tokens each text of a message may have; messages without an entry go.
 */
export function written(
  messages: readonly Message[],
  sizes: readonly CountedMessage[],
  shares: ReadonlyMap<number, number>,
  count: TokenCounter,
): Compressed {
  let shortened = 0;
  let over = 0;
  const result = messages.flatMap((message, index) => {
    const share = shares.get(index);
    if (share === undefined) return [];
    const long = new Set<number>();
    for (const text of sizes[index]?.texts ?? []) {
      if (text.tokens <= share) continue;
      if (text.tokens > share + over) long.add(text.part);
      else over -= text.tokens - share;
    }
    if (long.size === 0) return message;
    shortened += 1;
    return withShortTexts(message, long, (text) => {
      const short = shortenText(text, share + over, count);
      over = Math.max(0, share + over - count(short));
      return short;
    });
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

/** Takes the place of the middle of a text. */
export const GAP = '\n[…]\n';

/** Characters that the end of a text may have at most per token; where the search for its length begins. */
const MOST_CHARACTERS = 6;
/** Characters that are given up so that a text is not cut within a word. */
const WORD = 40;

/**
 * Takes away the middle of a text, so that its beginning, a mark and its end are left, unchanged and about equally
 * long.
 *
 * @param tokens - What the result may have; from 16 up.
 */
export function shortenText(text: string, tokens: number, count: TokenCounter): string {
  let room = tokens - count(GAP);
  for (let tries = 1; tries <= 12 && room >= 2; tries += 1, room *= 1 - 0.03 * tries) {
    const head = headOf(text, room / 2, count);
    const tail = tailOf(text, room - count(head), count);
    const result = `${head}${GAP}${tail}`;
    if (head.length + tail.length < text.length && count(result) <= tokens) return result;
  }
  return GAP.trim();
}

function headOf(text: string, tokens: number, count: TokenCounter): string {
  return search(text, tokens, count, (length) => {
    const space = lastSpace(text, length - WORD, length);
    return text.slice(0, isWhole(text, length) ? (space ?? length) : (space ?? length - 1));
  });
}

function tailOf(text: string, tokens: number, count: TokenCounter): string {
  return search(text, tokens, count, (length) => {
    const from = text.length - length;
    const space = firstSpace(text, from, from + WORD);
    return text.slice(isWhole(text, from) ? (space ?? from) : (space ?? from + 1));
  });
}

/** Part of the tokens that a piece may leave unused. */
const UNUSED = 0.02;

/** Finds about the longest piece with so many tokens: the longest one of all tries that is not too long. */
function search(text: string, tokens: number, count: TokenCounter, pieceOf: (length: number) => string): string {
  const half = Math.floor(text.length / 2);
  let length = Math.min(half, Math.ceil(tokens * MOST_CHARACTERS));
  let found = '';
  let [longest, shortest] = [0, half + 1];
  for (let tries = 0; tries < 12 && length > longest && length < shortest; tries += 1) {
    const piece = pieceOf(length);
    const used = count(piece);
    if (used <= tokens) {
      [found, longest] = [piece, length];
      if (used >= tokens * (1 - UNUSED)) break;
    } else shortest = length;
    const next = Math.floor((length * tokens * (1 - UNUSED / 2)) / Math.max(1, used));
    length = Math.max(longest + 1, Math.min(shortest - 1, next));
  }
  return found;
}

/** False between the two halves of a character beyond the basic plane. */
function isWhole(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return !(code >= 0xdc00 && code < 0xe000);
}

function lastSpace(text: string, from: number, to: number): number | undefined {
  for (let at = to; at > Math.max(0, from); at -= 1) if (isSpace(text, at)) return at;
  return undefined;
}

function firstSpace(text: string, from: number, to: number): number | undefined {
  for (let at = from; at < Math.min(text.length, to); at += 1) if (isSpace(text, at)) return at;
  return undefined;
}

function isSpace(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 32 || code === 10;
}

/** What a prompt may be at most. */
export interface PromptLimits {
  /** Tokens of all messages together. */
  readonly tokens: number;
  readonly messages: number;
}

/** A prompt in units, with those that stay in any case. */
interface UnitList {
  readonly units: readonly Unit[];
  readonly kept: ReadonlySet<number>;
  readonly messages: readonly Message[];
  readonly sizes: readonly CountedMessage[];
}

/** Units that stay beside those that must. */
interface ChosenUnits {
  readonly whole: Measured;
  /** Those at the edge of the gap that get what room is left. */
  readonly rest?: Measured | undefined;
  /** Tokens of room that are left. */
  readonly left: number;
}

/** While units are chosen, a long text counts for at most this part of the room for them all. */
const LONGEST_PART = 4;
/** Tokens of room that are worth taking another unit in for. */
const WORTHWHILE = 64;

/**
 * Takes units from both ends, from the end that has had less so far, until one does not fit any more. Units at the edges
 * of the gap get the room that is left, and close it where two turns of one speaker would come together: some models
 * insist that user and assistant take turns.
 */
function chooseUnits(list: UnitList, room: PromptLimits): ChosenUnits {
  const { units, kept } = list;
  const cap = Math.max(LEAST, Math.floor(room.tokens / LONGEST_PART));
  const free = units.flatMap((_, index) => (kept.has(index) ? [] : [index]));
  const chosen: number[] = [];
  let [left, right] = [0, free.length - 1];
  let [before, behind] = [0, 0];
  let { tokens, messages } = room;
  while (left <= right) {
    const fromStart = before <= behind;
    const index = free[fromStart ? left : right] ?? 0;
    const unit = measure(list, [index]);
    const needed = unit.cappedAt(cap);
    if (needed > tokens || unit.count > messages) break;
    chosen.push(index);
    tokens -= needed;
    messages -= unit.count;
    const used = needed / room.tokens + unit.count / room.messages;
    if (fromStart) [left, before] = [left + 1, before + used];
    else [right, behind] = [right - 1, behind + used];
  }
  const leftOut = free.slice(left, right + 1);
  const rest = restAt(list, chosen, leftOut, { tokens, messages });
  if (rest !== undefined) return { whole: measure(list, chosen), rest, left: tokens };
  const superfluous = superfluousUnit(list, chosen);
  if (superfluous === undefined) return { whole: measure(list, chosen), left: tokens };
  const others = chosen.filter((unit) => unit !== superfluous);
  const whole = measure(list, others);
  const gone = measure(list, [superfluous]);
  const more = { tokens: tokens + gone.cappedAt(cap), messages: messages + gone.count };
  return { whole, rest: restAt(list, others, [superfluous, ...leftOut], more), left: more.tokens };
}

/** What gets the room that is left: the largest of the edges of what was left out that keep the turns of the speakers. */
function restAt(
  list: UnitList,
  chosen: readonly number[],
  leftOut: readonly number[],
  room: PromptLimits,
): Measured | undefined {
  const { tokens } = room;
  return edgesOf(leftOut)
    .filter((edge) => !clashes(list, [...chosen, ...edge]))
    .map((edge) => measure(list, edge))
    .filter((one) => one.count <= room.messages && tokens >= WORTHWHILE && one.cappedAt(LEAST) <= tokens)
    .reduce<Measured | undefined>(
      (best, one) => (Math.min(one.tokens, tokens) > Math.min(best?.tokens ?? 0, tokens) ? one : best),
      undefined,
    );
}

/**
 * Up to four units at the edges of those that were left out: several, because fewer may speak out of turn, or be too
 * short for the room.
 */
function edgesOf(leftOut: readonly number[]): readonly (readonly number[])[] {
  const [first, second, third] = leftOut;
  const [last, beforeLast, beforeThat] = [leftOut.at(-1), leftOut.at(-2), leftOut.at(-3)];
  const edges = [
    [first],
    [last],
    [first, second],
    [first, last],
    [beforeLast, last],
    [first, second, third],
    [first, second, last],
    [first, beforeLast, last],
    [beforeThat, beforeLast, last],
    [first, second, beforeLast, last],
  ];
  return edges.flatMap((edge) => {
    const units = edge.filter((unit) => unit !== undefined);
    return units.length === edge.length && new Set(units).size === units.length ? [units] : [];
  });
}

/** Whether two turns of one speaker come together where units were left out. */
function clashes(list: UnitList, chosen: readonly number[]): boolean {
  return jointsOf(list, chosen).some(
    ({ before, behind }) => speaks(list, before, 'last') === speaks(list, behind, 'first'),
  );
}

/** A unit before the first gap without which no two turns of one speaker come together there, where they do. */
function superfluousUnit(list: UnitList, chosen: readonly number[]): number | undefined {
  const [joint] = jointsOf(list, chosen);
  if (joint === undefined || list.kept.has(joint.before)) return undefined;
  const speaker = speaks(list, joint.before, 'last');
  if (speaker !== speaks(list, joint.behind, 'first')) return undefined;
  return speaks(list, joint.beforeThat, 'last') === speaker ? undefined : joint.before;
}

/** Where units were left out between others: those around the gap. */
interface Joint {
  readonly beforeThat: number | undefined;
  readonly before: number;
  readonly behind: number;
}

function jointsOf({ kept }: UnitList, chosen: readonly number[]): readonly Joint[] {
  const all = [...chosen, ...kept].sort((left, right) => left - right);
  return all.flatMap((behind, at) => {
    const before = all[at - 1];
    return before === undefined || behind === before + 1 ? [] : [{ beforeThat: all[at - 2], before, behind }];
  });
}

/** Who has the first or the last word in a unit. */
function speaks({ units, messages }: UnitList, unit: number | undefined, end: 'first' | 'last'): string {
  const indexes = unit === undefined ? [] : (units[unit]?.messages ?? []);
  const role = messages[(end === 'first' ? indexes[0] : indexes.at(-1)) ?? -1]?.role ?? 'system';
  return role === 'developer' ? 'system' : role;
}

function measure({ units, sizes }: UnitList, chosen: readonly number[]): Measured {
  return new Measured(
    chosen.flatMap((unit) => units[unit]?.messages ?? []),
    sizes,
  );
}
