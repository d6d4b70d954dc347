/** Keeps the frames of a stream over HTTP while they are sent, and reads them on when their client leaves. */
import type { Account } from '../contracts/account.ts';
import type { Frames } from '../contracts/exchange.ts';
import type { Environment, Timer } from '../platform/environment.ts';
import { PENDING, Pollable, type Polled } from '../platform/wait.ts';
import { RouterError } from '../protocol/router-error.ts';
import type { ContinuedStream } from '../runtime/chat/answer.ts';
import type { KeptStreams } from '../runtime/streams/kept-streams.ts';
import type { StreamStopReason, StreamKeeper } from '../runtime/streams/stream-keeper.ts';
import type { StreamFrames } from './stream-frames.ts';

/** Milliseconds between two looks for readers of a stream that has outlived its time without one. */
const LOOK_MS = 2_000;
/** Milliseconds that readers of a stream which is another instance's have to find it here, whatever the option says. */
const LEAST_LEAVE_MS = 10_000;
/** Characters that are read before they are stored. */
const AHEAD_CHARACTERS = 65_536;

/** Frames that can say when they are over. */
export type EndingFrames = Frames & Pick<StreamFrames, 'onEnd'>;

/** What keeping the frames of a stream works with. */
export interface KeptFramesOptions {
  readonly frames: StreamFrames;
  readonly streams: KeptStreams;
  readonly keeper: StreamKeeper;
  readonly account: Account;
  readonly id: string;
  /** Aborted when the client disconnects. Undefined where that was another instance's. */
  readonly client?: AbortSignal | undefined;
  /** What goes on with the stream where it breaks. Undefined where no other instance may go on with it. */
  readonly continuing?: ContinuedStream | undefined;
  /** Notes which endpoint answers; false while none does. Default: that is known. */
  readonly noteEndpoint?: (() => boolean) | undefined;
}

/**
 * Frames of which each is kept when it is sent. When the client leaves, they are read on without it, as long as the
 * option says or somebody else reads them.
 *
 * Where another instance may go on with them, each is sent once it is stored: what a client has seen is what that
 * instance goes on from, and what its readers get.
 */
export class KeptFrames extends Pollable<string | undefined> implements EndingFrames {
  readonly #options: KeptFramesOptions;
  readonly #frames: StreamFrames;
  readonly #streams: KeptStreams;
  readonly #keeper: StreamKeeper;
  readonly #client: AbortSignal | undefined;
  readonly #environment: Environment;
  readonly #leaveAfterMs: number;
  /** True where frames are stored before they are sent. */
  readonly #isStoredFirst: boolean;
  /** Kept already, to be sent with the next poll. */
  #ahead = '';
  /** Nothing more comes from the provider. */
  #isOver = false;
  /** Nothing more comes from where it is stored. */
  #isSent: boolean;
  #isPumping = false;
  #hasLeft = false;
  #noteEndpoint: (() => boolean) | undefined;
  #wake: () => void = ignore;
  #timer: Timer | undefined;
  /** Monotonic milliseconds since which nobody reads. */
  #unreadSince = 0;

