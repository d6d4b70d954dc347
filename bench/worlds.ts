import { pathToFileURL } from 'node:url';
import { FALLBACK } from '../src/options/fallback.ts';
import { fill } from '../src/options/option.ts';
import {
  type Better,
  betterThanRouter,
  compare,
  type Compared,
  isAlwaysOpen,
  MARGIN,
  MOST_REFUSED,
  shortfall,
  shortfallWithRetries,
  throughRouter,
  type TimedReport,
  timesOfAsMany,
} from './worlds/compare.ts';
import { deadOnly, evenFailures, evenPoison, type KnownWorld, randomWorld, WORLD_KINDS } from './worlds/worlds.ts';

/**
 * Prints whether the router answers fewer requests than programs without one, in random worlds in which endpoints fail
 * some of the time: `npm run bench:worlds`. Options: `--worlds 300`, `--from 0` for the number of the first,
 * `--seed 1`, `--requests 1500`, `--kind 'poison'` for kinds whose name holds this, `--world 17` for one world alone.
 */

interface Settings {
  readonly worlds: number;
  readonly from: number;
  readonly seed: number;
  readonly requests: number;
  readonly kind: string;
  readonly world: string;
}

interface Run {
  readonly index: number;
  readonly known: KnownWorld;
  readonly reports: Compared;
  /** Who answers more than the router, beyond chance. */
  readonly better: readonly Better[];
}

const percent = (value: number): string => `${(value * 100).toFixed(1)} %`;
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const p99 = ({ timesMs }: TimedReport): number => timesMs[Math.ceil(0.99 * timesMs.length) - 1] ?? 0;

/** A row of the table of targets. */
function row(figure: string, target: string, value: string, isMet: boolean): string {
  return `| ${figure} | ${target} | ${value} | ${isMet ? 'met' : 'missed'} |`;
}

/** The kinds of worlds, each with the means over its worlds. */
function kindsTable(runs: readonly Run[]): string {
  const head =
    '| Worlds | Number | Answered: router | (a) direct | (b) retried | (c) round robin | (d) oracle | With retries of client libraries: router / (b) / (c) | Healthy answered: router | Refused in vain | Calls per request: router / (b) / (c) | p99 to the first token beside (c) | Worse than (a), (b) or (c), beyond chance |';
  const lines = WORLD_KINDS.flatMap((kind) => {
    const own = runs.filter(({ known }) => known.kind === kind);
    if (own.length === 0) return [];
    const of = (figure: (reports: Compared) => number): number => mean(own.map(({ reports }) => figure(reports)));
    return [
      [
        '',
        kind,
        own.length,
        percent(of(({ router }) => router.success)),
        percent(of(({ direct }) => direct.success)),
        percent(of(({ retried }) => retried.success)),
        percent(of(({ roundRobin }) => roundRobin.success)),
        percent(of(({ oracle }) => oracle.success)),
        [
          of(({ retriedRouter }) => retriedRouter.success),
          of(({ retriedByLibrary }) => retriedByLibrary.success),
          of(({ roundRobinByLibrary }) => roundRobinByLibrary.success),
        ]
          .map(percent)
          .join(' / '),
        percent(of(({ router }) => router.healthySuccess)),
        `${(100 * of(({ router }) => router.refusedInVain)).toFixed(2)} %`,
        [
          of(({ router }) => router.attemptsPerRequest),
          of(({ retried }) => retried.attemptsPerRequest),
          of(({ roundRobin }) => roundRobin.attemptsPerRequest),
        ]
          .map((value) => value.toFixed(2))
          .join(' / '),
        `× ${of(({ router, roundRobin }) => p99(router) / p99(roundRobin)).toFixed(2)}`,
        own.filter(({ better }) => better.length > 0).length,
        '',
      ]
        .join(' | ')
        .trim(),
    ];
  });
  return [head, `|${'---|'.repeat(13)}`, ...lines].join('\n');
}

