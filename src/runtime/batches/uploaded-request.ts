import type { BatchRequest } from '../../protocol/batch.ts';

/**
 * A request that came as bytes. What was written is kept instead of what was read from it until it is stored. Bytes lie
 * outside of the heap, which therefore does not grow with large batches; long bodies are stored at once, and stay text.
 */
export class UploadedRequest implements BatchRequest {
  readonly custom_id: string;
  readonly body: BatchRequest['body'];
  /** The body as it was written: valid JSON, as text or in UTF-8. */
  readonly bodyAsWritten: Uint8Array | string;

  /** @param request - Parsed, but not yet checked: members may be missing or of another kind. */
  constructor(request: BatchRequest, bodyAsWritten: Uint8Array | string) {
    this.custom_id = request.custom_id;
    this.body = request.body;
    this.bodyAsWritten = bodyAsWritten;
  }
}
