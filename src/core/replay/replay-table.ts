import type { Interval } from './local-means.ts';
import type { Estimated, ReplayReport } from './replay-report.ts';

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

function usd(nanoUsd: number): string {
  return (nanoUsd / 1e9).toFixed(6);
}

function share(value: number): string {
  return (value * 100).toFixed(2);
}

function whole(value: number): string {
  return value.toFixed(0);
}

function percent(part: number, all: number): string {
  return `${all === 0 ? 0 : ((100 * part) / all).toFixed(1)} %`;
}

/** Names of models come from callers: none may leave its cell. */
function cell(endpoint: string | null): string {
  return endpoint === null ? 'none' : endpoint.replace(/[|`<>\r\n]/g, ' ');
}
