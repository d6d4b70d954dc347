/**
 * Prompt caches of providers, simulated from what their documentation and measurements say of them, and from nothing in
 * the router: which beginnings are kept, for how long, where they are looked for, and how they are reported.
 *
 * Sources, read in November 2026: Anthropic, "Prompt caching" and "Tool use with prompt caching"; OpenAI, "Prompt caching"
 * and "Prompt cache diagnostics"; Google, "Context caching"; DeepSeek, "Context caching"; reports of requests above 15 a
 * minute that reach another machine, and of gateways that count only what was not cached.
 */

/** A block of a prompt: its text, which also says how many tokens it has, and whether it is marked for the cache. */
export interface Block {
  readonly text: string;
  readonly marked?: boolean | undefined;
}

/** A prompt as a provider gets it. */
export interface Prompt {
  readonly model: string;
  readonly tools: readonly Block[];
  readonly system: readonly Block[];
  readonly messages: readonly Block[];
  /** Tool choice, thinking, effort, pictures or not: what is written into the prompt without being a part of it. */
  readonly settings: string;
  /** Sent as `prompt_cache_key`. */
  readonly cacheKey: string;
}

/** What a provider says it used: the tokens of the prompt, those that it read from its cache and those that it wrote. */
export interface Reading {
  readonly prompt: number;
  readonly cached: number;
  readonly written: number;
}

/** A cache. All times are milliseconds. */
export interface SimulatedCache {
  /** Reads a prompt that is sent at a time, and whose answer begins some time later. */
  read(prompt: Prompt, at: number, answersAt: number): Reading;
  /** Forgets what it has in memory, as under pressure: all, or a share of it by chance. */
  evict(share: number): void;
  clone(): SimulatedCache;
}

/** Chance, by a number that is part of the state: a copy of a cache goes on as the cache does. */
export class Chance {
  #state: number;

  constructor(state: number) {
    this.#state = state >>> 0;
  }

