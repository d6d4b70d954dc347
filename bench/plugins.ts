import type { PluginCase } from './plugins/plugin-case.ts';
import { compressionCases } from './plugins/compression.ts';
import { healingCases } from './plugins/healing.ts';
import { tellPools } from './plugins/pools.ts';
import { tellRealAnswers } from './plugins/real-answers.ts';
import { routingCases } from './plugins/routing.ts';

/**
 * What the plugins' own work costs, in microseconds of CPU, and how good it is where that can be counted.
 * Usage: npm run bench:plugins, or with copies of public prompt sets (see plugins/public-prompts.ts):
 * npm run bench:plugins -- mt-bench=path/question.jsonl; with `zeroeval=path/result_dirs` it heals real answers, too (see
 * plugins/real-answers.ts).
 */
const given = process.argv.slice(2);
const realAnswers = given.find((one) => one.startsWith('zeroeval='));
if (realAnswers !== undefined) tellRealAnswers(realAnswers.slice('zeroeval='.length));
await tellPools();
const CASES: readonly PluginCase[] = [...healingCases(), ...compressionCases(), ...(await routingCases())];
/** Milliseconds that each case is run for. */
const DURATION = 400;

for (const { name, run } of CASES) {
  const rounds = roundsIn(run, DURATION / 4);
  const best = Math.min(...[0, 1, 2].map(() => cpuPer(run, rounds)));
  console.log(`${name.padEnd(60)} ${best.toFixed(best < 100 ? 1 : 0).padStart(10)} µs`);
}

/** How often something can be done in so many milliseconds; warms it up, too. */
function roundsIn(run: () => unknown, ms: number): number {
  const end = performance.now() + ms;
  let rounds = 0;
  for (; rounds === 0 || performance.now() < end; rounds += 1) run();
  return rounds;
}

function cpuPer(run: () => unknown, rounds: number): number {
  const before = process.cpuUsage();
  for (let round = 0; round < rounds; round += 1) run();
  return process.cpuUsage(before).user / rounds;
}
