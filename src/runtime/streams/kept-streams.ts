/** The kept streams of one instance: those that it sends, and those of others that it reads. */
import type { StateStore } from '../../contracts/state-store.ts';
import { beginsCharacter } from '../../platform/byte-text.ts';
import type { Environment, Timer } from '../../platform/environment.ts';
import * as read from '../../platform/json.ts';
import { errorOf } from '../../protocol/router-error.ts';
import { readStream, type ReadOptions } from './read-stream.ts';
import {
  aliveKey,
  CHUNK_BYTES,
  isAbandoned,
  keysOf,
  readHead,
  type SignOfLife,
  type StreamFormat,
  type StreamHead,
  type StreamKeys,
  stopsKey,
} from './stream-layout.ts';
import { StreamKeeper } from './stream-keeper.ts';

/** Milliseconds between two signs of life of an instance that sends streams, and two looks for what should stop. */
const BEAT_MS = 2_000;
/** Milliseconds without a sign of life after which an instance counts as gone. */
const ALIVE_MS = 8_000;
/** Milliseconds for which a wish to stop a stream is remembered. */
const STOP_MS = 60_000;

/** What kept streams work with. */
export interface KeptStreamsOptions {
  readonly store: StateStore;
  /** True where the store is closed with the streams. Default false: somebody else closes it. */
  readonly ownsStore?: boolean | undefined;
  readonly keepMs: number;
  readonly leaveAfterMs: number;
  readonly maxBytes: number;
  readonly maxTotalBytes: number;
  readonly environment: Environment;
  /** Told once in a while that something could not be kept. */
  readonly warn: (message: string) => void;
}

/** What becomes of a stream that was to stop. */
export type StopResult = 'stopping' | 'deleted';

/** A stream that ended and is kept. */
interface EndedStream {
  readonly keys: StreamKeys;
  readonly chunks: number;
  readonly bytes: number;
  /** Monotonic milliseconds. */
  readonly until: number;
}

/** Streams that are kept while they are sent, and read again from where a reader stopped. */
export class KeptStreams {
  readonly #options: KeptStreamsOptions;
  /** Those that this instance sends, by the keys of their heads. */
  readonly #open = new Map<string, StreamKeeper>();
  /** Those that it sent, the oldest first. */
  readonly #ended = new Map<string, EndedStream>();
  #bytes = 0;
  #owner: string | undefined;
  #beat: Timer | undefined;
  #stops = 0;
  /** Number of the stream that begins next. */
  #next = 0;
  #warnedAt = -Infinity;

  constructor(options: KeptStreamsOptions) {
    this.#options = options;
  }

  get environment(): Environment {
    return this.#options.environment;
  }

  /** Milliseconds that a stream goes on without a reader. */
  get leaveAfterMs(): number {
    return this.#options.leaveAfterMs;
  }

