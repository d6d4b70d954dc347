import { batch, signal } from '@preact/signals';
import type { LiveRow, LiveTotals, LiveUpdate, RequestList } from '../../src/http/inspector/wire.ts';
import { HOME } from './address.ts';
import { ApiError, ask, checked, eventsOf, headers, refusal } from './api.ts';

/**
 * Requests that are kept and drawn at most: a page that is open for a week must not grow, and each row that is added moves
 * all below it, which is drawn anew. Those before are found by a filter, or by their id.
 */
const MOST_ROWS = 80;
/** Requests that join the list in one frame at most, so that no frame takes long. */
const ROWS_PER_FRAME = 8;
/** Requests under way that are drawn at most; they are drawn anew with each update. */
const MOST_RUNNING = 12;
/** Seconds of the charts above the list. */
const SECONDS = 60;
/** Milliseconds before a broken connection is tried again, at first and at most. */
const RETRY_MS = [500, 8_000] as const;

/** Requests per second and failures per second of one second. */
interface Second {
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
  /** Sums since this page was opened. */
  since: signal<LiveTotals>({ requests: 0, failed: 0, cost_nano_usd: 0, unpriced: 0, tokens: 0 }),
  connection: signal<'connecting' | 'live' | 'lost'>('connecting'),
};

/** True while nothing may move: the list is paused, or somebody points at it. */
export const paused = signal(false);
export const pointed = signal(false);

/** What came and is not drawn yet: the latest update, and rows that ended, the oldest first. */
let latest: LiveUpdate | undefined;
let arrived: LiveRow[] = [];
/** Sums of the update that was drawn last. */
let drawn: Totals | undefined;
/** Those of the router when this page was last told: what it has counted since its own start is no matter of the page. */
let told: LiveTotals | undefined;
let frame: number | undefined;
/** Ends of requests before this page was opened: the second, and the error where there was one. */
let early: readonly { readonly second: number; readonly type: string | undefined }[] = [];
let isFilled = false;

/** Shows what came while the list was held: it joins the list as if it came now. */
export function release(): void {
  const { held } = live;
  if (held.value.length === 0) return;
  arrived.unshift(...held.value.toReversed());
  held.value = [];
  frame ??= requestAnimationFrame(draw);
}

/** Follows the router until the function that it gives is called. `query` is the filter. */
export function follow(query: string): () => void {
  const controller = new AbortController();
  const { rows, held, running, connection, leftOut } = live;
  rows.value = [];
  held.value = [];
  running.value = [];
  leftOut.value = 0;
  arrived = [];
  latest = undefined;
  drawn = undefined;
  connection.value = 'connecting';
  void run(query, controller.signal);
  return () => controller.abort();
}

async function run(query: string, stop: AbortSignal): Promise<void> {
  try {
    const { rows } = await ask<RequestList>(`requests?${query}`, { signal: stop });
    live.rows.value = rows.slice(0, MOST_ROWS);
    if (query === '') fillMinute(rows);
  } catch (error) {
    if (error instanceof ApiError && (error.status === 401 || error.status === 403)) return;
  }
  let last: string | undefined;
  let [waitMs] = RETRY_MS as readonly [number, number];
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
        receive(JSON.parse(data) as LiveUpdate);
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

/** Takes an update. It is drawn with the next frame; of several that come before it, the last holds. */
function receive(update: LiveUpdate): void {
  latest = update;
  arrived.push(...update.ended);
  // Nothing is drawn while the page is hidden.
  const tooMany = arrived.length - MOST_ROWS;
  if (tooMany > 0) arrived = arrived.slice(tooMany);
  live.leftOut.value += update.left_out + Math.max(0, tooMany);
  frame ??= requestAnimationFrame(draw);
}

/** Draws what came: all numbers, and as many rows as fit into a frame; the others come with the next ones. */
function draw(): void {
  frame = undefined;
  batch(() => {
    if (latest !== undefined) drawNumbers(latest);
    latest = undefined;
    drawRows(arrived.splice(0, ROWS_PER_FRAME));
  });
  if (arrived.length > 0) frame = requestAnimationFrame(draw);
}

function drawNumbers(update: LiveUpdate): void {
  const { running, runningTotal, now, since } = live;
  now.value = update.now;
  // A router that was started anew counts from 0 again.
  const before = told !== undefined && told.requests <= update.totals.requests ? told : update.totals;
  since.value = {
    requests: since.value.requests + update.totals.requests - before.requests,
    failed: since.value.failed + update.totals.failed - before.failed,
    cost_nano_usd: since.value.cost_nano_usd + update.totals.cost_nano_usd - before.cost_nano_usd,
    unpriced: since.value.unpriced + update.totals.unpriced - before.unpriced,
    tokens: since.value.tokens + update.totals.tokens - before.tokens,
  };
  told = update.totals;
  running.value = update.running.slice(0, MOST_RUNNING);
  runningTotal.value = update.running_total;
  const second = Math.floor(update.now / 1_000);
  if (early.length > 0) {
    const seconds = live.seconds.value.map((one) => ({ ...one }));
    for (const { second: ended, type } of early) {
      const slot = seconds[SECONDS - 1 - (second - ended)];
      if (slot === undefined) continue;
      slot.requests += 1;
      if (type !== undefined) slot.failed += 1;
    }
    live.seconds.value = seconds;
    early = [];
  }
  if (drawn !== undefined) count(second, drawn, update.totals);
  drawn = { ...update.totals, second };
}

function drawRows(ended: readonly LiveRow[]): void {
  if (ended.length === 0) return;
  const { rows, held, running } = live;
  const known = new Set([...rows.value, ...held.value].map(({ id }) => id));
  const fresh = ended.filter(({ id }) => !known.has(id)).toReversed();
  const over = new Set(fresh.map(({ id }) => id));
  if (running.value.some(({ id }) => over.has(id))) running.value = running.value.filter(({ id }) => !over.has(id));
  if (paused.value || pointed.value) held.value = [...fresh, ...held.value].slice(0, MOST_ROWS);
  else rows.value = [...fresh, ...rows.value].slice(0, MOST_ROWS);
}

/** Fills the chart of the last minute with what ended before this page was opened, as far as the rows reach back. */
function fillMinute(rows: readonly LiveRow[]): void {
  const ends = rows.map(({ at, duration_ms: ms = 0, error_type: type }) => ({
    second: Math.floor((at + ms) / 1_000),
    type,
  }));
  if (!isFilled) early = ends;
  isFilled = true;
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
