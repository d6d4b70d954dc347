/**
 * The sixteen faults of FailoverBench (github.com/failoverbench/failoverbench, methodology 0.1, September 2026), run
 * against a mounted router from both sides: by a client of the mount, and by what the provider behind it has seen.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRouter, openaiCompatible } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { ANSWER, type FaultProvider, type FaultTimes, startFaultProvider } from './provider.ts';

type RouterOptions = NonNullable<Parameters<typeof createRouter>[0]>;

/** How long everything lasts. */
export interface Profile extends FaultTimes {
  /** Limit to the first token and between two signs of life of a stream. */
  readonly limit: number;
  /** Most that the slow first token may make a caller wait. */
  readonly firstTokenWithin: number;
  /** Requests while the model flaps, and the time between two. */
  readonly flaps: { readonly count: number; readonly every: number };
}

/** The times of the methodology. */
export const FULL: Profile = {
  betweenWords: 15,
  slowFirstToken: 20_000,
  stall: 30_000,
  silence: 120_000,
  down: 60_000,
  limit: 30_000,
  firstTokenWithin: 15_000,
  flaps: { count: 20, every: 4_000 },
};

/** A shorter limit and a shorter outage, which come to the same verdicts; limits of the verdicts are the same. */
export const SHORT: Profile = { ...FULL, betweenWords: 2, down: 4_000, limit: 1_500, flaps: { count: 10, every: 700 } };

/** What a caller got. */
interface Outcome {
  readonly end: 'success' | 'error' | 'hang';
  readonly text: string;
  readonly model: string | undefined;
  readonly hasUsage: boolean;
  readonly ms: number;
  readonly error?: string | undefined;
}

/** Both views of one fault. */
interface Observed extends Outcome {
  readonly isWhole: boolean;
  /** When the model that fails was called, in milliseconds. */
  readonly primary: readonly number[];
  readonly fallback: number;
  readonly prefillRefusals: number;
  readonly aliveAfter: boolean;
  /** Of requests that follow each other. */
  readonly sequence?: {
    readonly hangs: number;
    readonly duringOutage: number;
    readonly servedDuringOutage: number;
    /** Milliseconds from the recovery to the first answer of the model; undefined where there was none. */
    readonly recoveredAfter: number | undefined;
  };
}

/** One rule about how a fault is met: an advisory one that fails makes a pass partial, any other a failure. */
interface Check {
  readonly name: string;
  readonly holds: (observed: Observed, profile: Profile) => boolean;
  readonly isAdvisory?: boolean;
}

/** A fault of the catalogue. */
export interface FailoverFault {
  readonly id: string;
  readonly title: string;
  readonly fallback: string;
  /** Seconds within which the call must end. */
  readonly within: number;
  /** What is right: mostly the whole answer. */
  readonly ideal: 'answer' | 'error';
  readonly isSequence: boolean;
  readonly checks: readonly Check[];
}

const noHang: Check = { name: 'no hang', holds: ({ end }) => end !== 'hang' };
const noCutSuccess: Check = {
  name: 'no cut answer as success',
  holds: ({ end, isWhole }) => end !== 'success' || isWhole,
};
const alive: Check = { name: 'alive after', holds: ({ aliveAfter }) => aliveAfter };
const hasUsage: Check = { name: 'usage', holds: (seen) => seen.hasUsage, isAdvisory: true };
const atMost = (calls: number, isAdvisory = false): Check => ({
  name: `at most ${calls} calls`,
  holds: ({ primary }) => primary.length <= calls,
  isAdvisory,
});
const again: Check = { name: 'tried again', holds: ({ primary }) => primary.length >= 2, isAdvisory: true };
const calledWithin = (calls: number, ms: number): Check => ({
  name: `at most ${calls} calls within ${ms} ms`,
  holds: ({ primary: [first = 0, ...rest] }) => 1 + rest.filter((at) => at - first < ms).length <= calls,
});
const endsWithin = (ms: number): Check => ({
  name: `ends within ${ms} ms`,
  holds: (seen) => seen.ms <= ms,
});