/** What the targets say of the random worlds. */
function randomRows(runs: readonly Run[]): readonly string[] {
  const worse = runs.filter(({ better }) => better.some(({ own }) => own === 'router'));
  const worseBehind = runs.filter(({ better }) => better.some(({ own }) => own === 'retriedRouter'));
  const suspects = runs.filter(({ reports }) => looksWorse(reports));
  const open = runs.filter(({ known }) => isAlwaysOpen(known));
  const refusing = open.filter(({ reports }) => refusedInVain(reports) > MOST_REFUSED);
  const mostRefused = Math.max(0, ...open.map(({ reports }) => refusedInVain(reports)));
  const brownOuts = runs.flatMap(({ known: { share }, reports }) =>
    share === undefined || share === 0 ? [] : [{ share, reports }],
  );
  const calls = brownOuts.filter(({ share, reports }) => reports.router.attemptsPerRequest * (1 - share) > 1.1);
  const most = Math.max(0, ...brownOuts.map(({ share, reports }) => reports.router.attemptsPerRequest * (1 - share)));
  const late = brownOuts.filter(({ reports: { router, roundRobin } }) => isLater(router, roundRobin));
  const slower = brownOuts.filter(({ reports: { router, roundRobin } }) => {
    const [own, other] = timesOfAsMany(router, roundRobin);
    return own > other * 1.01;
  });
  const well = runs.filter(({ known }) => known.share === 0);
  const cost = mean(well.map(({ reports: { router, direct } }) => router.costUsd / direct.costUsd));
  return [
    row(
      `worlds in which fewer requests are answered than by (a), (b) or (c), beyond 0.2 points and chance (${suspects.length} looked so and were run again)`,
      '0',
      `${worse.length} of ${runs.length}`,
      worse.length === 0,
    ),
    row(
      'the same behind a client library with its retries, beside (b) and (c) with these',
      '0',
      `${worseBehind.length} of ${runs.length}`,
      worseBehind.length === 0,
    ),
    row(
      'worlds without limits and outages in which more than 0.1 % of the requests are refused by the router while an endpoint would have answered; the most',
      '0',
      `${refusing.length} of ${open.length}; ${(100 * mostRefused).toFixed(2)} %`,
      refusing.length === 0,
    ),
    row(
      'upstream calls per request in a brown-out, as many times 1 / (1 − share): the most, and worlds above',
      '≤ 1.1',
      `${most.toFixed(2)}, ${calls.length} of ${brownOuts.length}`,
      calls.length === 0,
    ),
    row(
      'brown-outs in which as many requests as (c) answers, 99 % at most, have their first token later than with (c), beyond 1 %',
      '0',
      `${slower.length} of ${brownOuts.length}`,
      slower.length === 0,
    ),
    row(
      'brown-outs in which the 99th percentile of the requests that were answered is above that of (c), beyond 1 %',
      '0',
      `${late.length} of ${brownOuts.length}`,
      late.length === 0,
    ),
    ...(well.length === 0
      ? []
      : [row('cost beside (a), where everything is well', '≤ 1.00 ×', `${cost.toFixed(3)} ×`, cost < 1.005)]),
  ];
}

/** Worlds that are made for one figure each. */
async function fixedRows({ seed, requests }: Settings): Promise<readonly string[]> {
  const rows: string[] = [];
  const { triesPerEndpoint, maxAttempts } = fill(FALLBACK);
  const own = 2 * requests;
  for (const errors of [0.1, 0.3, 0.5]) {
    for (const count of [1, 2, 4]) {
      const tries = Math.min(maxAttempts, triesPerEndpoint * count);
      const expected = 1 - errors ** tries;
      const { success, attemptsPerRequest } = await throughRouter(evenFailures(seed, own, count, errors));
      rows.push(
        row(
          `random failures of ${errors * 100} % at ${count}: answered, of ${percent(expected)} by arithmetic of ${tries} tries (${attemptsPerRequest.toFixed(2)} calls per request)`,
          '≤ 0.5 points below',
          percent(success),
          success >= expected - 0.005,
        ),
      );
    }
  }
  for (const share of [0.05, 0.1, 0.3]) {
    for (const oneAccount of [false, true]) {
      const shares: number[] = [];
      for (const count of [1, 2, 4]) {
        const report = await throughRouter(evenPoison(seed, own, count, { share, oneAccount }));
        shares.push(report.healthySuccess);
      }
      rows.push(
        row(
          `healthy requests answered with ${share * 100} % poison${oneAccount ? ' from one account' : ''}, at 1 / 2 / 4`,
          '≥ 99.9 %',
          shares.map((value) => `${(value * 100).toFixed(2)} %`).join(' / '),
          shares.every((value) => value >= 0.999),
        ),
      );
    }
  }
  const dead = await throughRouter(deadOnly(seed, 100));
  rows.push(
    row(
      'calls a second at a dead endpoint, nothing else left, 100 requests a second, after the first second',
      '≤ 5',
      dead.deadCallsPerSecond.toFixed(2),
      dead.deadCallsPerSecond <= 5,
    ),
  );
  for (const perSecond of [10, 100]) {
    const { backAfterMs } = await throughRouter(deadOnly(seed, perSecond));
    const [ms = Infinity] = backAfterMs;
    rows.push(
      row(
        `a dead only endpoint comes back: first answer, ${perSecond} requests a second`,
        '≤ 1 s',
        seconds(ms),
        ms <= 1_000,
      ),
    );
  }
  return rows;
}

function refusedInVain({ router, retriedRouter }: Compared): number {
  return Math.max(router.refusedInVain, retriedRouter.refusedInVain);
}

