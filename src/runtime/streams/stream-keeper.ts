/** Writes one stream into a state store while it is sent. */
import type { Environment, Timer } from '../../platform/environment.ts';
import { byteLength } from '../../platform/byte-text.ts';
import { andThen, type MaybePromise } from '../../platform/wait.ts';
import {
  afterBytes,
  END_MARK,
  HEAD_BYTES,
  LAST_COMMENT,
  storedHead,
  type StreamHead,
  type StreamKeys,
  type StreamStore,
} from './stream-layout.ts';

/**
 * Milliseconds between two writes of a stream that goes on: what was sent within them is lost when its instance dies. More
 * often costs more CPU than the stream itself.
 */
const FLUSH_MS = 500;
/** The same for a stream that is sent only once it is written, because another instance may go on with it. */
const FIRST_FLUSH_MS = 40;
/** Characters that are written before the time. A burst of an ordinary answer has fewer: it is one write, or two. */
const FLUSH_CHARACTERS = 65_536;
/** Milliseconds that what is kept outlives twice its time while the stream goes on. */
const SLACK_MS = 20_000;
/**
 * How often a store is tried again before a stream goes on without it, and milliseconds between two tries. Not a time: a
 * process that was stopped meanwhile has to look first whether another one goes on with the stream.
 */
const TRIES = 40;
const RETRY_MS = 250;

/** Why a stream ends early: somebody wanted it to stop, or its router is closed. */
export type StreamStopReason = 'stopped' | 'closed';

/** What a keeper works with. */
export interface KeeperContext {
  readonly keys: StreamKeys;
  readonly head: StreamHead;
  /** Bytes that another instance has written. Default 0. */
  readonly stored?: number | undefined;
  readonly store: StreamStore;
  readonly environment: Environment;
  readonly keepMs: number;
  readonly maxBytes: number;
  /** Makes room for more bytes; false where there is none. */
  readonly makeRoom: (bytes: number) => boolean;
  /** Called once when everything is written, or nothing will be. */
  readonly onSettled: (keeper: StreamKeeper) => void;
  readonly onFailed: (error: unknown) => void;
}

/** What is there of a stream when it begins. */
export interface StreamBeginning {
  /** Default: nothing. */
  readonly first?: string | undefined;
  /** True where that is all of it. Default false. */
  readonly isWhole?: boolean | undefined;
}

/** Milliseconds that something of a stream which goes on is kept. */
export function lifeOf({ keepMs }: Pick<KeeperContext, 'keepMs'>): number {
  return 2 * keepMs + SLACK_MS;
}

/** Keeps one stream while it is sent, at the instance that sends it. */
export class StreamKeeper {
  readonly #context: KeeperContext;
  /** What was sent since the last write began. */
  #parts: string[] = [];
  #characters = 0;
  /** What is being written. */
  #underWay = '';
  #underWayBytes = 0;
  /** Bytes that are written. */
  #stored: number;
  #counted: number;
  #timer: Timer | undefined;
  #writing: Promise<void> | undefined;
  /** Monotonic milliseconds. */
  #wroteAt = -Infinity;
  #hasEnd = false;
  #isHurried = false;
  #isClaimed = false;
  #state: 'open' | 'ended' | 'dropped' | 'taken' = 'open';
  #waiting: (() => void)[] = [];
  #onSettled: () => void = ignore;
  /** Ends the stream at its source, with an error as its last event. */
  onStop: (reason: StreamStopReason) => void | Promise<void> = ignore;
  /** Called with what is written, of a stream that is sent only then; with all of the rest where it is not kept. */
  onStored: (text: string) => void = ignore;
  /** Called where another instance goes on with the stream. */
  onTaken: () => void = ignore;

  constructor(context: KeeperContext) {
    this.#context = context;
    this.#stored = context.stored ?? 0;
    this.#counted = this.#stored;
  }

  get head(): StreamHead {
    return this.#context.head;
  }

  get keys(): StreamKeys {
    return this.#context.keys;
  }

  /** Bytes that are written. */
  get stored(): number {
    return this.#stored;
  }

  /** Characters that are not written yet. */
  get unwritten(): number {
    return this.#underWay.length + this.#characters;
  }

