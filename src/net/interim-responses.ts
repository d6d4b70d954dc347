/** Works around interim responses, which undici refuses. */
import type { Socket } from 'node:net';

/** The response that tells a client to go on and send its body. */
const CONTINUE = /^HTTP\/1\.[01] 100(?: [^\r\n"\\]*)?\r\n(?:[^\r\n":]+:[^\r\n]*\r\n)*\r\n/;
/** Where a response has the first digit of its status. */
const STATUS_AT = 'HTTP/1.1 '.length;
const DIGIT_ONE = 0x31;
/** Bytes that such a response has at most; it has no headers worth reading. */
const MAX_LENGTH = 1_024;

/**
 * Lets a provider say `100 Continue` before its response. undici takes that for an attack, because it never requires
 * it; but servers and gateways send it unasked, and it means nothing once the body is on its way.
 *
 * It is recognised at the beginning of what the socket gives. A body of JSON cannot look like it: there a line that begins
 * like this ends in a quotation mark or in an escaped end of line.
 */
export function skipContinue(socket: Socket): void {
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  const readBehind = (size?: number): Buffer | null => {
    let chunk = read(size);
    while (chunk?.[STATUS_AT] === DIGIT_ONE) {
      const found = CONTINUE.exec(chunk.toString('latin1', 0, MAX_LENGTH));
      if (found === null) return chunk;
      const [{ length }] = found;
      chunk = chunk.length === length ? read(size) : chunk.subarray(length);
    }
    return chunk;
  };
  socket.read = readBehind;
}
