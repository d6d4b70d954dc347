import { failure } from '../core/fallback/failure.ts';
import { type BatchCodecs, type BatchedBody, writeBatched } from './batch-codecs.ts';
import { EncodeError } from './encode-error.ts';
import type { NativeReply, NativeSubmission } from './native-batches.ts';

/** What a batch API takes at a time. */
export interface BatchBounds {
  readonly requests: number;
  readonly bytes: number;
}

/**
 * Most bytes of a batch that is handed over, less than every batch API takes: it stands in memory while it is sent.
 * Larger ones are run request by request.
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