  /** Bytes for which there was room, also where they were dropped since. */
  get counted(): number {
    return this.#counted;
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** True where nothing of the stream is kept any more. */
  get isDropped(): boolean {
    return this.#state === 'dropped';
  }

  /** True where the stream is another instance's by now. */
  get isTaken(): boolean {
    return this.#state === 'taken';
  }

  /** Resolves when everything is written, or nothing will be. */
  whenSettled(): Promise<void> {
    return new Promise((resolve) => (this.#onSettled = resolve));
  }

  /**
   * Writes the head, so that the stream is found by other instances before its first byte is sent, with the frames that
   * are there already. A stream of which that is all takes this one write, and is settled by it.
   */
  begin({ first = '', isWhole = false }: StreamBeginning): MaybePromise<void> {
    const { store, keys, head, keepMs } = this.#context;
    const bytes = byteLength(first);
    const isKept = this.#claimRoom(bytes);
    if (!isKept) this.#state = 'dropped';
    const text = isKept ? storedHead(head) + first : storedHead({ ...head, isDropped: true });
    const isEnd = isKept && isWhole;
    const ttlMs = isWhole ? keepMs : lifeOf(this.#context);
    const written = isEnd ? text + END_MARK : text;
    const begun = (): void => {
      if (isKept) this.#stored = bytes;
      this.#hasEnd = isEnd;
      if (isEnd) this.#state = 'ended';
      if (isWhole) this.#settle();
    };
    return andThen(store.append(keys.stream, written, 0, ttlMs), (isAdded) =>
      isAdded ? begun() : this.#beginAnew(written, ttlMs).then(begun),
    );
  }

  /** Begins a stream whose id another one had: a program gives its streams what ids it likes. */
  async #beginAnew(text: string, ttlMs: number): Promise<void> {
    const { store, keys } = this.#context;
    await store.delete(keys.stream);
    if (!(await store.append(keys.stream, text, 0, ttlMs))) throw new RangeError('it takes no streams');
  }

  /** Notes what is sent. */
  push(text: string): void {
    if (text === '') return;
    if (this.#state !== 'open') return this.#state === 'taken' ? undefined : this.onStored(text);
    this.#parts.push(text);
    this.#characters += text.length;
    if (this.#waiting.length > 0 && this.head.isContinued !== true) this.#wakeReaders();
    if (this.#writing !== undefined) return;
    if (this.#characters >= FLUSH_CHARACTERS) void this.#flush();
    else this.#writeLater();
  }

  /** The stream is over; its last bytes were noted. */
  async end(): Promise<void> {
    if (this.#state === 'open') this.#state = 'ended';
    this.#wakeReaders();
    // A write that is under way may have begun before the end.
    do await this.#flush();
    while (this.#state === 'ended' && !this.#hasEnd);
  }

  /** Writes what was noted. */
  async flush(): Promise<void> {
    while (this.#state === 'open' && (this.#parts.length > 0 || this.#underWay !== '')) await this.#flush();
  }

  /**
   * Keeps others from going on with the stream, before it is accounted for; false where one does already. Where the
   * store is away for long, the stream ends here all the same.
   */
  async claimEnd(): Promise<boolean> {
    if (!this.#isClaimed) this.push(LAST_COMMENT);
    this.#isClaimed = true;
    await this.flush();
    return !this.isTaken;
  }

  /** Adds a first text to what another instance has written; false where somebody else has done so. */
  async take(text: string): Promise<boolean> {
    const { store, keys } = this.#context;
    if (!(await store.append(keys.stream, text, HEAD_BYTES + this.#stored, lifeOf(this.#context)))) return false;
    this.#stored += text.length;
    return true;
  }

  /** Ends a stream that could not be taken. */
  leave(): void {
    this.#state = 'taken';
    this.#settle();
  }

  /** What readers here may have that is not in the store yet, from a byte on. */
  unstored(from: number): string {
    if (this.head.isContinued === true || from < this.#stored) return '';
    return afterBytes(this.#underWay + this.#parts.join(''), from - this.#stored);
  }

  /** True where a reader here has all that is written. */
  isAhead(from: number): boolean {
    return this.#state === 'open' && from >= this.#stored;
  }

  /** Calls back once, when there is more or the stream is over. */
  onChange(callback: () => void): void {
    this.#waiting.push(callback);
  }

  /** Takes back an {@link onChange}. */
  forgetReader(callback: () => void): void {
    this.#waiting = this.#waiting.filter((one) => one !== callback);
  }

  get hasReaders(): boolean {
    return this.#waiting.length > 0;
  }

  /** Does not wait for a store that is away any more. */
  hurry(): void {
    this.#isHurried = true;
  }

  /** Forgets what was kept: the stream goes on without. */
  drop(): void {
    if (this.#state === 'dropped' || this.#state === 'taken') return;
    this.#giveUp();
    void this.#flush();
  }

  #giveUp(): void {
    const rest = this.#underWay + this.#parts.join('');
    this.#state = 'dropped';
    this.#underWay = '';
    this.#parts = [];
    this.#wakeReaders();
    if (rest !== '') this.onStored(rest);
  }

  #writeLater(): void {
    if (this.#timer !== undefined) return;
    const { environment, head } = this.#context;
    const ms = head.isContinued === true ? this.#wroteAt + FIRST_FLUSH_MS - environment.now() : FLUSH_MS;
    this.#timer = environment.setTimer(this.#onTimer, Math.max(0, ms));
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    void this.#flush();
  };

  #wakeReaders(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const callback of waiting) callback();
  }

  /** Writes what is new, one write after the other. */
  #flush(): Promise<void> {
    if (this.#timer !== undefined) this.#context.environment.clearTimer(this.#timer);
    this.#timer = undefined;
    return (this.#writing ??= this.#write());
  }

  async #write(): Promise<void> {
    const { environment, head } = this.#context;
    this.#wroteAt = environment.now();
    const text = this.#take();
    const isLast = this.#state === 'ended';
    const isDone = (text === '' && !isLast) || (await this.#append(isLast ? text + END_MARK : text));
    if (this.#state === 'dropped') await this.#forget();
    else if (isDone) {
      this.#hasEnd ||= isLast;
      this.#underWay = '';
      this.#stored += this.#underWayBytes;
      if (head.isContinued === true) this.#wakeReaders();
      this.onStored(text);
    }
    this.#writing = undefined;
    if (this.#state === 'open' && this.#parts.length > 0) this.#writeLater();
    else if (this.#state !== 'open' && (this.#state !== 'ended' || this.#hasEnd)) this.#settle();
  }

  /** What is to be written next, as one text. */
  #take(): string {
    this.#underWayBytes = 0;
    if (this.#parts.length === 0 || this.#state === 'dropped' || this.#state === 'taken') return '';
    const text = this.#parts.join('');
    this.#parts = [];
    this.#characters = 0;
    this.#underWay = text;
    this.#underWayBytes = byteLength(text);
    if (this.#claimRoom(this.#underWayBytes)) return text;
    this.#giveUp();
    return '';
  }

  /** Takes room for more bytes; false where there is none. */
  #claimRoom(bytes: number): boolean {
    const { maxBytes, makeRoom } = this.#context;
    if (bytes === 0) return true;
    if (this.#stored + bytes > maxBytes || !makeRoom(bytes)) return false;
    this.#counted += bytes;
    return true;
  }

  /** Adds to what is written; false where that cannot be done. */
  async #append(text: string): Promise<boolean> {
    const { store, keys, environment, keepMs, head } = this.#context;
    const ttlMs = this.#state === 'ended' ? keepMs : lifeOf(this.#context);
    const at = HEAD_BYTES + this.#stored;
    for (let tries = 1; ; tries += 1) {
      let failure: unknown;
      try {
        const added = store.append(keys.stream, text, at, ttlMs);
        if (added instanceof Promise ? await added : added) return true;
        // Where there is less than was written, the store is away, and something else answers in its place.
        if (head.isContinued === true && (await store.slice(keys.stream, at)) !== '') {
          this.#lose();
          return false;
        }
      } catch (error) {
        failure = error;
      }
      if (this.#state === 'dropped') return false;
      if (this.#isHurried || tries >= TRIES) {
        this.#context.onFailed(failure);
        this.#giveUp();
        return false;
      }
      await new Promise<void>((resolve) => environment.setTimer(resolve, RETRY_MS));
    }
  }

  #settle(): void {
    this.#context.onSettled(this);
    this.#onSettled();
  }

  #lose(): void {
    this.#state = 'taken';
    this.#underWay = '';
    this.#parts = [];
    this.#wakeReaders();
    this.onTaken();
  }

  /** Nobody finds anything of it but that it was dropped. */
  async #forget(): Promise<void> {
    const { store, keys, head, keepMs, onFailed } = this.#context;
    try {
      await store.delete(keys.stream);
      await store.append(keys.stream, storedHead({ ...head, isDropped: true }), 0, keepMs);
    } catch (error) {
      onFailed(error);
    }
  }
}

function ignore(): void {}
