/** Reads a kept stream from any byte on, at the instance that sends it or at another one. */
import type { StateStore } from '../../contracts/state-store.ts';
import type { Environment } from '../../platform/environment.ts';
import { fromByteText } from '../../platform/byte-text.ts';
import { wait } from '../../platform/wait.ts';
import * as read from '../../platform/json.ts';
import { lostEnding } from './lost-ending.ts';
import { aliveKey, CHUNK_BYTES, isAbandoned, readHead, type StreamHead, type StreamKeys } from './stream-layout.ts';
import type { StreamKeeper } from './stream-keeper.ts';

/** Milliseconds between two looks at a stream of another instance. */
const POLL_MS = 200;
/** Milliseconds after which another instance is not read for any more, unless it says so again. */
const READER_MS = 10_000;
/** Milliseconds between two such notes. */
const READER_NOTE_MS = 3_000;
/** Looks in a row that must find nothing of a stream, or of its owner: the store may be busy. */
const MISSES = 3;

/** What a reader works with. */
export interface ReaderContext {
  readonly id: string;
  readonly keys: StreamKeys;
  readonly head: StreamHead;
  readonly store: StateStore;
  readonly environment: Environment;
  readonly signal: AbortSignal;
  /** What keeps the stream, where that is this instance. */
  readonly keeper: () => StreamKeeper | undefined;
}

/** What is read. */
export interface ReadOptions {
  /** Bytes that the reader has. */
  readonly from: number;
  /** True: each event gets a line `id` with the bytes up to its end. */
  readonly hasIds: boolean;
}

/**
 * The rest of a stream, in texts of whole frames, as it comes. Where nobody goes on with it, the last is one clear error.
 * Ends without one when the signal is aborted.
 */
export async function* readStream(context: ReaderContext, { from, hasIds }: ReadOptions): AsyncGenerator<string, void> {
  const { id, head, signal } = context;
  const bytes = readBytes(context, from);
  let held = '';
  let offset = from;
  let last = '';
  for (;;) {
    const { done, value } = await bytes.next();
    if (signal.aborted) return;
    if (done === true) {
      if (value === 'complete') {
        if (held !== '') yield fromByteText(held);
      } else {
        // A frame that is cut would spoil the error behind it.
        const cut = offset > from || from === 0 ? '' : '\n\n';
        if (last === '') last = await textBefore(context, offset);
        const first = await textBefore(context, 1);
        yield cut + (head.lost ?? lostEnding(head.format, id, fromByteText(wholeFrames(first)), fromByteText(last)));
      }
      return;
    }
    held += value;
    const frames = wholeFrames(held);
    if (frames === '') continue;
    held = held.slice(frames.length);
    last = frames;
    yield fromByteText(hasIds ? withIds(frames, offset) : frames);
    offset += frames.length;
  }
}

function wholeFrames(bytes: string): string {
  const end = bytes.lastIndexOf('\n\n');
  return end < 0 ? '' : bytes.slice(0, end + 2);
}

/** Frames with the place of their end. Comments stay as they are: a client would take one with a line for an event. */
function withIds(frames: string, offset: number): string {
  let end = offset;
  return frames.replace(/[^]*?\n\n/g, (frame) => {
    end += frame.length;
    return frame.startsWith(':') ? frame : `id: ${end}\n${frame}`;
  });
}

/** The bytes of the chunk that ends at a place or holds it. */
async function textBefore({ store, keys, keeper }: ReaderContext, end: number): Promise<string> {
  if (end === 0) return '';
  const index = Math.floor((end - 1) / CHUNK_BYTES);
  return keeper()?.chunk(index) ?? read.string(await store.get(keys.chunk(index))) ?? '';
}

/** Bytes from a place on, and how they ended. */
async function* readBytes(context: ReaderContext, from: number): AsyncGenerator<string, 'complete' | 'lost' | 'left'> {
  const { keys, store, environment, signal } = context;
  let offset = from;
  let misses = 0;
  let notedAt = -Infinity;
  while (!signal.aborted) {
    const keeper = context.keeper();
    const index = Math.floor(offset / CHUNK_BYTES);
    const begun = offset % CHUNK_BYTES;
    const chunk = keeper?.chunk(index) ?? read.string(await store.get(keys.chunk(index))) ?? '';
    if (chunk.length > begun) {
      yield chunk.slice(begun);
      offset += chunk.length - begun;
      misses = 0;
      continue;
    }
    if (keeper?.isOpen === true) {
      await changed(keeper, signal);
      continue;
    }
    const head = readHead(await store.get(keys.head));
    if (head === undefined || head.isDropped || keeper?.isDropped === true) return 'lost';
    if (head.bytes !== undefined && offset >= head.bytes) return 'complete';
    const isMissing = head.bytes !== undefined || isAbandoned(head, await store.get(aliveKey(head.owner)));
    misses = isMissing ? misses + 1 : 0;
    if (misses >= MISSES) return 'lost';
    if (environment.now() - notedAt >= READER_NOTE_MS) {
      notedAt = environment.now();
      await store.set(keys.readers, true, READER_MS);
    }
    await wait(environment, POLL_MS, signal);
  }
  return 'left';
}

/** Waits for more of a stream that is kept here. */
function changed(keeper: StreamKeeper, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      signal.removeEventListener('abort', finish);
      keeper.forgetReader(finish);
      resolve();
    };
    signal.addEventListener('abort', finish);
    keeper.onChange(finish);
  });
}
