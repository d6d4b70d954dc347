import { createRouter, openaiCompatible, type Router, type Transport } from 'signalbox';

/**
 * CPU per in-process call as a router grows: with the number of other models, of accounts, of sessions. What a request
 * costs must not depend on how many others there are.
 * Usage: npm run bench:growth [-- calls]
 */
const CALLS = Number(process.argv[2] ?? 10_000);
const ROUNDS = 5;

const ANSWER = new TextEncoder().encode(
  JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'word '.repeat(140) }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 20, completion_tokens: 140, total_tokens: 160 },
  }),
);

const transport: Transport = {
  send() {
    const reads = [[ANSWER]];
    return Promise.resolve({
      status: 200,
      header: (name) => (name === 'content-type' ? 'application/json' : undefined),
      read: () => reads.pop(),
      cancel() {},
    });
  },
  close: () => Promise.resolve(),
};

/** A router with so many models, each at two endpoints. */
function routerOf(models: number): Router {
  const declared = { upstreamModel: 'm', price: { prompt: 1, completion: 2 } } as const;
  const table = Object.fromEntries(Array.from({ length: models }, (_, index) => [`bench/model-${index}`, declared]));
  const make = (slug: string) => openaiCompatible({ slug, baseURL: 'http://stub', models: table, transport });
  return createRouter({ providers: [make('first'), make('second')] });
}

const messages = [{ role: 'user' as const, content: 'Hello there' }];

/** A call that comes to a router as one of many: which, says its number. */
type Call = (router: Router, number: number) => Promise<unknown>;

async function microsecondsOf(router: Router, call: Call, from: number): Promise<number> {
  const before = process.cpuUsage();
  for (let number = from; number < from + CALLS; number += 1) await call(router, number);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}

async function measure(
  name: string,
  sizes: readonly number[],
  make: (size: number) => Router,
  call: (size: number) => Call,
) {
  console.log(`\n${name}`);
  const known = sizes.map((size) => ({ size, router: make(size), call: call(size), values: [] as number[] }));
  // Everything that is to be remembered has been seen once before anything is measured.
  for (const one of known)
    for (let seen = 0; seen < Math.max(one.size, CALLS); seen += 1) await one.call(one.router, seen);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const one of known) one.values.push(await microsecondsOf(one.router, one.call, round * CALLS));
  }
  const medians = known.map(({ values }) => values.toSorted((left, right) => left - right)[ROUNDS >> 1] ?? Number.NaN);
  for (const [index, { size }] of known.entries()) {
    const ratio = (medians[index] ?? Number.NaN) / (medians[0] ?? Number.NaN);
    const count = size.toLocaleString('en-US').padStart(10);
    console.log(`${count}  ${(medians[index] ?? Number.NaN).toFixed(1).padStart(7)} µs  × ${ratio.toFixed(2)}`);
  }
  for (const { router } of known) await router.close();
}

console.log(`CPU per call, and the ratio to the smallest: median of ${ROUNDS} rounds of ${CALLS} calls.`);
await measure(
  'models',
  [1, 100, 10_000],
  routerOf,
  (size) => (router, number) => router.chat({ model: `bench/model-${number % Math.min(size, 10)}`, messages }),
);
/** Accounts as a host keeps them, in an order that no cache foresees. */
function accountsOf(size: number): (number: number) => { readonly id: string } {
  const accounts = Array.from({ length: size }, (_, index) => ({ id: `account-${index}` }));
  return (number) => accounts[(number * 7_919) % size] ?? { id: 'nobody' };
}

await measure(
  'accounts',
  [1, 1_000, 100_000],
  () => routerOf(10),
  (size) => {
    const accountOf = accountsOf(size);
    return (router, number) => router.chat({ model: 'bench/model-1', messages }, { account: accountOf(number) });
  },
);
await measure(
  'one account, beside looking for as many others in three plain maps: what memory that is in no cache costs',
  [1, 1_000, 100_000],
  () => routerOf(10),
  (size) => {
    const accountOf = accountsOf(size);
    const maps = [0, 1, 2].map(
      () =>
        new Map(
          Array.from({ length: size }, (_, index): [string, { of: number }] => [accountOf(index).id, { of: index }]),
        ),
    );
    const account = { id: 'one' };
    return (router, number) => {
      const { id } = accountOf(number);
      for (const map of maps) {
        const known = map.get(id);
        if (known !== undefined) known.of += 1;
      }
      return router.chat({ model: 'bench/model-1', messages }, { account });
    };
  },
);
await measure(
  'sessions',
  [1, 1_000, 100_000, 1_000_000],
  () => routerOf(10),
  (size) => (router, number) =>
    router.chat({ model: 'bench/model-1', messages, session_id: `session-${(number * 7_919) % size}` }),
);