const DEFAULTS = { fallback: 'good', ideal: 'answer', isSequence: false } as const;

/** The catalogue, in its order. */
export const FAULTS: readonly FailoverFault[] = [
  {
    ...DEFAULTS,
    id: 'S01',
    title: '429 with `Retry-After`',
    within: 20,
    checks: [
      again,
      {
        name: '`Retry-After` kept',
        holds: ({ primary: [first = 0, second] }) => second !== undefined && second - first >= 1_800,
        isAdvisory: true,
      },
      calledWithin(2, 1_500),
    ],
  },
  {
    ...DEFAULTS,
    id: 'S02',
    title: '429 without it, every time',
    within: 40,
    checks: [calledWithin(4, 3_000), atMost(6), noHang],
  },
  { ...DEFAULTS, id: 'S03', title: '500 once', within: 20, checks: [noHang, again] },
  { ...DEFAULTS, id: 'S04', title: '503 every time', within: 40, checks: [atMost(6), noHang] },
  { ...DEFAULTS, id: 'S05', title: 'connection reset', within: 20, checks: [noHang] },
  {
    ...DEFAULTS,
    id: 'S06',
    title: 'no response at all',
    within: 130,
    checks: [endsWithin(100_000), noHang, atMost(1, true)],
  },
  {
    ...DEFAULTS,
    id: 'S07',
    title: 'slow first token',
    within: 60,
    checks: [
      noHang,
      {
        name: 'first token in time',
        holds: ({ ms }, { firstTokenWithin }) => ms <= firstTokenWithin,
        isAdvisory: true,
      },
    ],
  },
  { ...DEFAULTS, id: 'S08', title: 'stream cut after 40 of 60 words', within: 40, checks: [noCutSuccess, noHang] },
  {
    ...DEFAULTS,
    id: 'S09',
    title: 'stream stalls after 20 words',
    within: 70,
    checks: [endsWithin(45_000), noCutSuccess, alive, noHang],
  },
  {
    ...DEFAULTS,
    id: 'S10',
    title: 'an event that is no JSON',
    within: 30,
    checks: [
      alive,
      noCutSuccess,
      noHang,
      { name: 'recovered', holds: ({ end, isWhole }) => end === 'success' && isWhole, isAdvisory: true },
    ],
  },
  { ...DEFAULTS, id: 'S11', title: 'no `[DONE]`', within: 30, checks: [endsWithin(8_000), hasUsage] },
  {
    ...DEFAULTS,
    id: 'S12',
    title: 'prompt too long',
    within: 20,
    checks: [{ name: 'not sent again', holds: ({ primary }) => primary.length === 1 }, noHang],
  },
  {
    ...DEFAULTS,
    id: 'S13',
    title: 'content filter',
    within: 20,
    ideal: 'error',
    checks: [{ name: 'not sent again', holds: ({ primary }) => primary.length === 1 }, noHang],
  },
  {
    ...DEFAULTS,
    id: 'S14',
    title: 'stream cut, the fallback refuses prefill',
    within: 40,
    fallback: 'good-without-prefill',
    checks: [
      {
        name: 'refusal of prefill not shown',
        holds: ({ end, prefillRefusals }) => end !== 'error' || prefillRefusals === 0,
      },
      noCutSuccess,
    ],
  },
  {
    ...DEFAULTS,
    id: 'S15',
    title: 'down for a minute, then well',
    within: 200,
    isSequence: true,
    checks: [
      { name: 'no hang', holds: ({ sequence }) => sequence?.hangs === 0 },
      {
        name: 'served during the outage',
        holds: ({ sequence }) =>
          sequence !== undefined && sequence.duringOutage > 0 && sequence.servedDuringOutage === sequence.duringOutage,
      },
      {
        name: 'used again within 30 s',
        holds: ({ sequence }) => (sequence?.recoveredAfter ?? Infinity) <= 30_000,
      },
    ],
  },
  {
    ...DEFAULTS,
    id: 'S16',
    title: 'whose model and usage is told',
    within: 40,
    checks: [
      {
        name: 'names the fallback',
        holds: ({ fallback, model }) => fallback === 0 || model?.includes('good') === true,
      },
      hasUsage,
      atMost(6),
    ],
  },
];

