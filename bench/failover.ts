import {
  FAULTS,
  type FaultReport,
  FULL,
  runFault,
  SHORT,
  type Variant,
  VARIANTS,
  type Verdict,
} from './failover/faults.ts';

/**
 * Prints how the router meets the sixteen faults of FailoverBench: `npm run bench:failover`. All run at the same time, each
 * against a router and a provider of its own, over real sockets. Options: `--short` with shorter times, `--only S07`.
 */

const isShort = process.argv.includes('--short');
const only = process.argv[process.argv.indexOf('--only') + 1];
const chosen = process.argv.includes('--only') ? FAULTS.filter(({ id }) => id === only) : FAULTS;

async function runAll(variant: Variant): Promise<readonly FaultReport[]> {
  return Promise.all(chosen.map((fault) => runFault(fault, variant, isShort ? SHORT : FULL)));
}

function cellOf({ verdict, observed: { primary, fallback, ms } }: FaultReport): string {
  return `${verdict} (${primary.length} + ${fallback}, ${(ms / 1_000).toFixed(1)} s)`;
}

function countOf(reports: readonly FaultReport[], verdict: Verdict): number {
  return reports.filter((report) => report.verdict === verdict).length;
}

const names = Object.keys(VARIANTS);
const columns = await Promise.all(Object.values(VARIANTS).map((variant) => runAll(variant)));

console.log(`In brackets: calls of the model that fails + of the fallback, and how long the caller's call took.\n`);
console.log(`| | Fault | ${names.join(' | ')} |`);
console.log(`|---|---|${names.map(() => '---|').join('')}`);
for (const [row, { id, title }] of chosen.entries()) {
  const cells = columns.map((reports) => reports[row]).map((report) => (report === undefined ? '' : cellOf(report)));
  console.log(`| ${id} | ${title} | ${cells.join(' | ')} |`);
}
console.log('');
for (const [column, name] of names.entries()) {
  const reports = columns[column] ?? [];
  const counts = (['pass', 'partial', 'safe', 'fail'] as const).map(
    (verdict) => `${countOf(reports, verdict)} ${verdict}`,
  );
  console.log(`${name}: ${counts.join(', ')}`);
  for (const { fault, verdict, reason } of reports)
    if (verdict !== 'pass') console.log(`  ${fault.id} ${verdict}: ${reason}`);
}
process.exitCode = columns.some((reports) => countOf(reports, 'fail') > 0) ? 1 : 0;
