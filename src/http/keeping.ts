/** Keeps the streams of requests over HTTP. Loaded by the first that is. */
import type { HttpCall } from '../contracts/exchange.ts';
import type { RouterInternals } from '../router/router.ts';
import type { MaybePromise } from '../platform/wait.ts';
import type { KeptStreams } from '../runtime/streams/kept-streams.ts';
import { goOnWithStreams, type KeepableCall, type KeepableChat, requestToKeep } from './continued-streams.ts';
import type { StreamWriting } from './frame-writer.ts';
import { type EndingFrames, KeptFrames } from './kept-frames.ts';
import type { StreamFrames } from './stream-frames.ts';

/** Keeps the stream of one request, should it answer with one. */
export interface Keeping {
  /** Ends the call of the provider: with the client, until the stream is kept. */
  readonly signal: AbortSignal;
  /** Frames that are kept when they are sent. From now on the client may leave. */
  keep(frames: StreamFrames, opened: KeepableChat, call: KeepableCall): Promise<EndingFrames>;
}

/**
 * Gets ready to keep the stream of a request.
 *
 * @param writing - Writes what goes on with the streams of other instances.
 */
export async function keepingOf(
  internals: RouterInternals,
  load: () => MaybePromise<KeptStreams>,
  writing: StreamWriting,
  { signal: client, waitUntil }: Pick<HttpCall, 'signal' | 'waitUntil'>,
): Promise<Keeping> {
  const streams = await load();
  goOnWithStreams(internals, streams, writing, waitUntil);
  const controller = new AbortController();
  const abort = (): void => controller.abort(client.reason);
  if (client.aborted) abort();
  else client.addEventListener('abort', abort);
  return {
    signal: controller.signal,
    async keep(frames, opened, call) {
      const { id, stream } = opened;
      const { account, context } = call;
      const request = requestToKeep(stream, call, streams.maxBytes);
      const keeper = await streams.begin(account.id, id, { format: context.apiFormat?.name ?? 'chat', request });
      if (keeper === undefined) return frames;
      // A client that left before it got the id has nothing to resume.
      if (controller.signal.aborted) {
        keeper.drop();
        return frames;
      }
      client.removeEventListener('abort', abort);
      waitUntil?.(keeper.whenSettled());
      const kept = { frames, streams, keeper, account, id, client };
      if (request === undefined) return new KeptFrames(kept);
      const noteEndpoint = (): boolean => {
        const served = stream.committed ? requestToKeep(stream, call, streams.maxBytes) : undefined;
        if (served !== undefined) streams.keepRequest(keeper, served);
        return served !== undefined;
      };
      const { continuing } = stream.execution;
      return new KeptFrames({ ...kept, continuing, noteEndpoint: stream.committed ? undefined : noteEndpoint });
    },
  };
}
