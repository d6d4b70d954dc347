/** What programs call to keep and to resume streams; loaded by the first that is. */
import { type Account, ANONYMOUS } from '../contracts/account.ts';
import type { StateStore } from '../contracts/state-store.ts';
import type { ResolvedConfig } from '../config/resolved-config.ts';
import { STREAMS } from '../config/streams.ts';
import { fill } from '../options/option.ts';
import type { MaybePromise } from '../platform/wait.ts';
import { ConfigError, errorOf } from '../protocol/router-error.ts';
import { type EventHub, warn } from '../runtime/events/events.ts';
import { KeptStreams } from '../runtime/streams/kept-streams.ts';
import { END_MARK, type StreamStore } from '../runtime/streams/stream-layout.ts';
import type { StreamKeeper } from '../runtime/streams/stream-keeper.ts';

/** Which part of a stream is read, and for whom. */
export interface ResumeOptions {
  /** Bytes that the reader has. Default 0. */
  readonly from?: number | undefined;
  /** Whose stream it is. Default: the anonymous account. */
  readonly account?: Account | undefined;
  /** Ends the reading; the stream goes on. */
  readonly signal?: AbortSignal | undefined;
}

/** How a stream of the program's own is kept. */
export interface KeepOptions {
  /** Whose stream it is. Default: the anonymous account. */
  readonly account?: Account | undefined;
  /**
   * Called when a request deletes the stream, or the router is closed: what makes it should end. Default: the stream is
   * cancelled.
   */
  readonly onStop?: (() => void) | undefined;
  /** Events that readers get at the end where the stream fails, is cancelled, or this instance dies. Default: none. */
  readonly lost?: string | undefined;
}

/** Makes kept streams of the options. */
export function streamsOf({ streams, state, environment }: ResolvedConfig, events: EventHub): KeptStreams {
  const { store = state, ...options } = fill(STREAMS, streams);
  if (!keepsStreams(store)) {
    throw new ConfigError([
      { path: 'streams.store', problem: 'must have the functions append and slice, as redisStore() does' },
    ]);
  }
  return new KeptStreams({
    ...options,
    store,
    ownsStore: store !== state,
    environment,
    warn: (message) => warn(events, { code: 'streams_not_kept', message }),
  });
}

function keepsStreams(store: StateStore): store is StreamStore {
  return store.append !== undefined && store.slice !== undefined;
}

/** What loads the kept streams of a router; undefined where it keeps none. */
type Load = (() => MaybePromise<KeptStreams>) | undefined;

/** @throws {@link RouterError} where the router keeps none. */
export function loaded(load: Load): MaybePromise<KeptStreams> {
  if (load === undefined) throw errorOf(404, 'This router keeps no streams. Pass streams: {} to createRouter.');
  return load();
}

/** See `Router.resume`. */
export async function resume(
  load: Load,
  id: string,
  { from = 0, account = ANONYMOUS, signal }: ResumeOptions = {},
): Promise<ReadableStream<Uint8Array>> {
  if (!Number.isSafeInteger(from) || from < 0) throw errorOf(400, 'from must be a whole number of bytes, 0 or more');
  const streams = await loaded(load);
  const leaving = new AbortController();
  const leave = (): void => leaving.abort();
  if (signal?.aborted === true) leave();
  signal?.addEventListener('abort', leave);
  const { text } = await streams.read(account, id, { from, hasIds: false }, leaving.signal);
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await text.next();
      if (done !== true) return controller.enqueue(encoder.encode(value));
      signal?.removeEventListener('abort', leave);
      controller.close();
    },
    cancel: leave,
  });
}

/** See `Router.keep`. */
export async function keep(
  load: Load,
  id: string,
  stream: ReadableStream<string | Uint8Array>,
  { account = ANONYMOUS, onStop, lost }: KeepOptions = {},
): Promise<void> {
  const streams = await loaded(load);
  const keeper = await streams.begin(account.id, id, { format: 'text', lost });
  if (keeper === undefined) return stream.cancel();
  const reader = stream.getReader();
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const breakOff = async (): Promise<void> => {
    if (lost !== undefined) keeper.push(lost);
    await keeper.end();
  };
  const stop: StreamKeeper['onStop'] = (reason) => {
    onStop?.();
    // What makes it ends it in its own words, unless there is no time for them.
    if (reason === 'stopped' && onStop !== undefined) return;
    void breakOff();
    void reader.cancel().catch(() => {});
  };
  keeper.onStop = stop;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const text = typeof value === 'string' ? value : decoder.decode(value, { stream: true });
      keeper.push(text.includes(END_MARK) ? text.replaceAll(END_MARK, '') : text);
      // Nobody could read it.
      if (keeper.isDropped) await reader.cancel();
    }
    await keeper.end();
  } catch {
    await breakOff();
  }
}
