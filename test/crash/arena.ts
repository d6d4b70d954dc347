import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type BatchStore } from 'signalbox';
import type { Blow } from './blows.ts';
import { ACCOUNT, type Evidence, type Findings, check } from './check.ts';
import { type Action, SIZES, type Order, type Story, type WorkerSetup, storyTo, textOf } from './stories.ts';
import { startUpstream } from './upstream.ts';
import { FAIL_POINTS, type FailPoint } from '../../src/runtime/batches/ports.ts';

/** What happens to the workers on one store. */
export interface ArenaOptions {
  readonly setup: Pick<WorkerSetup, 'store' | 'where'> & { readonly unfenced?: boolean };
  /** Queues of the workers, one after the other. Default: the local one. */
  readonly queues?: readonly WorkerSetup['queue'][];
  /** The same store, for the checks. */
  readonly store: BatchStore;
  readonly workers: number;
  readonly kills: number;
  readonly pauses: number;
  /** Restarts the database, so many times. */
  readonly restart?: { readonly times: number; readonly run: () => Promise<void> };
  /** Places that are aimed at. Default: all. */
  readonly points?: readonly FailPoint[];
  readonly leaseMs: number;
  /**
   * True when pauses end only after others have done all of the batch meanwhile, and what follows waits for an outcome
   * that is stored twice: only a store without fencing lets one be.
   */
  readonly patient?: boolean;
  /** Part of the blows that fall at any moment instead of at a place. */
  readonly blind: number;
  /** Milliseconds after which no more is aimed. */
  readonly strikeMs: number;
  /** Milliseconds without any progress afterwards, after which what has not ended counts as lost. */
  readonly drainMs: number;
  readonly random: () => number;
  /** Program of the workers. */
  readonly program?: string;
}

/** What happened. */
export interface ArenaReport {
  readonly findings: Findings;
  readonly kills: number;
  readonly pauses: number;
  readonly restarts: number;
  readonly batches: number;
  readonly requests: number;
  readonly upstreamCalls: number;
  readonly deliveries: number;
  /** Webhooks at whose arrival the batch could be read. */
  readonly looks: number;
  /** Batches of which several processes ran requests. */
  readonly together: number;
  /** How often each place was reached, and how often a worker was killed or paused there. */
  readonly points: ReadonlyMap<FailPoint, { reached: number; kill: number; pause: number }>;
}

interface Worker {
  readonly child: ChildProcess;
  /** Set while an end of the process is our doing. */
  doomed: boolean;
  /** Called when it strikes itself; gives false when that is not what it was last told to do. */
  onHit: ((action: Action) => boolean) | undefined;
  /** Key of the batch that it was last told to create. */
  key: string;
  /** The pause that lasts. */
  pause: Blow | undefined;
}

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url));
/** Leases that a pause lasts. */
const PAUSED_LEASES = 1.6;
/** Milliseconds after which a place is given up that nobody comes to. */
const AIM_MS = 4_000;
/** Times that is aimed where no blow is to fall blindly: another worker may come to the place first. */
const AIMS = 5;
/** Milliseconds after which something is ordered again that nobody said was done. */
const ASK_AGAIN_MS = 2_000;
/** Times `drainMs` that the drain takes at most. */
const LONGEST_DRAINS = 8;
/** Milliseconds between two looks of the drain. */
const LOOK_MS = 100;
/** Milliseconds after which a pause ends although others are not done, and nothing is expected of it any more. */
const PATIENCE_MS = 15_000;

/** Milliseconds in which a worker must have started; the database may be away at the beginning. */
const START_MS = 60_000;

/**
 * Lets workers run on a store, strikes them, lets them come to an end, and checks everything.
 *
 * @throws Error at once when a worker cannot start.
 */
export async function runArena(options: ArenaOptions): Promise<ArenaReport> {
  const look = async (id: string): Promise<string | undefined> => (await options.store.find(ACCOUNT, id))?.status;
  await using upstream = await startUpstream(options.random, look);
  const arena = new Arena(options, upstream.url);
  try {
    await options.store.open();
    await arena.strike();
    await arena.drain();
  } finally {
    await arena.end();
  }
  const { points, kills, pauses, restarts } = arena;
  const findings = await check({ ...arena.evidence(), upstream });
  const requests = [...arena.batches.values()].reduce((sum, { story }) => sum + SIZES[story], 0);
  const upstreamCalls = [...upstream.calls.values()].reduce((sum, { length }) => sum + length, 0);
  const { length: deliveries } = upstream.webhooks;
  const { length: looks } = upstream.webhooks.filter(({ seen }) => seen !== undefined);
  return {
    findings,
    kills,
    pauses,
    restarts,
    batches: arena.batches.size,
    requests,
    upstreamCalls,
    deliveries,
    looks,
    together: [...arena.batches].filter(([key, { story }]) => {
      const names = Array.from({ length: SIZES[story] }, (_, index) => textOf(key, index));
      return new Set(names.map((name) => upstream.calls.get(name)?.[0]?.process)).size > 1;
    }).length,
    points,
  };
}

