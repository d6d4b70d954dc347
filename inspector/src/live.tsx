import { Component, type JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { LiveRow } from '../../src/http/inspector/wire.ts';
import { addressOf, go } from './address.ts';
import { session } from './api.ts';
import { Sparkline } from './charts.tsx';
import { Filters, filterOfAddress } from './filters.tsx';
import { cost, count, dateTime, ms, fineCeiling, outcome, percent, sum, tagOf, time, words } from './format.ts';
import { follow, live, paused, pointed, release } from './live-store.ts';

/** Filters of what is under way; a session is known only of what has ended. */
const NAMES = ['model', 'provider', 'endpoint', 'account', 'error', 'tag'] as const;
/** Those of the address that are for requests that have ended long ago. */
const NOT_LIVE = ['from', 'to', 'session'] as const;

/** Requests as they come. */
export function Live(): JSX.Element {
  const filter = filterOfAddress(NOT_LIVE);
  const { value: signIns } = session;
  useEffect(() => follow(filter), [filter, signIns]);
  useEffect(() => {
    if (!paused.value && !pointed.value) release();
  }, [paused.value, pointed.value]);
  return (
    <>
      <h1>Live</h1>
      <Sums />
      <Tools />
      <List />
    </>
  );
}

/** What happens in all, whatever the filter. */
function Sums(): JSX.Element {
  const seconds = live.seconds.value;
  const rate = seconds.slice(-11, -1).reduce((all, one) => all + one.requests, 0) / 10;
  const minute = seconds.reduce((all, one) => all + one.requests, 0);
  const failures = seconds.reduce((all, one) => all + one.failed, 0);
  const since = live.since.value;
  return (
    <div class="sums">
      <Sum title="requests a second" value={rate.toFixed(1)}>
        <Sparkline values={seconds.map(({ requests }) => requests)} label="Requests a second in the last minute" />
      </Sum>
      <Sum title="failing, in the last minute" value={minute === 0 ? '–' : percent(failures / minute)}>
        <Sparkline values={seconds.map(({ failed }) => failed)} label="Failures a second in the last minute" />
      </Sum>
      <Sum title="under way" value={String(live.runningTotal.value)} />
      <Sum title="since this page opened" value={count(since.requests)} />
      <Sum title="cost since then" value={sum(since.cost_nano_usd, since.unpriced)} />
    </div>
  );
}

/** A number with its name below. */
export function Sum({
  title,
  value,
  children,
}: {
  readonly title: string;
  readonly value: string;
  readonly children?: JSX.Element;
}): JSX.Element {
  return (
    <div class="sum">
      <span class="sum-value">{value}</span>
      <span class="sum-title">{title}</span>
      {children}
    </div>
  );
}

function Tools(): JSX.Element {
  return (
    <div class="tools">
      <Filters names={NAMES} />
      <form
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          const id = new FormData(event.currentTarget).get('id');
          if (typeof id === 'string' && id.trim() !== '') go(addressOf('requests', id.trim()));
        }}
      >
        <label>
          generation id
          <input id="search" name="id" placeholder="gen-… and Enter" spellcheck={false} />
        </label>
      </form>
      <button type="button" aria-pressed={paused.value} onClick={() => (paused.value = !paused.value)}>
        {paused.value ? '▶ Continue' : '‖ Pause'}
      </button>
    </div>
  );
}

let scale = 0;

/** A scale that all bars share. It grows when it must, and shrinks only when bars would hardly be seen. */
function scaleOf(rows: readonly LiveRow[], now: number): number {
  const longest = rows.reduce((most, row) => Math.max(most, row.duration_ms ?? now - row.at), 1);
  const wanted = fineCeiling(longest);
  if (wanted > scale || wanted < scale / 4) scale = wanted;
  return scale;
}

function List(): JSX.Element {
  const running = live.running.value;
  const ended = live.rows.value;
  const now = live.now.value;
  const all = [...running, ...ended];
  const held = live.held.value.length;
  return (
    <>
      <p class="notes" role="status">
        {CONNECTION[live.connection.value]}
        {live.leftOut.value > 0 &&
          ` · Too many to show them all: ${count(live.leftOut.value)} more ended. Failures are shown first; a filter shows others.`}
        {held > 0 && (
          <button
            type="button"
            class="link"
            onClick={() => {
              release();
            }}
          >
            {`${held} new`}
          </button>
        )}
        <span class="legend">
          <i class="seg wait" /> waiting <i class="seg stream" /> streaming <i class="seg bad" /> failed or given up
        </span>
      </p>
      <div
        onPointerEnter={() => (pointed.value = true)}
        onPointerLeave={() => (pointed.value = false)}
        onFocusCapture={() => (pointed.value = true)}
        onBlurCapture={() => (pointed.value = false)}
      >
        <RequestTable rows={all} now={now} />
        {all.length === 0 && (
          <p class="empty">
            No requests yet. Send one from <a href={addressOf('try')}>Try it</a>, and watch it arrive here.
          </p>
        )}
      </div>
    </>
  );
}

