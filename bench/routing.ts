import { pathToFileURL } from 'node:url';
import { createRouter } from '../src/index.ts';
import { type SimulatedSetup, type TrafficReport, simulateTraffic } from '../src/entries/testing.ts';
import { SCENARIOS, type Scenario } from './routing/worlds.ts';

/**
 * Prints what the strategies make of simulated worlds: `npm run bench:routing`. Options: `--requests 20000`,
 * `--seeds 1,2,3,4,5`, `--scenario hang`, `--router adaptive`.
 */

/** A router that is compared, and the scenarios that say something about it; all of them when left out. */
interface Contestant {
  readonly name: string;
  readonly make: (setup: SimulatedSetup) => Router;
  readonly only?: readonly string[];
}

type Router = Pick<ReturnType<typeof createRouter>, 'chat' | 'stream'>;
type Options = NonNullable<Parameters<typeof createRouter>[0]>;

/** What of a report is shown, and what is asked of `adaptive`. */
interface Figure {
  readonly name: string;
  readonly of: (report: TrafficReport) => number | undefined;
  /** Values of which the median over all seeds is shown instead. */
  readonly pooled?: (report: TrafficReport) => readonly number[];
  readonly target: string;
  readonly isMet: (value: number) => boolean;
  readonly show: (value: number) => string;
}

const made =
  (options: Partial<Options> = {}) =>
  (setup: SimulatedSetup): Router =>
    createRouter({ ...setup, ...options });

/** A router whose callers all ask for a sort. */
const sorting =
  (sort: 'price' | 'latency' | 'throughput' | 'exacto') =>
  (setup: SimulatedSetup): Router => {
    const router = createRouter(setup);
    const sorted = <Body extends object>(body: Body): Body => ({ ...body, provider: { sort } });
    return {
      chat: (body, options) => router.chat(sorted(body), options),
      stream: (body, options) => router.stream(sorted(body), options),
    };
  };

const OUTAGES = ['5 % of', '15 %', 'hang for 10 min'];

const CONTESTANTS: readonly Contestant[] = [
  { name: 'adaptive', make: made() },
  { name: 'balanced', make: made({ strategy: 'balanced' }) },
  { name: 'sort: price', make: sorting('price'), only: OUTAGES },
  { name: 'sort: latency', make: sorting('latency'), only: OUTAGES },
  { name: 'sort: throughput', make: sorting('throughput'), only: OUTAGES },
  { name: 'sort: exacto', make: sorting('exacto'), only: OUTAGES },
  { name: 'no hedge', make: made({ hedge: false }), only: ['hang', '× 8'] },
  { name: 'no hang detection', make: made({ hangDetection: false }), only: ['hang', '× 8'] },
  { name: 'no pacer', make: made({ pacer: false }), only: ['surge'] },
];

const percent = (value: number): string => `${(value * 100).toFixed(1)} %`;
const seconds = (value: number): string => `${(value / 1_000).toFixed(2)} s`;
const plain = (value: number): string => value.toFixed(value < 10 ? 2 : 0);

const regret = (most: number): Figure => ({
  name: 'cost regret',
  of: (report) => report.regret,
  target: `≤ ${most * 100} %`,
  isMet: (value) => value <= most,
  show: percent,
});
const p99: Figure = {
  name: 'p99 time to first token',
  of: ({ firstTokenMs, answerMs }) => (firstTokenMs.max > 0 ? firstTokenMs.p99 : answerMs.p99),
  target: '≤ 2.5 s',
  isMet: (value) => value <= 2_500,
  show: seconds,
};
const victims: Figure = {
  name: 'requests that met a dead endpoint, per outage',
  of: (report) => report.victimsPerDeadTime,
  target: '≤ 15',
  isMet: (value) => value <= 15,
  show: plain,
};
const recovery: Figure = {
  name: 'median recovery',
  of: (report) => report.recoveryMs,
  target: '≤ 30 s',
  isMet: (value) => value <= 30_000,
  show: seconds,
};
/** Over the outages of all seeds: one of them may have a single one. */
const missed: Figure = {
  ...recovery,
  name: 'median recovery of endpoints that were missed, outages of all seeds',
  of: () => undefined,
  pooled: (report) => report.missedMs,
};
const success: Figure = {
  name: 'success',
  of: (report) => report.success,
  target: '≥ 99.99 %',
  isMet: (value) => value >= 0.9999,
  show: (value) => `${(value * 100).toFixed(3)} %`,
};
const served: Figure = {
  name: 'share served',
  of: ({ surge }) => surge?.success,
  target: '≥ 44 %',
  isMet: (value) => value >= 0.44,
  show: percent,
};
const attempts: Figure = {
  name: 'upstream attempts per request',
  of: ({ surge }) => surge?.attemptsPerRequest,
  target: '≤ 0.6',
  isMet: (value) => value <= 0.6,
  show: plain,
};
/** What is left to save: no request is served without an attempt. */
const attemptsPerAnswer: Figure = {
  name: 'upstream attempts per answer',
  of: ({ surge }) => surge && surge.attemptsPerRequest / surge.success,
  target: '–',
  isMet: () => true,
  show: plain,
};
const median: Figure = {
  name: 'p50 time to first token',
  of: ({ firstTokenMs }) => firstTokenMs.p50,
  target: 'as one',
  isMet: () => true,
  show: seconds,
};

