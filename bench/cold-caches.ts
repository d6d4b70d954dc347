import { seededRandom } from '../src/providers/simulated/chance.ts';
import type { CacheCause } from '../src/contracts/prompt-cache.ts';
import type { NormalizedRequest } from '../src/contracts/request.ts';
import type { Endpoint } from '../src/catalog/endpoint.ts';
import { ColdCaches } from '../src/runtime/ledger/cold-caches.ts';
import { writtenPrint } from '../src/core/ledger/prompt-print.ts';
import { EventHub } from '../src/runtime/events/events.ts';
import type { Message } from '../src/protocol/message.ts';
import type { FunctionTool } from '../src/protocol/tools.ts';

/**
 * How often the cause of a cold prompt cache is found: sessions of agents with providers whose caches keep prefixes
 * (LRU, time, shortest prompt, marks), and one thing that goes wrong in each. The router's comparison sees what a
 * provider reports and the requests, and nothing of what was done to them. Then what a comparison costs and how long
 * what it leaves in a record is.
 * Usage: node bench/cold-caches.ts [sessions] [seed]
 */
const sessions = Number(process.argv[2] ?? 10_000);
const random = seededRandom(Number(process.argv[3] ?? 1));
const clock = { ms: 0 };
const advance = (ms: number): void => {
  clock.ms += ms;
};
const pick = <Item>(items: readonly Item[]): Item => {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
};
const WORDS = 'the agent reads a file and writes what it found into a table of results with care'.split(' ');
const text = (words: number): string => Array.from({ length: words }, () => pick(WORDS)).join(' ');

/** How a provider caches. */
interface Kind {
  readonly provider: string;
  readonly marks: boolean;
  readonly least: number;
  readonly ttlMs: number;
  /** Tokens of a block: less is not kept. */
  readonly block: number;
}

const KINDS: readonly Kind[] = [
  { provider: 'anthropic', marks: true, least: 1_024, ttlMs: 300_000, block: 1 },
  { provider: 'openai', marks: false, least: 1_024, ttlMs: 3_600_000, block: 128 },
  { provider: 'deepseek', marks: false, least: 64, ttlMs: 86_400_000, block: 64 },
];

/** A prefix cache: what was sent, by the text of each beginning that ends with a block. */
class PrefixCache {
  readonly #kind: Kind;
  readonly #most: number;
  /** When a beginning was used. */
  readonly #used = new Map<string, number>();

  constructor(kind: Kind, most: number) {
    this.#kind = kind;
    this.#most = most;
  }