class Arena {
  readonly batches = new Map<string, { readonly story: Story; id: string | undefined }>();
  readonly points = new Map(FAIL_POINTS.map((point) => [point, { reached: 0, kill: 0, pause: 0 }]));
  kills = 0;
  pauses = 0;
  restarts = 0;
  readonly #options: ArenaOptions;
  readonly #upstream: string;
  readonly #workers = new Set<Worker>();
  readonly #stored = new Map<string, string[]>();
  readonly #heard = new Map<string, string[]>();
  readonly #exits: string[] = [];
  readonly #blows: Blow[] = [];
  /** When something was ordered last. */
  readonly #ordered = new Map<string, number>();
  readonly #toCancel = new Set<string>();
  readonly #beganAt = Date.now();
  readonly #endsAt: number;
  /** When a request got its outcome, or a batch another status. */
  #progressAt = Date.now();
  #begun = { kill: 0, pause: 0 };
  #keys = 0;
  #spawned = 0;
  #isOver = false;

  constructor(options: ArenaOptions, upstream: string) {
    this.#options = options;
    this.#upstream = upstream;
    this.#endsAt = this.#beganAt + options.strikeMs;
    process.on('exit', this.#killAll);
  }

  evidence(): Omit<Evidence, 'upstream'> {
    const { store, leaseMs } = this.#options;
    const [stored, heard, exits, blows] = [this.#stored, this.#heard, this.#exits, this.#blows];
    return { store, leaseMs, batches: this.batches, stored, heard, exits, blows };
  }

  async strike(): Promise<void> {
    const { workers, restart } = this.#options;
    const slots = Array.from({ length: workers }, () => this.#slot());
    await Promise.all([...slots, restart === undefined ? undefined : this.#restart(restart)]);
  }

  async #restart({ times, run }: NonNullable<ArenaOptions['restart']>): Promise<void> {
    while (this.restarts < times) {
      await sleep(4_000 + 4_000 * this.#options.random());
      if (this.#isOver) return;
      const blow = this.#strikes('restart', undefined);
      await run();
      blow.to = Date.now();
      this.restarts += 1;
    }
  }

  /** Waits until every batch has ended, and everybody was told. */
  async drain(): Promise<void> {
    const { drainMs, store, workers } = this.#options;
    while (this.#workers.size < workers) await this.#spawn();
    this.#progressAt = Date.now();
    // A busy machine takes long; what makes no progress is stuck.
    const endsAt = this.#progressAt + LONGEST_DRAINS * drainMs;
    while (Date.now() < Math.min(endsAt, this.#progressAt + drainMs)) {
      for (const worker of this.#workers) this.#doChores(worker);
      await sleep(LOOK_MS);
      const made = [...this.batches.values()].every(({ id }) => id !== undefined);
      if (!made || this.#toCancel.size > 0) continue;
      if ((await store.nextTaskIn().catch(() => 0)) === undefined) return;
    }
  }

  async end(): Promise<void> {
    this.#isOver = true;
    process.off('exit', this.#killAll);
    const left = [...this.#workers];
    this.#killAll();
    await Promise.all(left.map(({ child }) => (isOver(child) ? undefined : once(child, 'exit'))));
  }

  readonly #killAll = (): void => {
    for (const worker of this.#workers) {
      worker.doomed = true;
      worker.child.kill('SIGKILL');
    }
  };

  /** One worker after the other, until enough were struck. */
  async #slot(): Promise<void> {
    let worker = await this.#spawn();
    for (let action = this.#next(); action !== undefined; action = this.#next()) {
      if (isOver(worker.child)) worker = await this.#spawn();
      this.#doChores(worker);
      if (!(await this.#aims(worker, action))) await this.#strikeBlindly(worker, action);
      if (action === 'kill') {
        if (!isOver(worker.child)) await once(worker.child, 'exit');
        this.kills += 1;
      } else {
        await sleep(this.#options.leaseMs * PAUSED_LEASES);
        if (this.#options.patient === true) await this.#othersAreDone(worker);
        goOn(worker);
        if (this.#options.patient === true) await this.#isStoredTwice(worker);
        this.pauses += 1;
      }
    }
  }

  #goOnLater(worker: Worker): void {
    setTimeout(() => goOn(worker), this.#options.leaseMs * PAUSED_LEASES);
  }

  #othersAreDone({ key }: Worker): Promise<void> {
    const { id, story = 'plain' } = this.batches.get(key) ?? {};
    return soon(() => Array.from({ length: SIZES[story] }).every((_, index) => this.#stored.has(`${id}/${index}`)));
  }

  /** Whoever goes on while the machine is busy needs time to come too late. */
  #isStoredTwice({ key }: Worker): Promise<void> {
    const { id } = this.batches.get(key) ?? {};
    return soon(() => [...this.#stored].some(([place, ids]) => place.startsWith(`${id}/`) && ids.length > 1));
  }

  #next(): Action | undefined {
    const { kills, pauses, random } = this.#options;
    if (this.#isOver || Date.now() > this.#endsAt) return undefined;
    const left = { kill: kills - this.#begun.kill, pause: pauses - this.#begun.pause };
    const all = left.kill + left.pause;
    if (all <= 0) return undefined;
    const action = random() * all < left.kill ? 'kill' : 'pause';
    this.#begun[action] += 1;
    return action;
  }

  /** Aims, unless blows are to fall blindly as well. False when the place was not reached. */
  async #aims(worker: Worker, action: Action): Promise<boolean> {
    const { blind, random } = this.#options;
    if (blind > 0) return random() >= blind && this.#aim(worker, action);
    for (let tries = 0; tries < AIMS; tries += 1) if (await this.#aim(worker, action)) return true;
    return false;
  }

  /** Lets a worker strike itself at the place that was struck least. False when it did not come there in time. */
  async #aim(worker: Worker, action: Action): Promise<boolean> {
    const { random, points = FAIL_POINTS } = this.#options;
    const least = Math.min(...points.map((point) => this.points.get(point)?.[action] ?? 0));
    const open = points.filter((point) => (this.points.get(point)?.[action] ?? 0) === least);
    const point = open[Math.floor(random() * open.length)] ?? 'run.claimed';
    tell(worker, { type: 'aim', point, action });
    this.#create(worker, storyTo(point));
    const hit = new Promise<boolean>((resolve) => {
      worker.onHit = (done) => {
        if (done === action) resolve(true);
        return done === action;
      };
    });
    const ended = once(worker.child, 'exit').then(() => true);
    const timeout = new AbortController();
    const inTime = await Promise.race([
      hit,
      ended,
      sleep(AIM_MS, false, { signal: timeout.signal }).catch(() => false),
    ]);
    timeout.abort();
    worker.onHit = undefined;
    if (!inTime) tell(worker, { type: 'aim' });
    return inTime;
  }

  async #strikeBlindly(worker: Worker, action: Action): Promise<void> {
    // Several processes work on it when the blow falls.
    this.#create(worker, 'shared');
    await sleep(600 * this.#options.random());
    if (action === 'kill') {
      worker.doomed = true;
      this.#strikes('kill', worker.child.pid);
    } else worker.pause ??= this.#strikes('pause', undefined);
    worker.child.kill(action === 'kill' ? 'SIGKILL' : 'SIGSTOP');
  }

  /** Writes down what is done to a process, or to all. What is not over by itself is ended by whoever began it. */
  #strikes(kind: Blow['kind'], pid: number | undefined, tookMs = 0): Blow {
    const now = Date.now();
    const blow: Blow = {
      kind,
      process: pid,
      from: now - tookMs,
      to: kind === 'kill' || kind === 'stall' ? now : Infinity,
    };
    this.#blows.push(blow);
    return blow;
  }

  #create(worker: Worker, story: Story): void {
    this.#keys += 1;
    const key = `key-${this.#keys}`;
    worker.key = key;
    this.batches.set(key, { story, id: undefined });
    this.#ordered.set(key, Date.now());
    tell(worker, { type: 'create', key, story });
  }

  /** What another worker was to do and did not, as a client would ask again. */
  #doChores(worker: Worker): void {
    for (const [key, { story, id }] of this.batches) {
      if (id === undefined && this.#isDue(key)) tell(worker, { type: 'create', key, story });
    }
    for (const id of this.#toCancel) if (this.#isDue(id)) tell(worker, { type: 'cancel', id });
  }

  #isDue(name: string): boolean {
    const now = Date.now();
    if (now - (this.#ordered.get(name) ?? 0) < ASK_AGAIN_MS) return false;
    this.#ordered.set(name, now);
    return true;
  }

  async #spawn(): Promise<Worker> {
    const { setup, leaseMs, queues = ['local'] } = this.#options;
    const queue = queues[this.#spawned % queues.length] ?? 'local';
    this.#spawned += 1;
    const whole: WorkerSetup = { unfenced: false, queue, ...setup, leaseMs, upstream: this.#upstream };
    const { program = WORKER } = this.#options;
    const child = spawn(process.execPath, [program, JSON.stringify(whole)], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const worker: Worker = { child, doomed: false, onHit: undefined, key: '', pause: undefined };
    this.#workers.add(worker);
    const said: string[] = [];
    child.stderr?.on('data', (text: Buffer) => said.push(String(text)));
    // An order may come too late for a worker that was struck.
    child.on('error', () => undefined);
    let isReady = false;
    child.on('exit', (code, signal) => {
      this.#workers.delete(worker);
      if (isReady && !worker.doomed) this.#exits.push(`a worker ended with ${signal ?? code}: ${lastOf(said)}`);
    });
    const timeout = new AbortController();
    const end = await Promise.race([
      new Promise<string | undefined>((resolve) => {
        child.once('exit', (code, signal) => resolve(`it ended with ${signal ?? code}`));
        if (child.stdout === null) return;
        createInterface({ input: child.stdout }).on('line', (line) => {
          if (line === 'ready') resolve(undefined);
          else this.#hear(worker, line.split(' '));
        });
      }),
      sleep(START_MS, 'it was not ready in time', { signal: timeout.signal }).catch(() => undefined),
    ]);
    timeout.abort();
    isReady = end === undefined;
    if (isReady || this.#isOver) return worker;
    throw new Error(`Workers cannot start: ${end}. They need the built package (npm run build). ${lastOf(said)}`);
  }

  #hear(worker: Worker, [word, name = '', ...more]: readonly string[]): void {
    if (word === 'at') {
      const seen = this.points.get(name as FailPoint);
      if (seen !== undefined) seen.reached += 1;
    }
    if (word === 'hit') {
      const action = more[0] === 'kill' ? 'kill' : 'pause';
      worker.doomed = action === 'kill';
      const seen = this.points.get(name as FailPoint);
      if (seen !== undefined) seen[action] += 1;
      const blow = this.#strikes(action, worker.child.pid);
      if (action === 'pause') worker.pause ??= blow;
      // On a busy machine it may get there only after it was given up: then nobody waits to let it go on.
      if (worker.onHit?.(action) !== true && action === 'pause') this.#goOnLater(worker);
    }
    if (word === 'stored' || more[0] === 'is') this.#progressAt = Date.now();
    if (word === 'stored') {
      const place = `${name}/${more[0]}`;
      this.#stored.set(place, [...(this.#stored.get(place) ?? []), more[1] ?? '']);
    }
    if (word === 'heard') {
      const line = `${Date.now() - this.#beganAt} ms, process ${worker.child.pid}: ${more.join(' ')}`;
      this.#heard.set(name, [...(this.#heard.get(name) ?? []), line]);
    }
    if (word === 'stalled') this.#stalled(worker, Number(more[0]));
    if (word === 'made') this.#made(name, more[0] ?? '');
    if (word === 'cancelled') this.#toCancel.delete(name);
  }

  /** A process that was paused notices that too. */
  #stalled({ child: { pid } }: Worker, tookMs: number): void {
    const from = Date.now() - tookMs - LOOK_MS;
    const wasPaused = this.#blows.some((blow) => blow.kind === 'pause' && blow.process === pid && blow.to >= from);
    if (!wasPaused) this.#strikes('stall', undefined, tookMs);
  }

  #made(key: string, id: string): void {
    const batch = this.batches.get(key);
    if (batch === undefined) return;
    const isNew = batch.id === undefined;
    batch.id = id;
    if (!isNew || batch.story !== 'cancel') return;
    this.#toCancel.add(id);
    for (const other of this.#workers) setTimeout(() => tell(other, { type: 'cancel', id }), 250);
  }
}

/** Waits until something is so, or for as long as patience lasts. */
async function soon(isSo: () => boolean): Promise<void> {
  for (const endsAt = Date.now() + PATIENCE_MS; Date.now() < endsAt && !isSo();) await sleep(LOOK_MS);
}

/** Ends a pause, if there is one. */
function goOn(worker: Worker): void {
  worker.child.kill('SIGCONT');
  if (worker.pause !== undefined) worker.pause.to = Date.now();
  worker.pause = undefined;
}

function tell({ child }: Worker, order: Order): void {
  if (child.connected) child.send(order, () => undefined);
}

function lastOf(said: readonly string[]): string {
  return said.join('').trim().slice(-2_000);
}

function isOver({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
