/** The same traffic of one account, with and without that of another one, on the same seed and clock. */
import { apiKeys, createRouter, openaiCompatible, type Router } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { directedAnswer, directiveIn, type HostileAct } from './hostility.ts';
import { type CallInit, httpCall, read } from './http-call.ts';
import { handle } from '../../src/index.ts';
import { type MemoryCall, memoryError, memoryTransport } from './memory-upstream.ts';
// Loaded by the first request that needs it, which takes real time; the clock of these tests has none.
import '../../src/core/fallback/refusal.ts';
import '../../src/core/selection/no-route.ts';
import '../../src/runtime/chat/stopped-request.ts';
import '../../src/runtime/pipeline/pipeline-execution.ts';

const PRICE = { prompt: 2, completion: 8 };
const FULL = { acme: 'a key of the first', other: 'a key of the second' } as const;

/** What the observed account sends, and how long after the request before it. */
export interface ObservedCall {
  readonly call: CallInit;
  readonly afterMs: number;
  /** True for one whose client goes away before there is an answer. */
  readonly leaves: boolean;
  /** What the other account does before it. */
  readonly acts: readonly HostileAct[];
}

/** What the observed account saw, sent and paid. */
export interface Observed {
  /** Bodies that went upstream for it, byte for byte, without where they went. */
  readonly upstream: readonly string[];
  readonly statuses: readonly (number | 'left')[];
  /** What its attempts were charged, in nano-dollars. */
  readonly bills: readonly (number | undefined)[];
}

/** Runs a schedule. `isAlone`: without the other account. */
export async function observe(schedule: readonly ObservedCall[], seed: number, isAlone: boolean): Promise<Observed> {
  const environment = fakeEnvironment({ seed });
  const upstream: string[] = [];
  const bills: (number | undefined)[] = [];
  const answered = new Set<string>();
  const answer = async ({ text, body, headers, signal }: MemoryCall): Promise<ReturnType<typeof memoryError>> => {
    void headers;
    const directive = directiveIn(text.replaceAll('\\\\', '\u0001').replaceAll('\\"', '"').replaceAll('\u0001', '\\'));
    // Whatever the observed account sends has its own sign.
    if (text.includes(OBSERVED)) upstream.push(text);
    if (directive?.hangs === true) {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      return memoryError(500, 'given up');
    }
    // A word that this server never takes.
    if ('top_k' in body) return memoryError(400, "Unsupported parameter: 'top_k' is not supported with this model.");
    const key = directive === undefined ? '' : JSON.stringify(directive);
    const isSpent = directive?.once === true && answered.has(key);
    answered.add(key);
    return directedAnswer(body, isSpent ? undefined : directive);
  };
  const server = (slug: string, model: string) =>
    openaiCompatible({
      slug,
      baseURL: `http://${slug}.test/v1`,
      transport: memoryTransport(answer),
      models: { [model]: { upstreamModel: 'served', price: PRICE, maxOutputTokens: 500 } },
    });
  const router: Router = createRouter({
    providers: [server('only', 'acme/one'), server('left', 'acme/two'), server('right', 'acme/two')],
    authenticate: apiKeys([
      { id: 'other', key: FULL.other, budget: { limitUsd: 1, period: 'day' } },
      { id: 'acme', key: FULL.acme, budget: { limitUsd: 1, period: 'day' } },
    ]),
    identitySecret: 'a secret of a test',
    timeouts: { connectMs: 1_000, firstTokenMs: 2_000, answerMs: 2_000, idleMs: 1_000, totalMs: 6_000 },
    environment,
    on: {
      warning: () => {},
      attempt: ({ request, costNanoUsd }) => void (request.account === 'acme' && bills.push(costNanoUsd)),
    },
  });

  async function sent(init: CallInit, key: string, signal?: AbortSignal): Promise<number> {
    const headers = { ...init.headers, authorization: `Bearer ${key}` };
    const reply = await handle(router, httpCall({ ...init, headers, ...(signal && { signal }) }));
    return reply === undefined ? 0 : (await read(reply)).status;
  }

  async function done<Value>(work: Promise<Value>): Promise<Value> {
    const state = { isOver: false };
    const end = (): void => void (state.isOver = true);
    work.then(end, end);
    // What takes no time of the clock may take turns of the process.
    for (let step = 0; step < 200 && !state.isOver; step += 1) {
      for (let turn = 0; turn < 6 && !state.isOver; turn += 1) await environment.settle();
      if (!state.isOver) await environment.advance(100);
    }
    return work;
  }

  const statuses: (number | 'left')[] = [];
  const others: Promise<unknown>[] = [];
  const startedAt = environment.now();
  let dueMs = 0;
  try {
    for (const { call, afterMs, leaves, acts } of schedule) {
      dueMs += afterMs;
      if (!isAlone) {
        for (const act of acts) {
          for (let time = 0; time < (act.times ?? 1); time += 1) {
            const leaving = new AbortController();
            others.push(sent(act.call, FULL.other, leaving.signal).catch(() => {}));
            await environment.settle();
            if (act.leaves === true) leaving.abort();
          }
        }
        await environment.settle();
      }
      await environment.advance(Math.max(0, startedAt + dueMs - environment.now()));
      const leaving = new AbortController();
      const own = sent(call, FULL.acme, leaving.signal).catch(() => 'left' as const);
      await environment.settle();
      if (leaves) leaving.abort();
      const status = await done(own);
      statuses.push(leaves ? 'left' : status);
    }
    await environment.advance(10_000);
    return { upstream, statuses, bills };
  } finally {
    await router.close();
    await Promise.all(others);
  }
}

/** A text that only the observed account says. */
export const OBSERVED = 'observed-account';
