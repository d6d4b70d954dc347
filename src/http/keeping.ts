/** Keeps the streams of requests over HTTP. Loaded by the first that is. */
import type { HttpCall } from '../contracts/exchange.ts';
import type { RouterInternals } from '../router/router.ts';
import { andThen, type MaybePromise } from '../platform/wait.ts';
import type { KeptStreams } from '../runtime/streams/kept-streams.ts';
import type { StreamKeeper } from '../runtime/streams/stream-keeper.ts';
import { goOnWithStreams, type KeepableCall, type KeepableChat, requestToKeep } from './continued-streams.ts';
import type { StreamWriting } from './frame-writer.ts';
import { type EndingFrames, KeptFrames } from './kept-frames.ts';
import type { StreamFrames } from './stream-frames.ts';

/** Keeps the stream of one request, should it answer with one. */
export interface Keeping {
  /** Ends the call of the provider: with the client, until the stream is kept. */
  readonly signal: AbortSignal;
  /** Frames that are kept when they are sent. From now on the client may leave. */
  keep(frames: StreamFrames, opened: KeepableChat, call: KeepableCall): MaybePromise<EndingFrames>;
}

/**
 * Gets ready to keep the stream of a request. Nothing waits for what is there.
 *
 * @param writing - Writes what goes on with the streams of other instances.
 */
export function keepingOf(
  internals: RouterInternals,
  load: () => MaybePromise<KeptStreams>,
  writing: StreamWriting,
  { signal: client, waitUntil }: Pick<HttpCall, 'signal' | 'waitUntil'>,
): MaybePromise<Keeping> {
  return andThen(load(), (streams) => {
    goOnWithStreams(internals, streams, writing, waitUntil);
    return new StreamKeeping(streams, client, waitUntil);
  });
}

class StreamKeeping implements Keeping {
  readonly #streams: KeptStreams;
  readonly #client: AbortSignal;
  readonly #waitUntil: HttpCall['waitUntil'];
  readonly #controller = new AbortController();

  constructor(streams: KeptStreams, client: AbortSignal, waitUntil: HttpCall['waitUntil']) {
    this.#streams = streams;
    this.#client = client;
    this.#waitUntil = waitUntil;
    if (client.aborted) this.#abort();
    else client.addEventListener('abort', this.#abort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  keep(frames: StreamFrames, opened: KeepableChat, call: KeepableCall): MaybePromise<EndingFrames> {
    const streams = this.#streams;
    const { opening: first, isOver: isWhole } = frames;
    const format = call.context.apiFormat?.name ?? 'chat';
    const request = requestToKeep(opened.stream, call, streams.maxBytes);
    const keeping = streams.begin(call.account.id, opened.id, { format, request, first, isWhole });
    return andThen(keeping, (keeper) => {
      if (keeper === undefined || isWhole) return frames;
      return this.#framesKeptBy(keeper, frames, opened, call);
    });
  }

  #framesKeptBy(
    keeper: StreamKeeper,
    frames: StreamFrames,
    { id, stream }: KeepableChat,
    call: KeepableCall,
  ): EndingFrames {
    const [streams, client] = [this.#streams, this.#client];
    // A client that left before it got the id has nothing to resume.
    if (this.signal.aborted) {
      keeper.drop();
      return frames;
    }
    client.removeEventListener('abort', this.#abort);
    this.#waitUntil?.(keeper.whenSettled());
    const kept = { frames, streams, keeper, account: call.account, id, client };
    if (keeper.head.isContinued !== true) return new KeptFrames(kept);
    const noteEndpoint = (): boolean => {
      const served = stream.committed ? requestToKeep(stream, call, streams.maxBytes) : undefined;
      if (served !== undefined) streams.keepRequest(keeper, served);
      return served !== undefined;
    };
    const { continuing } = stream.execution;
    return new KeptFrames({ ...kept, continuing, noteEndpoint: stream.committed ? undefined : noteEndpoint });
  }

  readonly #abort = (): void => this.#controller.abort(this.#client.reason);
}