/** How a fault was met. */
export type Verdict = 'pass' | 'partial' | 'safe' | 'fail';

/** A verdict, and what it rests on. */
export interface FaultReport {
  readonly fault: FailoverFault;
  readonly verdict: Verdict;
  readonly reason: string;
  readonly observed: Observed;
}

/** What is varied besides the baseline of the methodology: one fallback model, and one limit for all waits. */
export type Variant = Pick<RouterOptions, 'fallback' | 'policy'>;

/** Variants by name: as the router comes, and with both options that this page is about. */
export const VARIANTS: Readonly<Record<string, Variant>> = {
  'by default': {},
  'with both options': { fallback: { afterFirstToken: 'continue' }, policy: { refusals: 'return' } },
};

/** Runs one fault against a router of its own. */
export async function runFault(fault: FailoverFault, variant: Variant, profile: Profile): Promise<FaultReport> {
  await using provider = await startFaultProvider(profile);
  const name = fault.id.toLowerCase();
  const models = Object.fromEntries(
    [name, fault.fallback, 'good'].map((model) => [`fault/${model}`, { upstreamModel: model }]),
  );
  const { limit } = profile;
  const router = createRouter({
    ...variant,
    providers: [openaiCompatible({ slug: 'fault', name: 'Fault', baseURL: provider.baseURL, models })],
    timeouts: { firstTokenMs: limit, idleMs: limit, answerMs: limit },
    on: { warning: ignore },
  });
  const server = createServer(nodeRouter(router, { basePath: '/v1' }));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const seen = fault.isSequence
      ? await inSequence(base, fault, provider, profile)
      : await once(base, fault, provider, fault.within * 1_000);
    const probe = await call(base, { model: 'fault/good', stream: false }, 10_000);
    const observed = { ...seen, aliveAfter: probe.end === 'success' && probe.text === ANSWER };
    return { fault, observed, ...judge(fault, observed, profile) };
  } finally {
    server.closeAllConnections();
    server.close();
    await router.close();
  }
}

async function once(
  base: string,
  fault: FailoverFault,
  provider: FaultProvider,
  withinMs: number,
): Promise<Omit<Observed, 'aliveAfter'>> {
  const outcome = await call(base, bodyOf(fault), withinMs);
  return { ...outcome, isWhole: outcome.text === ANSWER, ...callsOf(fault, provider) };
}

async function inSequence(
  base: string,
  fault: FailoverFault,
  provider: FaultProvider,
  { flaps, down }: Profile,
): Promise<Omit<Observed, 'aliveAfter'>> {
  const startedAt = performance.now();
  const outcomes: (Outcome & { readonly at: number })[] = [];
  for (let index = 0; index < flaps.count; index += 1) {
    await pause(startedAt + index * flaps.every - performance.now());
    const at = performance.now() - startedAt;
    outcomes.push({ ...(await call(base, bodyOf(fault), 30_000)), at });
  }
  const during = outcomes.filter(({ at }) => at < down);
  const served = provider.calls.find(({ model, served: isServed }) => isServed && model === fault.id.toLowerCase());
  const failed = outcomes.find(({ end }) => end !== 'success');
  const last = outcomes.at(-1);
  if (last === undefined) throw new RangeError('a sequence has at least one request');
  return {
    ...last,
    end: outcomes.some(({ end }) => end === 'hang') ? 'hang' : (failed?.end ?? 'success'),
    error: failed?.error,
    isWhole: outcomes.every(({ text }) => text === ANSWER),
    ...callsOf(fault, provider),
    sequence: {
      hangs: outcomes.filter(({ end }) => end === 'hang').length,
      duringOutage: during.length,
      servedDuringOutage: during.filter(({ end }) => end === 'success').length,
      recoveredAfter: served && served.at - down,
    },
  };
}

