import {
  createRouter,
  handle,
  type HttpCall,
  openaiCompatible,
  type Router,
  type RouterConfig,
  type Transport,
} from 'signalbox';
import { inspector } from 'signalbox/inspector';

/**
 * CPU that the inspector adds to an in-process call: switched on while nobody watches, and while three pages follow the
 * live stream, which follows more requests while a page filters. With and without the ledger, which comes with the inspector unless it is switched off, and beside the
 * ledger alone. All in one process, in short rounds by turns, so that what changes slowly falls on all alike; differences
 * are those within a turn, with the 95 % interval of their median. Each round ends with two collections of the young
 * generation, so that it pays for all that it leaves behind, and nothing of it falls on the next. Collections of the old
 * generation fall on few rounds, of which the median sees none.
 * Usage: npm run bench:inspector [-- --rounds 300]
 */
const CALLS = 250;
const WARM_ROUNDS = 40;
/** Calls between two turns of the event loop, in which pages are told what is new. */
const CALLS_PER_TURN = 20;
const ROUNDS = Number(process.argv[process.argv.indexOf('--rounds') + 1]) || 300;

const answer = new TextEncoder().encode(
  JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'word '.repeat(140) }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 20, completion_tokens: 140, total_tokens: 160 },
  }),
);
/** A transport without a network. */
const transport: Transport = {
  send() {
    const reads = [[answer]];
    return Promise.resolve({
      status: 200,
      header: (name) => (name === 'content-type' ? 'application/json' : undefined),
      read: () => Promise.resolve(reads.shift()),
      cancel() {},
    });
  },
  close: () => Promise.resolve(),
};

function routerWith(config: RouterConfig): Router {
  const models = { 'bench/model': { upstreamModel: 'm', price: { prompt: 1, completion: 2 } } };
  return createRouter({
    providers: ['first', 'second'].map((slug) => openaiCompatible({ slug, baseURL: 'http://stub', models, transport })),
    catalog: [],
    ...config,
  });
}

/** Opens the live stream, as a page does, and reads it for ever. */
async function watch(router: Router, query: string): Promise<void> {
  const call: HttpCall = {
    method: 'GET',
    path: '/inspector/api/live',
    query,
    header: (name) => (name === 'host' ? 'localhost' : undefined),
    body: { type: 'parsed', value: undefined },
    signal: new AbortController().signal,
    remoteAddress: '127.0.0.1',
    httpVersion: '1.1',
  };
  const reply = await handle(router, call);
  if (reply?.type !== 'stream') throw new Error('The live stream did not open.');
  const { frames } = reply;
  const read = async (): Promise<void> => {
    while ((await frames.next()).done !== true);
  };
  void read();
}

interface Variant {
  readonly name: string;
  readonly config: RouterConfig;
  readonly pages?: number;
  /** What the pages look for. Default: everything. */
  readonly query?: string;
  /** Microseconds that it may add at most. */
  readonly most?: number;
  /** Number of the variant that it is compared with besides the first: what has a ledger, with the ledger alone. */
  readonly beside?: number;
}

const VARIANTS: readonly Variant[] = [
  { name: 'without', config: {} },
  { name: 'without, once more', config: {}, most: 0 },
  { name: 'ledger alone', config: { ledger: true } },
  { name: 'nobody watches, no ledger', config: { inspector: inspector(), ledger: false }, most: 1 },
  { name: 'nobody watches', config: { inspector: inspector() }, most: 1, beside: 2 },
  { name: '3 pages watch, no ledger', config: { inspector: inspector(), ledger: false }, pages: 3, most: 5 },
  { name: '3 pages watch', config: { inspector: inspector() }, pages: 3, most: 5, beside: 2 },
  {
    name: '3 pages filter, no ledger',
    config: { inspector: inspector(), ledger: false },
    pages: 3,
    query: 'model=bench/model',
    most: 5,
  },
];

const messages = [{ role: 'user' as const, content: 'Hello there' }];

const { gc } = globalThis;
if (gc === undefined) throw new Error('Start it with npm run bench:inspector, which switches on --expose-gc.');

/** Microseconds of CPU per call, with what the collector does about them. */
async function round(router: Router): Promise<number> {
  const before = process.cpuUsage();
  for (let call = 0; call < CALLS; call += 1) {
    await router.chat({ model: 'bench/model', messages });
    if (call % CALLS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  // What is young survives the first and grows old in the second.
  for (let time = 0; time < 2; time += 1) gc?.({ type: 'minor' });
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}

const routers: Router[] = [];
for (const { config, pages = 0, query = '' } of VARIANTS) {
  const router = routerWith(config);
  for (let page = 0; page < pages; page += 1) await watch(router, query);
  routers.push(router);
}
const turns: number[][] = [];
for (let turn = -WARM_ROUNDS; turn < ROUNDS; turn += 1) {
  const micros: number[] = [];
  // Each begins as often as the others, and every other turn goes backwards.
  const order = [...VARIANTS.keys()].map((index) => (index + turn + WARM_ROUNDS) % VARIANTS.length);
  for (const index of turn % 2 === 0 ? order : order.toReversed()) {
    const router = routers[index];
    if (router !== undefined) micros[index] = await round(router);
  }
  if (turn >= 0) turns.push(micros);
}

/** The median of an odd or even number of values. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}

/** Between which values of a list its true median lies in 95 of 100 cases, whatever they are distributed like. */
function intervalOfMedian(values: readonly number[]): readonly [number, number] {
  const sorted = values.toSorted((left, right) => left - right);
  const outside = Math.max(0, Math.floor((sorted.length - 1.96 * Math.sqrt(sorted.length)) / 2) - 1);
  return [sorted[outside] ?? Number.NaN, sorted.at(-1 - outside) ?? Number.NaN];
}

/** What one variant adds to another, as text. */
function difference(index: number, to: number): string {
  const differences = turns.map((micros) => (micros[index] ?? Number.NaN) - (micros[to] ?? Number.NaN));
  const [low, high] = intervalOfMedian(differences);
  return `${median(differences).toFixed(1)} (${low.toFixed(1)} … ${high.toFixed(1)})`;
}

console.log(`CPU per in-process call in µs: medians of ${ROUNDS} rounds of ${CALLS} calls, by turns in one process.`);
console.table(
  VARIANTS.map(({ name, most = '', beside }, index) => ({
    router: name,
    'µs per call': median(turns.map((micros) => micros[index] ?? Number.NaN)).toFixed(1),
    'adds (95 % interval)': difference(index, 0),
    'adds to the ledger alone': beside === undefined ? '' : difference(index, beside),
    'target µs': most,
  })),
);
process.exit();
