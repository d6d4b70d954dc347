import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
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
 * live stream. Beside it the ledger alone, which comes with the inspector. Each in a process of its own, several times by
 * turns, so that none pays for the garbage of another, and what else the machine does falls on all alike. Differences are
 * those within a turn, with the 95 % interval of their median; a target is shown to be met where the interval ends below.
 * Usage: npm run bench:inspector
 */
const CALLS = 500;
const ROUNDS = 60;
const TURNS = 16;
const WARM_ROUNDS = 10;
/** Calls between two turns of the event loop, in which pages are told what is new. */
const CALLS_PER_TURN = 20;

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
async function watch(router: Router): Promise<void> {
  const call: HttpCall = {
    method: 'GET',
    path: '/inspector/api/live',
    query: '',
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

const VARIANTS: readonly {
  readonly name: string;
  readonly config: () => RouterConfig;
  readonly pages?: number;
  readonly most?: number;
}[] = [
  { name: 'without', config: () => ({}) },
  { name: 'without, once more', config: () => ({}), most: 0 },
  { name: 'ledger alone', config: () => ({ ledger: true }) },
  { name: 'inspector, nobody watches', config: () => ({ inspector: inspector() }), most: 1 },
  { name: 'inspector, 3 pages watch', config: () => ({ inspector: inspector() }), pages: 3, most: 5 },
];

const messages = [{ role: 'user' as const, content: 'Hello there' }];

/** Microseconds of CPU per call, with what the collector did meanwhile. */
async function round(router: Router): Promise<number> {
  const before = process.cpuUsage();
  for (let call = 0; call < CALLS; call += 1) {
    await router.chat({ model: 'bench/model', messages });
    if (call % CALLS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}

/** What a tenth of the rounds took at most: the others shared their core with something else. */
function undisturbed(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 10)] ?? Number.NaN;
}

/** Microseconds of CPU per call of one variant, in this process. */
async function measure({ config, pages = 0 }: (typeof VARIANTS)[number]): Promise<number> {
  const router = routerWith(config());
  for (let page = 0; page < pages; page += 1) await watch(router);
  const measured: number[] = [];
  for (let turn = -WARM_ROUNDS; turn < ROUNDS; turn += 1) {
    const micros = await round(router);
    if (turn >= 0) measured.push(micros);
  }
  return undisturbed(measured);
}

const [, program = '', chosen] = process.argv;
const variant = VARIANTS[Number(chosen ?? Number.NaN)];
if (variant !== undefined) {
  console.log(await measure(variant));
  process.exit();
}

const turns: number[][] = [];
for (let turn = 0; turn < TURNS; turn += 1) {
  const micros: number[] = [];
  // Every other turn backwards: what changes slowly falls on all alike.
  const order = turn % 2 === 0 ? [...VARIANTS.keys()] : [...VARIANTS.keys()].toReversed();
  for (const index of order) {
    const { stdout } = await promisify(execFile)(process.execPath, [program, String(index)]);
    micros[index] = Number(stdout);
  }
  turns.push(micros);
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

console.log(
  `CPU per in-process call in µs: the median of ${TURNS} processes, each of which tells its first tenth of ${ROUNDS} rounds.`,
);
console.table(
  VARIANTS.map(({ name, most = '' }, index) => {
    const differences = turns.map((micros) => (micros[index] ?? Number.NaN) - (micros[0] ?? Number.NaN));
    const [low, high] = intervalOfMedian(differences);
    return {
      router: name,
      'µs per call': median(turns.map((micros) => micros[index] ?? Number.NaN)).toFixed(1),
      'adds µs': median(differences).toFixed(1),
      'from … to': `${low.toFixed(1)} … ${high.toFixed(1)}`,
      'target µs': most,
    };
  }),
);
