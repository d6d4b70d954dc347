import type { Frames, HttpCall, HttpReply } from '../contracts/exchange.ts';
import type { RouterInternals } from '../router/router.ts';
import { loaded } from '../router/streams.ts';
import { invalid } from './body.ts';
import { goOnWithStreams } from './continued-streams.ts';
import type { StreamWriting } from './frame-writer.ts';
import { type AdmittedCall, STREAM_HEADERS, completeReply } from './model-reply.ts';
import type { StreamOperation } from './routes.ts';

/**
 * Answers the operations on streams that are kept: the rest of one, and its end.
 *
 * @param writing - Writes what goes on with the streams of instances that are gone.
 * @throws {@link RouterError} 404 for a stream that is not kept, or is another account's; 400 for a place that there is
 * not; 429 when the account has its share of places, or the stream of readers; 503 when no place is free.
 */
export async function answerStreams(
  internals: RouterInternals,
  { name, id }: StreamOperation,
  { call, account, context: { headers } }: AdmittedCall,
  writing: StreamWriting,
): Promise<HttpReply> {
  const { config, services, streams: load, admission } = internals;
  const streams = await loaded(load);
  goOnWithStreams(internals, streams, writing, call.waitUntil);
  const own = { ...headers, ...(id.startsWith('gen-') && { 'x-generation-id': id }), 'cache-control': 'no-store' };
  if (name === 'stream_stop') {
    return completeReply({ id, object: 'stream', status: await streams.stop(account.id, id) }, own);
  }
  const options = { from: placeOf(call), hasIds: idsWanted(call) };
  admission.check(account.id);
  const limited = services.rates.admitReader(account);
  if (limited !== undefined) await limited;
  const leaving = new AbortController();
  const { text, isOver } = await streams.read(account, id, options, leaving.signal);
  // 204 ends an `EventSource`, which would connect again for ever.
  if (isOver) return { type: 'whole', status: 204, headers: own, body: '' };
  const sent = { ...own, ...STREAM_HEADERS };
  try {
    if (call.method === 'HEAD') {
      leaving.abort();
      return { type: 'whole', status: 200, headers: sent, body: '' };
    }
    const slot = admission.enter(account.id);
    const frames = new ReadFrames(text, leaving, call.signal, () => slot.leave());
    return { type: 'stream', status: 200, headers: sent, frames, stallMs: config.limits.writeStallMs };
  } catch (error) {
    leaving.abort();
    throw error;
  }
}

/** Bytes that the reader has. */
function placeOf(call: HttpCall): number {
  const [name, said] = [
    ['from', new URLSearchParams(call.query).get('from')] as const,
    ['Last-Event-ID', call.header('last-event-id')] as const,
  ].find(([, value]) => value !== null && value !== undefined) ?? ['from', '0'];
  const from = /^\d{1,15}$/.test(said ?? '') ? Number(said) : undefined;
  if (from === undefined) throw invalid(`${name} must be a whole number of bytes, 0 or more`);
  return from;
}

function idsWanted({ query }: HttpCall): boolean {
  const said = new URLSearchParams(query).get('ids') ?? 'false';
  if (said !== 'true' && said !== 'false') throw invalid('ids must be true or false');
  return said === 'true';
}

/** Frames of a stream that is read from where it is kept. A reader that leaves changes nothing for the stream. */
class ReadFrames implements Frames {
  readonly #text: AsyncGenerator<string, void>;
  readonly #leaving: AbortController;
  readonly #client: AbortSignal;
  readonly #onEnd: () => void;
  #isOver = false;

  constructor(text: AsyncGenerator<string, void>, leaving: AbortController, client: AbortSignal, onEnd: () => void) {
    this.#text = text;
    this.#leaving = leaving;
    this.#client = client;
    this.#onEnd = onEnd;
    client.addEventListener('abort', this.#leave);
    if (client.aborted) this.#leave();
  }

  get ended(): boolean {
    return this.#isOver;
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    if (this.#isOver) return { done: true, value: undefined };
    const { done, value } = await this.#text.next();
    if (done !== true) return { done: false, value };
    this.#leave();
    return { done: true, value: undefined };
  }

  return(): Promise<IteratorResult<string, undefined>> {
    this.#leave();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  readonly #leave = (): void => {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#client.removeEventListener('abort', this.#leave);
    this.#leaving.abort();
    this.#onEnd();
  };
}