  /** What of a prompt is there, and what is written. */
  ask(
    blocks: readonly { readonly text: string; readonly marked: boolean }[],
    salt: string,
  ): readonly [cached: number, written: number, all: number] {
    const { marks, least, ttlMs, block } = this.#kind;
    const now = clock.ms;
    let prefix = salt;
    let tokens = 0;
    let cached = 0;
    let written = 0;
    const keep: string[] = [];
    for (const one of blocks) {
      prefix = digest(prefix + one.text);
      tokens += Math.ceil(one.text.length / 4);
      const used = this.#used.get(prefix);
      if (used !== undefined && now - used <= ttlMs) cached = tokens;
      if (!marks || one.marked) {
        keep.push(prefix);
        written = tokens;
      }
    }
    if (tokens < least) return [0, 0, tokens];
    for (const one of keep) {
      this.#used.delete(one);
      this.#used.set(one, now);
    }
    while (this.#used.size > this.#most) this.#used.delete(this.#used.keys().next().value ?? '');
    const whole = cached - (cached % block);
    return [whole < least ? 0 : whole, marks ? Math.max(0, written - whole) : 0, tokens];
  }

  evict(): void {
    this.#used.clear();
  }
}

function digest(value: string): string {
  let [low, high] = [0x811c9dc5, 0x01000193];
  for (let index = 0; index < value.length; index += 1) {
    low = Math.imul(low ^ value.charCodeAt(index), 0x01000193);
    high = Math.imul(high ^ (value.charCodeAt(index) + index), 0x85ebca6b);
  }
  return `${low}.${high}`;
}

/** A session as it is before something happens to it. */
interface Talk {
  system: string;
  tools: FunctionTool[];
  messages: Message[];
  model: string;
  slug: string;
  marked: boolean;
}

type Injected = Exclude<CacheCause, 'first'> | 'nothing';

const CAUSES: readonly Injected[] = [
  'nothing',
  'expired',
  'other_endpoint',
  'model_changed',
  'tools_changed',
  'system_changed',
  'message_edited',
  'too_short',
  'not_marked',
  'evicted_or_unknown',
];

function toolOf(name: string): FunctionTool {
  return {
    type: 'function',
    function: {
      name,
      description: text(20),
      parameters: { type: 'object', properties: { [name]: { type: 'string', description: text(8) } } },
    },
  };
}

function inject(cause: Injected, talk: Talk, caches: readonly PrefixCache[], kind: Kind): void {
  switch (cause) {
    case 'expired':
      return advance(kind.ttlMs * (kind.ttlMs > 3_600_000 ? 1.2 : 1) + 60_000);
    case 'other_endpoint':
      talk.slug = `${kind.provider}/other`;
      return;
    case 'model_changed':
      talk.model = 'acme/two';
      return;
    case 'tools_changed': {
      const [first, ...others] = talk.tools;
      if (first === undefined) return;
      const way = pick(['order', 'content', 'added'] as const);
      talk.tools =
        way === 'order'
          ? [...others, first]
          : way === 'added'
            ? [toolOf('new'), ...talk.tools]
            : [toolOf(first.function.name), ...others];
      return;
    }
    case 'system_changed':
      talk.system = talk.system.replace(/:\d\d\./, ':59.');
      return;
    case 'message_edited': {
      const index = Math.floor((random() * (talk.messages.length - 1)) / 2);
      const message = talk.messages[index];
      if (message !== undefined) talk.messages = talk.messages.with(index, { role: 'user', content: text(33) });
      return;
    }
    case 'evicted_or_unknown':
      for (const cache of caches) cache.evict();
      return;
    default:
      return;
  }
}

interface Score {
  injected: number;
  named: number;
  right: number;
}

const scores = new Map<string, Score>(CAUSES.map((cause) => [cause, { injected: 0, named: 0, right: 0 }]));
const claimedForEvicted: string[] = [];
/** Warnings are not what is measured. */
function silent(): EventHub {
  const events = new EventHub();
  events.on('warning', () => {});
  return events;
}

const compare = new ColdCaches(1, silent());
let longest = 0;
let total = 0;

function ask(
  talk: Talk,
  session: number,
  kind: Kind,
  caches: ReadonlyMap<string, PrefixCache>,
): CacheCause | undefined {
  const id = `${talk.slug}#${talk.model}`;
  const end = talk.messages.length - 1;
  const blocks = [
    ...talk.tools.map((tool) => ({ text: JSON.stringify(tool), marked: false })),
    { text: talk.system, marked: talk.marked },
    ...talk.messages.map((message, index) => ({ text: JSON.stringify(message), marked: talk.marked && index === end })),
  ];
  const cache = caches.get(talk.slug);
  if (cache === undefined) throw new Error('no such provider');
  const [cached, written, tokens] = cache.ask(blocks, `${talk.model}\n`);
  const mark = talk.marked && kind.marks ? { cache_control: { type: 'ephemeral' as const } } : {};
  const messages = [
    { role: 'system', content: [{ type: 'text', text: talk.system, ...mark }] },
    ...talk.messages,
  ] as unknown as readonly Message[];
  const request = {
    operation: 'chat',
    id: `gen-${session}`,
    created: 1,
    account: { id: 'a' },
    session: { id: `${session}`, key: `session:${session}` },
    cache: {},
    messages,
    tools: talk.tools,
  } as unknown as NormalizedRequest;
  const endpoint = {
    id,
    model: talk.model,
    provider: kind.provider,
    implicitCaching: !kind.marks,
    price: { prompt: 1, completion: 2, cacheRead: 0.1 },
  } as unknown as Endpoint;
  const at = clock.ms;
  const usage = {
    prompt_tokens: tokens,
    completion_tokens: 9,
    total_tokens: tokens + 9,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
  };
  const step = { endpoint, target: 0, strategy: 'direct', why: 'drawn' };
  const attempts = [{ step, startedAt: at, endedAt: at, firstTokenAt: at, usage, outcome: { ok: true as const } }];
  const plan = { requested: talk.model, steps: [step], rejected: [] };
  const found = compare.note({ request, startedAt: at, attempts, plan }, kind.marks);
  if (found !== undefined) {
    const {
      cause,
      at: place,
      line,
      change,
      expected_tokens: expected,
      cached_tokens: had,
      lost_usd: lost = 0,
    } = found.report;
    const cold = cause && {
      cause,
      at: place,
      line,
      change,
      missed_tokens: expected - had,
      lost_nano_usd: Math.round(lost * 1e9),
    };
    const size = JSON.stringify({ prompt: writtenPrint(found.print), cold }).length;
    longest = Math.max(longest, size);
    total += size;
  }
  return found?.report.cause;
}

let asked = 0;
for (let session = 0; session < sessions; session += 1) {
  const kind = pick(KINDS);
  const candidates = CAUSES.filter((cause) =>
    cause === 'not_marked' ? kind.marks : cause !== 'too_short' || kind.least > 512,
  );
  const cause = pick(candidates);
  const isShort = cause === 'too_short';
  const caches = new Map([kind.provider, `${kind.provider}/other`].map((slug) => [slug, new PrefixCache(kind, 500)]));
  const talk: Talk = {
    system: isShort ? 'Be brief.' : `${text(900)}\nIt is 14:0${session % 10}:22.\n${text(300)}`,
    tools: isShort ? [] : ['read', 'write', 'look'].map(toolOf),
    messages: [{ role: 'user', content: text(isShort ? 20 : 40 + Math.floor(random() * 100)) }],
    model: 'acme/one',
    slug: kind.provider,
    marked: cause !== 'not_marked',
  };
  const turns = isShort ? 1 : 1 + Math.floor(random() * 8);
  const say = (): void => {
    advance(5_000 + Math.floor(random() * 60_000));
    talk.messages = [
      ...talk.messages,
      { role: 'assistant', content: text(isShort ? 10 : 30 + Math.floor(random() * 60)) },
      { role: 'user', content: text(isShort ? 10 : 20 + Math.floor(random() * 60)) },
    ];
  };
  for (let turn = 0; turn < turns; turn += 1) {
    asked += 1;
    ask(talk, session, kind, caches);
    say();
  }
  inject(cause, talk, [...caches.values()], kind);
  asked += 1;
  const named = ask(talk, session, kind, caches) ?? 'nothing';
  const score = scores.get(cause);
  const claimed = scores.get(named);
  if (score !== undefined) score.injected += 1;
  if (claimed !== undefined) claimed.named += 1;
  if (named === cause && score !== undefined) score.right += 1;
  if (cause === 'evicted_or_unknown' && named !== cause) claimedForEvicted.push(named);
}

const percent = (part: number, whole: number): string => (whole === 0 ? '–' : `${((100 * part) / whole).toFixed(2)} %`);
console.table(
  Object.fromEntries(
    [...scores].map(([cause, { injected, named, right }]) => [
      cause,
      { injected, named, precision: percent(right, named), recall: percent(right, injected) },
    ]),
  ),
);
console.log(`causes claimed for what was evicted: ${claimedForEvicted.length}`);
console.log(`bytes in a record: ${(total / asked).toFixed(0)} in the mean, ${longest} at most`);

/** CPU of one comparison with 40 messages. */
function cost(tools: number, messages: number, characters: number): number {
  const prompt = (turn: number): NormalizedRequest =>
    ({
      operation: 'chat',
      id: 'gen-1',
      created: 1,
      account: { id: 'a' },
      session: { key: `session:${turn % 50}` },
      cache: {},
      tools: Array.from({ length: tools }, (_, index) => toolOf(`t${index}`)),
      messages: Array.from({ length: messages }, (_, index) => ({
        role: index === 0 ? 'system' : index % 2 === 1 ? 'user' : 'assistant',
        content: text(characters / 5),
      })),
    }) as unknown as NormalizedRequest;
  const prompts = Array.from({ length: 50 }, (_, turn) => prompt(turn));
  const endpoint = { id: 'a#m', model: 'm', provider: 'openai', implicitCaching: true } as unknown as Endpoint;
  const usage = {
    prompt_tokens: 9_000,
    completion_tokens: 9,
    total_tokens: 9_009,
    prompt_tokens_details: { cached_tokens: 8_900 },
  };
  const step = { endpoint, target: 0, strategy: 'direct', why: '' };
  const caches = new ColdCaches(1, silent());
  const run = (times: number): number => {
    const before = process.cpuUsage();
    for (let time = 0; time < times; time += 1) {
      const attempts = [{ step, startedAt: time, endedAt: time, usage, outcome: { ok: true as const } }];
      caches.note(
        {
          request: prompts[time % 50],
          startedAt: 0,
          attempts,
          plan: { requested: 'm', steps: [], rejected: [] },
        } as never,
        false,
      );
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / times;
  };
  run(20_000);
  return Math.min(...Array.from({ length: 5 }, () => run(10_000)));
}

for (const [tools, messages, characters] of [
  [0, 40, 200],
  [0, 40, 500],
  [8, 40, 500],
] as const) {
  console.log(
    `${messages} messages of ${characters} characters, ${tools} tools: ${cost(tools, messages, characters).toFixed(1)} µs of CPU`,
  );
}
