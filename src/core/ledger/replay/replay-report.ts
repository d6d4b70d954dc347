import type { Interval } from './local-means.ts';

/** What a replay found. Plain data, so that it can be put into a pull request. */
export interface ReplayReport {
  /** Records that were read. */
  readonly records: number;
  /** Those that were decided again. The others decided nothing: a plugin or the response cache answered. */
  readonly decided: number;
  /** Requests that nothing could answer any more: their models, or all of their endpoints, are gone, or a rule refuses them. */
  readonly unroutable: number;
  /** Requests that would go to another endpoint first. */
  readonly differing: number;
  /** Requests with the same first endpoint and others behind it, in another order, or for another reason. */
  readonly reordered: number;
  /** True when every decision is the same, to the last digit that records keep. */
  readonly identical: boolean;
  /** Ids of rules that were never applied, because they look at metadata that no record has as a tag. */
  readonly undecided_rules: readonly string[];
  /** Where requests would go instead, the most frequent first. */
  readonly changes: readonly ReplayChange[];
  /** What the decisions themselves expected, in nano-dollars per request: no estimate, where both have a price. */
  readonly expected_cost_nano_usd: Compared;
  /** What was charged for the calls, in nano-dollars per request. */
  readonly cost_nano_usd: Estimated;
  /** Requests that are not in `cost_nano_usd`, because the price of one of their calls was unknown. */
  readonly unpriced: number;
  /** Share of requests that failed. Those whose caller disconnected do not count. */
  readonly failures: Estimated;
  /** Milliseconds to the first token of streams that were answered. */
  readonly first_token_ms: Estimated;
  /** Milliseconds to the end of non-streaming answers. */
  readonly answer_ms: Estimated;
}

/** Requests that went one way and would go another. */
export interface ReplayChange {
  /** Endpoint ids. Null where there was none, or would be none. */
  readonly from: string | null;
  readonly to: string | null;
  readonly requests: number;
}

/** A mean before and after. */
export interface Compared {
  readonly requests: number;
  readonly before: number;
  readonly after: number;
}

/**
 * A mean as it was, and an estimate of what it would be. Outcomes of requests that would go elsewhere are estimated from
 * requests that did go there, near in time; all others stay as they were.
 */
export interface Estimated extends Compared {
  /** After less before, with its 95 % interval. */
  readonly difference: Interval;
  /** Requests whose outcome is an estimate. */
  readonly estimated: number;
  /** Requests that would go where none went: nothing is known of them, and they are left out. */
  readonly unknown: number;
}

/** Changes that are shown; the rest is summed up. */
const SHOWN = 10;

/** A replay as a table in Markdown, for people and for pull requests. */
export function replayTable(report: ReplayReport): string {
  const { records, decided, differing, reordered, unroutable, undecided_rules: undecided, changes } = report;
  const lines = [
    `Replayed ${decided} of ${records} records.`,
    report.identical
      ? 'Every decision is the same.'
      : `${differing} would go to another endpoint first (${percent(differing, decided)}), ` +
        `${reordered} differ behind the first, ${unroutable} would find no endpoint.`,
    ...(undecided.length === 0
      ? []
      : [
          `Rules that look at metadata which no record has as a tag were not applied: ${undecided.map(cell).join(', ')}.`,
        ]),
    '',
    '| | before | after | difference (95 % interval) | estimated | unknown |',
    '| --- | ---: | ---: | ---: | ---: | ---: |',
    row('cost per request, $', report.cost_nano_usd, usd),
    row('failed, %', report.failures, share),
    row('first token of streams, ms', report.first_token_ms, whole),
    row('non-streaming responses, ms', report.answer_ms, whole),
    '',
    `Expected by the decisions themselves: $${usd(report.expected_cost_nano_usd.before)} before, ` +
      `$${usd(report.expected_cost_nano_usd.after)} after, per request.`,
    ...(report.unpriced === 0 ? [] : [`And ${report.unpriced} of unknown price, whose cost is not in the first line.`]),
  ];
  if (changes.length === 0) return lines.join('\n');
  const shown = changes
    .slice(0, SHOWN)
    .map(({ from, to, requests }) => `| ${cell(from)} | ${cell(to)} | ${requests} |`);
  const rest = changes.slice(SHOWN).reduce((sum, { requests }) => sum + requests, 0);
  return [
    ...lines,
    '',
    '| from | to | requests |',
    '| --- | --- | ---: |',
    ...shown,
    ...(rest === 0 ? [] : [`| others | | ${rest} |`]),
  ].join('\n');
}

function row(name: string, estimated: Estimated, write: (value: number) => string): string {
  if (estimated.requests === 0) return `| ${name} | – | – | – | 0 | ${estimated.unknown} |`;
  const { before, after, difference } = estimated;
  const mark = estimated.estimated === 0 ? '' : '≈ ';
  const cells = [write(before), `${mark}${write(after)}`, interval(difference, write)];
  return `| ${name} | ${cells.join(' | ')} | ${estimated.estimated} | ${estimated.unknown} |`;
}

function interval({ value, low, high }: Interval, write: (value: number) => string): string {
  return `${write(value)} (${write(low)} to ${write(high)})`;
}

const usd = (nanoUsd: number): string => (nanoUsd / 1e9).toFixed(6);
const share = (value: number): string => (value * 100).toFixed(2);
const whole = (value: number): string => value.toFixed(0);

function percent(part: number, all: number): string {
  return `${all === 0 ? 0 : ((100 * part) / all).toFixed(1)} %`;
}

/** Names of models come from callers: none may leave its cell. */
function cell(endpoint: string | null): string {
  return endpoint === null ? 'none' : endpoint.replace(/[|`<>\r\n]/g, ' ');
}
