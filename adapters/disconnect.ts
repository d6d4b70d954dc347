/** When a client has disconnected, as the responses of Node's servers show it. Loads nothing of Node. */

/** What is read of a response of one of Node's servers: of HTTP/1, or of HTTP/2, which has a stream. */
export interface ClosableResponse {
  readonly writableFinished: boolean;
  readonly writableEnded: boolean;
  readonly stream?: { readonly rstCode?: number | undefined } | undefined;
}

/** What an HTTP/2 stream is closed with that was not cancelled: `NGHTTP2_NO_ERROR`. */
const NO_ERROR = 0;

/** True when the response was closed before it was complete. A closed HTTP/2 stream always counts as finished. */
export function isCutOff({ writableFinished, writableEnded, stream }: ClosableResponse): boolean {
  return stream === undefined ? !writableFinished : !writableEnded || stream.rstCode !== NO_ERROR;
}
