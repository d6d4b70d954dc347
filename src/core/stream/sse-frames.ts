/** The last event of every stream (contract: events). */
export const DONE_FRAME = 'data: [DONE]\n\n';

/** One server-sent event with JSON data. */
export function dataFrame(json: string): string {
  return `data: ${json}\n\n`;
}

/** A comment: keeps proxies from closing a quiet connection, and means nothing to clients. */
export function commentFrame(text: string): string {
  return `: ${text}\n\n`;
}
