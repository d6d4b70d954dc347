/** Writes one stream into a state store while it is sent. */
import type { StateStore } from '../../contracts/state-store.ts';
import type { Environment, Timer } from '../../platform/environment.ts';
import { toByteText } from '../../platform/byte-text.ts';
import { CHUNK_BYTES, storedHead, type StreamHead, type StreamKeys } from './stream-layout.ts';

/**
 * Milliseconds between two writes of a stream that goes on, unless a chunk is full before: what was sent within them is
 * lost when its instance dies. More often costs more CPU than the stream itself.
 */
export const FLUSH_MS = 500;

/** Milliseconds that what is kept outlives twice its time while the stream goes on. */
const SLACK_MS = 20_000;

/** Why a stream ends early: somebody wanted it to stop, or its router is closed. */
export type StreamStopReason = 'stopped' | 'closed';

/** What a keeper works with. */
export interface KeeperContext {
  readonly keys: StreamKeys;
  readonly head: Pick<StreamHead, 'format' | 'owner' | 'number' | 'lost'>;
  readonly store: StateStore;
  readonly environment: Environment;
  readonly keepMs: number;
  readonly maxBytes: number;
  /** Makes room for more bytes; false where there is none. */
  readonly makeRoom: (bytes: number) => boolean;
  /** Called once when everything is written, or nothing will be. */
  readonly onSettled: (keeper: StreamKeeper) => void;
  readonly onFailed: (error: unknown) => void;
}

/** Keeps one stream while it is sent, at the instance that sends it. */
export class StreamKeeper {
  readonly #context: KeeperContext;
  /** What was sent since the last look, as it was sent. */
  #parts: string[] = [];
  #characters = 0;
  /** Bytes of the last chunk. */
  #tail: string[] = [];
  #tailBytes = 0;
  /** Chunks that are full. */
  #full = 0;
  /** Full chunks that are not written yet. */
  readonly #unwritten = new Map<number, string>();
  #timer: Timer | undefined;
  #writing: Promise<void> | undefined;
  #isWanted = false;
  #counted = 0;
  /** True once the head was written a second time. */
  #isSettled = false;
  #refreshedAt: number;
  #state: 'open' | 'ended' | 'dropped' = 'open';
  #waiting: (() => void)[] = [];
  /** Ends the stream at its source, with an error as its last event. */
  onStop: (reason: StreamStopReason) => void = ignore;

  constructor(context: KeeperContext) {
    this.#context = context;
    this.#refreshedAt = context.environment.now();
  }

  get number(): number {
    return this.#context.head.number;
  }

  get keys(): StreamKeys {
    return this.#context.keys;
  }

  /** Bytes that were sent. */
  get bytes(): number {
    this.#absorb();
    return this.#full * CHUNK_BYTES + this.#tailBytes;
  }

  /** Bytes for which there was room, also where they were dropped since. */
  get counted(): number {
    return this.#counted;
  }

