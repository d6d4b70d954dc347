/** The kept streams of one instance: those that it sends, and those of others that it reads. */
import type { AccountNumber } from '../../core/limits/share.ts';
import type { Account } from '../../contracts/account.ts';
import { byteLength } from '../../platform/byte-text.ts';
import type { Environment, Timer } from '../../platform/environment.ts';
import { andThen, type MaybePromise, orElse } from '../../platform/wait.ts';
import * as read from '../../platform/json.ts';
import { errorOf } from '../../protocol/router-error.ts';
import { readStream, type ReadOptions } from './read-stream.ts';
import { StreamReaders } from './stream-readers.ts';
import { StreamRoom } from './stream-room.ts';
import {
  aliveKey,
  END_MARK,
  HEAD_BYTES,
  isAbandoned,
  LAST_COMMENT,
  readHead,
  type SignOfLife,
  type StreamFormat,
  type StreamHead,
  StreamKeys,
  type StreamOwner,
  type StreamStore,
  stopsKey,
} from './stream-layout.ts';
import { lifeOf, type StreamBeginning, StreamKeeper } from './stream-keeper.ts';

/** Milliseconds between two signs of life of an instance that sends streams, and two looks for what should stop. */
const BEAT_MS = 2_000;
/** Milliseconds without a sign of life after which an instance counts as gone. */
const ALIVE_MS = 8_000;
/** Milliseconds for which a wish to stop a stream is remembered. */
const STOP_MS = 60_000;

/** Streams that there is room for, however long they are. */
const STREAMS_AT_LEAST = 16;

/** What kept streams work with. */
export interface KeptStreamsOptions {
  readonly store: StreamStore;
  /** True where the store is closed with the streams. Default false: somebody else closes it. */
  readonly ownsStore?: boolean | undefined;
  readonly keepMs: number;
  readonly leaveAfterMs: number;
  /** Bytes of all streams; one may have a sixteenth of them. */
  readonly maxTotalBytes: number;
  readonly environment: Environment;
  /** Told once in a while that something could not be kept. */
  readonly warn: (message: string) => void;
}

/** What becomes of a stream that was to stop. */
export type StopResult = 'stopping' | 'deleted';

/** What a stream needs besides its bytes. */
export interface BegunStream extends StreamBeginning {
  readonly format: StreamFormat;
  /** What readers get after the last frame when this instance dies. Default: an error in the format. */
  readonly lost?: string | undefined;
  /** What another instance needs to go on with it. Default: none may. */
  readonly request?: string | undefined;
}

/** A stream whose instance is gone, and that goes on here. */
export interface TakenStream {
  readonly account: Account;
  readonly id: string;
  readonly format: StreamFormat;
  /** What was kept of its request. */
  readonly request: string;
  /** What was kept of it, up to the comment that says who goes on. */
  readonly kept: string;
  readonly keeper: StreamKeeper;
}

/** Streams that are kept while they are sent, and read again from where a reader stopped. */
export class KeptStreams {
  readonly #options: KeptStreamsOptions;
  /** Those that this instance sends, by the keys of their heads. */
  readonly #open = new Map<string, StreamKeeper>();
  /** The bytes of these, and of those that it sent. */
  readonly #room: StreamRoom;
  readonly #readers = new StreamReaders();
  #owner: string | undefined;
  #beat: Timer | undefined;
  #stops = 0;
  /** Number of the stream that begins next. */
  #next = 0;
  #warnedAt = -Infinity;
  /** Goes on with a stream whose instance is gone. Undefined until something here can. */
  goOn: ((taken: TakenStream) => void) | undefined;

  constructor(options: KeptStreamsOptions) {
    this.#options = options;
    const drop = (keys: StreamKeys): void => void this.#delete(keys).catch(this.#warn);
    this.#room = new StreamRoom(options.maxTotalBytes, this.maxBytes, drop);
  }

  /** Says how many accounts there can be: one alone may have all bytes. */
  divide(accounts: AccountNumber): void {
    this.#room.divide(accounts);
  }

  get environment(): Environment {
    return this.#options.environment;
  }

  /** Milliseconds that a stream goes on without a reader. */
  get leaveAfterMs(): number {
    return this.#options.leaveAfterMs;
  }

  /** Bytes that are kept of one stream. */
  get maxBytes(): number {
    return this.#options.maxTotalBytes / STREAMS_AT_LEAST;
  }

