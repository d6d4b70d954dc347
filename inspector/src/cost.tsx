import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { LedgerCost } from '../../src/contracts/ledger.ts';
import type { CacheCause } from '../../src/contracts/prompt-cache.ts';
import type { ColdList, CostList } from '../../src/http/inspector/wire.ts';
import { addressOf, place, setQuery } from './address.ts';
import { useAsked } from './asked.ts';
import { Meter } from './charts.tsx';
import { csvField, download, downloadLedger } from './download.ts';
import { count, money, fineCeiling, percent, sum, usd } from './format.ts';
import { Problem } from './problem.tsx';

const KEYS = ['day', 'model', 'provider', 'account', 'tag'] as const;
const PERIODS = [
  { days: '1', title: 'last 24 hours' },
  { days: '7', title: 'last 7 days' },
  { days: '30', title: 'last 30 days' },
  { days: '', title: 'all that is kept' },
] as const;
const EVERY_MS = 10_000;

/** What requests cost. */
export function Cost(): JSX.Element {
  const { query } = place.value;
  const by = KEYS.find((key) => key === query.get('by')) ?? 'model';
  const days = query.get('days') ?? '';
  const tag = query.get('tag') ?? '';
  const asked = new URLSearchParams({ by, days, tag: by === 'tag' ? tag : '' });
  const { answer, problem } = useAsked<CostList>(`costs?${asked}`, EVERY_MS);
  const daily = useAsked<CostList>(`costs?by=day&days=${days === '1' ? '7' : days}`, EVERY_MS);
  const [exporting, setExporting] = useState<Error | 'busy'>();
  const total = answer?.total;
  return (
    <>
      <h1>Cost</h1>
      <div class="tools">
        <div class="choice" role="group" aria-label="by">
          {KEYS.map((key) => (
            <button key={key} type="button" aria-pressed={key === by} onClick={() => setQuery({ by: key })}>
              by {key}
            </button>
          ))}
        </div>
        {by === 'tag' && (
          <label>
            tag
            <input
              list="tags"
              value={tag === '' ? (answer?.tag ?? '') : tag}
              placeholder="name of a tag"
              onChange={(event) => setQuery({ tag: event.currentTarget.value.trim() })}
            />
            <datalist id="tags">
              {answer?.tags.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </label>
        )}
        <label>
          period
          <select value={days} onChange={(event) => setQuery({ days: event.currentTarget.value })}>
            {PERIODS.map((one) => (
              <option key={one.days} value={one.days}>
                {one.title}
              </option>
            ))}
          </select>
        </label>
        <button
          type="button"
          disabled={answer === undefined}
          onClick={() => answer && download(`cost-by-${by}.csv`, 'text/csv', tableOf(by, answer.data))}
        >
          ↓ This table (CSV)
        </button>
        <button
          type="button"
          disabled={exporting === 'busy'}
          onClick={() => {
            setExporting('busy');
            downloadLedger().then(() => setExporting(undefined), setExporting);
          }}
        >
          ↓ All requests (JSON lines)
        </button>
      </div>
      <Problem problem={problem ?? (exporting instanceof Error ? exporting : undefined)} />
      {total !== undefined && (
        <p class="summary">
          <b>{sum(total.cost_nano_usd, total.unpriced)}</b> for {count(total.requests)} requests, {count(total.failed)}{' '}
          of which failed. {count(total.prompt_tokens)} tokens in,{' '}
          <b>{percent(total.cached_tokens / Math.max(1, total.prompt_tokens))}</b> of them from a cache;{' '}
          {count(total.completion_tokens)} out.
        </p>
      )}
      {daily.answer !== undefined && daily.answer.data.length > 1 && <Days costs={daily.answer.data} />}
      {answer !== undefined &&
        (by === 'tag' && answer.tag === undefined ? (
          <p class="empty">
            No request had a tag lately. Tags are the members of a request’s metadata that the option ledger.tags names;
            name one above that earlier requests had.
          </p>
        ) : (
          <Table by={by} costs={answer.data} tag={answer.tag} />
        ))}
      <Cold />
    </>
  );
}

/** What can be done about a cause. */
const ADVICE: Readonly<Record<CacheCause, string>> = {
  first: 'nothing: a session begins',
  expired: 'ask sooner, or mark the prompt with a longer ttl',
  other_endpoint: 'send a session_id, or pin the provider',
  model_changed: 'stay with one model in a session',
  tools_changed: 'send the same tools in the same order',
  system_changed: 'move this line behind the instructions, to the last message',
  message_edited: 'leave what was sent as it is, and add to it',
  too_short: 'nothing: no provider caches prompts of this length',
  not_marked: 'mark the end of what repeats with cache_control',
  evicted_or_unknown: 'nothing in the prompt: the provider no longer had it',
};

/** Why prompts were in no cache in the last seven days, and which line of which prompt to move. */
function Cold(): JSX.Element | undefined {
  const { answer } = useAsked<ColdList>('cold', 6 * EVERY_MS);
  if (answer === undefined || answer.data.length === 0) return undefined;
  return (
    <section>
      <h2>Cold prompt caches, last 7 days</h2>
      <p class="summary">
        What the cached price would have saved in {count(answer.requests)} requests
        {answer.cut === true && ', the latest of them'}.
      </p>
      <div class="table-frame">
        <table class="costs">
          <thead>
            <tr>
              <th>cause</th>
              <th class="c-num">lost</th>
              <th class="c-num">requests</th>
              <th class="c-num">tokens</th>
              <th class="c-num">provider agrees</th>
              <th>where most</th>
              <th>what to do</th>
            </tr>
          </thead>
          <tbody>
            {answer.data.map(
              ({ cause, requests, missed_tokens: missed, lost_nano_usd: lost, compared, differing, places }) => (
                <tr key={cause}>
                  <td>{cause}</td>
                  <td class="c-num">{lost === 0 ? '–' : money(lost)}</td>
                  <td class="c-num">{count(requests)}</td>
                  <td class="c-num">{count(missed)}</td>
                  <td class="c-num">{compared === 0 ? '–' : `${count(compared - differing)} of ${count(compared)}`}</td>
                  <td>
                    {places[0] !== undefined && (
                      <a href={addressOf('requests', places[0].example)}>
                        {places[0].place === '' ? places[0].requested : `${places[0].place} of ${places[0].requested}`}
                      </a>
                    )}
                  </td>
                  <td>{ADVICE[cause]}</td>
                </tr>
              ),
            )}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** A bar for each day, the last ones where there are many; one alone says nothing. */
function Days({ costs }: { readonly costs: readonly LedgerCost[] }): JSX.Element {
  const days = costs.slice(-31);
  const most = fineCeiling(Math.max(...days.map((one) => one.cost_nano_usd), 1));
  const width = 720;
  const height = 130;
  const step = Math.min(64, width / days.length);
  return (
    <figure>
      <figcaption>
        Cost by day (UTC), up to {usd(most / 1e9)}
        {days.some(({ unpriced }) => unpriced > 0) && ', without calls of unknown price'}
      </figcaption>
      <svg
        class="days"
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={days.map(({ key, cost_nano_usd: cost, unpriced }) => `${key}: ${sum(cost, unpriced)}`).join(', ')}
      >
        <line class="axis" x1="0" x2={width} y1={height - 18} y2={height - 18} />
        {days.map(({ key, cost_nano_usd: cost, unpriced }, index) => {
          const size = (cost / most) * (height - 34);
          return (
            <g key={key}>
              <rect x={index * step + 3} y={height - 18 - size} width={Math.max(2, step - 6)} height={size}>
                <title>{`${key}: ${sum(cost, unpriced)}`}</title>
              </rect>
              {(days.length <= 10 || index % 5 === 0) && (
                <text x={index * step + step / 2} y={height - 5} text-anchor="middle">
                  {key.slice(5)}
                </text>
              )}
              {days.length <= 10 && (
                <text x={index * step + step / 2} y={height - 22 - size} text-anchor="middle">
                  {cost === 0 && unpriced > 0 ? 'unknown' : money(cost)}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

function Table({
  by,
  costs,
  tag,
}: {
  readonly by: string;
  readonly costs: readonly LedgerCost[];
  readonly tag: string | undefined;
}): JSX.Element {
  const all = Math.max(
    costs.reduce((total, one) => total + one.cost_nano_usd, 0),
    1,
  );
  if (costs.length === 0) return <p class="empty">No requests in this time.</p>;
  return (
    <div class="table-frame">
      <table class="costs">
        <thead>
          <tr>
            <th>{by}</th>
            <th class="c-num">cost</th>
            <th class="c-axis">share of the total</th>
            <th class="c-num">requests</th>
            <th class="c-num">failed</th>
            <th class="c-num">calls</th>
            <th class="c-num">tokens in</th>
            <th class="c-meter">cached</th>
            <th class="c-num">tokens out</th>
          </tr>
        </thead>
        <tbody>
          {costs.slice(0, 200).map((one) => (
            <tr key={one.key}>
              <td>{nameOf(by, one.key, tag)}</td>
              <td class="c-num">{sum(one.cost_nano_usd, one.unpriced)}</td>
              <td class="c-axis">
                <Meter share={one.cost_nano_usd / all} text={percent(one.cost_nano_usd / all)} />
              </td>
              <td class="c-num">{count(one.requests)}</td>
              <td class="c-num">{count(one.failed)}</td>
              <td class="c-num">{count(one.attempts)}</td>
              <td class="c-num">{count(one.prompt_tokens)}</td>
              <td class="c-meter">
                <Meter
                  share={one.cached_tokens / Math.max(1, one.prompt_tokens)}
                  text={percent(one.cached_tokens / Math.max(1, one.prompt_tokens))}
                />
              </td>
              <td class="c-num">{count(one.completion_tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Keys that can be filters lead to their requests. */
function nameOf(by: string, key: string, tag: string | undefined): JSX.Element | string {
  if (key === '') return by === 'tag' ? '(without the tag)' : '(no endpoint was called)';
  if (key === 'services') return 'services of plugins and tools';
  const filter: Readonly<Record<string, string>> =
    by === 'day'
      ? { from: String(Date.parse(key)), to: String(Date.parse(key) + 86_400_000) }
      : { [by]: by === 'tag' ? `${tag}:${key}` : key };
  return <a href={addressOf('requests', undefined, new URLSearchParams(filter))}>{key}</a>;
}

const COLUMNS = [
  'requests',
  'failed',
  'attempts',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
  'cost_nano_usd',
  'unpriced',
] as const;

function tableOf(by: string, costs: readonly LedgerCost[]): readonly string[] {
  const head = [by, ...COLUMNS].join(',');
  return [head, ...costs.map((one) => [one.key, ...COLUMNS.map((name) => one[name])].map(csvField).join(','))].map(
    (line) => `${line}\r\n`,
  );
}
