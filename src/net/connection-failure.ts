/** Turns errors of sockets, TLS and HTTP parsers into failures: the one entry for foreign errors of the network. */
import { type AttemptFailure, failure } from '../contracts/failure.ts';

/** Codes of errors that say: this address or this certificate will not do, whenever we ask. */
const UNREACHABLE = new Set([
  'ENOTFOUND',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** Codes of errors that mean: it took too long. */
const TIMED_OUT = new Set(['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/** Codes of errors that mean: what came back is not HTTP, or not whole. */
const INVALID_RESPONSE = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_RES_EXCEEDED_MAX_SIZE',
  'UND_ERR_INFO',
]);

/** Codes of errors that are ours: a malformed header value or address. */
const OURS = new Set([
  'UND_ERR_INVALID_ARG',
  'ERR_INVALID_URL',
  'ERR_INVALID_CHAR',
  'ERR_INVALID_HTTP_TOKEN',
  'ERR_HTTP_INVALID_HEADER_VALUE',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
]);

/**
 * The one place where errors of sockets, TLS and HTTP parsers become failures. Their texts may hold addresses and
 * keys, so only the code goes on.
 */
export function connectionFailure(error: unknown): AttemptFailure {
  const code = codeOf(error);
  const detail = code === undefined ? '' : ` (${code})`;
  if (code !== undefined && OURS.has(code)) return failure('adapter', `The request could not be sent${detail}`);
  if (code !== undefined && TIMED_OUT.has(code))
    return failure('timeout', `The provider did not answer in time${detail}`);
  if (code !== undefined && (UNREACHABLE.has(code) || code.startsWith('ERR_TLS'))) {
    return failure('unreachable', `The provider cannot be reached${detail}`);
  }
  if (code !== undefined && (INVALID_RESPONSE.has(code) || code.startsWith('HPE_'))) {
    return failure('bad_response', `The provider sent an invalid HTTP response${detail}`);
  }
  const message = `The connection to the provider failed${detail}`;
  return failure('connection', message, code === 'ECONNREFUSED' ? { notListening: true } : {});
}

/** True when something in an error or its causes names a fault of sockets, TLS or HTTP. */
export function hasConnectionCode(error: unknown): boolean {
  return codeOf(error) !== undefined;
}

/** Follows `cause` and the members of an AggregateError to the first error with a code. */
function codeOf(error: unknown, depth = 0): string | undefined {
  if (typeof error !== 'object' || error === null || depth > 5) return undefined;
  const { code, name, cause, errors } = error as { code?: unknown; name?: unknown; cause?: unknown; errors?: unknown };
  if (typeof code === 'string') return code;
  // undici has no code for what its parser does not know a word for.
  if (name === 'HTTPParserError') return 'HPE_INVALID';
  if (Array.isArray(errors)) {
    for (const inner of errors) {
      const found = codeOf(inner, depth + 1);
      if (found !== undefined) return found;
    }
  }
  return codeOf(cause, depth + 1);
}
