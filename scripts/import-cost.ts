import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ENTRY_POINTS } from './entry-points.ts';

/**
 * What importing this package costs a Node program, beside packages that many programs import: CPU and memory of a
 * process that does nothing else, above those of a process that imports nothing. Each is imported in a process of its
 * own, in turns; of five, the least CPU, since whatever else the machine does only adds to it, and the median of memory.
 * Needs a build.
 *
 * Ratios count, times do not: fails when one is above its limit, or when the package takes more memory than it may.
 * Usage: npm run bench:import
 */
const ROUNDS = 5;
const REFERENCE = 'openai';
/** Most CPU of each entry point, as a share of the reference's, and most megabytes. */
const LIMITS: Readonly<Record<string, { readonly share: number; readonly megabytes: number }>> = {
  signalbox: { share: 0.5, megabytes: 25 },
  'signalbox/minimal': { share: 0.25, megabytes: 20 },
  'signalbox/webhooks': { share: 0.05, megabytes: 5 },
};
const OURS = Object.keys(LIMITS);
const BESIDE = [REFERENCE, 'ai', 'express', 'fastify', 'hono', 'zod'];

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const NOTHING = 'node:process';

interface Cost {
  readonly cpuMs: number;
  readonly residentMegabytes: number;
}

const ours = OURS.filter((name) => ENTRY_POINTS.some(({ specifier }) => specifier === name));
const names = [NOTHING, ...ours, ...BESIDE];
const costs = new Map<string, Cost[]>(names.map((name) => [name, []]));
// The first round only fills the caches of the disk.
for (let round = 0; round <= ROUNDS; round += 1) {
  for (const name of names) {
    const cost = costOfImport(name);
    if (round > 0) costs.get(name)?.push(cost);
  }
}

const nothing = typicalOf(NOTHING);
const reference = above(typicalOf(REFERENCE));
console.table(
  Object.fromEntries(
    [...ours, ...BESIDE].map((name) => {
      const cost = above(typicalOf(name));
      return [
        name,
        {
          'CPU ms': Math.round(cost.cpuMs),
          [`× ${REFERENCE}`]: (cost.cpuMs / reference.cpuMs).toFixed(2),
          'RSS MB': cost.residentMegabytes.toFixed(1),
        },
      ];
    }),
  ),
);

for (const name of ours) {
  const { share, megabytes } = LIMITS[name] ?? { share: 0, megabytes: 0 };
  const cost = above(typicalOf(name));
  if (cost.cpuMs / reference.cpuMs > share || cost.residentMegabytes > megabytes) {
    console.error(`${name} takes more than ${share} of the CPU of ${REFERENCE}, or more than ${megabytes} MB.`);
    process.exitCode = 1;
  }
}

function costOfImport(name: string): Cost {
  const program = `
    await import(${JSON.stringify(name)});
    const { user, system } = process.cpuUsage();
    console.log(JSON.stringify({ cpuMs: (user + system) / 1e3, residentMegabytes: process.memoryUsage.rss() / 1e6 }));
    process.exit();`;
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return JSON.parse(output) as Cost;
}

function typicalOf(name: string): Cost {
  const all = costs.get(name) ?? [];
  const middle = (values: readonly number[]): number =>
    values.toSorted((left, right) => left - right)[ROUNDS >> 1] ?? 0;
  return {
    cpuMs: Math.min(...all.map(({ cpuMs }) => cpuMs)),
    residentMegabytes: middle(all.map(({ residentMegabytes }) => residentMegabytes)),
  };
}

/** Without what an empty program costs. */
function above({ cpuMs, residentMegabytes }: Cost): Cost {
  return { cpuMs: cpuMs - nothing.cpuMs, residentMegabytes: residentMegabytes - nothing.residentMegabytes };
}