  /** Keeps what another instance needs to go on with a stream. */
  keepRequest({ keys }: StreamKeeper, request: string): void {
    const { store } = this.#options;
    void orWarn(() => store.set(keys.request, request, lifeOf(this.#options)), this.#warn);
  }

  /** Begins to keep a stream. Undefined where the store cannot be written: the stream goes on without being kept. */
  begin(account: string, id: string, begun: BegunStream): MaybePromise<StreamKeeper | undefined> {
    const { format, request, isWhole } = begun;
    const keeper = this.#keeper(new StreamKeys(account, id), format, request !== undefined);
    const failed = (error: unknown): undefined => {
      this.#open.delete(keeper.keys.stream);
      this.#room.free(keeper.keys, keeper.counted);
      this.#warn(error);
    };
    return orElse(
      // Of a stream that is over, only its bytes are read.
      () => {
        const prepared = isWhole === true ? undefined : this.#prepare(keeper, begun);
        return andThen(prepared, () => andThen(keeper.begin(begun), () => keeper));
      },
      failed,
    );
  }

  /** Writes what others need besides the bytes of a stream that goes on. */
  async #prepare({ keys }: StreamKeeper, { lost, request }: BegunStream): Promise<void> {
    const { store } = this.#options;
    const lifeMs = lifeOf(this.#options);
    if (this.#beat === undefined) await this.#live();
    if (request !== undefined) await store.set(keys.request, request, lifeMs);
    if (lost !== undefined) await store.set(keys.lost, lost, lifeMs);
  }

  #keeper(keys: StreamKeys, format: StreamFormat, isContinued: boolean, stored = 0): StreamKeeper {
    const { store, environment, keepMs } = this.#options;
    this.#owner ??= environment.randomText(16);
    const keeper: StreamKeeper = new StreamKeeper({
      keys,
      head: { format, owner: this.#owner, number: this.#next, isContinued },
      stored,
      store,
      environment,
      keepMs,
      maxBytes: this.maxBytes,
      makeRoom: (bytes) => this.#room.make(keys, bytes, environment.now()),
      onSettled: (settled) => this.#settle(settled),
      onFailed: this.#warn,
    });
    this.#next += 1;
    this.#open.set(keys.stream, keeper);
    return keeper;
  }

  /**
   * The rest of a stream, for one of the readers that it may have.
   *
   * @param signal - Ends the reading, also where it has not begun: until then, or its end, it counts.
   * @throws {@link RouterError} 404 for a stream that is not kept, or is another account's; 400 for a place that there is
   * not; 429 where it has as many readers as it may.
   */
  async read(account: Account, id: string, options: ReadOptions, signal: AbortSignal): Promise<ReadText> {
    const leave = this.#readers.enter(new StreamKeys(account.id, id).stream);
    try {
      const found = await this.follow(account, id, options, signal);
      if (found.isOver || signal.aborted) leave();
      else signal.addEventListener('abort', leave, { once: true });
      return { ...found, text: untilEnd(found.text, leave) };
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** The same for the client whose stream another instance goes on with: it is no other reader. */
  async follow(account: Account, id: string, options: ReadOptions, signal: AbortSignal): Promise<ReadText> {
    const { store, environment } = this.#options;
    const { from } = options;
    const [keys, head] = await this.#find(account.id, id);
    const keeper = (): StreamKeeper | undefined => this.#open.get(keys.stream);
    if (from > (keeper()?.stored ?? from)) await keeper()?.flush();
    const first = await store.slice(keys.stream, HEAD_BYTES + from);
    await checkPlace(store, keys, from, first);
    const takeOver = (): Promise<StreamOwner | undefined> => this.#takeOver(account, id, keys);
    const text = readStream({ id, keys, head, first, store, environment, signal, keeper, takeOver }, options);
    return { text, isOver: first === END_MARK };
  }

  /**
   * Stops a stream that goes on, wherever that is, and forgets one that is over.
   *
   * @throws {@link RouterError} 404 for a stream that is not kept, or is another account's.
   */
  async stop(account: string, id: string): Promise<StopResult> {
    const { store } = this.#options;
    const [keys, head] = await this.#find(account, id);
    const keeper = this.#open.get(keys.stream);
    if (keeper?.isOpen === true) {
      void keeper.onStop('stopped');
      return 'stopping';
    }
    const text = await store.slice(keys.stream, HEAD_BYTES);
    const { owner, number } = ownerIn(text) ?? head;
    if (text.endsWith(END_MARK) || isAbandoned({ owner, number }, await store.get(aliveKey(owner)))) {
      await this.#delete(keys);
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
    const end = async (keeper: StreamKeeper): Promise<void> => {
      keeper.hurry();
      await keeper.onStop('closed');
      await keeper.end();
    };
    await Promise.all([...this.#open.values()].map(end));
    this.#stopBeat();
    if (this.#options.ownsStore) await this.#options.store.close?.();
  }

  async #find(account: string, id: string): Promise<readonly [StreamKeys, StreamHead]> {
    const keys = new StreamKeys(account, id);
    const head = readHead(await this.#options.store.slice(keys.stream, 0, HEAD_BYTES));
    if (head === undefined) {
      throw errorOf(
        404,
        'There is no such stream: it was never kept, or its time is over, or it is of another account',
      );
    }
    if (head.isDropped === true) {
      throw errorOf(
        404,
        'This stream is not kept: it has more bytes than a sixteenth of streams.maxTotalBytes, or others took its place',
      );
    }
    return [keys, head];
  }

  #settle(keeper: StreamKeeper): void {
    const { keys, head } = keeper;
    const { environment, keepMs, store } = this.#options;
    if (!this.#open.delete(keys.stream)) return;
    if (keeper.isDropped || keeper.isTaken) this.#room.free(keys, keeper.counted);
    else this.#room.ended(keys, keeper.counted, environment.now() + keepMs);
    // Nobody goes on with it any more.
    if (head.isContinued === true && !keeper.isTaken) void orWarn(() => store.delete(keys.request), this.#warn);
    if (this.#open.size === 0) this.#stopBeat();
  }

  async #delete(keys: StreamKeys): Promise<void> {
    const { store } = this.#options;
    for (const key of [keys.stream, keys.request, keys.lost]) await store.delete(key);
    this.#room.forget(keys);
  }

  /**
   * Goes on with a stream whose owner is gone. Whoever adds to it first does, and says so in a comment, which is a part
   * of the stream; gives that instance, or undefined where none can.
   */
  async #takeOver(account: Account, id: string, keys: StreamKeys): Promise<StreamOwner | undefined> {
    const { store } = this.#options;
    const { goOn } = this;
    for (;;) {
      const head = readHead(await store.slice(keys.stream, 0, HEAD_BYTES));
      if (head === undefined || head.isDropped === true || head.isContinued !== true) return undefined;
      const kept = await store.slice(keys.stream, HEAD_BYTES);
      const before = ownerIn(kept) ?? head;
      if (kept.endsWith(END_MARK) || !isAbandoned(before, await store.get(aliveKey(before.owner)))) return before;
      const request = read.string(await store.get(keys.request));
      if (goOn === undefined || request === undefined || kept.includes(LAST_COMMENT)) return undefined;
      const bytes = byteLength(kept);
      if (!this.#room.make(keys, bytes, this.environment.now())) return undefined;
      const keeper = this.#keeper(keys, head.format, true, bytes);
      const { owner, number } = keeper.head;
      // Before anybody sees that the stream is ours, it must be seen that we live.
      await this.#live();
      if (await keeper.take(`: continued by ${owner} ${number}\n\n`)) {
        goOn({ account, id, format: head.format, request, kept, keeper });
        return { owner, number };
      }
      keeper.leave();
    }
  }

  /** Says that this instance lives, looks for streams that should stop, and does so again after a while. */
  async #live(): Promise<void> {
    const { store, environment } = this.#options;
    const owner = this.#owner ?? '';
    this.#stopBeat();
    this.#beat = environment.setTimer(() => {
      this.#beat = undefined;
      if (this.#open.size > 0) void this.#live().catch(this.#warn);
    }, BEAT_MS);
    const open = [...this.#open.values()].map(({ head }) => head.number);
    await store.set(aliveKey(owner), { next: this.#next, open } satisfies SignOfLife, ALIVE_MS);
    const stops = read.number(await store.get(stopsKey(owner))) ?? 0;
    if (stops === this.#stops) return;
    this.#stops = stops;
    for (const keeper of this.#open.values()) {
      if ((await store.get(keeper.keys.stop)) === undefined) continue;
      await store.delete(keeper.keys.stop);
      void keeper.onStop('stopped');
    }
  }

  #stopBeat(): void {
    if (this.#beat !== undefined) this.#options.environment.clearTimer(this.#beat);
    this.#beat = undefined;
  }

  readonly #warn = (error: unknown): void => {
    const { environment, warn } = this.#options;
    if (environment.now() - this.#warnedAt < 60_000) return;
    this.#warnedAt = environment.now();
    warn(`A stream is not kept, because its store failed (${error instanceof Error ? error.name : 'something'})`);
  };
}

/** What is left of a stream, and whether that is nothing. */
interface ReadText {
  readonly text: AsyncGenerator<string, void>;
  readonly isOver: boolean;
}

/** A text whose end is told, however it comes. */
async function* untilEnd(text: AsyncGenerator<string, void>, onEnd: () => void): AsyncGenerator<string, void> {
  try {
    yield* text;
  } finally {
    onEnd();
  }
}

/** Who goes on with a stream by what is kept of it; undefined where its first owner does. */
function ownerIn(kept: string): StreamOwner | undefined {
  const [, owner, number] = [...kept.matchAll(/^: continued by (\w+) (\d+)\n\n/gm)].at(-1) ?? [];
  return owner === undefined ? undefined : { owner, number: Number(number) };
}

/** @throws {@link RouterError} 400 for a place that there is not. */
async function checkPlace(store: StreamStore, { stream }: StreamKeys, from: number, first: string): Promise<void> {
  if (from === 0) return;
  const at = HEAD_BYTES + from;
  // Of a character, one byte is missing at least.
  if (first.startsWith('\uFFFD') && (await store.slice(stream, at, at + 3)) !== '\uFFFD') {
    throw errorOf(400, `from is ${from}, which is inside a character: give the bytes up to the last whole event`);
  }
  if (first !== '') return;
  const all = await store.slice(stream, HEAD_BYTES);
  const bytes = byteLength(all) - 1;
  if (all.endsWith(END_MARK) && from > bytes) {
    throw errorOf(400, `from is ${from}, but this stream has only ${bytes} bytes`);
  }
}

/** Does something whose failure is told, and hurts nobody. */
async function orWarn(make: () => unknown, warn: (error: unknown) => void): Promise<void> {
  try {
    await make();
  } catch (error) {
    warn(error);
  }
}
