import { pathToFileURL } from 'node:url';
import { createRouter, type Environment, type Provider, type RouterConfig, RouterError } from '../src/index.ts';
import { type AttemptFailure, failure } from '../src/contracts/failure.ts';
import { failedReply, type ProviderCall } from '../src/contracts/provider.ts';
import type { UpstreamResult } from '../src/contracts/stream-piece.ts';
import { seededRandom } from '../src/providers/simulated/chance.ts';
import { failureOfResponse } from '../src/providers/upstream-failure.ts';
import { VirtualClock } from '../src/testing/simulate-traffic/virtual-clock.ts';

/**
 * Prints what share of requests is answered where calls are refused by chance, whatever the load, in virtual time:
 * `npm run bench:refusals`. Each cell has a fresh router. Options: `--seconds 8`, `--seeds 1`, `--only 429`,
 * `--shares 0.01,0.05,0.2`, `--pacer off`.
 */

/** A way to fail. */
interface Fault {
  readonly name: string;
  readonly afterMs: number;
  fail(): AttemptFailure;
}

const responded = (status: number, headers: Readonly<Record<string, string>> = {}): AttemptFailure => {
  const body = JSON.stringify({ error: { message: 'not now', type: 'error' } });
  return failureOfResponse(status, (name) => headers[name], body, { secrets: [], wallClock: Date.UTC(2026, 0, 1) });
};

const FAULTS: readonly Fault[] = [
  { name: '429', afterMs: 10, fail: () => responded(429) },
  { name: '429, retry-after: 1', afterMs: 10, fail: () => responded(429, { 'retry-after': '1' }) },
  { name: '429, retry-after-ms: 50', afterMs: 10, fail: () => responded(429, { 'retry-after-ms': '50' }) },
  { name: '429, retry-after: 30', afterMs: 10, fail: () => responded(429, { 'retry-after': '30' }) },
  { name: '503', afterMs: 10, fail: () => responded(503) },
  { name: '503, retry-after: 1', afterMs: 10, fail: () => responded(503, { 'retry-after': '1' }) },
  { name: '529', afterMs: 10, fail: () => responded(529) },
  { name: '408', afterMs: 10, fail: () => responded(408) },
  { name: '409', afterMs: 10, fail: () => responded(409) },
  { name: '504', afterMs: 10, fail: () => responded(504) },
  { name: 'reset', afterMs: 10, fail: () => failure('connection', 'The connection was reset') },
  { name: 'slow 500', afterMs: 1_500, fail: () => responded(500) },
  { name: 'empty 200', afterMs: 10, fail: () => failure('bad_response', 'The provider answered with nothing') },
];

/** Faults that client libraries do not try again. */
const FINAL_FAULTS: readonly Fault[] = [
  { name: '401', afterMs: 10, fail: () => responded(401) },
  { name: '402', afterMs: 10, fail: () => responded(402) },
];

/** How many requests come, and how long they take. */
interface Load {
  readonly perSecond: number;
  readonly answerMs: number;
}

const LOADS: readonly Load[] = [
  { perSecond: 60, answerMs: 600 },
  { perSecond: 100, answerMs: 60 },
];

interface Cell {
  readonly fault: Fault;
  readonly share: number;
  readonly endpoints: number;
  readonly load: Load;
  readonly seconds: number;
  readonly seed: number;
  readonly options: Partial<RouterConfig>;
}

interface Counts {
  readonly requests: number;
  answered: number;
  /** Requests that were refused without having failed anywhere. */
  refused: number;
  calls: number;
}

const MODEL = 'bench/model';

const ANSWER: UpstreamResult = {
  choices: [
    {
      index: 0,
      finish_reason: 'stop',
      native_finish_reason: 'stop',
      logprobs: null,
      message: { role: 'assistant', content: 'Hello.', refusal: null, reasoning: null },
    },
  ],
  usage: { prompt_tokens: 20, completion_tokens: 2, total_tokens: 22 },
};