  /** Chunks that were begun. */
  get chunks(): number {
    return this.#full + (this.#tailBytes > 0 ? 1 : 0);
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** True where nothing of the stream is kept any more. */
  get isDropped(): boolean {
    return this.#state === 'dropped';
  }

  /** Writes the head, so that the stream is found by other instances before its first byte is sent. */
  async begin(): Promise<void> {
    await this.#writeHead();
  }

  /** Notes what is sent. */
  push(text: string): void {
    if (this.#state !== 'open' || text === '') return;
    this.#parts.push(text);
    this.#characters += text.length;
    if (this.#waiting.length > 0) this.#wakeReaders();
    if (this.#tailBytes + this.#characters >= CHUNK_BYTES) void this.#flush();
    else this.#timer ??= this.#context.environment.setTimer(this.#onTimer, FLUSH_MS);
  }

  /** The stream is over; its last bytes were noted. */
  end(): Promise<void> {
    if (this.#state === 'open') {
      this.#absorb();
      // It may have outgrown its limit with its last bytes.
      if (this.#state === 'open') this.#state = 'ended';
      this.#wakeReaders();
      this.#isWanted = true;
    }
    return this.#flush();
  }

  /** The bytes of a chunk that are here; undefined where they are in the store. */
  chunk(index: number): string | undefined {
    this.#absorb();
    return index === this.#full ? this.#tail.join('') : this.#unwritten.get(index);
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

  /** Writes anew what would be gone before a stream that lasts is over. */
  async refresh(): Promise<void> {
    const { environment, keepMs, store, keys } = this.#context;
    if (this.#state !== 'open') return;
    if (!this.#isSettled && environment.now() > this.#refreshedAt) {
      // The store may have been away when the stream began.
      this.#isSettled = true;
      await this.#writeHead();
    }
    if (environment.now() - this.#refreshedAt < keepMs) return;
    this.#refreshedAt = environment.now();
    await this.#writeHead();
    for (let index = 0; index < this.#full; index += 1) {
      const text = await store.get(keys.chunk(index));
      if (text !== undefined && this.#state === 'open') await store.set(keys.chunk(index), text, this.#chunkMs);
    }
  }

  /** Forgets what was kept: the stream goes on without. */
  drop(): void {
    if (this.#state === 'dropped') return;
    this.#state = 'dropped';
    this.#parts = [];
    this.#tail = [];
    this.#unwritten.clear();
    this.#wakeReaders();
    this.#isWanted = true;
    void this.#flush();
  }

  get #chunkMs(): number {
    return 2 * this.#context.keepMs + SLACK_MS;
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

  /** Puts what was sent into chunks. */
  #absorb(): void {
    if (this.#parts.length === 0 || this.#state !== 'open') return;
    const text = toByteText(this.#parts.join(''));
    this.#parts = [];
    this.#characters = 0;
    const { maxBytes, makeRoom } = this.#context;
    if (this.#full * CHUNK_BYTES + this.#tailBytes + text.length > maxBytes || !makeRoom(text.length)) {
      this.drop();
      return;
    }
    this.#counted += text.length;
    this.#isWanted = true;
    let at = 0;
    while (text.length - at >= CHUNK_BYTES - this.#tailBytes) {
      const next = at + CHUNK_BYTES - this.#tailBytes;
      this.#tail.push(text.slice(at, next));
      this.#unwritten.set(this.#full, this.#tail.join(''));
      this.#full += 1;
      this.#tail = [];
      this.#tailBytes = 0;
      at = next;
    }
    if (at === text.length) return;
    this.#tail.push(at === 0 ? text : text.slice(at));
    this.#tailBytes += text.length - at;
  }

  /** Writes what is new, one write after the other. */
  #flush(): Promise<void> {
    this.#absorb();
    if (this.#timer !== undefined) this.#context.environment.clearTimer(this.#timer);
    this.#timer = undefined;
    if (this.#writing === undefined && this.#isWanted) this.#writing = this.#write();
    return this.#writing ?? Promise.resolve();
  }

  async #write(): Promise<void> {
    try {
      while (this.#isWanted) {
        this.#isWanted = false;
        await this.#writeOnce();
      }
    } catch (error) {
      this.#fail(error);
    }
    this.#writing = undefined;
    // Something may have come with the last of them.
    if (this.#isWanted) await this.#flush();
    else if (this.#state !== 'open') this.#context.onSettled(this);
  }

  async #writeOnce(): Promise<void> {
    const { store, keys, keepMs } = this.#context;
    if (this.#state === 'dropped') return this.#forget();
    const chunks = [...this.#unwritten];
    if (this.#tailBytes > 0) chunks.push([this.#full, this.#tail.join('')]);
    // Longer than the head, without which nobody looks for them.
    const ttlMs = this.#state === 'ended' ? keepMs + SLACK_MS : this.#chunkMs;
    await Promise.all(chunks.map(([index, text]) => store.set(keys.chunk(index), text, ttlMs)));
    for (const [index, text] of chunks) if (this.#unwritten.get(index) === text) this.#unwritten.delete(index);
    if (this.#state === 'ended' && !this.#isWanted) await this.#writeHead();
  }

  /** The head comes last at the end: whoever sees how long the stream is finds all of it. */
  async #writeHead(): Promise<void> {
    const { store, keys, head, keepMs } = this.#context;
    const isOpen = this.#state === 'open';
    const value = storedHead({
      ...head,
      bytes: this.#state === 'ended' ? this.#full * CHUNK_BYTES + this.#tailBytes : undefined,
      isDropped: this.isDropped,
    });
    await store.set(keys.head, value, isOpen ? this.#chunkMs : keepMs);
  }

  async #forget(): Promise<void> {
    const { store, keys } = this.#context;
    await this.#writeHead();
    for (let index = 0; index <= this.#full; index += 1) await store.delete(keys.chunk(index));
  }

  /** A store that fails costs the stream its second life, and nothing else. */
  #fail(error: unknown): void {
    this.#context.onFailed(error);
    this.#isWanted = false;
    this.#state = 'dropped';
    this.#parts = [];
    this.#tail = [];
    this.#unwritten.clear();
    this.#wakeReaders();
  }
}

function ignore(): void {}
