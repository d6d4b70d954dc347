import { signal } from '@preact/signals';
import type { LiveRow, LiveTotals, LiveUpdate, RequestList } from '../../src/inspector/wire.ts';
import { HOME } from './address.ts';
import { ApiError, ask, checked, eventsOf, headers, refusal } from './api.ts';

/** Requests that are kept and drawn at most: a page that is open for a week must not grow. */
const MOST_ROWS = 150;
/** Seconds of the charts above the list. */
const SECONDS = 60;
/** Milliseconds before a broken connection is tried again, at first and at most. */
const RETRY_MS = [500, 8_000] as const;

/** Requests per second and failures per second of one second. */
export interface Second {
  readonly requests: number;
  readonly failed: number;
}

/** What the live view shows. */
export const live = {
  rows: signal<readonly LiveRow[]>([]),
  running: signal<readonly LiveRow[]>([]),
  runningTotal: signal(0),
  /** Clock of the router when the last update came. */
  now: signal(0),
  /** Rows that ended while the list was held. */
  held: signal<readonly LiveRow[]>([]),
  leftOut: signal(0),
  seconds: signal<readonly Second[]>(Array.from({ length: SECONDS }, () => ({ requests: 0, failed: 0 }))),
  totals: signal<LiveTotals | undefined>(undefined),
  connection: signal<'connecting' | 'live' | 'lost'>('connecting'),
};

/** True while nothing may move: the list is paused, or somebody points at it. */
export const paused = signal(false);
export const pointed = signal(false);

/** Shows what came while the list was held. */
export function release(): void {
  const { rows, held } = live;
  if (held.value.length === 0) return;
  rows.value = [...held.value, ...rows.value].slice(0, MOST_ROWS);
  held.value = [];
}

/** Follows the router until the function that it gives is called. `query` is the filter. */
export function follow(query: string): () => void {
  const controller = new AbortController();
  const { rows, held, running, connection, leftOut } = live;
  rows.value = [];
  held.value = [];
  running.value = [];
  leftOut.value = 0;
  connection.value = 'connecting';
  void run(query, controller.signal);
  return () => controller.abort();
}

async function run(query: string, stop: AbortSignal): Promise<void> {
  try {
    const { rows } = await ask<RequestList>(`requests?${query}`, { signal: stop });
    live.rows.value = rows.slice(0, MOST_ROWS);
  } catch (error) {
    if (error instanceof ApiError && (error.status === 401 || error.status === 403)) return;
  }
  let last: string | undefined;
  let [waitMs] = RETRY_MS as readonly [number, number];
  let before: Totals | undefined;
  while (!stop.aborted) {
    try {
      const resume: Record<string, string> = last === undefined ? {} : { 'last-event-id': last };
      const response = await checked(
        await fetch(`${HOME}/api/live?${query}`, { signal: stop, headers: { ...headers(), ...resume } }),
      );
      live.connection.value = 'live';
      [waitMs] = RETRY_MS;
      for await (const { id, data } of eventsOf(response)) {
        last = id ?? last;
        before = show(JSON.parse(data) as LiveUpdate, before);
      }
    } catch (error) {
      if (error instanceof ApiError && (error.status === 401 || error.status === 403)) refusal.value = error.message;
    }
    if (stop.aborted || refusal.value !== undefined) return;
    live.connection.value = 'lost';
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    waitMs = Math.min(waitMs * 2, RETRY_MS[1]);
  }
}

interface Totals extends LiveTotals {
  readonly second: number;
}

function show(update: LiveUpdate, before: Totals | undefined): Totals {
  const { rows, held, running, runningTotal, now, leftOut, totals } = live;
  now.value = update.now;
  totals.value = update.totals;
  running.value = update.running;
  runningTotal.value = update.running_total;
  leftOut.value += update.left_out;
  if (update.ended.length > 0) {
    const known = new Set(rows.value.slice(0, 2 * update.ended.length + 50).map(({ id }) => id));
    const fresh = update.ended.filter(({ id }) => !known.has(id)).toReversed();
    if (paused.value || pointed.value) held.value = [...fresh, ...held.value].slice(0, MOST_ROWS);
    else rows.value = [...fresh, ...rows.value].slice(0, MOST_ROWS);
  }
  const second = Math.floor(update.now / 1_000);
  if (before !== undefined) count(second, before, update.totals);
  return { ...update.totals, second };
}

/** Puts what was counted since the update before into the seconds of the chart. */
function count(second: number, before: Totals, totals: LiveTotals): void {
  const { seconds } = live;
  const gone = Math.min(SECONDS, Math.max(0, second - before.second));
  const next = [...seconds.value.slice(gone), ...Array.from({ length: gone }, () => ({ requests: 0, failed: 0 }))];
  const last = next.at(-1) ?? { requests: 0, failed: 0 };
  next[next.length - 1] = {
    requests: last.requests + Math.max(0, totals.requests - before.requests),
    failed: last.failed + Math.max(0, totals.failed - before.failed),
  };
  seconds.value = next;
}
