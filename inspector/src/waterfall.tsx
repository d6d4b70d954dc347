import type { JSX } from 'preact';
import type { LedgerRecord } from '../../src/contracts/ledger.ts';
import { fineCeiling, money, ms, outcome, tagOf, words } from './format.ts';

interface Line {
  readonly name: string;
  readonly note: string;
  readonly start: number;
  readonly first?: number | undefined;
  readonly end: number;
  readonly kind: 'call' | 'bad' | 'work';
  readonly told: string;
}

/** Everything that took time, on one axis. */
export function Waterfall({ record }: { readonly record: LedgerRecord }): JSX.Element {
  const lines = linesOf(record);
  const most = fineCeiling(Math.max(record.duration_ms, ...lines.map(({ end }) => end), 1));
  const at = (value: number): string => `${((value / most) * 100).toFixed(2)}%`;
  return (
    <div class="table-frame">
      <table class="waterfall">
        <thead>
          <tr>
            <th class="c-name">what</th>
            <th class="c-axis">
              <span class="bar-head">
                <span>0</span>
                <span class="legend">
                  <i class="seg wait" /> waiting <i class="seg stream" /> answering <i class="seg bad" /> failed or
                  given up <i class="seg work" /> plugin or tool
                </span>
                <span>{ms(most)}</span>
              </span>
            </th>
            <th class="c-num">begins</th>
            <th class="c-num">first token</th>
            <th class="c-num">takes</th>
            <th class="c-outcome">outcome</th>
          </tr>
        </thead>
        <tbody>
          {lines.map(({ name, note, start, first, end, kind, told }, index) => (
            <tr key={index}>
              <td class="c-name">
                {name} <span class="served">{note}</span>
              </td>
              <td class="c-axis">
                <span class="bar" aria-hidden="true">
                  <i
                    class={`seg ${kind === 'work' ? 'work' : kind === 'bad' ? 'bad' : 'wait'}`}
                    style={{ left: at(start), width: at((first ?? end) - start) }}
                  />
                  {first !== undefined && (
                    <i
                      class={`seg ${kind === 'bad' ? 'bad' : 'stream'}`}
                      style={{ left: at(first), width: at(end - first) }}
                    />
                  )}
                </span>
              </td>
              <td class="c-num">{ms(start)}</td>
              <td class="c-num">{first === undefined ? '–' : ms(first)}</td>
              <td class="c-num">{ms(end - start)}</td>
              <td class="c-outcome">{told}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {lines.length === 0 && <p class="empty">No provider was called.</p>}
    </div>
  );
}

/** What is special about a call: a hedge, a refusal, or a seam in the answer. */
function noteOf({ hedge, refusal, kept, continued }: LedgerRecord['attempts'][number]): string {
  const notes = [
    hedge === true ? 'hedge' : '',
    refusal === undefined ? '' : `refused: ${words(refusal)}`,
    kept === true ? 'broke, text kept' : '',
    continued === undefined ? '' : `continued by ${continued}`,
  ];
  return notes.filter((note) => note !== '').join(', ');
}

function linesOf({ attempts, plugins = [], tools = [] }: LedgerRecord): readonly Line[] {
  const calls = attempts.map((attempt): Line => ({
    name: `${attempt.number}. ${tagOf(attempt.endpoint)}`,
    note: noteOf(attempt),
    start: attempt.start_ms,
    first: attempt.first_token_ms,
    end: attempt.end_ms,
    kind: attempt.outcome === 'ok' ? 'call' : 'bad',
    told: `${outcome(attempt.outcome)}${attempt.outcome === 'ok' ? '' : ` (${attempt.status})`}${attempt.unpriced === true ? ', price unknown' : attempt.cost_nano_usd === undefined ? '' : `, ${money(attempt.cost_nano_usd)}`}`,
  }));
  const hooks = plugins.map(({ id, hook, outcome: how, start_ms, end_ms, cost_nano_usd }): Line => ({
    name: id,
    note: `plugin, ${hook}`,
    start: start_ms,
    end: end_ms,
    kind: 'work',
    told: `${words(how)}${cost_nano_usd === undefined ? '' : `, ${money(cost_nano_usd)}`}`,
  }));
  const uses = tools.map(({ name, type, outcome: how, start_ms, end_ms, cost_nano_usd }): Line => ({
    name,
    note: `tool, ${type}`,
    start: start_ms,
    end: end_ms,
    kind: 'work',
    told: `${how === 'ok' ? '✓' : '✕'} ${words(how)}${cost_nano_usd === undefined ? '' : `, ${money(cost_nano_usd)}`}`,
  }));
  return [...hooks, ...calls, ...uses].sort((left, right) => left.start - right.start);
}
