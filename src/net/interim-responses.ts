import type { buildConnector } from 'undici';

/** How the response begins that tells a client to go on and send its body. */
const CONTINUE = /^HTTP\/1\.[01] 100[ \r][^]*?\r\n\r\n/;
/** Where a response has the first digit of its status. */
const STATUS_AT = 'HTTP/1.1 '.length;
const DIGIT_ONE = 0x31;
/** Bytes that such a response has at most; it has no headers worth reading. */
const MAX_LENGTH = 1_024;

/**
 * Connections on which a provider may say `100 Continue` before its response. undici takes that for an attack unless it
 * was asked for, but servers and gateways send it unasked, and it means nothing once the body is on its way.
 *
 * It is recognised at the beginning of what the socket gives. A body of JSON cannot look like it: there the end of a line
 * is escaped.
 */
export function acceptingContinue(connector: buildConnector.connector): buildConnector.connector {
  return (options, callback) => {
    connector(options, (...result) => {
      const [error, socket] = result;
      if (error === null) {
        const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
        socket.read = (size?: number): Buffer | null => {
          let chunk = read(size);
          while (chunk?.[STATUS_AT] === DIGIT_ONE) {
            const begins = CONTINUE.exec(chunk.toString('latin1', 0, MAX_LENGTH));
            if (begins === null) return chunk;
            chunk = chunk.length === begins[0].length ? read(size) : chunk.subarray(begins[0].length);
          }
          return chunk;
        };
      }
      callback(...result);
    });
  };
}
