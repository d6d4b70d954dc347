import type { Fault } from './fault.ts';
import type { RecordedRequest } from './recorded-request.ts';

interface ProviderError {
  readonly message: string;
  readonly code?: string;
  readonly type?: string;
}

/** Answers with an error status, as the providers word them. */
export const STATUS_FAULTS = {
  'U-27': refusal(400, { message: "Invalid value for 'temperature'", type: 'invalid_request_error' }),
  'U-28': refusal(400, {
    message: "This model's maximum context length is 8192 tokens",
    code: 'context_length_exceeded',
  }),
  'U-29-401': refusal(401, { message: 'Incorrect API key provided', code: 'invalid_api_key' }),
  'U-29-403': refusal(403, { message: 'This key may not use this model', type: 'permission_error' }),
  'U-30': refusal(402, { message: 'Insufficient balance', type: 'billing_error' }),
  'U-31': refusal(403, { message: 'The request was refused by our moderation', code: 'content_policy_violation' }),
  'U-32': refusal(404, { message: 'The model does not exist', code: 'model_not_found' }),
  'U-33': refusal(408, { message: 'The request timed out' }),
  'U-34-409': refusal(409, { message: 'Another request is in the way' }),
  'U-34-425': refusal(425, { message: 'Too early' }),
  'U-35': refusal(413, { message: 'The request is too large', type: 'request_too_large' }),
  'U-36': refusal(422, { message: 'The tool result belongs to no call' }),
  'U-37': refusal(429, { message: 'Rate limit reached', type: 'rate_limit_error' }, { 'retry-after': '2' }),
  'U-49-500': refusal(500, { message: 'Internal error' }),
  'U-49-501': refusal(501, { message: 'Not implemented' }),
  'U-49-505': refusal(505, { message: 'HTTP version not supported' }),
  'U-50-502': refusal(502, { message: 'Bad gateway' }),
  'U-50-504': refusal(504, { message: 'Gateway timeout' }),
  'U-51': {
    does: 'answers 503 with the date of 30 seconds from now in Retry-After',
    play: (exchange) => {
      const now = Date.now();
      const headers = { date: httpDate(now), 'retry-after': httpDate(now + 30_000) };
      return exchange.refuse(503, { message: 'Overloaded' }, headers);
    },
  },
  'U-52-520': edge(520),
  'U-52-521': edge(521),
  'U-52-522': edge(522),
  'U-52-523': edge(523),
  'U-52-524': edge(524),
  'U-52-525': edge(525),
  'U-52-526': edge(526),
  'U-52-527': edge(527),
  'U-53': refusal(529, { message: 'Overloaded', type: 'overloaded_error' }),
  'U-63-past': retryAfter('Sun, 06 Nov 1994 08:49:37 GMT'),
  'U-63-far': retryAfter('Mon, 01 Jul 2999 00:00:00 GMT'),
  'U-64-negative': retryAfter('-1'),
  'U-64-fraction': retryAfter('1.5'),
  'U-64-hexadecimal': retryAfter('0x10'),
  'U-64-exponent': retryAfter('1e3'),
  'U-64-infinity': retryAfter('Infinity'),
  'U-64-list': retryAfter('120, 240'),
  'U-64-word': retryAfter('tomorrow'),
  'U-64-empty': retryAfter(''),
  'U-64-huge': retryAfter('10000000000000'),
  'U-64-rfc-850': retryAfter('Sunday, 06-Nov-94 08:49:37 GMT'),
  'U-64-asctime': retryAfter('Sun Nov  6 08:49:37 1994'),
  'U-64-spaces': retryAfter('   7'),
} as const satisfies Record<string, Fault>;

/**
 * A status with an error object, or an error object inside a stream that has begun. The key of the request stands in
 * the message, as with real providers, so that a router which passes it on is found out.
 */
function refusal(status: number, error: ProviderError, headers: Record<string, string> = {}): Fault {
  return {
    does: `answers ${status}: ${error.message}`,
    play: (exchange) => {
      const message = `${error.message} (${keyOf(exchange.request)})`;
      return exchange.refuse(status, { ...error, message }, headers);
    },
  };
}

/** The key of a request, wherever its wire has it. */
function keyOf({ headers }: RecordedRequest): string {
  const named = KEY_HEADERS.map((name) => headers[name]).find((value) => value !== undefined);
  return String(named ?? '').replace(/^Bearer /, '');
}

const KEY_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key'];

/** What stands between a provider and the world answers, with a page. */
function edge(status: number): Fault {
  return {
    does: `answers ${status} with a page, as an edge in front of a provider does`,
    play: (exchange) => exchange.reply(status, '<html>Edge error</html>', { 'content-type': 'text/html' }),
  };
}

function retryAfter(value: string): Fault {
  return {
    does: `answers 429 with the Retry-After header "${value}"`,
    play: (exchange) => exchange.refuse(429, { message: 'Rate limit reached' }, { 'retry-after': value }),
  };
}

function httpDate(at: number): string {
  return new Date(at).toUTCString();
}
