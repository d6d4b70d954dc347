import { readFileSync } from 'node:fs';
import { createRouter } from '../src/index.ts';
import { seededRandom } from '../src/providers/simulated/chance.ts';
import {
  readTrace,
  type SimulatedSetup,
  type SimulatedWire,
  simulateTraffic,
  type TracedRequest,
  type TrafficClient,
  type TrafficReport,
  type TrafficWorld,
} from '../src/entries/testing.ts';
import { atRandom, balancer, leastBusy, type Policy, prefixHashing, roundRobin } from './fleets/policies.ts';
import {
  atLoad,
  conversations,
  dearer,
  documentRequests,
  fleet,
  hosts,
  instances,
  regions,
  slowAndFast,
} from './fleets/worlds.ts';

/**
 * Prints what the router makes of fleets of one's own, shared prompts, regions and prices that change, beside what load
 * balancers do: `npm run bench:fleets`. Options: `--trace file` for recorded requests in place of drawn ones (lines of
 * Mooncake, CSV of Azure), `--requests 3000`, `--seed 1`, `--world documents` for worlds whose name holds this,
 * `--router adaptive`.
 */

type Options = NonNullable<Parameters<typeof createRouter>[0]>;
type Make = (setup: SimulatedSetup, wire: SimulatedWire, world: TrafficWorld) => TrafficClient;

/** A world, what is compared in it, and which figures of it say something. */
interface Situation {
  readonly name: string;
  readonly world: TrafficWorld;
  readonly contestants: Readonly<Record<string, Make>>;
  readonly figures: (report: TrafficReport) => readonly string[];
}

const percent = (value: number): string => `${(value * 100).toFixed(1)} %`;
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;

const router =
  (options: Partial<Options> = {}, provider?: { readonly sort: 'price' | 'latency' | 'throughput' }): Make =>
  (setup) => {
    const made = createRouter({ ...setup, ...options });
    if (provider === undefined) return made;
    return {
      chat: (body, call) => made.chat({ ...body, provider }, call),
      stream: (body, call) => made.stream({ ...body, provider }, call),
    };
  };

const policy =
  (make: () => Policy): Make =>
  (_, wire, { endpoints }) =>
    balancer(
      endpoints.map(({ name }) => wire.direct(name)),
      make(),
    );

/** A model under its variant for speed. */
const nitro: Make = (setup) => {
  const made = createRouter(setup);
  return {
    chat: (body, call) => made.chat({ ...body, model: `${body.model ?? ''}:nitro` }, call),
    stream: (body, call) => made.stream({ ...body, model: `${body.model ?? ''}:nitro` }, call),
  };
};

const BALANCERS: Readonly<Record<string, Make>> = {
  'least busy': policy(leastBusy),
  'prefix hashing': policy(prefixHashing),
  'round robin': policy(roundRobin),
  random: policy(() => atRandom(seededRandom(7))),
};

const load = (report: TrafficReport): readonly string[] => [
  `${percent(report.success)} served`,
  `p50 ${seconds(report.firstTokenMs.p50)}`,
  `p99 ${seconds(report.firstTokenMs.p99)}`,
  `${percent(report.cachedShare)} cached`,
  `${report.attemptsPerRequest.toFixed(3)} calls`,
];
const cost = (report: TrafficReport): readonly string[] => [
  `regret ${percent(report.regret)}`,
  `${percent(report.cachedShare)} cached`,
  `p50 ${seconds(report.firstTokenMs.p50)}`,
  `${percent(report.success)} served`,
];

