/** Writes and reads the requests of batches by the codecs of single requests. */
import type { Endpoint } from '../catalog/endpoint.ts';
import { EncodeError, type BatchCodecs } from './codec.ts';
import type { NativeBatches, NativeItem, NativeReply, NativeSubmission } from '../contracts/native-batches.ts';
import type { ProviderApi } from './provider-api.ts';
import { failure } from '../contracts/failure.ts';
import { failedReply } from '../contracts/provider.ts';

/** A request of a batch as its wire writes it. */
export interface BatchedBody {
  /** Path below the base URL that it would be sent to by itself. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Headers that it would be sent with by itself, names and values in turn. */
  readonly headers: readonly string[];
}

/**
 * Writes a request by the codec that writes single ones. Nothing in a batch is streamed, and no batch API takes a word
 * about it.
 *
 * @throws {@link EncodeError} when the wire cannot say what the request says, or not at once.
 */
function writeBatched(
  request: NativeItem['request'],
  endpoint: Endpoint,
  { codecFor, embeddings }: BatchCodecs,
): BatchedBody {
  if (request.operation === 'chat') {
    const codec = codecFor(request, endpoint);
    const { stream: _stream, stream_options: _options, ...body } = codec.encode(request, endpoint);
    return { path: codec.path(request, endpoint), body, headers: codec.headers?.(request, endpoint) ?? [] };
  }
  const encoded = [embeddings?.encode(request, endpoint) ?? []].flat();
  const [first] = encoded;
  if (first === undefined || encoded.length > 1) {
    throw new EncodeError('The inputs of one request are more than the provider takes at a time');
  }
  return { path: first.path, body: first.body, headers: [] };
}

/** Reads answers of a batch by the codecs that read those to single requests. */
export function batchedReader(api: ProviderApi, { codecFor, embeddings }: BatchCodecs): NativeBatches['read'] {
  return (body, request, endpoint) => {
    if (request.operation === 'chat') {
      const decoded = codecFor(request, endpoint).decodeResult(body, api.context, request);
      return decoded.ok ? { type: 'whole', result: decoded.result } : failedReply(decoded.failure);
    }
    if (embeddings === undefined) return failedReply(failure('adapter', 'The provider makes no embeddings'));
    const decoded = embeddings.decode(body, api.context);
    return decoded.ok ? { type: 'embedded', result: decoded.result } : failedReply(decoded.failure);
  };
}

/** What a batch API takes at a time. */
interface BatchBounds {
  readonly requests: number;
  readonly bytes: number;
}

/**
 * Most bytes of a batch that is handed over, less than every batch API takes: it is in memory while it is sent. Larger
 * ones are run request by request.
 */
export const MAX_BATCH_BYTES = 100_000_000;

/**
 * Writes all requests of a batch. A batch that the provider cannot have, because it is too large or says what the wire
 * cannot say, is refused as it would refuse it, so that it goes another way at once.
 *
 * @param write - Gives the text of one request.
 */
export async function writeParts(
  { items, endpoint, total }: NativeSubmission,
  codecs: BatchCodecs,
  bounds: BatchBounds,
  write: (id: string, body: BatchedBody) => string,
): Promise<NativeReply<readonly string[]>> {
  if (total > bounds.requests) return refused('too_large', `The provider takes ${bounds.requests} requests in a batch`);
  const encoder = new TextEncoder();
  const parts: string[] = [];
  let bytes = 0;
  for await (const { id, request } of items()) {
    try {
      parts.push(write(id, writeBatched(request, endpoint, codecs)));
    } catch (error) {
      if (!(error instanceof EncodeError)) throw error;
      return refused('invalid_request', error.message);
    }
    bytes += encoder.encode(parts.at(-1)).byteLength + 1;
    if (bytes > bounds.bytes) return refused('too_large', `A batch may have ${bounds.bytes} bytes`);
  }
  return { ok: true, value: parts };
}

function refused(kind: 'too_large' | 'invalid_request', message: string): NativeReply<never> {
  return { ok: false, failure: failure(kind, message) };
}
