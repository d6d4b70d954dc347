import type { BatchRequest } from '../../protocol/batch.ts';

/** A request that came as text, which need not be made again to store it. */
export class UploadedRequest implements BatchRequest {
  readonly custom_id: string;
  readonly body: BatchRequest['body'];
  /** The body as it was written. */
  readonly bodyText: string;

  /** @param request - Parsed, but not yet checked: members may be missing or of another kind. */
  constructor(request: BatchRequest, bodyText: string) {
    this.custom_id = request.custom_id;
    this.body = request.body;
    this.bodyText = bodyText;
  }
}
