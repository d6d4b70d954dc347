import { createRouter, type Environment, type Provider, type Router, type RouterConfig } from 'signalbox';
import { type Interval, replay, type ReplayReport } from 'signalbox/replay';
import { simulateTraffic } from 'signalbox/testing';
import type { LedgerRecord } from '../../src/contracts/ledger.ts';
import { DecideAgain } from '../../src/core/ledger/replay/decide-again.ts';
import { seededRandom } from '../../src/providers/simulated/chance.ts';
import { SIMULATED_MODEL } from '../../src/testing/simulate-traffic/world.ts';
import { failure } from '../../src/contracts/failure.ts';
import { failedReply } from '../../src/contracts/provider.ts';

/** What would have come of a request at an endpoint, whether it went there or not. */
interface Fate {
  readonly fails: boolean;
  readonly ms: number;
}

/** Milliseconds that a failure takes. */
const FAILURE_MS = 40;

/** How an endpoint of a world does. */
interface Nature {
  readonly slug: string;
  readonly prompt: number;
  readonly completion: number;
  readonly medianMs: number;
  readonly spread: number;
  readonly failing: number;
}

/** Something that a replay estimates, and how it truly is. */
export interface Truth {
  readonly metric: 'cost_nano_usd' | 'failures' | 'first_token_ms' | 'answer_ms';
  readonly difference: number;
  readonly interval: Interval;
}

/** A simulated world that was replayed under another configuration. */
export interface ReplayedWorld {
  readonly report: ReplayReport;
  readonly truths: readonly Truth[];
}

/**
 * Sends simulated traffic through a router, replays it under another configuration, and tells what would truly have
 * changed: in these worlds the fate of every request at every endpoint is written beforehand.
 */
export async function replayedWorld(seed: number): Promise<ReplayedWorld> {
  const chance = seededRandom(seed * 7_919);
  const between = (low: number, high: number): number => low + (high - low) * chance();
  const natures: readonly Nature[] = ['a', 'b', 'c'].map((slug) => ({
    slug,
    prompt: between(0.3, 1),
    completion: between(1, 4),
    medianMs: between(200, 1_200),
    spread: between(0.1, 0.6),
    failing: between(0, 0.12),
  }));
  const [first, second] = [...natures].sort((left, right) => left.prompt - right.prompt).map(({ slug }) => slug);
  const config = [
    { policy: { ignore: [first ?? 'a'] } },
    { strategy: 'adaptive' as const },
    { policy: { only: [first ?? 'a', second ?? 'b'] } },
  ][seed % 3];
  const { records, next } = await traffic(seed, natures, config ?? {});
  const report = await next.replayed;
  return { report, truths: truthsOf(records, next.plans, natures, seed, report) };
}

async function traffic(seed: number, natures: readonly Nature[], config: RouterConfig) {
  let router: Router | undefined;
  let providers: readonly Provider[] = [];
  await simulateTraffic(
    {
      seed,
      endpoints: natures.map(({ slug, prompt, completion }) => ({
        name: slug,
        price: { prompt, completion },
        latency: { medianMs: 0.001, spread: 0 },
        cacheMs: 0,
      })),
      traffic: { requests: 500, turns: 1, streaming: 0.5, perSecond: 2 },
    },
    (setup) => {
      providers = setup.providers.map((provider) => fated(provider, natures, seed, setup.environment));
      return (router = createRouter({
        ...setup,
        providers,
        strategy: 'balanced',
        hedge: false,
        pacer: false,
        ledger: { keep: 5_000, tags: ['simulated'] },
      }));
    },
  );
  const { records = [] } = (await router?.ledger?.read({ limit: 5_000 })) ?? {};
  const next = { providers, strategy: 'balanced' as const, hedge: false as const, pacer: false as const, ...config };
  const { facts, selection, strategy, adaptive } = createRouter(next).internals.services;
  const again = new DecideAgain({ ...facts, selection, strategy, adaptive });
  const plans = records.map((record) => again.plan(record)?.steps.map(({ endpoint }) => endpoint.provider) ?? []);
  return { records, next: { plans, replayed: replay(records, next) } };
}

/** A provider that deals with every request as it was written. */
function fated(provider: Provider, natures: readonly Nature[], seed: number, environment: Environment): Provider {
  const nature = natures.find(({ slug }) => slug === provider.slug);
  if (nature === undefined) throw new RangeError('an endpoint has a nature');
  return {
    ...provider,
    async chat(call) {
      const { fails, ms } = fateOf(call.request.metadata?.['simulated'] ?? '', nature, seed);
      await new Promise<void>((resolve) => void environment.setTimer(resolve, fails ? FAILURE_MS : ms));
      return fails ? failedReply(failure('server', 'Out of order', { status: 500 })) : provider.chat(call);
    },
  };
}

function fateOf(id: string, { slug, medianMs, spread, failing }: Nature, seed: number): Fate {
  let mixed = seed;
  for (const character of `${slug} ${id}`)
    mixed = Math.imul(mixed ^ character.charCodeAt(0), 0x9e3779b1) ^ (mixed >>> 15);
  const chance = seededRandom(mixed);
  for (let index = 0; index < 3; index += 1) chance();
  const fails = chance() < failing;
  const normal = Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());
  return { fails, ms: medianMs * Math.exp(spread * normal) };
}

/** What comes of a request that goes to these endpoints in turn. */
function outcome(
  { tags, usage }: LedgerRecord,
  order: readonly string[],
  natures: readonly Nature[],
  seed: number,
): { readonly failed: number; readonly ms: number; readonly cost: number } {
  let ms = 0;
  for (const slug of order) {
    const nature = natures.find((one) => one.slug === slug);
    if (nature === undefined) continue;
    const fate = fateOf(tags?.['simulated'] ?? '', nature, seed);
    if (!fate.fails) {
      const { prompt_tokens: prompt = 0, completion_tokens: completion = 0 } = usage ?? {};
      return { failed: 0, ms: ms + fate.ms, cost: (prompt * nature.prompt + completion * nature.completion) * 1e3 };
    }
    ms += FAILURE_MS;
  }
  return { failed: 1, ms, cost: 0 };
}

function truthsOf(
  records: readonly LedgerRecord[],
  plans: readonly (readonly string[])[],
  natures: readonly Nature[],
  seed: number,
  report: ReplayReport,
): readonly Truth[] {
  const metrics = ['cost_nano_usd', 'failures', 'first_token_ms', 'answer_ms'] as const;
  return metrics.map((metric) => {
    const differences = records.flatMap((record, index) => {
      const isAnswered = record.error_type === undefined;
      if (metric === 'first_token_ms' && !(record.stream && isAnswered)) return [];
      if (metric === 'answer_ms' && (record.stream || !isAnswered)) return [];
      const asked = record.candidates.map(({ endpoint }) => endpoint.replace(`#${SIMULATED_MODEL}`, ''));
      const order = plans[index] ?? [];
      if (asked[0] === order[0]) return [0];
      const before = { failed: isAnswered ? 0 : 1, ms: record.first_token_ms ?? 0, cost: record.cost_nano_usd ?? 0 };
      const after = outcome(record, order, natures, seed);
      if (metric === 'failures') return [after.failed - before.failed];
      return [metric === 'cost_nano_usd' ? after.cost - before.cost : after.ms - before.ms];
    });
    const difference = differences.reduce((sum, one) => sum + one, 0) / Math.max(1, differences.length);
    return { metric, difference, interval: report[metric].difference };
  });
}
