import { createRouter, type Router, simulated } from '../src/index.ts';
import { type LedgerRecord, replay } from '../src/entries/replay.ts';
import { simulateTraffic } from '../src/entries/testing.ts';

/**
 * Prints what the ledger costs a request, and how fast decisions are played again: `npm run bench:ledger`. CPU of this
 * process. Options: `--decisions 1000000`, `--requests 20000`, `--rounds 7`.
 */

const option = (name: string, usual: number): number => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? usual : Number(process.argv[at + 1]);
};

const DECISIONS = option('decisions', 1_000_000);
const REQUESTS = option('requests', 4_000);
const ROUNDS = option('rounds', 15);

function cpuMs(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000;
}

function median(values: readonly number[]): number {
  return [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

/** Microseconds of CPU per request, with the ledger off and on, in turns so that the machine is the same for both. */
async function ledgerCosts(): Promise<void> {
  const make = (ledger: boolean): Router =>
    createRouter({
      providers: [1, 2, 3].map((number) =>
        simulated({
          slug: `p${number}`,
          firstTokenMs: 0,
          tokensPerSecond: 0,
          answer: () => 'Hi',
          models: { 'acme/one': { price: { prompt: number, completion: 2 * number } } },
        }),
      ),
      ledger,
    });
  const routers = { off: make(false), on: make(true) };
  const body = { model: 'acme/one', messages: [{ role: 'user' as const, content: 'Hello' }] };
  const costs: Record<'off' | 'on', number[]> = { off: [], on: [] };
  const differences: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of round % 2 === 0 ? (['off', 'on'] as const) : (['on', 'off'] as const)) {
      const before = process.cpuUsage();
      for (let index = 0; index < REQUESTS; index += 1) await routers[name].chat(body);
      costs[name].push((cpuMs(before) * 1_000) / REQUESTS);
    }
    // The first rounds are those of the compiler.
    if (round >= 3) differences.push((costs.on.at(-1) ?? 0) - (costs.off.at(-1) ?? 0));
  }
  const [off, on] = [median(costs.off.slice(3)), median(costs.on.slice(3))];
  console.log(`in-process chat, µs of CPU: ledger off ${off.toFixed(1)}, in memory ${on.toFixed(1)}`);
  console.log(`  difference, median of ${differences.length} rounds: ${median(differences).toFixed(2)} µs`);
  const before = process.cpuUsage();
  const page = await routers.on.ledger?.read({ limit: 1_000 });
  const records = page?.records ?? [];
  console.log(
    `  writing out a record when somebody reads: ${((cpuMs(before) * 1_000) / records.length).toFixed(1)} µs`,
  );
  await Promise.all(Object.values(routers).map((router) => router.close()));
}

/** Seconds of CPU for so many decisions. */
async function replayCosts(): Promise<void> {
  let router: Router | undefined;
  let providers: Parameters<typeof createRouter>[0] = {};
  await simulateTraffic(
    {
      endpoints: ['a', 'b', 'c', 'd'].map((name, index) => ({
        name,
        price: { prompt: 0.2 + 0.1 * index, completion: 1 + index },
        latency: { medianMs: 400 + 100 * index },
      })),
      outages: { share: 0.05 },
      traffic: { requests: 3_000, streaming: 0.7 },
    },
    (setup) => {
      providers = { providers: setup.providers };
      return (router = createRouter({ ...setup, ledger: { keep: 5_000 } }));
    },
  );
  const { records = [] } = (await router?.ledger?.read({ limit: 5_000 })) ?? {};
  const lines = records.map((record) => JSON.stringify(record));
  const bytes = lines.reduce((sum, line) => sum + line.length, 0) / lines.length;
  console.log(`a record with four endpoints has ${bytes.toFixed(0)} bytes`);
  function* many(): Generator<LedgerRecord> {
    for (let index = 0; index < DECISIONS; index += 1) yield records[index % records.length] as LedgerRecord;
  }
  function* parsed(): Generator<LedgerRecord> {
    for (let index = 0; index < DECISIONS; index += 1)
      yield JSON.parse(lines[index % lines.length] ?? '') as LedgerRecord;
  }
  // What reading them costs by itself: the replay can do nothing about it, and the machine is the same for both.
  const beforeParsing = process.cpuUsage();
  let read = 0;
  for (const { candidates } of parsed()) read += candidates.length;
  console.log(
    `JSON.parse of so many lines alone: ${(cpuMs(beforeParsing) / 1_000).toFixed(1)} s of CPU (${read} candidates)`,
  );
  for (const [name, made] of [
    ['records', many],
    ['JSON lines', parsed],
  ] as const) {
    const before = process.cpuUsage();
    const startedAt = performance.now();
    const first = JSON.stringify(await replay(made(), { ...providers, policy: { ignore: ['a'] } }));
    const seconds = cpuMs(before) / 1_000;
    const wall = (performance.now() - startedAt) / 1_000;
    console.log(`replay of ${DECISIONS} decisions from ${name}: ${seconds.toFixed(1)} s of CPU, ${wall.toFixed(1)} s`);
    if (name === 'records') {
      const again = JSON.stringify(await replay(made(), { ...providers, policy: { ignore: ['a'] } }));
      console.log(`  again: ${again === first ? 'the same bytes' : 'OTHER BYTES'}`);
    }
  }
}

await ledgerCosts();
await replayCosts();
