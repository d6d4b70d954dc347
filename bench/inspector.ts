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
 * live stream. Beside it the ledger alone, which comes with the inspector. Rounds are interleaved, so that what else the
 * machine does falls on all alike.
 * Usage: npm run bench:inspector
 */
const CALLS = 4_000;
const ROUNDS = 15;
const WARM_ROUNDS = 3;
const PAGES = 3;
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
  void (async () => {
    for await (const frame of reply.frames) bytes += frame.length;
  })();
}

let bytes = 0;
const watched = routerWith({ inspector: inspector() });
for (let page = 0; page < PAGES; page += 1) await watch(watched);
const VARIANTS: readonly { readonly name: string; readonly router: Router; readonly most?: number }[] = [
  { name: 'no inspector, no ledger', router: routerWith({}) },
  { name: 'inspector never imported, again', router: routerWith({}), most: 0 },
  { name: 'ledger alone', router: routerWith({ ledger: true }) },
  { name: 'inspector, nobody watches', router: routerWith({ inspector: inspector() }), most: 1 },
  { name: `inspector, ${PAGES} pages watch`, router: watched, most: 5 },
];

const messages = [{ role: 'user' as const, content: 'Hello there' }];

/** Microseconds of CPU per call. */
async function round(router: Router): Promise<number> {
  const before = process.cpuUsage();
  for (let call = 0; call < CALLS; call += 1) {
    await router.chat({ model: 'bench/model', messages });
    if (call % CALLS_PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

const measured = VARIANTS.map((): number[] => []);
for (let turn = -WARM_ROUNDS; turn < ROUNDS; turn += 1) {
  for (const [index, { router }] of VARIANTS.entries()) {
    const micros = await round(router);
    if (turn >= 0) measured[index]?.push(micros);
  }
}
const base = measured[0] ?? [];
console.log(
  `CPU per in-process call in µs, median of ${ROUNDS} rounds of ${CALLS} calls; what it adds is a median of differences.`,
);
console.table(
  VARIANTS.map(({ name, most }, index) => ({
    router: name,
    'µs per call': median(measured[index] ?? []).toFixed(1),
    'adds µs': median((measured[index] ?? []).map((value, turn) => value - (base[turn] ?? 0))).toFixed(2),
    'target µs': most ?? '',
  })),
);
console.log(`The pages were sent ${(bytes / 1e6).toFixed(1)} MB.`);
process.exit();
