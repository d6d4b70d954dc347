/** Keeps the frames of a stream over HTTP while they are sent, and reads them on when their client leaves. */
import type { Frames } from '../contracts/exchange.ts';
import type { Environment, Timer } from '../platform/environment.ts';
import { type MaybePromise, PENDING, Pollable, type Polled } from '../platform/wait.ts';
import { RouterError } from '../protocol/router-error.ts';
import type { KeptStreams } from '../runtime/streams/kept-streams.ts';
import type { StreamStopReason, StreamKeeper } from '../runtime/streams/stream-keeper.ts';
import type { StreamFormat } from '../runtime/streams/stream-layout.ts';
import type { StreamFrames } from './stream-frames.ts';

/** Milliseconds between two looks for readers of a stream that has outlived its time without one. */
const LOOK_MS = 2_000;

/** Keeps the stream of one request, should it answer with one. */
export interface Keeping {
  /** Ends the call of the provider: with the client, until the stream is kept. */
  readonly signal: AbortSignal;
  /** Frames that are kept when they are sent. From now on the client may leave. */
  keep(frames: StreamFrames, account: string, id: string, format: StreamFormat): Promise<EndingFrames>;
}

/** Frames that can say when they are over. */
export type EndingFrames = Frames & Pick<StreamFrames, 'onEnd'>;

/**
 * Gets ready to keep the stream of a request.
 *
 * @param client - Aborted when the client disconnects.
 */
export async function keepingOf(load: () => MaybePromise<KeptStreams>, client: AbortSignal): Promise<Keeping> {
  const streams = await load();
  const controller = new AbortController();
  const abort = (): void => controller.abort(client.reason);
  if (client.aborted) abort();
  else client.addEventListener('abort', abort);
  return {
    signal: controller.signal,
    async keep(frames, account, id, format) {
      const keeper = await streams.begin(account, id, format);
      if (keeper === undefined) return frames;
      // A client that left before it got the id has nothing to resume.
      if (controller.signal.aborted) {
        keeper.drop();
        return frames;
      }
      client.removeEventListener('abort', abort);
      return new KeptFrames(frames, streams, keeper, client);
    },
  };
}

/**
 * Frames of which each is kept when it is sent. When the client leaves, they are read on without it, as long as the
 * option says or somebody else reads them.
 */
class KeptFrames extends Pollable<string | undefined> implements EndingFrames {
  readonly #frames: StreamFrames;
  readonly #streams: KeptStreams;
  readonly #keeper: StreamKeeper;
  readonly #client: AbortSignal;
  readonly #environment: Environment;
  /** Kept already, to be sent with the next poll. */
  #ahead = '';
  #isOver = false;
  #hasLeft = false;
  #wake: () => void = ignore;
  #timer: Timer | undefined;
  /** Monotonic milliseconds since which nobody reads. */
  #unreadSince = 0;

  constructor(frames: StreamFrames, streams: KeptStreams, keeper: StreamKeeper, client: AbortSignal) {
    super();
    this.#frames = frames;
    this.#streams = streams;
    this.#keeper = keeper;
    this.#client = client;
    this.#environment = streams.environment;
    const stop: StreamKeeper['onStop'] = (reason) => this.#stop(reason);
    keeper.onStop = stop;
    client.addEventListener('abort', this.#leave);
    // The first frame is there before the status is sent.
    const first = this.#next(ignore);
    if (typeof first === 'string') this.#ahead = first;
  }

  get ended(): boolean {
    return this.#ahead === '' && (this.#isOver || this.#hasLeft);
  }

  /** Calls back when nothing more comes from the provider, whether or not the client is there. */
  onEnd(listener: () => void): void {
    this.#frames.onEnd(listener);
  }

  poll(wake: () => void): Polled<string | undefined> {
    const ahead = this.#ahead;
    this.#ahead = '';
    if (ahead !== '') return ahead;
    if (this.#isOver || this.#hasLeft) return undefined;
    this.#wake = wake;
    return this.#next(wake);
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    const value = await this.read();
    return value === undefined ? { done: true, value } : { done: false, value };
  }

  return(): Promise<IteratorResult<string, undefined>> {
    this.#leave();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #next(wake: () => void): Polled<string | undefined> {
    const frame = this.#frames.poll(wake);
    if (frame === PENDING) return PENDING;
    if (frame !== undefined) this.#keeper.push(frame);
    if (frame === undefined || this.#frames.ended) this.#finish();
    return frame;
  }

  #finish(): void {
    this.#isOver = true;
    this.#client.removeEventListener('abort', this.#leave);
    if (this.#timer !== undefined) this.#environment.clearTimer(this.#timer);
    void this.#keeper.end();
  }

  #stop(reason: keyof typeof ENDINGS): void {
    if (this.#isOver) return;
    const last = this.#frames.stop(new RouterError(ENDINGS[reason]));
    this.#keeper.push(last);
    this.#finish();
    if (this.#hasLeft) return;
    this.#ahead += last;
    this.#wakeMount();
  }

  #wakeMount(): void {
    const wake = this.#wake;
    this.#wake = ignore;
    wake();
  }

  readonly #leave = (): void => {
    if (this.#isOver || this.#hasLeft) return;
    this.#hasLeft = true;
    this.#ahead = '';
    this.#wakeMount();
    if (this.#streams.leaveAfterMs <= 0) return this.#stop('left');
    this.#unreadSince = this.#environment.now();
    this.#lookLater();
    this.#readOn();
  };

  /** Reads what comes, as fast as it does. */
  readonly #readOn = (): void => {
    while (!this.#isOver) {
      if (this.#keeper.isDropped) return this.#stop('left');
      if (this.#next(this.#readOn) === PENDING) return;
    }
  };

  #lookLater(): void {
    const left = this.#unreadSince + this.#streams.leaveAfterMs - this.#environment.now();
    this.#timer = this.#environment.setTimer(() => void this.#look(), Math.min(LOOK_MS, Math.max(1, left)));
  }

  async #look(): Promise<void> {
    const now = this.#environment.now();
    if (await this.#streams.hasReaders(this.#keeper)) this.#unreadSince = now;
    if (this.#isOver) return;
    if (now - this.#unreadSince >= this.#streams.leaveAfterMs) this.#stop('left');
    else this.#lookLater();
  }
}

/** The last event of a stream that ends early. */
const ENDINGS = {
  stopped: { status: 499, errorType: 'unmapped', message: 'The stream was stopped by a request to delete it' },
  closed: { status: 503, errorType: 'server', message: 'The router was closed. Send the request again' },
  left: {
    status: 499,
    errorType: 'unmapped',
    message: 'The client disconnected, and nobody resumed the stream within the time of streams.leaveAfterMs',
  },
} as const satisfies Readonly<Record<StreamStopReason | 'left', object>>;

function ignore(): void {}