const broken: Figure = {
  name: 'requests answered with a broken tool call',
  of: ({ brokenToolCalls, requests }) => brokenToolCalls / requests,
  target: '≤ 3.3 %',
  isMet: (value) => value <= 250 / 7_655,
  show: percent,
};

/** Which figures of a scenario are shown. The beginning of its name tells. */
const FIGURES: readonly (readonly [string, readonly Figure[]])[] = [
  ['5 % of', [regret(0), victims, recovery, missed]],
  ['15 %', [regret(0.03), victims, recovery, missed]],
  ['two cheapest hang for 10 min, non', [p99, success]],
  ['two cheapest hang', [p99, success]],
  ['two cheapest × 8', [p99, regret(Infinity)]],
  ['two cheapest flap', [regret(0.05)]],
  ['surge × 12, sub', [attempts, served, attemptsPerAnswer]],
  ['surge × 12, no', [served, attempts, attemptsPerAnswer]],
  ['the cheapest breaks', [broken]],
  ['4 instances', [median, regret(0)]],
];

/** Student's t for 95 % by the number of seeds. */
const T_95: Readonly<Record<number, number>> = { 2: 12.71, 3: 4.3, 4: 3.18, 5: 2.78, 6: 2.57, 8: 2.36, 10: 2.26 };

/** Surges are short, so they need more requests to be seen. */
const SURGE_FACTOR = 2;

async function compare(
  scenario: Scenario,
  contestant: Contestant,
  settings: Settings,
): Promise<readonly TrafficReport[]> {
  const requests = settings.requests * (scenario.name.startsWith('surge') ? SURGE_FACTOR : 1);
  const reports: TrafficReport[] = [];
  for (const seed of settings.seeds) {
    reports.push(await simulateTraffic(scenario.world(seed, requests), contestant.make));
  }
  return reports;
}

function line(
  scenario: Scenario,
  contestant: string,
  figure: Figure,
  reports: readonly TrafficReport[],
): string | undefined {
  const values = figure.pooled
    ? medianOf(reports.flatMap(figure.pooled))
    : reports.map(figure.of).filter((value) => value !== undefined);
  if (values.length === 0) return undefined;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, values.length - 1);
  const margin = (T_95[values.length] ?? 2) * Math.sqrt(variance / values.length);
  const interval = values.length < 2 ? '' : ` (${figure.show(mean - margin)} to ${figure.show(mean + margin)})`;
  const crosses = figure.isMet(mean - margin) !== figure.isMet(mean + margin);
  const isFree = figure.target.includes('Infinity');
  const verdict =
    isFree || figure.target === 'as one' || figure.target === '–'
      ? ''
      : figure.isMet(mean)
        ? crosses
          ? 'met, interval crosses'
          : 'met'
        : 'missed';
  const target = isFree ? '–' : figure.target;
  return `| ${scenario.name} | ${figure.name} | ${target} | ${contestant} | ${figure.show(mean)}${interval} | ${verdict} |`;
}

function medianOf(values: readonly number[]): readonly number[] {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted.slice((sorted.length - 1) >> 1, ((sorted.length - 1) >> 1) + 1);
}

interface Settings {
  readonly requests: number;
  readonly seeds: readonly number[];
  readonly scenario: string;
  readonly router: string;
}

function settingsOf(words: readonly string[]): Settings {
  const value = (name: string, usual: string): string => words[words.indexOf(`--${name}`) + 1 || words.length] ?? usual;
  return {
    requests: Number(value('requests', '4000')),
    seeds: value('seeds', '1,2,3,4,5').split(',').map(Number),
    scenario: value('scenario', ''),
    router: value('router', ''),
  };
}

async function main(): Promise<void> {
  const settings = settingsOf(process.argv.slice(2));
  const startedAt = performance.now();
  let simulated = 0;
  console.log(
    '| Scenario | Figure | Target | Router | Mean of the seeds (95 % interval) | |\n|---|---|---|---|---|---|',
  );
  for (const scenario of SCENARIOS.filter(({ name }) => name.includes(settings.scenario))) {
    const figures = FIGURES.find(([beginning]) => scenario.name.startsWith(beginning))?.[1] ?? [];
    for (const contestant of CONTESTANTS) {
      const { name, only } = contestant;
      if (!name.includes(settings.router) || only?.some((part) => scenario.name.includes(part)) === false) continue;
      const reports = await compare(scenario, contestant, settings);
      simulated += reports.reduce((sum, { requests }) => sum + requests, 0);
      for (const figure of figures) {
        const text = line(scenario, name, figure, reports);
        if (text !== undefined) console.log(text);
      }
    }
  }
  const tookS = (performance.now() - startedAt) / 1_000;
  console.log(
    `\n${simulated} requests through real routers in ${tookS.toFixed(0)} s; seeds ${settings.seeds.join(', ')}.`,
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
