import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fill } from '../src/options/option.ts';
import { FALLBACK } from '../src/options/fallback.ts';
import { createRouter, openaiCompatible, RouterError } from 'signalbox';
import { seededRandom } from '../src/providers/simulated/chance.ts';

/**
 * What becomes of requests while providers fail some of the time, over real sockets: `npm run bench:brownouts`. Every
 * row is a router in default configuration before one, two and four endpoints that are all alike. Options:
 * `--seconds 5`, `--rate 45`, `--only random`.
 */

type Options = NonNullable<Parameters<typeof createRouter>[0]>;
type Router = ReturnType<typeof createRouter>;

/** What the fake providers of one router do with a call. */
interface Fault {
  /** Share of the calls that fail by chance. */
  readonly random: number;
  /** Share of the requests that fail wherever they go. */
  readonly poison: number;
  /** Whether all poison comes from one account. */
  readonly fromOne: boolean;
}

/** What became of the requests of one router. */
interface Outcome {
  /** Share of the requests that could have been answered which were: all, or those without poison. */
  readonly answered: number;
  /** The same if every try that the options allow had been made, with the same luck. */
  readonly allowed: number;
  readonly callsPerRequest: number;
}

const MODEL = 'bench/model';
const ACCOUNTS = 20;
const ANSWER = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1_700_000_000,
  model: 'upstream-model',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, logprobs: null, finish_reason: 'stop' }],
  usage: { prompt_tokens: 20, completion_tokens: 2, total_tokens: 22 },
});
const BROKEN = JSON.stringify({ error: { message: 'Internal server error', type: 'server_error', code: null } });

/** A number from 0 to 1 for one call of one request: the same whoever is called, and whenever. */
function luck(seed: number, request: number, call: number): number {
  return seededRandom(seed * 7_919 + request * 104_729 + call * 1_299_709)();
}

/** Fake providers on sockets of their own. */
class Providers {
  readonly #servers: Server[] = [];
  /** Calls so far, by request. */
  readonly calls = new Map<number, number>();
  /** Milliseconds at which calls came. */
  readonly times: number[] = [];
  readonly #fails: (request: number, call: number) => boolean;

  constructor(fails: (request: number, call: number) => boolean) {
    this.#fails = fails;
  }

