import type { Endpoint } from '../catalog/endpoint.ts';
import { failure } from '../core/fallback/failure.ts';
import type { NormalizedRequest } from '../core/normalize/normalized-request.ts';
import type { Codec } from './codec.ts';
import type { EmbeddingCodec } from './embedding-codec.ts';
import { EncodeError } from './encode-error.ts';
import type { NativeBatches, NativeItem } from './native-batches.ts';
import type { ProviderApi } from './provider-api.ts';
import { failedReply } from './provider-reply.ts';

/** How a provider's requests are written and answers read, for its batch API. */
export interface BatchCodecs {
  /** The codec for a request: that of its own dialect where the provider speaks it. */
  readonly codecFor: (request: NormalizedRequest) => Codec;
  readonly embeddings: EmbeddingCodec | undefined;
}

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
export function writeBatched(
  request: NativeItem['request'],
  endpoint: Endpoint,
  { codecFor, embeddings }: BatchCodecs,
): BatchedBody {
  if (request.operation === 'chat') {
    const codec = codecFor(request);
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
  return (body, request) => {
    if (request.operation === 'chat') {
      const decoded = codecFor(request).decodeResult(body, api.context, request);
      return decoded.ok ? { type: 'whole', result: decoded.result } : failedReply(decoded.failure);
    }
    if (embeddings === undefined) return failedReply(failure('adapter', 'The provider makes no embeddings'));
    const decoded = embeddings.decode(body, api.context);
    return decoded.ok ? { type: 'embedded', result: decoded.result } : failedReply(decoded.failure);
  };
}