function providerOf({ fault, share, load, seed }: Cell, index: number, environment: Environment): Provider {
  const chance = seededRandom(seed * 7_919 + index * 104_729);
  return {
    slug: `provider-${index}`,
    name: `Provider ${index}`,
    models: { [MODEL]: { price: { prompt: 1, completion: 2 } } },
    async chat() {
      const isRefused = chance() < share;
      const ms = isRefused ? fault.afterMs : load.answerMs * (0.5 + chance());
      await new Promise<void>((resolve) => void environment.setTimer(resolve, ms));
      return isRefused ? failedReply(fault.fail()) : { type: 'whole', result: ANSWER };
    },
  };
}

/** Sends the requests of one cell through a fresh router. */
async function measure(cell: Cell): Promise<Counts> {
  const { load, seconds, seed, endpoints, options } = cell;
  const requests = load.perSecond * seconds;
  const counts: Counts = { requests, answered: 0, refused: 0, calls: 0 };
  const clock = new VirtualClock();
  const environment = clock.environment(seed);
  const providers = Array.from({ length: endpoints }, (_, index) => {
    const provider = providerOf(cell, index, environment);
    return { ...provider, chat: (call: ProviderCall) => ((counts.calls += 1), provider.chat(call)) };
  });
  const router = createRouter({ providers, environment, ...options });
  let left = requests;
  const send = async (): Promise<void> => {
    try {
      await router.chat({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }] });
      counts.answered += 1;
    } catch (error) {
      if (!RouterError.isInstance(error)) throw error;
      if (error.availability !== undefined) counts.refused += 1;
    } finally {
      left -= 1;
    }
  };
  for (let request = 0; request < requests; request += 1) {
    clock.at((request * 1_000) / load.perSecond, () => void send());
  }
  await clock.run(() => left === 0);
  await router.close();
  return counts;
}

/** Tries of a client without a router, as published client libraries have them. */
const DIRECT_TRIES = 3;

const percent = (share: number): string => `${(share * 100).toFixed(2)} %`;

/** By how many standard deviations of chance a share may be below what is expected. */
const BY_CHANCE = 3;

async function main(words: readonly string[]): Promise<void> {
  const valueOf = (name: string, usual: string): string =>
    words[words.indexOf(`--${name}`) + 1 || words.length] ?? usual;
  const seconds = Number(valueOf('seconds', '8'));
  const seeds = Number(valueOf('seeds', '1'));
  const shares = valueOf('shares', '0.01,0.05,0.2').split(',').map(Number);
  const options: Partial<RouterConfig> = valueOf('pacer', 'on') === 'off' ? { pacer: false } : {};
  const faults = [...FAULTS, ...FINAL_FAULTS].filter(({ name }) => name.includes(valueOf('only', '')));
  console.log('| Fault | Share | Endpoints | A second | Answered | Direct | Refused by us | Calls per request | |');
  console.log(`|${'---|'.repeat(9)}`);
  let cells = 0;
  let short = 0;
  for (const fault of faults) {
    const tries = FINAL_FAULTS.includes(fault) ? 1 : DIRECT_TRIES;
    for (const share of shares) {
      for (const endpoints of [1, 3]) {
        for (const load of LOADS) {
          const all = await Promise.all(
            Array.from({ length: seeds }, (_, seed) =>
              measure({ fault, share, endpoints, load, seconds, seed: seed + 1, options }),
            ),
          );
          const sum = (of: (one: Counts) => number): number => all.reduce((total, one) => total + of(one), 0);
          const requests = sum((one) => one.requests);
          const expected = 1 - share ** tries;
          const answered = sum((one) => one.answered) / requests;
          const deviation = Math.sqrt((expected * (1 - expected)) / requests);
          const isShort = answered < expected - BY_CHANCE * deviation - 1 / requests;
          cells += 1;
          if (isShort) short += 1;
          console.log(
            `| ${fault.name} | ${percent(share)} | ${endpoints} | ${load.perSecond} of ${load.answerMs} ms | ${percent(answered)} | ${percent(expected)} | ${percent(sum((one) => one.refused) / requests)} | ${(sum((one) => one.calls) / requests).toFixed(2)} | ${isShort ? 'short' : ''} |`,
          );
        }
      }
    }
  }
  console.log(`\n${short} of ${cells} cells answer fewer than a direct client with two retries.`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main(process.argv.slice(2));