  async start(count: number): Promise<readonly string[]> {
    return Promise.all(Array.from({ length: count }, () => this.#listen()));
  }

  async #listen(): Promise<string> {
    const server = createServer((incoming, outgoing) => {
      let body = '';
      incoming.on('data', (bytes: Buffer) => (body += bytes.toString('latin1')));
      incoming.on('end', () => {
        const request = Number(/request (\d+)/.exec(body)?.[1]);
        const call = this.calls.get(request) ?? 0;
        this.calls.set(request, call + 1);
        this.times.push(performance.now());
        const isBroken = this.#fails(request, call);
        outgoing.writeHead(isBroken ? 500 : 200, { 'content-type': 'application/json' });
        outgoing.end(isBroken ? BROKEN : ANSWER);
      });
    });
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  }

  get total(): number {
    return this.times.length;
  }

  stop(): void {
    for (const server of this.#servers) {
      server.close();
      server.closeAllConnections();
    }
  }
}

function routerOf(addresses: readonly string[], options: Partial<Options> = {}): Router {
  return createRouter({
    providers: addresses.map((baseURL, index) =>
      openaiCompatible({
        slug: `provider-${index}`,
        baseURL,
        models: { [MODEL]: { upstreamModel: 'm', price: { prompt: 1, completion: 2 } } },
      }),
    ),
    ...options,
  });
}

/** Sends requests evenly over a time, and waits until the last one is answered. */
async function sendEvenly(
  router: Router,
  traffic: { readonly seconds: number; readonly rate: number },
  accountOf: (request: number) => string,
  onEnd: (request: number, ok: boolean, status: number) => void,
): Promise<void> {
  const startedAt = performance.now();
  const ends: Promise<void>[] = [];
  const send = async (request: number): Promise<void> => {
    try {
      const messages = [{ role: 'user' as const, content: `This is request ${request}` }];
      await router.chat({ model: MODEL, messages }, { account: { id: accountOf(request) } });
      onEnd(request, true, 200);
    } catch (error) {
      if (!RouterError.isInstance(error)) throw error;
      onEnd(request, false, error.status);
    }
  };
  for (let request = 0; request < traffic.seconds * traffic.rate; request += 1) {
    const dueMs = startedAt + (request * 1_000) / traffic.rate - performance.now();
    if (dueMs > 0) await new Promise((resolve) => setTimeout(resolve, dueMs));
    ends.push(send(request));
  }
  await Promise.all(ends);
}

interface Settings {
  readonly seconds: number;
  readonly rate: number;
  readonly only: string;
}

/** Tries that the default options allow before so many endpoints. */
function triesOf(endpoints: number): number {
  const { maxAttempts, triesPerEndpoint } = fill(FALLBACK);
  return Math.min(maxAttempts, endpoints * triesPerEndpoint);
}

let seeds = 0;

async function measure(
  fault: Fault,
  endpoints: number,
  options: Partial<Options>,
  settings: Settings,
): Promise<Outcome> {
  const seed = (seeds += 1);
  const isPoison = (request: number): boolean => luck(seed, request, -1) < fault.poison;
  const fails = (request: number, call: number): boolean => luck(seed, request, call) < fault.random;
  const providers = new Providers((request, call) => isPoison(request) || fails(request, call));
  const router = routerOf(await providers.start(endpoints), options);
  const tries = triesOf(endpoints);
  let wanted = 0;
  let answered = 0;
  let allowed = 0;
  const accountOf = (request: number): string =>
    fault.fromOne && isPoison(request) ? 'the one' : `account ${request % ACCOUNTS}`;
  await sendEvenly(router, settings, accountOf, (request, ok) => {
    if (isPoison(request)) return;
    wanted += 1;
    if (ok) answered += 1;
    if (Array.from({ length: tries }, (_, call) => call).some((call) => !fails(request, call))) allowed += 1;
  });
  await router.close();
  providers.stop();
  const requests = settings.seconds * settings.rate;
  return {
    answered: answered / wanted,
    allowed: allowed / wanted,
    callsPerRequest: providers.total / requests,
  };
}

const percent = (share: number): string => `${(share * 100).toFixed(share > 0.995 && share < 1 ? 2 : 1)} %`;

const COUNTS = [1, 2, 4] as const;

interface Row {
  readonly name: string;
  readonly fault: Fault;
  readonly options: Partial<Options>;
}

function rows(): readonly Row[] {
  const strategies: readonly [string, Partial<Options>][] = [
    ['', {}],
    [', balanced', { strategy: 'balanced' }],
  ];
  return strategies.flatMap(([of, options]) => [
    ...[0.1, 0.3, 0.5].map((random) => ({
      name: `random failures ${percent(random)}${of}`,
      fault: { random, poison: 0, fromOne: false },
      options,
    })),
    ...[false, true].flatMap((fromOne) =>
      [0.05, 0.1, 0.3].map((poison) => ({
        name: `poison ${percent(poison)} from ${fromOne ? 'one account' : 'many accounts'}${of}`,
        fault: { random: 0, poison, fromOne },
        options,
      })),
    ),
  ]);
}

/** Rows that run at the same time: each is as good as idle. */
const AT_A_TIME = 3;

async function table(settings: Settings): Promise<void> {
  console.log(
    '| | 1 endpoint | 2 endpoints | 4 endpoints | a direct call | every try allowed | calls per request | limit |',
  );
  console.log('|---|---|---|---|---|---|---|---|');
  const wanted = rows().filter(({ name }) => name.includes(settings.only));
  for (let begin = 0; begin < wanted.length; begin += AT_A_TIME) {
    const lines = await Promise.all(
      wanted.slice(begin, begin + AT_A_TIME).map(async ({ name, fault, options }) => {
        const found = await Promise.all(COUNTS.map((count) => measure(fault, count, options, settings)));
        const joined = (of: (one: Outcome) => string): string => found.map(of).join(' / ');
        const cells = found.map(({ answered }) => percent(answered)).join(' | ');
        const calls = joined(({ callsPerRequest }) => callsPerRequest.toFixed(2));
        const limit = fault.poison > 0 ? '–' : (1.1 / (1 - fault.random)).toFixed(2);
        const direct = percent(1 - fault.random);
        return `| ${name} | ${cells} | ${direct} | ${joined(({ allowed }) => percent(allowed))} | ${calls} | ${limit} |`;
      }),
    );
    for (const line of lines) console.log(line);
  }
}

/** A dead endpoint that is all there is: what reaches it, second by second. */
async function dead(): Promise<void> {
  const providers = new Providers(() => true);
  const router = routerOf(await providers.start(1));
  const startedAt = performance.now();
  await sendEvenly(
    router,
    { seconds: 6, rate: 100 },
    (request) => `account ${request % ACCOUNTS}`,
    () => {},
  );
  const perSecond = Array.from(
    { length: 6 },
    (_, second) => providers.times.filter((at) => Math.floor((at - startedAt) / 1_000) === second).length,
  );
  await router.close();
  providers.stop();
  console.log(
    `| calls a second at a dead endpoint, nothing else left, 100 requests a second | ${perSecond.join(', ')} |`,
  );
}

/** A dead endpoint that is all there is comes back. */
async function back(): Promise<void> {
  const deadSeconds = 8;
  let isDead = true;
  const providers = new Providers(() => isDead);
  const router = routerOf(await providers.start(1));
  const timer = setTimeout(() => {
    isDead = false;
    backAt = performance.now();
  }, deadSeconds * 1_000);
  let backAt = Infinity;
  let firstMs: number | undefined;
  let failedMs = 0;
  await sendEvenly(
    router,
    { seconds: deadSeconds + 5, rate: 10 },
    (request) => `account ${request % ACCOUNTS}`,
    (_, ok) => {
      const sinceMs = performance.now() - backAt;
      if (ok) firstMs ??= sinceMs;
      else if (sinceMs > 0) failedMs = sinceMs;
    },
  );
  clearTimeout(timer);
  await router.close();
  providers.stop();
  const first = firstMs === undefined ? 'never' : `${firstMs.toFixed(0)} ms`;
  console.log(
    `| a dead only endpoint comes back, 10 requests a second: first answer, last failure | ${first}, ${failedMs.toFixed(0)} ms |`,
  );
}

const words = process.argv.slice(2);
const valueOf = (name: string, usual: string): string => words[words.indexOf(`--${name}`) + 1 || words.length] ?? usual;
await table({
  seconds: Number(valueOf('seconds', '5')),
  rate: Number(valueOf('rate', '45')),
  only: valueOf('only', ''),
});
if (valueOf('only', '') === '') {
  console.log('\n| | |\n|---|---|');
  await dead();
  await back();
}
