import type { BatchRequest } from '../../protocol/batch.ts';

/**
 * A request that came as bytes. They are kept instead of what was read from them until they are stored: bytes lie
 * outside of the heap, which therefore does not grow with large batches.
 */
export class UploadedRequest implements BatchRequest {
  readonly custom_id: string;
  readonly body: BatchRequest['body'];
  /** The body as it was written: valid JSON in UTF-8. */
  readonly bodyBytes: Uint8Array;

  /** @param request - Parsed, but not yet checked: members may be missing or of another kind. */
  constructor(request: BatchRequest, bodyBytes: Uint8Array) {
    this.custom_id = request.custom_id;
    this.body = request.body;
    this.bodyBytes = bodyBytes;
  }
}
