/** Sends one open page of the inspector its updates. */
import type { LiveHub } from './live-hub.ts';
import type { RowFilter } from './live-row.ts';
import type { LiveRow, LiveUpdate } from './wire.ts';

/** Requests that ended which one update shows at most … */
const MOST_IN_UPDATE = 24;
/** … of which failures come first, as they are what is looked for, but leave room for others. */
const MOST_FAILURES = 16;
/** Requests under way that one update shows at most. */
const MOST_RUNNING = 40;
/** Updates without news before a comment keeps the connection open: about ten seconds. */
const QUIET_TICKS = 33;

/** The updates of one page, made when they are requested: a page that does not read gets fewer of them. */
export class LiveStream implements AsyncIterableIterator<string, undefined, undefined> {
  readonly #hub: LiveHub;
  readonly #filter: RowFilter;
  readonly #now: () => number;
  readonly #close: () => void;
  #next: number;
  #passedOver: number;
  #ended = false;
  #first = true;
  #wasRunning = false;

  /**
   * @param filter - Undefined for a page that looks at everything.
   * @param lastEventId - Id of the last update that the page has seen; others are passed over.
   */
  constructor(hub: LiveHub, filter: RowFilter | undefined, now: () => number, lastEventId: string | undefined) {
    this.#hub = hub;
    this.#filter = filter ?? everything;
    this.#now = now;
    this.#close = hub.open(filter === undefined ? 'everything' : 'filtered');
    this.#passedOver = hub.passedOver;
    const [epoch, number] = (lastEventId ?? '').split('.');
    const known = epoch === hub.epoch && /^\d{1,15}$/.test(number ?? '') ? Number(number) : hub.end;
    this.#next = Math.min(known, hub.end);
  }

  get ended(): boolean {
    return this.#ended;
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    if (this.#first) {
      this.#first = false;
      return { done: false, value: this.#update() };
    }
    for (let quiet = 0; !this.#ended; quiet += 1) {
      await this.#hub.tick();
      if (this.#ended) break;
      if (this.#hasNews()) return { done: false, value: this.#update() };
      if (quiet === QUIET_TICKS) return { done: false, value: ': quiet\n\n' };
    }
    return { done: true, value: undefined };
  }

  return(): Promise<IteratorResult<string, undefined>> {
    this.#ended = true;
    this.#close();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #hasNews(): boolean {
    const { end, runningTotal, passedOver } = this.#hub;
    return end > this.#next || passedOver > this.#passedOver || runningTotal > 0 || this.#wasRunning;
  }

  #update(): string {
    const { running, runningTotal, end, epoch, totals, passedOver } = this.#hub;
    const since = end - this.#next + passedOver - this.#passedOver;
    const kept = this.#hub.endedSince(this.#next);
    const matching = kept.filter(this.#filter);
    const ended = sample(matching);
    this.#next = end;
    this.#passedOver = passedOver;
    this.#wasRunning = runningTotal > 0;
    const update: LiveUpdate = {
      now: this.#now(),
      running: firstOf(running.values(), this.#filter),
      running_total: runningTotal,
      ended: ended.map(shown),
      left_out: matching.length - ended.length + since - kept.length,
      totals,
    };
    return `id: ${epoch}.${end}\ndata: ${JSON.stringify(update)}\n\n`;
  }
}

const everything: RowFilter = () => true;

/** Some of many: failures first, the others evenly, in the order in which they ended. */
function sample(rows: readonly LiveRow[]): readonly LiveRow[] {
  if (rows.length <= MOST_IN_UPDATE) return rows;
  const chosen = new Set(rows.filter(({ error_type: type }) => type !== undefined).slice(-MOST_FAILURES));
  const step = rows.length / (MOST_IN_UPDATE - chosen.size);
  for (let at = step - 1; at < rows.length && chosen.size < MOST_IN_UPDATE; at += step) {
    const row = rows[Math.floor(at)];
    if (row !== undefined) chosen.add(row);
  }
  return rows.filter((row) => chosen.has(row));
}

function firstOf(rows: Iterable<LiveRow>, filter: RowFilter): readonly LiveRow[] {
  const found: LiveRow[] = [];
  for (const row of rows) {
    if (filter(row)) found.push(shown(row));
    if (found.length === MOST_RUNNING) break;
  }
  return found;
}

/** Attempts of which only the end was seen leave holes. */
function shown(row: LiveRow): LiveRow {
  return { ...row, attempts: row.attempts.filter((one) => one !== undefined) };
}
