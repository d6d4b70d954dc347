import type { CacheCause } from '../src/contracts/prompt-cache.ts';
import type { NormalizedRequest } from '../src/contracts/request.ts';
import type { Endpoint } from '../src/catalog/endpoint.ts';
import { ColdCaches } from '../src/runtime/ledger/cold-caches.ts';
import { writtenPrint } from '../src/core/ledger/prompt-print.ts';
import { EventHub } from '../src/runtime/events/events.ts';
import { comparisonCost } from './cold-caches/cost.ts';
import { Chance, type Reading, type SimulatedCache } from './cold-caches/providers.ts';
import {
  CAUSES,
  type Event,
  EVENTS,
  happensTo,
  promptOf,
  Speaker,
  type Talk,
  type Vendor,
  VENDORS,
} from './cold-caches/sessions.ts';

/**
 * How often the cause of a cold prompt cache is found: sessions of agents, with sub-agents, forks, parallel requests,
 * other instances and usage that is missing, at providers whose caches are simulated from their documentation alone. What
 * happened before a request counts as a cause of its miss where it would have been enough by itself: each request is
 * also sent to copies of the cache, to which only one of the things has happened.
 * Usage: node bench/cold-caches.ts [sessions] [seeds, separated by commas]
 */
const sessions = Number(process.argv[2] ?? 2_000);
const seeds = (process.argv[3] ?? '11,12,13,14,15').split(',').map(Number);

/** Warnings are not what is measured. */
export function silent(): EventHub {
  const events = new EventHub();
  events.on('warning', () => {});
  return events;
}

/** Caches of the endpoints of one session. */
type World = ReadonlyMap<string, SimulatedCache>;

const cloned = (world: World): World => new Map([...world].map(([name, cache]) => [name, cache.clone()]));

interface Score {
  happened: number;
  named: number;
  right: number;
  found: number;
}

const scores = new Map<string, Score>();
const scoreOf = (cause: string): Score => {
  const score = scores.get(cause) ?? { happened: 0, named: 0, right: 0, found: 0 };
  scores.set(cause, score);
  return score;
};
/** What was named wrongly, and what was not found, by what had happened. */
const wrong = new Map<string, number>();
const missed = new Map<string, number>();
const count = (counts: Map<string, number>, what: string): void => {
  counts.set(what, (counts.get(what) ?? 0) + 1);
};
let evicted = 0;
let claimedForEvicted = 0;
let asked = 0;
let reported = 0;
let longest = 0;
let total = 0;

/** What is sent in one request of a session. */
interface Sent {
  readonly talk: Talk;
  readonly at: number;
  readonly answersAt: number;
}

class Session {
  readonly #vendor: Vendor;
  readonly #speaker: Speaker;
  readonly #compare: ColdCaches;
  readonly #key: string;
  readonly world: World;
  clock = 0;

  constructor(vendor: Vendor, speaker: Speaker, compare: ColdCaches, key: string) {
    this.#vendor = vendor;
    this.#speaker = speaker;
    this.#compare = compare;
    this.#key = key;
    const own = (): SimulatedCache => vendor.make(new Chance(speaker.chance.next() * 2 ** 32));
    this.world = new Map([vendor.slug, `${vendor.slug}-2`].map((slug) => [slug, own()]));
  }

  read(world: World, { talk, at, answersAt }: Sent): Reading {
    const cache = world.get(talk.endpoint);
    if (cache === undefined) throw new Error('no such endpoint');
    return cache.read(promptOf(talk), at, answersAt);
  }

