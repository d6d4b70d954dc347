import type { Message } from '../../../protocol/message.ts';

/**
 * The beginnings of a prompt, each as one number, by which it is recognised that another prompt begins alike. Caches of
 * providers and servers keep beginnings, whoever sent them. What is looked at is a part of the text, because plans must
 * not take long: two prompts that differ in the rest of it share a preference for an endpoint, nothing more.
 */
export interface PromptBlocks {
  /** Hashes of the beginnings, the shortest first. */
  readonly hashes: readonly number[];
  /** Share of the prompt's characters that each of them is. */
  readonly shares: readonly number[];
  /** Hashes of the beginnings that end with a message and may be all of an earlier prompt, the longest last. */
  readonly turns: readonly number[];
  readonly turnShares: readonly number[];
  /** Hash of all of it. */
  readonly whole: number;
}

/** Characters of the shortest beginning, and of the steps from there … */
const STEP = 1_024;
/** … which grow with the beginning: what is lost at its end is an eighth at most. */
const STEPS_UNTIL_GROWTH = 8;
/** Turns that are looked for: an earlier prompt of the conversation was one of the last. */
const MOST_TURNS = 8;
/** At the beginning of each step all characters are looked at, then four of each thirty-two. */
const LOOKED_AT = 16;
const SPARSE = 32;

/** The beginnings of a prompt; undefined where it is too short for any cache. */
export function promptBlocks(messages: readonly Message[], tools: number): PromptBlocks | undefined {
  const hashes: number[] = [];
  const ends: number[] = [];
  const turns: number[] = [];
  const turnEnds: number[] = [];
  let hash = mixed(SEED, tools);
  let at = 0;
  let next = STEP;
  for (const { role, content } of messages) {
    hash = mixed(hash, role.charCodeAt(0));
    const parts = typeof content === 'string' ? undefined : (content ?? NO_PARTS);
    for (let index = 0; index < (parts?.length ?? 1); index += 1) {
      const text = parts === undefined ? (content as string) : textOf(parts[index]);
      let from = 0;
      while (at + text.length - from >= next) {
        const to = from + next - at;
        hash = hashed(hash, text, from, to);
        hashes.push(hash);
        ends.push(next);
        from = to;
        at = next;
        next += Math.max(STEP, Math.floor(next / STEPS_UNTIL_GROWTH));
      }
      hash = hashed(hash, text, from, text.length);
      at += text.length - from;
    }
    hash = mixed(hash, at);
    turns.push(hash);
    turnEnds.push(at);
  }
  if (hashes.length === 0) return undefined;
  const share = (end: number): number => end / at;
  const last = turns.length - 1;
  const first = Math.max(0, last - MOST_TURNS);
  return {
    hashes,
    shares: ends.map(share),
    turns: turns.slice(first, last),
    turnShares: turnEnds.slice(first, last).map(share),
    whole: hash,
  };
}

const SEED = 0x811c9dc5;
const NO_PARTS: readonly MessagePart[] = [];

interface MessagePart {
  readonly type: string;
  readonly text?: string;
}

/** What is no text is known by its kind: it is long, and hardly ever sent twice without the same text around it. */
function textOf(part: MessagePart | undefined): string {
  return part?.text ?? part?.type ?? '';
}

/** Goes on with a hash over a part of a text. */
function hashed(begun: number, text: string, from: number, to: number): number {
  let hash = begun;
  for (let start = from; start < to; start += STEP) {
    const end = Math.min(to, start + STEP);
    const dense = Math.min(end, start + LOOKED_AT);
    let index = start;
    for (; index + 4 <= dense; index += 4) hash = mixed(hash, fourOf(text, index));
    for (; index < dense; index += 1) hash = mixed(hash, text.charCodeAt(index));
    for (; index + 4 <= end; index += SPARSE) hash = mixed(hash, fourOf(text, index));
    // How it ends tells more than how it goes on.
    if (end - start > LOOKED_AT) hash = mixed(hash, fourOf(text, end - 4));
  }
  return hash;
}

/** Four characters from a place on, as one number. */
export function fourOf(text: string, index: number): number {
  return (
    text.charCodeAt(index) ^
    (text.charCodeAt(index + 1) << 8) ^
    (text.charCodeAt(index + 2) << 16) ^
    (text.charCodeAt(index + 3) << 24)
  );
}

/** Goes on with a hash by one number, as Murmur3 does. */
export function mixed(hash: number, value: number): number {
  const spread = Math.imul(value, 0xcc9e2d51);
  const joined = hash ^ Math.imul((spread << 15) | (spread >>> 17), 0x1b873593);
  return (Math.imul((joined << 13) | (joined >>> 19), 5) + 0xe6546b64) | 0;
}
