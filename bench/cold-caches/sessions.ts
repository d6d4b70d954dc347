/** Sessions of agents, what happens to them, and which of that is enough for a miss. */
import type { CacheCause } from '../../src/contracts/prompt-cache.ts';
import {
  AnthropicCache,
  type Block,
  type Chance,
  IMPLICIT,
  ImplicitCache,
  type Prompt,
  type SimulatedCache,
} from './providers.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const WORDS = 'the agent reads a file and writes what it found into a table of results with care'.split(' ');

/** A provider as the router knows it. */
export interface Vendor {
  readonly slug: string;
  readonly model: string;
  readonly marks: boolean;
  /** After this pause nothing is kept by any account of it. */
  readonly goneMs: number;
  readonly least: number;
  readonly make: (chance: Chance) => SimulatedCache;
  /** How it counts a prompt. */
  readonly counts?:
    | 'without what was cached'
    | 'nothing where nothing was cached'
    | 'no cached tokens at all'
    | undefined;
}

const implicit = (rules: keyof typeof IMPLICIT) => (chance: Chance) => new ImplicitCache(chance, IMPLICIT[rules]);

export const VENDORS: readonly Vendor[] = [
  ...[512, 1_024, 2_048, 4_096].map((least) => ({
    slug: 'anthropic',
    model: `anthropic/least-${least}`,
    marks: true,
    goneMs: 5 * MINUTE,
    least,
    make: (chance: Chance) => new AnthropicCache(chance, least),
  })),
  { slug: 'openai', model: 'openai/gpt-4o', marks: false, goneMs: HOUR, least: 1_024, make: implicit('memory') },
  { slug: 'openai', model: 'openai/gpt-5-mini', marks: false, goneMs: 24 * HOUR, least: 1_024, make: implicit('day') },
  {
    slug: 'openai',
    model: 'openai/gpt-6-sol',
    marks: false,
    goneMs: 30 * MINUTE,
    least: 1_024,
    make: implicit('breakpoints'),
  },
  { slug: 'google', model: 'google/gemini', marks: false, goneMs: HOUR, least: 2_048, make: implicit('gemini') },
  { slug: 'deepseek', model: 'deepseek/chat', marks: false, goneMs: 24 * HOUR, least: 64, make: implicit('deepseek') },
  {
    slug: 'gate',
    model: 'gate/one',
    marks: false,
    goneMs: HOUR,
    least: 1_024,
    make: implicit('memory'),
    counts: 'without what was cached',
  },
  {
    slug: 'house',
    model: 'house/one',
    marks: false,
    goneMs: HOUR,
    least: 1_024,
    make: implicit('breakpoints'),
    counts: 'nothing where nothing was cached',
  },
  {
    slug: 'mute',
    model: 'mute/one',
    marks: false,
    goneMs: HOUR,
    least: 1_024,
    make: implicit('breakpoints'),
    counts: 'no cached tokens at all',
  },
];

/** What can happen before a request. */
export const EVENTS = [
  'pause',
  'short pause',
  'endpoint',
  'model',
  'tool order',
  'tool content',
  'tool added',
  'tool removed',
  'time stamp',
  'instruction added',
  'edit',
  'rewind',
  'settings',
  'cache key',
  'eviction',
  'partial eviction',
] as const;
export type Event = (typeof EVENTS)[number];

/** What each is called; nothing where no cause may be named but the unknown one. */
export const CAUSES: Readonly<Record<Event, CacheCause>> = {
  pause: 'expired',
  'short pause': 'expired',
  endpoint: 'other_endpoint',
  model: 'model_changed',
  'tool order': 'tools_changed',
  'tool content': 'tools_changed',
  'tool added': 'tools_changed',
  'tool removed': 'tools_changed',
  'time stamp': 'system_changed',
  'instruction added': 'system_changed',
  edit: 'message_edited',
  rewind: 'message_edited',
  settings: 'evicted_or_unknown',
  'cache key': 'evicted_or_unknown',
  eviction: 'evicted_or_unknown',
  'partial eviction': 'evicted_or_unknown',
};

export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

/** What is said in one conversation of a session. */
export interface Talk {
  readonly tools: readonly { readonly name: string; readonly description: string }[];
  readonly system: readonly string[];
  readonly turns: readonly Turn[];
  readonly model: string;
  readonly endpoint: string;
  readonly settings: string;
  readonly cacheKey: string;
  readonly marked: boolean;
}

/** Draws what sessions say. */
export class Speaker {
  readonly chance: Chance;

