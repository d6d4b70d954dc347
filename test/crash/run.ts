import process from 'node:process';
import { FAIL_POINTS } from '../../src/runtime/batches/ports.ts';
import { postgresStorage } from 'signalbox/postgres';
import { sqliteStorage } from 'signalbox/sqlite';
import { seededRandom } from 'signalbox/testing';
import { startPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type ArenaReport, runArena } from './arena.ts';

/**
 * The long crash test: three workers on one PostgreSQL and two on one SQLite file are killed and paused while they
 * work, and the database is restarted under them. Then the same checks look at a store without fencing, where they must
 * find something.
 * Usage: npm run test:crash [-- <seed> [<times as many blows> [<milliseconds of a lease>]]]
 */
const seed = Number(process.argv[2] ?? Date.now() % 1_000_000);
const times = Number(process.argv[3] ?? 1);
const begun = Date.now();
const leaseMs = Number(process.argv[4] ?? 1_000);
/**
 * A webhook that failed twice is sent again after five minutes, more or less, and a task during which processes died time
 * and again is put off for up to ten.
 */
const LONGEST_WAIT_MS = 660_000;
const common = { leaseMs, blind: 0.25, strikeMs: 300_000 * times, drainMs: LONGEST_WAIT_MS };
console.log(`Seed ${seed}. Leases of ${leaseMs} ms.`);

using folder = temporaryFolder();
await using postgres = await startPostgres();
const shared = { connectionString: postgres.connectionString, connections: 2 };
const stores = {
  PostgreSQL: postgresStorage(shared),
  SQLite: sqliteStorage({ file: folder.file('batches.db') }),
  'SQLite without fencing': sqliteStorage({ file: folder.file('unfenced.db') }),
};
let healthy = true;

const [onPostgres, onSqlite] = await allOrNothing([
  runArena({
    ...common,
    setup: { store: 'postgres', where: postgres.connectionString },
    store: stores.PostgreSQL,
    queues: ['pg-boss', 'local'],
    workers: 3,
    kills: Math.round(120 * times),
    pauses: Math.round(60 * times),
    restart: { times: Math.round(20 * times), run: () => postgres.crash() },
    random: seededRandom(seed),
  }),
  runArena({
    ...common,
    setup: { store: 'sqlite', where: folder.file('batches.db') },
    store: stores.SQLite,
    workers: 2,
    kills: Math.round(85 * times),
    pauses: Math.round(45 * times),
    random: seededRandom(seed + 1),
  }),
]);
describe('PostgreSQL', onPostgres);
describe('SQLite', onSqlite);

const kills = onPostgres.kills + onSqlite.kills;
const pauses = onPostgres.pauses + onSqlite.pauses;
console.log(`\nTogether: ${kills} kills, ${pauses} pauses, ${onPostgres.restarts} restarts of PostgreSQL.`);
console.log('\nPlace               reached  killed  paused');
for (const point of FAIL_POINTS) {
  const [one, two] = [onPostgres.points.get(point), onSqlite.points.get(point)];
  const counts = (['reached', 'kill', 'pause'] as const).map((name) => (one?.[name] ?? 0) + (two?.[name] ?? 0));
  console.log(`${point.padEnd(18)}${counts.map((count) => String(count).padStart(8)).join(' ')}`);
  demand(
    counts.every((count) => count > 0),
    `${point} was not reached, or nobody was killed and paused there`,
  );
}
demand(
  kills >= 200 * times && pauses >= 100 * times && onPostgres.restarts >= 20 * times,
  'there were fewer blows than there should be',
);

const [twin] = await allOrNothing([
  runArena({
    ...common,
    setup: { store: 'sqlite', where: folder.file('unfenced.db'), unfenced: true },
    store: stores['SQLite without fencing'],
    workers: 3,
    kills: 0,
    pauses: 2,
    points: ['run.answered'],
    patient: true,
    blind: 0,
    drainMs: 10_000,
    random: seededRandom(seed + 2),
  }),
]);
console.log(`\nSQLite without fencing, ${twin.pauses} pauses: ${twin.findings.doubled.length} doubled. For example:`);
for (const finding of twin.findings.doubled.slice(0, 3)) console.log(`  ${finding}`);
demand(twin.findings.doubled.length > 0, 'the checks do not find what a store without fencing doubles');

for (const store of Object.values(stores)) await store.close();
console.log(`\n${healthy ? 'Passed' : 'FAILED'} after ${Math.round((Date.now() - begun) / 1_000)} s.`);
process.exitCode = healthy ? 0 : 1;

/** Ends everything at once when the workers of one cannot start. */
async function allOrNothing<const Arenas extends readonly Promise<ArenaReport>[]>(
  arenas: Arenas,
): Promise<{ [Place in keyof Arenas]: ArenaReport }> {
  try {
    return await Promise.all(arenas);
  } catch (error) {
    console.log(`FAILED: ${error instanceof Error ? error.message : String(error)}`);
    await postgres[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
    process.exit(1);
  }
}

function demand(holds: boolean, complaint: string): void {
  if (holds) return;
  healthy = false;
  console.log(`  FAILED: ${complaint}`);
}

function describe(name: string, { findings, ...report }: ArenaReport): void {
  const { lost, doubled, exits, givenUp, repeatedCalls, unexplained, late, early } = findings;
  console.log(`\n${name}: ${report.kills} kills, ${report.pauses} pauses, ${report.restarts} restarts`);
  console.log(`  ${report.together} batches were run by several processes`);
  demand(report.together > 0, `${name} had no batch that several processes ran`);
  console.log(`  ${report.batches} batches, ${report.requests} requests, ${report.upstreamCalls} upstream calls`);
  console.log(`  ${repeatedCalls} calls repeated, ${givenUp} requests given up, ${report.deliveries} webhooks sent`);
  console.log(`  ${lost.length} lost, ${doubled.length} doubled, ${exits.length} exits`);
  console.log(`  ${unexplained.length} calls repeated for no reason, ${late.length} after the end of their batch`);
  console.log(`  ${early.length} ends told before they could be read, of ${report.looks} that were looked at`);
  for (const some of [exits, doubled, unexplained, late, early, lost])
    for (const finding of some.slice(0, 10)) console.log(`    ${finding}`);
  for (const history of findings.histories.slice(0, 3)) console.log(`    ${history.replaceAll('\n', '\n    ')}`);
  demand(lost.length + doubled.length + exits.length + givenUp === 0, `${name} broke its promise`);
  demand(unexplained.length === 0, `${name} repeated calls that no kill, pause or restart explains`);
  demand(late.length === 0, `${name} ran requests of batches that had been cancelled or had expired`);
  demand(early.length === 0 && report.looks > 0, `${name} told of ends that could not be read`);
}