  next(): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#state / 2 ** 32;
  }

  clone(): Chance {
    return new Chance(this.#state);
  }
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const CHARACTERS = 4;

interface Entry {
  readonly tokens: number;
  /** From when on it can be found. */
  readonly from: number;
  usedAt: number;
  keptMs: number;
}

abstract class Cache implements SimulatedCache {
  readonly entries = new Map<string, Entry>();
  chance: Chance;

  constructor(chance: Chance) {
    this.chance = chance;
  }

  abstract read(prompt: Prompt, at: number, answersAt: number): Reading;
  protected abstract empty(): Cache;

  evict(share: number): void {
    for (const name of this.entries.keys()) if (this.chance.next() < share) this.entries.delete(name);
  }

  clone(): SimulatedCache {
    const copy = this.empty();
    for (const [name, entry] of this.entries) copy.entries.set(name, { ...entry });
    copy.chance = this.chance.clone();
    return copy;
  }

  protected found(name: string, at: number): Entry | undefined {
    const entry = this.entries.get(name);
    if (entry === undefined || entry.from > at) return undefined;
    if (at - entry.usedAt <= entry.keptMs) return entry;
    this.entries.delete(name);
    return undefined;
  }

  protected keep(name: string, entry: Entry): void {
    const known = this.entries.get(name);
    if (known === undefined) this.entries.set(name, entry);
    else known.usedAt = Math.max(known.usedAt, entry.usedAt);
  }
}

function tokensOf({ text }: Block): number {
  return Math.ceil(text.length / CHARACTERS);
}

/** Another name for each beginning. */
function extended(name: string, text: string): string {
  let [low, high] = [0x9747b28c, 0x85ebca6b];
  for (let index = 0; index < name.length; index += 1)
    low = Math.imul(low ^ name.charCodeAt(index), 0x5bd1e995) ^ (low >>> 13);
  for (let index = 0; index < text.length; index += 1) {
    low = Math.imul(low ^ text.charCodeAt(index), 0x01000193);
    high = Math.imul(high + text.charCodeAt(index), 0x27d4eb2f) ^ (high >>> 15);
  }
  return `${low >>> 0}:${high >>> 0}`;
}

/**
 * Anthropic: what ends with a mark is kept, for five minutes from the beginning of the last request that used it; each
 * mark finds what ends at most nineteen blocks before it; tools come before the system before messages; settings are
 * part of the messages alone; a prompt can be found once its answer has begun; models differ in the shortest one.
 */
export class AnthropicCache extends Cache {
  readonly #least: number;

  constructor(chance: Chance, least: number) {
    super(chance);
    this.#least = least;
  }

  read({ model, tools, system, messages, settings }: Prompt, at: number, answersAt: number): Reading {
    let [name, tokens, cached, found] = [model, 0, 0, ''];
    const places: { readonly name: string; readonly tokens: number; readonly marked: boolean }[] = [];
    const add = (block: Block): void => {
      name = extended(name, block.text);
      tokens += tokensOf(block);
      places.push({ name, tokens, marked: block.marked === true });
    };
    for (const block of tools) add(block);
    for (const block of system) add(block);
    name = extended(name, settings);
    for (const block of messages) add(block);
    for (const [index, { marked }] of places.entries()) {
      if (!marked) continue;
      for (let back = index; back >= 0 && back > index - 20; back -= 1) {
        const place = places[back];
        const entry = place && this.found(place.name, at);
        if (place === undefined || entry === undefined) continue;
        if (entry.tokens > cached) [cached, found] = [entry.tokens, place.name];
        break;
      }
    }
    let written = 0;
    for (const place of places) {
      if (!place.marked || place.tokens < this.#least) continue;
      written = Math.max(written, place.tokens);
      this.keep(place.name, { tokens: place.tokens, from: answersAt, usedAt: at, keptMs: 5 * MINUTE });
    }
    const used = this.entries.get(found);
    if (used !== undefined) used.usedAt = Math.max(used.usedAt, at);
    return { prompt: tokens, cached, written: Math.max(0, written - cached) };
  }

  protected empty(): Cache {
    return new AnthropicCache(this.chance.clone(), this.#least);
  }
}

/** What distinguishes the caches that need no marks. */
interface ImplicitRules {
  readonly least: number;
  /** Tokens of a step: only whole ones are found. */
  readonly step: number;
  /** For how long a step is kept without being used. */
  readonly keptMs: (chance: number) => number;
  /** Share of requests that find nothing for reasons of the provider. */
  readonly missing: number;
  /** Machines that a prompt may come to; which is chosen by its beginning and its key. */
  readonly machines: number;
}

export const IMPLICIT = {
  /** Before GPT-5: five to ten minutes without use, up to an hour where nobody else is there. */
  memory: {
    least: 1_024,
    step: 128,
    machines: 4,
    missing: 0,
    keptMs: (chance) => (chance < 0.7 ? 5 + chance * 7 : 10 + (chance - 0.7) * 160) * MINUTE,
  },
  /** GPT-5: kept on disks for up to a day. */
  day: { least: 1_024, step: 128, machines: 4, missing: 0, keptMs: (chance) => (12 + 12 * chance) * HOUR },
  /** From GPT-5.6 on: half an hour from the last use. */
  breakpoints: { least: 1_024, step: 1, machines: 1, missing: 0, keptMs: () => 30 * MINUTE },
  /** Gemini says neither how long nor how surely. */
  gemini: { least: 2_048, step: 256, machines: 1, missing: 0.05, keptMs: (chance) => (3 + 50 * chance) * MINUTE },
  /** DeepSeek: on disks, for hours to a day, as well as it can. */
  deepseek: { least: 64, step: 64, machines: 1, missing: 0.02, keptMs: (chance) => (6 + 18 * chance) * HOUR },
} as const satisfies Readonly<Record<string, ImplicitRules>>;

/** A cache that keeps whole steps of tokens by itself. */
export class ImplicitCache extends Cache {
  readonly #rules: ImplicitRules;
  readonly #requests = new Map<string, number[]>();

  constructor(chance: Chance, rules: ImplicitRules) {
    super(chance);
    this.#rules = rules;
  }

  read({ model, tools, system, messages, settings, cacheKey }: Prompt, at: number, answersAt: number): Reading {
    const { least, step, machines, missing, keptMs } = this.#rules;
    const text = `${model}\n${settings}\n${[...tools, ...system, ...messages].map((block) => block.text).join('\u0000')}`;
    const prompt = Math.ceil(text.length / CHARACTERS);
    if (prompt < least) return { prompt, cached: 0, written: 0 };
    const isMissing = this.chance.next() < missing;
    const machine = this.#machine(text.slice(0, 256 * CHARACTERS), cacheKey, machines, at);
    const size = Math.max(step, 32) * CHARACTERS;
    let name = machine;
    let cached = 0;
    let isFound = !isMissing;
    for (let end = size; end <= text.length; end += size) {
      name = extended(name, text.slice(end - size, end));
      const entry = this.found(name, at);
      isFound &&= entry !== undefined;
      const tokens = end / CHARACTERS;
      if (isFound) cached = tokens;
      this.keep(name, { tokens, from: answersAt, usedAt: at, keptMs: keptMs(this.chance.next()) });
    }
    return { prompt, cached: cached < least ? 0 : cached, written: 0 };
  }

  /** More than fifteen requests a minute for one beginning go to another machine. */
  #machine(beginning: string, key: string, machines: number, at: number): string {
    const home = extended(key, beginning);
    const lately = (this.#requests.get(home) ?? []).filter((time) => time > at - MINUTE);
    lately.push(at);
    this.#requests.set(home, lately);
    return lately.length > 15 ? `${home}+${Math.floor(lately.length / 15) % machines}` : home;
  }

  protected empty(): Cache {
    const copy = new ImplicitCache(this.chance.clone(), this.#rules);
    for (const [home, times] of this.#requests) copy.#requests.set(home, [...times]);
    return copy;
  }
}
