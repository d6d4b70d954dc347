/** Reads a kept stream from any byte on, at the instance that sends it or at another one. */
import type { Environment } from '../../platform/environment.ts';
import { fromByteText, toByteText } from '../../platform/byte-text.ts';
import { wait } from '../../platform/wait.ts';
import * as read from '../../platform/json.ts';
import { lostEnding } from './lost-ending.ts';
import {
  aliveKey,
  END_MARK,
  HEAD_BYTES,
  isAbandoned,
  type StreamHead,
  type StreamKeys,
  type StreamOwner,
  type StreamStore,
} from './stream-layout.ts';
import type { StreamKeeper } from './stream-keeper.ts';

/** Milliseconds between two looks at a stream of another instance. */
const POLL_MS = 200;
/** Milliseconds after which another instance is not read for any more, unless it says so again. */
const READER_MS = 10_000;
/** Milliseconds between two such notes. */
const READER_NOTE_MS = 3_000;
/** Milliseconds between two looks at a stream that ends here. */
const SETTLING_MS = 20;
/** Looks in a row that must find nothing of a stream's owner: the store may be busy. */
const MISSES = 3;
/** Bytes in which the first frame of a stream lies, and the last one of what is written. */
const FRAME_BYTES = 16_384;

/** What a reader works with. */
export interface ReaderContext {
  readonly id: string;
  readonly keys: StreamKeys;
  readonly head: StreamHead;
  /** What the store had from the reader's first byte on, with the end mark. */
  readonly first: string;
  readonly store: StreamStore;
  readonly environment: Environment;
  readonly signal: AbortSignal;
  /** What keeps the stream, where that is this instance. */
  readonly keeper: () => StreamKeeper | undefined;
  /** Who goes on with the stream now that its owner is gone; undefined where nobody does. */
  readonly takeOver: () => Promise<StreamOwner | undefined>;
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
  const { signal } = context;
  const bytes = readBytes(context, from);
  let held = '';
  let offset = from;
  for (;;) {
    const { done, value } = await bytes.next();
    if (signal.aborted) return;
    if (done === true) {
      if (value === 'complete') {
        if (held !== '') yield fromByteText(held);
      } else {
        // A frame that is cut would spoil the error behind it.
        const cut = offset > from || from === 0 ? '' : '\n\n';
        yield cut + (await lostFrames(context, offset));
      }
      return;
    }
    held += value;
    const frames = wholeFrames(held);
    if (frames === '') continue;
    held = held.slice(frames.length);
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

/** What readers of a stream get that nobody goes on with. */
async function lostFrames(context: ReaderContext, end: number): Promise<string> {
  const { id, keys, head, store } = context;
  if (head.format === 'text') return read.string(await store.get(keys.lost)) ?? '';
  const first = wholeFrames(await slice(context, 0, Math.min(end, FRAME_BYTES)));
  const last = await slice(context, Math.max(0, end - FRAME_BYTES), end);
  return lostEnding(head.format, id, fromByteText(first), fromByteText(last));
}

/** Bytes of the stream that are stored. */
async function slice({ store, keys }: ReaderContext, from: number, to?: number): Promise<string> {
  return toByteText(await store.slice(keys.stream, HEAD_BYTES + from, to === undefined ? to : HEAD_BYTES + to));
}

/** Bytes from a place on, and how they ended. */
async function* readBytes(context: ReaderContext, from: number): AsyncGenerator<string, 'complete' | 'lost' | 'left'> {
  const { keys, store, environment, signal, head } = context;
  let owner: StreamOwner = head;
  let offset = from;
  let misses = 0;
  let notedAt = -Infinity;
  let stored = toByteText(context.first);
  while (!signal.aborted) {
    const isEnd = stored.endsWith(END_MARK);
    const keeper = context.keeper();
    const bytes = isEnd ? stored.slice(0, -1) : stored + toByteText(keeper?.unstored(offset + stored.length) ?? '');
    stored = '';
    if (bytes !== '') {
      yield bytes;
      offset += bytes.length;
      misses = 0;
    }
    if (isEnd) return 'complete';
    if (bytes === '') {
      if (keeper?.isOpen === true && offset >= keeper.stored) await changed(keeper, signal);
      else if (keeper === undefined) {
        misses = isAbandoned(owner, await store.get(aliveKey(owner.owner))) ? misses + 1 : 0;
        if (misses >= MISSES) {
          const next = await context.takeOver();
          if (next === undefined) return 'lost';
          owner = next;
          misses = 0;
        }
        if (environment.now() - notedAt >= READER_NOTE_MS) {
          notedAt = environment.now();
          await store.set(keys.readers, true, READER_MS);
        }
        await wait(environment, POLL_MS, signal);
      } else await wait(environment, SETTLING_MS, signal);
    }
    // What is here is only in the store once it is written.
    if (context.keeper()?.isAhead(offset) !== true) stored = await slice(context, offset);
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