function situations(seed: number, requests: number, trace: readonly TracedRequest[] | undefined): readonly Situation[] {
  const talks = trace ?? conversations(seed, requests);
  const questions = trace ?? documentRequests(seed, requests);
  const SERVERS = 8;
  const fleetAt = (share: number, declaresPrice = true): TrafficWorld => ({
    seed,
    endpoints: fleet(SERVERS, { declaresPrice }),
    traffic: { trace: atLoad(talks, SERVERS, share) },
  });
  const ours = { adaptive: router() };
  const priced = { adaptive: router(), 'sort: price': router({}, { sort: 'price' }) };
  const atHosts = (requestsSent: readonly TracedRequest[], named: number): TrafficWorld => ({
    seed,
    endpoints: hosts(seed),
    outages: { share: 0.05 },
    traffic: { trace: requestsSent, named },
  });
  const [, fastName = ''] = slowAndFast(seed, 1).endpoints.map(({ name }) => name);
  const toFast = (report: TrafficReport): readonly string[] => [`${percent(report.shares[fastName] ?? 0)} to the fast`];
  const refusals = (report: TrafficReport): readonly string[] => [
    `${(report.attemptsPerRequest - report.success).toFixed(3)} refused calls per request`,
    `${percent(report.success)} served`,
    `regret ${percent(report.regret)}`,
  ];
  return [
    {
      name: 'fleet of 8, 60 % load',
      world: fleetAt(0.6),
      contestants: { ...ours, ...BALANCERS, 'pacer: false': router({ pacer: false }) },
      figures: load,
    },
    { name: 'fleet of 8, 60 % load, no prices', world: fleetAt(0.6, false), contestants: ours, figures: load },
    { name: 'fleet of 8, 75 % load', world: fleetAt(0.75), contestants: { ...ours, ...BALANCERS }, figures: load },
    { name: 'shared documents, session named', world: atHosts(questions, 1), contestants: priced, figures: cost },
    { name: 'shared documents, not named', world: atHosts(questions, 0), contestants: priced, figures: cost },
    { name: 'conversations, session named', world: atHosts(talks, 1), contestants: priced, figures: cost },
    { name: 'conversations, not named', world: atHosts(talks, 0), contestants: priced, figures: cost },
    {
      name: 'slow endpoint declared first',
      world: slowAndFast(seed, Math.min(2_000, requests)),
      contestants: {
        'sort: latency': router({}, { sort: 'latency' }),
        'sort: throughput': router({}, { sort: 'throughput' }),
        ':nitro': nitro,
      },
      figures: toFast,
    },
    { name: 'eight regions, equal prices', world: regions(seed, requests), contestants: ours, figures: cost },
    { name: 'price × 4 that only the usage says', world: dearer(seed, requests), contestants: priced, figures: cost },
    { name: '4 instances, no store', world: instances(seed, requests), contestants: noStore(), figures: refusals },
    { name: '4 instances, fast store', world: instances(seed, requests, 1), contestants: ours, figures: refusals },
    { name: '4 instances, slow store', world: instances(seed, requests, 400), contestants: ours, figures: refusals },
  ];
}

/** Instances that share nothing. */
function noStore(): Readonly<Record<string, Make>> {
  return { adaptive: ({ providers, environment }) => createRouter({ providers, environment }) };
}

async function main(): Promise<void> {
  const words = process.argv.slice(2);
  const value = (name: string, usual: string): string => words[words.indexOf(`--${name}`) + 1 || words.length] ?? usual;
  const file = value('trace', '');
  const recorded = file === '' ? undefined : readTrace(readFileSync(file, 'utf8'));
  const requests = Number(value('requests', '3000'));
  const trace = recorded?.slice(0, words.includes('--requests') ? requests : recorded.length);
  console.log('| World | Router | Figures |\n|---|---|---|');
  for (const { name, world, contestants, figures } of situations(Number(value('seed', '1')), requests, trace)) {
    if (!name.includes(value('world', ''))) continue;
    for (const [contestant, make] of Object.entries(contestants)) {
      if (!contestant.includes(value('router', ''))) continue;
      const report = await simulateTraffic(world, (setup, wire) => make(setup, wire, world));
      console.log(`| ${name} | ${contestant} | ${figures(report).join(' · ')} |`);
    }
  }
}

await main();