  /**
   * Begins to keep a stream. Undefined where the store cannot be written: the stream goes on without being kept.
   *
   * @param lost - What readers get after the last frame when this instance dies. Default: an error in the format.
   */
  async begin(account: string, id: string, format: StreamFormat, lost?: string): Promise<StreamKeeper | undefined> {
    const { store, environment, keepMs, maxBytes } = this.#options;
    this.#owner ??= environment.randomText(16);
    const keys = keysOf(account, id);
    const number = this.#next;
    this.#next += 1;
    const keeper: StreamKeeper = new StreamKeeper({
      keys,
      head: { format, owner: this.#owner, number, lost },
      store,
      environment,
      keepMs,
      maxBytes,
      makeRoom: (bytes) => this.#makeRoom(bytes),
      onSettled: (settled) => this.#settle(settled),
      onFailed: (error) => this.#warn(error),
    });
    this.#open.set(keys.head, keeper);
    try {
      if (this.#beat === undefined) await this.#live();
      await keeper.begin();
      return keeper;
    } catch (error) {
      this.#open.delete(keys.head);
      this.#warn(error);
      return undefined;
    }
  }

  /**
   * The rest of a stream.
   *
   * @param signal - Ends the reading.
   * @throws {@link RouterError} 404 for a stream that is not kept, or is another account's; 400 for a place that there is
   * not.
   */
  async read(
    account: string,
    id: string,
    options: ReadOptions,
    signal: AbortSignal,
  ): Promise<{ readonly text: AsyncGenerator<string, void>; readonly isOver: boolean }> {
    const { store, environment } = this.#options;
    const { from } = options;
    const [keys, head] = await this.#find(account, id);
    const { bytes } = head;
    if (bytes !== undefined && from > bytes) {
      throw errorOf(400, `from is ${from}, but this stream has only ${bytes} bytes`);
    }
    const keeper = (): StreamKeeper | undefined => this.#open.get(keys.head);
    if (from > 0) {
      const index = Math.floor(from / CHUNK_BYTES);
      const chunk = keeper()?.chunk(index) ?? read.string(await store.get(keys.chunk(index))) ?? '';
      if (!beginsCharacter(chunk, from % CHUNK_BYTES)) {
        throw errorOf(400, `from is ${from}, which is inside a character: give the bytes up to the last whole event`);
      }
    }
    const text = readStream({ id, keys, head, store, environment, signal, keeper }, options);
    return { text, isOver: bytes === from };
  }

  /**
   * Stops a stream that goes on, wherever that is, and forgets one that is over.
   *
   * @throws {@link RouterError} 404 for a stream that is not kept, or is another account's.
   */
  async stop(account: string, id: string): Promise<StopResult> {
    const { store } = this.#options;
    const [keys, head] = await this.#find(account, id);
    const { bytes, owner, isDropped } = head;
    const keeper = this.#open.get(keys.head);
    if (keeper?.isOpen === true) {
      keeper.onStop('stopped');
      return 'stopping';
    }
    const goesOn = bytes === undefined && !isDropped && !isAbandoned(head, await store.get(aliveKey(owner)));
    if (!goesOn) {
      await this.#delete(keys, bytes === undefined ? Infinity : Math.ceil(bytes / CHUNK_BYTES));
      return 'deleted';
    }
    await store.set(keys.stop, true, STOP_MS);
    await store.increment(stopsKey(owner), 1, STOP_MS);
    return 'stopping';
  }

  /** Whether somebody else reads a stream that this instance sends. */
  async hasReaders(keeper: StreamKeeper): Promise<boolean> {
    if (keeper.hasReaders) return true;
    try {
      return (await this.#options.store.get(keeper.keys.readers)) !== undefined;
    } catch {
      return false;
    }
  }

  /** Ends what goes on, writes what is not written yet, and closes a store of its own. */
  async close(): Promise<void> {
    const open = [...this.#open.values()];
    for (const keeper of open) keeper.onStop('closed');
    await Promise.all(open.map((keeper) => keeper.end()));
    this.#stopBeat();
    if (this.#options.ownsStore) await this.#options.store.close?.();
  }

  async #find(account: string, id: string): Promise<readonly [StreamKeys, StreamHead]> {
    const keys = keysOf(account, id);
    const head = readHead(await this.#options.store.get(keys.head));
    if (head === undefined) {
      throw errorOf(
        404,
        'There is no such stream: it was never kept, or its time is over, or it is of another account',
      );
    }
    if (head.isDropped) {
      throw errorOf(404, 'This stream is not kept: it has more bytes than streams.maxBytes or streams.maxTotalBytes');
    }
    return [keys, head];
  }

  #makeRoom(bytes: number): boolean {
    const { maxTotalBytes, environment } = this.#options;
    const now = environment.now();
    for (const [key, ended] of this.#ended) {
      const isOver = ended.until <= now;
      if (!isOver && this.#bytes + bytes <= maxTotalBytes) break;
      this.#ended.delete(key);
      this.#bytes -= ended.bytes;
      if (!isOver) void this.#delete(ended.keys, ended.chunks).catch((error: unknown) => this.#warn(error));
    }
    if (this.#bytes + bytes > maxTotalBytes) return false;
    this.#bytes += bytes;
    return true;
  }

  #settle(keeper: StreamKeeper): void {
    const { keys, bytes, chunks } = keeper;
    const { environment, keepMs } = this.#options;
    if (!this.#open.delete(keys.head)) return;
    if (keeper.isDropped) this.#bytes -= keeper.counted;
    else this.#ended.set(keys.head, { keys, chunks, bytes, until: environment.now() + keepMs });
    if (this.#open.size === 0) this.#stopBeat();
  }

  async #delete(keys: StreamKeys, chunks: number): Promise<void> {
    const { store } = this.#options;
    await store.delete(keys.head);
    for (let index = 0; index < chunks; index += 1) {
      if (chunks === Infinity && (await store.get(keys.chunk(index))) === undefined) break;
      await store.delete(keys.chunk(index));
    }
    const ended = this.#ended.get(keys.head);
    if (ended === undefined) return;
    this.#ended.delete(keys.head);
    this.#bytes -= ended.bytes;
  }

  /** Says that this instance lives, looks for streams that should stop, and does so again after a while. */
  async #live(): Promise<void> {
    const { store, environment } = this.#options;
    const owner = this.#owner ?? '';
    this.#beat = environment.setTimer(() => {
      this.#beat = undefined;
      if (this.#open.size > 0) void this.#live().catch((error: unknown) => this.#warn(error));
    }, BEAT_MS);
    const open = [...this.#open.values()].map(({ number }) => number);
    await store.set(aliveKey(owner), { next: this.#next, open } satisfies SignOfLife, ALIVE_MS);
    const stops = read.number(await store.get(stopsKey(owner))) ?? 0;
    const wasAsked = stops !== this.#stops;
    this.#stops = stops;
    for (const keeper of this.#open.values()) {
      if (wasAsked && (await store.get(keeper.keys.stop)) !== undefined) {
        await store.delete(keeper.keys.stop);
        keeper.onStop('stopped');
      }
      await keeper.refresh();
    }
  }

  #stopBeat(): void {
    if (this.#beat !== undefined) this.#options.environment.clearTimer(this.#beat);
    this.#beat = undefined;
  }

  #warn(error: unknown): void {
    const { environment, warn } = this.#options;
    if (environment.now() - this.#warnedAt < 60_000) return;
    this.#warnedAt = environment.now();
    warn(`A stream is not kept, because its store failed (${error instanceof Error ? error.name : 'something'})`);
  }
}