  constructor(options: KeptFramesOptions) {
    super();
    const { frames, streams, keeper, client, continuing } = options;
    this.#options = options;
    this.#frames = frames;
    this.#streams = streams;
    this.#keeper = keeper;
    this.#client = client;
    this.#environment = streams.environment;
    this.#leaveAfterMs = Math.max(streams.leaveAfterMs, client === undefined ? LEAST_LEAVE_MS : 0);
    this.#noteEndpoint = options.noteEndpoint;
    this.#isStoredFirst = continuing !== undefined;
    this.#isSent = continuing === undefined;
    const stop: StreamKeeper['onStop'] = (reason) => this.#stop(reason);
    keeper.onStop = stop;
    if (continuing !== undefined) {
      const [claim, stored, taken] = [() => keeper.claimEnd(), this.#onStored, this.#onTaken];
      continuing.beforeEnd = claim;
      keeper.onStored = stored;
      keeper.onTaken = taken;
    }
    client?.addEventListener('abort', this.#leave);
    if (client === undefined) this.#leaveOnly();
    else {
      // The first frame is there before the status is sent, and was kept with the head.
      const first = frames.opening === '' ? PENDING : frames.poll(ignore);
      if (typeof first === 'string') this.#ahead = first;
      if (this.#isStoredFirst) this.#pump();
    }
  }

  get ended(): boolean {
    return this.#ahead === '' && ((this.#isOver && this.#isSent) || this.#hasLeft);
  }

  /** Calls back when nothing more comes from the provider, whether or not the client is there. */
  onEnd(listener: () => void): void {
    this.#frames.onEnd(listener);
  }

  poll(wake: () => void): Polled<string | undefined> {
    if (this.#ahead === '' && !this.ended) {
      this.#wake = wake;
      if (!this.#isStoredFirst) return this.#next(wake);
      this.#pump();
    }
    const ahead = this.#ahead;
    this.#ahead = '';
    if (ahead !== '') return ahead;
    return this.ended ? undefined : PENDING;
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
    if (this.#noteEndpoint?.() === true) this.#noteEndpoint = undefined;
    if (frame !== undefined) this.#keeper.push(frame);
    if (frame === undefined || this.#frames.ended) this.#finish();
    return frame;
  }

  /** Reads what is there, to be stored. */
  readonly #pump = (): void => {
    if (this.#isPumping || this.#hasLeft) return;
    this.#isPumping = true;
    while (!this.#isOver && this.#keeper.unwritten < AHEAD_CHARACTERS) {
      if (this.#next(this.#pump) === PENDING) break;
    }
    this.#isPumping = false;
  };

  readonly #onStored = (text: string): void => {
    if (this.#hasLeft) return;
    this.#ahead += text;
    if (!this.#isPumping) this.#wakeMount();
  };

  /** Another instance goes on with the stream: what it sends is what this client gets. */
  readonly #onTaken = (): void => {
    const { continuing } = this.#options;
    if (continuing !== undefined) continuing.isTaken = true;
    this.#isOver = true;
    this.#clear();
    void this.#frames.return();
    if (!this.#hasLeft) void this.#follow();
  };

  async #follow(): Promise<void> {
    const { account, id } = this.#options;
    const leaving = new AbortController();
    const leave = (): void => leaving.abort();
    this.#client?.addEventListener('abort', leave);
    try {
      const options = { from: this.#keeper.stored, hasIds: false };
      const { text } = await this.#streams.follow(account, id, options, leaving.signal);
      for await (const frames of text) this.#onStored(frames);
    } catch {
      // The connection ends as it does when an instance dies; whoever asks again is told what there is.
    }
    this.#client?.removeEventListener('abort', leave);
    this.#sent();
  }

  readonly #sent = (): void => {
    this.#isSent = true;
    this.#wakeMount();
  };

  #clear(): void {
    this.#client?.removeEventListener('abort', this.#leave);
    if (this.#timer !== undefined) this.#environment.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  #finish(): void {
    this.#isOver = true;
    if (!this.#isStoredFirst) this.#clear();
    const ended = this.#keeper.end();
    if (this.#isStoredFirst) void ended.then(this.#onWritten);
  }

  readonly #onWritten = (): void => {
    this.#clear();
    if (!this.#keeper.isTaken) this.#sent();
  };

  #stop(reason: keyof typeof ENDINGS): void | Promise<void> {
    if (this.#isOver) return;
    if (!this.#isStoredFirst) return this.#end(reason);
    return this.#keeper.claimEnd().then((isOurs) => (isOurs && !this.#isOver ? this.#end(reason) : undefined));
  }

  #end(reason: keyof typeof ENDINGS): void {
    const last = this.#frames.stop(new RouterError(ENDINGS[reason]));
    this.#keeper.push(last);
    this.#finish();
    if (this.#hasLeft || this.#isStoredFirst) return;
    this.#ahead += last;
    this.#wakeMount();
  }

  #wakeMount(): void {
    const wake = this.#wake;
    this.#wake = ignore;
    wake();
  }

  readonly #leave = (): void => {
    if (this.#hasLeft || (this.#isOver && this.#isSent)) return;
    this.#leaveOnly();
  };

  #leaveOnly(): void {
    this.#hasLeft = true;
    this.#ahead = '';
    this.#wakeMount();
    if (this.#isOver) return;
    if (this.#leaveAfterMs <= 0) return void this.#stop('left');
    this.#unreadSince = this.#environment.now();
    this.#lookLater();
    this.#readOn();
  }

  /** Reads what comes, as fast as it does. */
  readonly #readOn = (): void => {
    while (!this.#isOver) {
      if (this.#keeper.isDropped) return void this.#stop('left');
      if (this.#next(this.#readOn) === PENDING) return;
    }
  };

  #lookLater(): void {
    const left = this.#unreadSince + this.#leaveAfterMs - this.#environment.now();
    this.#timer = this.#environment.setTimer(() => void this.#look(), Math.min(LOOK_MS, Math.max(1, left)));
  }

  async #look(): Promise<void> {
    const now = this.#environment.now();
    if (await this.#streams.hasReaders(this.#keeper)) this.#unreadSince = now;
    if (this.#isOver) return;
    if (now - this.#unreadSince >= this.#leaveAfterMs) void this.#stop('left');
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