/** Requests as rows, with their attempts on one time axis. */
export function RequestTable({
  rows,
  now,
  dated = false,
}: {
  readonly rows: readonly LiveRow[];
  readonly now: number;
  /** Whether the day is shown with the time. */
  readonly dated?: boolean;
}): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null);
  const most = scaleOf(rows.slice(0, 80), now);
  const move = (event: KeyboardEvent): void => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    const links = [...(body.current?.querySelectorAll('a') ?? [])];
    const at = links.indexOf(document.activeElement as HTMLAnchorElement);
    links[at + (event.key === 'ArrowDown' ? 1 : -1)]?.focus();
    event.preventDefault();
  };
  return (
    <div class="table-frame">
      <table class={dated ? 'live dated' : 'live'} style={{ '--most': most }}>
        <thead>
          <tr>
            <th class="c-time">time</th>
            <th class="c-model">model</th>
            <th class="c-served">endpoint</th>
            <th class="c-account">account</th>
            <th class="c-bar">
              <span class="bar-head">
                <span>attempts from 0</span>
                <span>{ms(most)}</span>
              </span>
            </th>
            <th class="c-num c-total">total</th>
            <th class="c-num c-tokens">tokens</th>
            <th class="c-num c-cost">cost</th>
            <th class="c-status">status</th>
          </tr>
        </thead>
        <tbody ref={body} onKeyDown={move}>
          {rows.map((row) => (
            <Row key={row.id} row={row} now={row.duration_ms === undefined ? now : 0} dated={dated} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const CONNECTION = {
  connecting: 'Connecting …',
  live: '● Live. The list pauses while the pointer is on it.',
  lost: '○ The connection is lost; trying again.',
} as const;

interface RowProps {
  readonly row: LiveRow;
  /** Clock of the router; 0 for a request that has ended, which time does not change. */
  readonly now: number;
  readonly dated: boolean;
}

/** A row is drawn once when its request has ended, however many come after it. */
class Row extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    return next.row !== this.props.row || next.now !== this.props.now;
  }

  override render(): JSX.Element {
    return <Cells {...this.props} />;
  }
}

function Cells({ row, now, dated }: RowProps): JSX.Element {
  const { id, at, requested, model, attempts, duration_ms: duration, status } = row;
  const last = attempts.at(-1);
  const served = last === undefined ? (row.provider ?? '') : tagOf(last.endpoint);
  return (
    <tr class={row.error_type === undefined ? '' : 'failed'}>
      <td class="c-time">{dated ? dateTime(at).slice(5) : time(at)}</td>
      <td class="c-model">
        <a href={addressOf('requests', id)} title={id}>
          {requested}
        </a>
        {row.mirror !== undefined && <b class="badge">copy</b>}
      </td>
      <td class="c-served" title={model}>
        {served}
        {model !== undefined && model !== requested && ` · ${model}`}
      </td>
      <td class="c-account">{row.account}</td>
      <td class="c-bar">
        <Bar row={row} now={now} />
      </td>
      <td class="c-num c-total">{ms(duration ?? now - at)}</td>
      <td class="c-num c-tokens">
        {row.prompt_tokens === undefined ? '–' : `${count(row.prompt_tokens)} → ${count(row.completion_tokens)}`}
      </td>
      <td class="c-num c-cost">{status === undefined ? '–' : cost(row.cost_nano_usd)}</td>
      <td class="c-status" title={row.reason}>
        {status === undefined ? phaseOf(row) : statusOf(row)}
        {row.reason !== undefined && <span class="reason">: {row.reason}</span>}
      </td>
    </tr>
  );
}

/** What a request that runs is doing now. */
function phaseOf({ attempts }: LiveRow): string {
  const running = attempts.filter(({ end_ms: end }) => end === undefined);
  if (running.some(({ first_token_ms: first }) => first !== undefined)) return '▸ streaming';
  if (running.length > 0) return running.length > 1 ? '… waiting for two' : '… waiting';
  return attempts.length === 0 ? '… being prepared' : '↻ trying another';
}

function statusOf({ status, error_type: type }: LiveRow): string {
  if (status === 499) return '⊘ disconnected';
  return type === undefined ? '✓ answered' : `✕ ${status} ${words(type)}`;
}

/** Attempts on a time axis that all rows share: when its scale changes, nothing is drawn but that. */
function Bar({ row, now }: Omit<RowProps, 'dated'>): JSX.Element {
  const until = row.duration_ms ?? now - row.at;
  const at = (value: number): string => `min(100%, calc(100% * ${Math.max(0, value).toFixed(1)} / var(--most)))`;
  const told = row.attempts.map(
    ({ endpoint, outcome: how, first_token_ms: first, hedge }) =>
      `${tagOf(endpoint)}${hedge === true ? ' (hedge)' : ''}: ${outcome(how)}${first === undefined ? '' : `, first token after ${ms(first)}`}`,
  );
  return (
    <span class="bar" role="img" aria-label={told.join('; ') || 'no attempts'} title={told.join('\n')}>
      {row.attempts.map(({ start_ms: start, first_token_ms: first, end_ms: end = until, outcome: how }, index) => {
        const waited = first ?? end;
        const bad = how !== undefined && how !== 'ok';
        return (
          <span
            key={index}
            class="attempt"
            style={{ top: `${(index * 100) / row.attempts.length}%`, height: `${100 / row.attempts.length}%` }}
          >
            <i class={`seg ${bad ? 'bad' : 'wait'}`} style={{ left: at(start), width: at(waited - start) }} />
            {first !== undefined && <i class="seg stream" style={{ left: at(first), width: at(end - first) }} />}
            {bad && (
              <b class="mark" style={{ left: at(end) }}>
                {how === 'superseded' || how === 'aborted' ? '⊘' : '✕'}
              </b>
            )}
          </span>
        );
      })}
    </span>
  );
}
