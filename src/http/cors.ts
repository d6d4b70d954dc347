/** Answers preflight requests and adds the headers of CORS. */
import type { Cors } from '../config/router.ts';
import { errorOf, type RouterError } from '../protocol/router-error.ts';
import { shortened } from '../protocol/fault.ts';
import type { HttpCall, HttpHeaders, HttpReply } from '../contracts/exchange.ts';

/** Headers of ours that pages may read. */
const EXPOSED = [
  'X-Generation-Id',
  'x-request-id',
  'request-id',
  'Retry-After',
  'X-Should-Retry',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Next-Cursor',
  'ETag',
  ...['X-Router', 'X-OpenRouter'].flatMap((brand) => [
    `${brand}-Cache-Status`,
    `${brand}-Cache-Age`,
    `${brand}-Cache-TTL`,
    `${brand}-Cache-Source-Id`,
  ]),
].join(', ');

/** Headers that pages may send; those of the contract in both spellings. */
const ALLOWED = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-None-Match',
  'Last-Event-ID',
  'x-api-key',
  'anthropic-version',
  'anthropic-beta',
  'anthropic-dangerous-direct-browser-access',
  'x-session-id',
  'x-claude-code-session-id',
  'x-anthropic-beta',
  'traceparent',
  'tracestate',
  // SDKs set it themselves; Chromium does not ask for it, Firefox and Safari do.
  'User-Agent',
  'OpenAI-Organization',
  'OpenAI-Project',
  'OpenAI-Beta',
  'HTTP-Referer',
  'X-Title',
  ...['X-Router', 'X-OpenRouter'].flatMap((brand) => [
    `${brand}-Metadata`,
    `${brand}-Experimental-Metadata`,
    `${brand}-Title`,
    `${brand}-Categories`,
    `${brand}-Cache`,
    `${brand}-Cache-TTL`,
    `${brand}-Cache-Clear`,
  ]),
].join(', ');

/** Headers that a widespread client adds to every request to say what it runs on. */
const HARMLESS = /^x-stainless-[a-z-]{1,32}$/;

/** Seconds for which a browser may remember the answer to a preflight. */
const MAX_AGE = '600';

/** Headers that let a page of another site read an answer; none when it may not. */
export function corsHeaders(cors: Cors, origin: string | undefined): HttpHeaders {
  if (cors.origins === '*') return { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED };
  if (origin === undefined || !cors.origins.includes(origin)) return VARIES;
  return { ...VARIES, 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED };
}

/**
 * The answer to a browser that asks whether a page may call; undefined for any other request, and where nobody set
 * this up.
 *
 * @param more - Names of headers that pages may send besides those that the router knows.
 * @throws {@link RouterError} 400 for pages that may not.
 */
export function preflightReply(
  call: HttpCall,
  allow: string,
  headers: HttpHeaders,
  more: readonly string[] = [],
): HttpReply | undefined {
  if (call.method !== 'OPTIONS' || call.header('access-control-request-method') === undefined) return undefined;
  if (headers === NO_CORS) return undefined;
  if (headers['access-control-allow-origin'] === undefined) throw strangePage(call.header('origin') ?? 'this site');
  const requested = (call.header('access-control-request-headers') ?? '').toLowerCase().split(/\s*,\s*/);
  return {
    type: 'whole',
    status: 204,
    headers: {
      ...headers,
      'access-control-allow-methods': allow,
      'access-control-allow-headers': [ALLOWED, ...more, ...requested.filter((name) => HARMLESS.test(name))].join(', '),
      'access-control-max-age': MAX_AGE,
    },
    body: '',
  };
}

function strangePage(origin: string): RouterError {
  return errorOf(400, `Pages of ${shortened(origin)} may not call this router: its option cors does not name them`);
}

/** Headers where nobody set this up. */
export const NO_CORS: HttpHeaders = {};

/** Without this, a cache would give one site's answer to another. */
const VARIES: HttpHeaders = { vary: 'Origin' };