function callsOf({ id, fallback }: FailoverFault, { calls }: FaultProvider) {
  return {
    primary: calls.filter(({ model }) => model === id.toLowerCase()).map(({ at }) => at),
    fallback: calls.filter(({ model }) => model === fallback).length,
    prefillRefusals: calls.filter(({ prefillRefused }) => prefillRefused).length,
  };
}

function bodyOf({ id, fallback }: FailoverFault): object {
  return { model: `fault/${id.toLowerCase()}`, models: [`fault/${fallback}`], stream: true };
}

const PROMPT = 'Say in sixty words what a signal box is judged on.';

/** One call of the mount. Success is an answer that says that it is one to its end. */
async function call(base: string, body: object, withinMs: number): Promise<Outcome> {
  const startedAt = performance.now();
  const told = (end: Outcome['end'], more: Partial<Outcome> = {}): Outcome => ({
    end,
    text: '',
    model: undefined,
    hasUsage: false,
    ms: performance.now() - startedAt,
    ...more,
  });
  try {
    const response = await fetch(`${base}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, messages: [{ role: 'user', content: PROMPT }] }),
      signal: AbortSignal.timeout(withinMs),
    });
    const text = await response.text();
    if (!response.ok) return told('error', { error: text.slice(0, 200) });
    const isStream = response.headers.get('content-type')?.includes('event-stream') === true;
    const read = isStream ? readStream(text) : readWhole(text);
    return told(read.error === undefined ? 'success' : 'error', read);
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === 'TimeoutError';
    return told(isLate ? 'hang' : 'error', { error: String(error) });
  }
}

interface ReadChunk {
  readonly model?: string;
  readonly usage?: unknown;
  readonly error?: { readonly message?: string };
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string };
    readonly message?: { readonly content?: string };
    readonly finish_reason?: string | null;
  }[];
}

type Read = Pick<Outcome, 'text' | 'model' | 'hasUsage' | 'error'>;

function readStream(text: string): Read {
  const events = text.split('\n\n').filter((event) => event.startsWith('data: '));
  const chunks = events
    .filter((event) => event !== 'data: [DONE]')
    .map((event) => JSON.parse(event.slice('data: '.length)) as ReadChunk);
  const failed = chunks.find(({ error }) => error !== undefined);
  const isOver = chunks.some(({ choices }) => choices?.[0]?.finish_reason != null);
  return {
    text: chunks.map(({ choices }) => choices?.[0]?.delta?.content ?? '').join(''),
    model: chunks.at(-1)?.model,
    hasUsage: chunks.some(({ usage }) => usage != null),
    error: failed === undefined ? (isOver ? undefined : 'The stream has no end') : (failed.error?.message ?? 'error'),
  };
}

function readWhole(text: string): Read {
  const { model, usage, choices } = JSON.parse(text) as ReadChunk;
  return { text: choices?.[0]?.message?.content ?? '', model, hasUsage: usage != null, error: undefined };
}

/** The verdict of the methodology. */
function judge(
  { ideal, checks }: FailoverFault,
  observed: Observed,
  profile: Profile,
): Pick<FaultReport, 'verdict' | 'reason'> {
  const { end, isWhole, error = '' } = observed;
  if (end === 'hang') return { verdict: 'fail', reason: 'no end' };
  if (end === 'success' && !isWhole) return { verdict: 'fail', reason: 'a cut answer as success' };
  const failed = checks.filter(({ holds }) => !holds(observed, profile));
  const required = failed.filter(({ isAdvisory }) => isAdvisory !== true);
  const names = (some: readonly Check[]): string => some.map(({ name }) => name).join(', ');
  if (required.length > 0) return { verdict: 'fail', reason: `not: ${names(required)}` };
  if (ideal === 'error' && end === 'success') return { verdict: 'partial', reason: 'routed around the rejection' };
  if (ideal === 'answer' && end === 'error') return { verdict: 'safe', reason: error };
  return failed.length > 0 ? { verdict: 'partial', reason: `not: ${names(failed)}` } : { verdict: 'pass', reason: '' };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, Math.max(0, ms)));
}

function ignore(): void {}