  constructor(chance: Chance) {
    this.chance = chance;
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.chance.next() * items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  between(least: number, most: number): number {
    return least + Math.floor(this.chance.next() * (most - least + 1));
  }

  text(words: number): string {
    return Array.from({ length: words }, () => this.pick(WORDS)).join(' ');
  }

  tool(name: string): Talk['tools'][number] {
    return { name, description: this.text(this.between(10, 60)) };
  }

  talk(vendor: Vendor, isShort: boolean, isMarked: boolean): Talk {
    const stamp = `Now it is 2026-11-27 14:${this.between(10, 59)}:${this.between(10, 59)}.`;
    const lines = Array.from({ length: this.between(8, 30) }, () => this.text(this.between(10, 60)));
    lines.splice(this.between(1, lines.length), 0, stamp);
    return {
      tools: isShort ? [] : Array.from({ length: this.between(2, 12) }, (_, index) => this.tool(`tool_${index}`)),
      system: isShort ? ['Be brief.'] : [lines.join('\n'), this.text(vendor.least * 1.2)],
      turns: [{ role: 'user', text: this.text(isShort ? 12 : this.between(20, 200)) }],
      model: vendor.model,
      endpoint: vendor.slug,
      settings: 'auto',
      cacheKey: '',
      marked: isMarked,
    };
  }

  /** One more answer, and what is said next. */
  goOn(talk: Talk, isShort: boolean): Talk {
    const words = (): number => (isShort ? 8 : this.between(10, 120));
    const next: readonly Turn[] = [
      { role: 'assistant', text: this.text(words()) },
      { role: 'user', text: this.text(words()) },
    ];
    return { ...talk, turns: [...talk.turns, ...next] };
  }

  /** Milliseconds of a pause. */
  pauseMs(event: Event | undefined, vendor: Vendor): number {
    if (event === 'pause') return vendor.goneMs * (1.02 + this.chance.next());
    // Anything from a minute to more than it keeps anything, as often in each order of magnitude.
    if (event === 'short pause') return MINUTE * (vendor.goneMs / MINUTE) ** (1.1 * this.chance.next());
    return 2_000 + this.chance.next() * 40_000;
  }

  change(talk: Talk, event: Event): Talk {
    const { tools, system, turns } = talk;
    const [first] = tools;
    const old = Math.max(0, this.between(0, turns.length - 2));
    switch (event) {
      case 'endpoint':
        return { ...talk, endpoint: `${talk.endpoint.replace(/-2$/, '')}${talk.endpoint.endsWith('-2') ? '' : '-2'}` };
      case 'model':
        return { ...talk, model: `${talk.model.replace(/-next$/, '')}${talk.model.endsWith('-next') ? '' : '-next'}` };
      case 'tool order':
        return tools.length < 2 ? talk : { ...talk, tools: [...tools.slice(1), tools[0] as Talk['tools'][number]] };
      case 'tool content':
        return first === undefined ? talk : { ...talk, tools: [this.tool(first.name), ...tools.slice(1)] };
      case 'tool added':
        return { ...talk, tools: [this.tool(`new_${this.between(0, 999)}`), ...tools] };
      case 'tool removed':
        return { ...talk, tools: tools.slice(1) };
      case 'time stamp':
        return {
          ...talk,
          system: system.map((block) =>
            block.replace(/\d\d:\d\d\./, `${this.between(10, 59)}:${this.between(10, 59)}.`),
          ),
        };
      case 'instruction added':
        return { ...talk, system: [`${this.text(9)}\n${system[0] ?? ''}`, ...system.slice(1)] };
      case 'edit':
        return {
          ...talk,
          turns: turns.with(old, { role: turns[old]?.role ?? 'user', text: this.text(this.between(20, 90)) }),
        };
      case 'rewind':
        return {
          ...talk,
          turns: [...turns.slice(0, Math.max(0, old - (old % 2))), { role: 'user', text: this.text(40) }],
        };
      case 'settings':
        return { ...talk, settings: talk.settings === 'auto' ? 'none' : 'auto' };
      case 'cache key':
        return { ...talk, cacheKey: `${this.between(0, 9_999)}` };
      default:
        return talk;
    }
  }
}

/** Whether an event does something to such a session. */
export function happensTo(event: Event, talk: Talk, vendor: Vendor): boolean {
  if (event === 'tool order') return talk.tools.length > 1;
  if (event.startsWith('tool')) return talk.tools.length > 0;
  if (event === 'edit' || event === 'rewind') return talk.turns.length > 2;
  if (event === 'cache key') return vendor.slug === 'openai' && vendor.model !== 'openai/gpt-6-sol';
  return true;
}

/** The prompt that a talk is, with the marks that its caller or the router sets. */
export function promptOf({ tools, system, turns, model, settings, cacheKey, marked }: Talk): Prompt {
  const blocks = (texts: readonly string[]): Block[] =>
    texts.map((text, index) => ({ text, marked: marked && index === texts.length - 1 }));
  return {
    tools: tools.map((tool) => ({ text: JSON.stringify(tool) })),
    system: blocks(system),
    messages: blocks(turns.map((turn) => JSON.stringify(turn))),
    model,
    settings,
    cacheKey,
  };
}