function looksWorse(reports: Compared): boolean {
  return shortfall(reports) > MARGIN || shortfallWithRetries(reports) > MARGIN;
}

function worstLines(runs: readonly Run[]): readonly string[] {
  return runs
    .flatMap((run) => run.better.map((better) => ({ ...run, better })))
    .toSorted((left, right) => right.better.by - left.better.by)
    .map(({ index, known, reports, better: { own, rival, by } }) => {
      const failures = Object.entries(reports[own].failures).map(([status, count]) => `${count} × ${status}`);
      const points = `${(100 * by).toFixed(1)} points`;
      return `| ${index} | ${known.kind} | ${known.world.endpoints.length} | ${percent(reports[own].success)} | ${rival} ${percent(reports[rival].success)} | ${points} | ${failures.join(', ')} |`;
    });
}

function refusedLines(runs: readonly Run[]): readonly string[] {
  return runs
    .filter(({ known, reports }) => isAlwaysOpen(known) && refusedInVain(reports) > MOST_REFUSED)
    .map(({ index, known, reports: { router, retriedRouter } }) => {
      const shares = [router, retriedRouter].map((report) => `${(100 * report.refusedInVain).toFixed(2)} %`);
      return `| ${index} | ${known.kind} | ${known.world.endpoints.length} | ${shares.join(' / ')} |`;
    });
}

function lateLines(runs: readonly Run[]): readonly string[] {
  return runs
    .filter(({ known: { share = 0 }, reports: { router, roundRobin } }) => share > 0 && isLater(router, roundRobin))
    .map(({ index, known, reports: { router, roundRobin } }) => {
      const answered = `${percent(router.success)} / ${percent(roundRobin.success)}`;
      const ofAsMany = timesOfAsMany(router, roundRobin).map(seconds).join(' / ');
      const endpoints = known.world.endpoints.length;
      return `| ${index} | ${known.kind} | ${endpoints} | ${percent(known.share ?? 0)} | ${answered} | ${seconds(p99(router))} / ${seconds(p99(roundRobin))} | ${ofAsMany} |`;
    });
}

/** Whether the 99th percentile is above another one by more than 1 %. */
function isLater(one: TimedReport, other: TimedReport): boolean {
  return p99(one) > p99(other) * 1.01;
}

function settingsOf(words: readonly string[]): Settings {
  const value = (name: string, usual: string): string => words[words.indexOf(`--${name}`) + 1 || words.length] ?? usual;
  return {
    worlds: Number(value('worlds', '300')),
    from: Number(value('from', '0')),
    seed: Number(value('seed', '1')),
    requests: Number(value('requests', '1500')),
    kind: value('kind', ''),
    world: value('world', ''),
  };
}

async function main(): Promise<void> {
  const settings = settingsOf(process.argv.slice(2));
  const startedAt = performance.now();
  const runs: Run[] = [];
  const indexes =
    settings.world === ''
      ? Array.from({ length: settings.worlds }, (_, index) => settings.from + index)
      : [Number(settings.world)];
  for (const index of indexes) {
    const known = randomWorld(settings.seed, index, settings.requests);
    if (!known.kind.includes(settings.kind)) continue;
    const reports = await compare(known);
    runs.push({ index, known, reports, better: await betterThanRouter(known, reports) });
  }
  const isWhole = settings.kind === '' && settings.world === '' && settings.from === 0;
  console.log(kindsTable(runs));
  console.log('\n| Figure | Target | Value | |\n|---|---|---|---|');
  for (const line of [...randomRows(runs), ...(isWhole ? await fixedRows(settings) : [])]) console.log(line);
  const worst = worstLines(runs);
  if (worst.length > 0) {
    console.log(
      '\n| World | Kind | Endpoints | Answered: router | By whom more | In the mean of twelve | Failures of the router |\n|---|---|---|---|---|---|---|',
    );
    for (const line of worst) console.log(line);
  }
  const refused = refusedLines(runs);
  if (refused.length > 0) {
    console.log(
      '\n| World | Kind | Endpoints | Refused in vain: router / behind a client library |\n|---|---|---|---|',
    );
    for (const line of refused) console.log(line);
  }
  const late = lateLines(runs);
  if (late.length > 0) {
    console.log(
      '\n| World | Kind | Endpoints | Share | Answered: router / (c) | p99 to the first token | The same of as many requests |\n|---|---|---|---|---|---|---|',
    );
    for (const line of late) console.log(line);
  }
  const tookS = (performance.now() - startedAt) / 1_000;
  console.log(
    `\n${runs.length} worlds, seed ${settings.seed}, ${settings.requests} requests each, in ${tookS.toFixed(0)} s.`,
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