  /** What the router says of a request; undefined where its provider has not said what it used. */
  note({ talk, at, answersAt }: Sent, reading: Reading, isUsageMissing: boolean): CacheCause | 'none' | undefined {
    const { counts, marks, slug } = this.#vendor;
    const { prompt, cached, written } = reading;
    const usage = {
      prompt_tokens: counts === 'without what was cached' ? prompt - cached : prompt,
      completion_tokens: 9,
      total_tokens: prompt + 9,
      ...(counts === 'no cached tokens at all' || (counts === 'nothing where nothing was cached' && cached === 0)
        ? {}
        : { prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written } }),
    };
    const endpoint = {
      id: `${talk.endpoint}#${talk.model}`,
      model: talk.model,
      provider: slug,
      implicitCaching: !marks,
      price: { prompt: 1, completion: 2, cacheRead: 0.1 },
    } as unknown as Endpoint;
    const mark = talk.marked && marks ? { cache_control: { type: 'ephemeral' } } : {};
    const request = {
      operation: 'chat',
      id: 'gen-1',
      created: 1,
      account: { id: 'a' },
      session: { key: this.#key },
      cache: {},
      extra: {},
      messages: [
        { role: 'system', content: talk.system.map((text) => ({ type: 'text', text, ...mark })) },
        ...talk.turns.map(({ role, text }) => ({ role, content: text })),
      ],
      tools: talk.tools.map(({ name, description }) => ({ type: 'function', function: { name, description } })),
    } as unknown as NormalizedRequest;
    const step = { endpoint, target: 0, strategy: 'direct', why: 'drawn' };
    const endedAt = answersAt + 1_000;
    const attempts = [
      {
        step,
        startedAt: at,
        endedAt,
        firstTokenAt: answersAt,
        usage: isUsageMissing ? undefined : usage,
        outcome: { ok: true as const },
      },
    ];
    const plan = { requested: talk.model, steps: [step], rejected: [] };
    const facts = { takesMarks: marks, said: {}, servedAt: -Infinity };
    const found = this.#compare.note({ request, startedAt: at, attempts, plan }, facts);
    if (found === undefined) return undefined;
    const {
      expected_tokens: expected,
      cached_tokens: had,
      lost_usd: lost = 0,
      cause,
      at: place,
      line,
      change,
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
    reported += 1;
    return cause ?? 'none';
  }

  /** Sends a request to which things have happened, and compares what the router says of it with what was enough. */
  turn(
    base: Talk,
    events: readonly Event[],
    options: { readonly hidden?: boolean; readonly noUsage?: boolean; readonly unseen?: boolean } = {},
  ): Talk {
    const speaker = this.#speaker;
    // Each thing is drawn once, so that it is the same alone and with others.
    const draws = events.map((event) => ({ event, chance: speaker.chance.clone(), skip: speaker.chance.next() }));
    const usualMs = speaker.pauseMs(undefined, this.#vendor);
    const pauses = draws.map(({ event }) => (event.endsWith('pause') ? speaker.pauseMs(event, this.#vendor) : 0));
    const waitMs = 300 + speaker.chance.next() * 2_000;
    const send = (world: World, chosen: readonly number[]): { readonly sent: Sent; readonly reading: Reading } => {
      let talk = base;
      let pauseMs = usualMs;
      for (const index of chosen) {
        const draw = draws[index];
        if (draw === undefined) continue;
        talk = new Speaker(draw.chance.clone()).change(talk, draw.event);
        pauseMs = Math.max(pauseMs, pauses[index] ?? 0);
        const share = draw.event === 'eviction' ? 1 : draw.event === 'partial eviction' ? 0.5 : 0;
        if (share > 0) for (const cache of world.values()) cache.evict(share);
      }
      const at = this.clock + pauseMs;
      const sent = { talk, at, answersAt: at + waitMs };
      return { sent, reading: this.read(world, sent) };
    };
    const all = draws.map((_, index) => index);
    const without = send(cloned(this.world), []).reading.cached;
    const alone = all.map((index) => send(cloned(this.world), [index]).reading.cached);
    const { sent, reading } = send(this.world, all);
    this.clock = sent.answersAt + 1_000;
    asked += 1;
    if (options.hidden === true) return sent.talk;
    const said = this.note(sent, reading, options.noUsage === true);
    if (said === undefined) return sent.talk;
    const lost = without - reading.cached;
    // What is not worth a name may be named; what is must be.
    const isMiss = lost > 16;
    const isLarge = lost > Math.max(512, without * 0.08);
    const enough = new Set(
      isMiss
        ? all
            .filter((index) => without - (alone[index] ?? 0) >= lost * 0.9)
            .map((index) => CAUSES[draws[index]?.event ?? 'eviction'])
        : [],
    );
    judge(said, enough, events, options.unseen === true || !isLarge);
    return sent.talk;
  }
}

/** Causes that are enough by the provider's rules, whatever else happened. */
let standing: CacheCause | undefined;

function judge(
  said: CacheCause | 'none',
  enough: ReadonlySet<CacheCause>,
  events: readonly Event[],
  isUnseen = false,
): void {
  const expected = standing === undefined ? enough : new Set([standing]);
  const happened = `${events.join(' + ') || 'nothing'}${standing === undefined ? '' : ` (${standing})`}`;
  if (said !== 'none' && said !== 'evicted_or_unknown') {
    const score = scoreOf(said);
    score.named += 1;
    // What is not marked, or too short, may have other reasons besides.
    if (expected.has(said) || (standing !== undefined && events.some((event) => CAUSES[event] === said)))
      score.right += 1;
    else count(wrong, `${said} after ${happened}`);
  }
  if (expected.size === 1 && (!isUnseen || standing !== undefined) && !events.includes('short pause')) {
    const [cause] = expected;
    if (cause === undefined) return;
    const score = scoreOf(cause);
    score.happened += 1;
    if (said === cause) score.found += 1;
    else count(missed, `${cause} after ${happened}: ${said}`);
  }
  if (expected.size === 1 && expected.has('evicted_or_unknown')) {
    evicted += 1;
    if (said !== 'none' && said !== 'evicted_or_unknown') claimedForEvicted += 1;
  }
}

for (const seed of seeds) {
  const speaker = new Speaker(new Chance(seed * 7_919));
  const compare = new ColdCaches(seed, silent());
  for (let session = 0; session < sessions; session += 1) {
    const vendor = speaker.pick(VENDORS);
    const roll = speaker.chance.next();
    const isShort = roll < 0.06 && vendor.least > 512;
    const isUnmarked = vendor.marks && roll > 0.94;
    const one = new Session(vendor, speaker, compare, `${seed}-${session}`);
    let talk = speaker.talk(vendor, isShort, !isUnmarked);
    standing = 'first';
    talk = one.turn(talk, []);
    standing = isShort ? 'too_short' : isUnmarked ? 'not_marked' : undefined;
    const turns = speaker.between(2, 14);
    let isSeen: boolean = true;
    for (let turn = 1; turn < turns; turn += 1) {
      const draw = speaker.chance.next();
      if (draw < 0.06 && !isShort && !isUnmarked) {
        // A sub-agent has the session of its parent, and instructions and tools of its own.
        let other = speaker.talk(vendor, false, true);
        const before: CacheCause | undefined = standing;
        standing = 'first';
        other = one.turn(other, []);
        standing = before;
        for (let step = 0; step < 2; step += 1) other = one.turn(speaker.goOn(other, false), []);
        continue;
      }
      if (draw < 0.1) {
        // Two requests that go on from the same prompt at the same time.
        const [left, right] = [speaker.goOn(talk, isShort), speaker.goOn(talk, isShort)];
        const at = one.clock + 3_000;
        const both = [left, right].map((next) => ({ talk: next, at, answersAt: at + 900 }));
        const readings = both.map((sent) => one.read(one.world, sent));
        one.clock = at + 3_000;
        for (const [index, sent] of both.entries()) {
          const reading = readings[index];
          const said = reading && one.note(sent, reading, false);
          // Both find what was there before.
          if (said !== undefined) judge(said, new Set(), ['parallel' as Event]);
        }
        talk = left;
        continue;
      }
      if (draw < 0.14) {
        // Another instance serves it, and nothing of that is seen here; the next one here is compared with an older one.
        talk = one.turn(speaker.goOn(talk, isShort), [], { hidden: true });
        isSeen = false;
        continue;
      }
      const possible = EVENTS.filter((event) => happensTo(event, talk, vendor));
      const events =
        draw < 0.55 ? [] : draw < 0.92 ? [speaker.pick(possible)] : [speaker.pick(possible), speaker.pick(possible)];
      const isUsageMissing: boolean = isSeen && speaker.chance.next() < 0.03;
      const kept: CacheCause | undefined = standing;
      const kinds = [...new Set(events)];
      // To take a conversation up again at an earlier place costs nothing: it is what would have been sent.
      const next = kinds.includes('rewind')
        ? speaker.change(speaker.goOn(talk, isShort), 'rewind')
        : speaker.goOn(talk, isShort);
      const others = kinds.filter((event) => event !== 'rewind');
      talk = one.turn(next, others, { noUsage: isUsageMissing, unseen: !isSeen });
      standing = kept;
      isSeen = !isUsageMissing;
    }
  }
}

const percent = (part: number, whole: number): string => (whole === 0 ? '–' : `${((100 * part) / whole).toFixed(2)} %`);
const sum = (pick: (score: Score) => number): number =>
  [...scores.values()].reduce((all, score) => all + pick(score), 0);
console.table(
  Object.fromEntries(
    [...scores].map(([cause, { happened, named, right, found }]) => [
      cause,
      { happened, named, precision: percent(right, named), recall: percent(found, happened) },
    ]),
  ),
);
const named = sum(({ named: all }) => all);
console.log(
  `${asked} requests, ${reported} compared; named rightly: ${percent(
    sum(({ right }) => right),
    named,
  )} of ${named}`,
);
const known = [...scores].filter(([cause]) => cause !== 'evicted_or_unknown');
const of = (pick: (score: Score) => number): number => known.reduce((all, [, score]) => all + pick(score), 0);
console.log(
  `found: ${percent(
    of(({ found }) => found),
    of(({ happened }) => happened),
  )} of ${of(({ happened }) => happened)}`,
);
console.log(`causes claimed for what was evicted: ${claimedForEvicted} of ${evicted}`);
console.log(`bytes in a record: ${(total / reported).toFixed(0)} in the mean, ${longest} at most`);
const top = (counts: Map<string, number>): void => {
  for (const [what, times] of [...counts].sort(([, left], [, right]) => right - left).slice(0, 12))
    console.log(`  ${times} × ${what}`);
};
if (wrong.size > 0) console.log('named wrongly:');
top(wrong);
if (missed.size > 0) console.log('not found:');
top(missed);
comparisonCost(silent());
