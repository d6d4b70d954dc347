/** The table of all faults that a fault upstream can play. */
import type { Fault } from './fault.ts';
import type { FaultExchange } from './exchange.ts';
import type { WireError, RecordedRequest } from './wire.ts';
import { CONNECTION_FAULTS } from './connection-faults.ts';
import { ENCODING_FAULTS, FRAMING_FAULTS } from './framing-faults.ts';

const SECOND = 1_000;

/** Faults of time: too late, too slow, or no end. All waits are multiplied by the upstream's `timeScale`. */
const TIMING_FAULTS = {
  'U-19': {
    does: 'never says its first token; of a stream it sends the role and comments',
    async play(exchange) {
      if (!exchange.streaming) return exchange.silence();
      await exchange.begin();
      while (!exchange.socket.destroyed) {
        await exchange.write(': still there\n\n');
        await exchange.wait(10 * SECOND);
      }
    },
  },
  'U-20': {
    does: 'stops in the middle of a stream and keeps the connection open',
    async play(exchange) {
      await exchange.begin();
      await exchange.silence();
    },
  },
  'U-21': {
    does: 'answers well after a wait of up to four seconds',
    async play(exchange) {
      await exchange.wait((exchange.request.number % 3) * 2 * SECOND);
      exchange.answer();
    },
  },
  'U-22': {
    does: 'answers well at 1 kB per second',
    async play(exchange) {
      exchange.response.writeHead(200, { 'content-type': exchange.contentType });
      await exchange.trickle(exchange.body, 100, 0.1 * SECOND);
      exchange.response.end();
    },
  },
  'U-23': {
    does: 'answers well, one byte at a time',
    async play(exchange) {
      exchange.socket.setNoDelay(true);
      exchange.response.writeHead(200, { 'content-type': exchange.contentType });
      await exchange.trickle(exchange.body, 1, 5);
      exchange.response.end();
    },
  },
  'U-24': {
    does: 'ends a stream in good order, but without a finish reason and without its end mark',
    async play(exchange) {
      await exchange.begin();
      exchange.response.end();
    },
  },
  'U-25': {
    does: 'answers well and keeps the connection open for thirty seconds',
    async play(exchange) {
      if (exchange.streaming) {
        exchange.response.writeHead(200, { 'content-type': exchange.contentType });
        await exchange.write(exchange.body);
      } else {
        await exchange.begin({ connection: 'close' });
        await exchange.write(exchange.body);
      }
      await exchange.wait(30 * SECOND);
      exchange.hangUp();
    },
  },
  'U-62': {
    does: 'sends its headers at once and then nothing at all',
    async play(exchange) {
      exchange.response.writeHead(200, { 'content-type': exchange.contentType });
      exchange.response.flushHeaders();
      await exchange.silence();
    },
  },
  'U-66': {
    does: 'says at the end of its answer that it failed',
    async play(exchange) {
      if (!exchange.streaming) return exchange.reply(200, exchange.wire.failedCompletion(exchange));
      await exchange.begin();
      exchange.response.end(exchange.wire.failedEnding(exchange));
    },
  },
} as const satisfies Record<string, Fault>;

interface ProviderError {
  readonly message: string;
  readonly code?: string;
  readonly type?: string;
}

/** Answers with an error status, as the providers word them. */
const STATUS_FAULTS = {
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
 * A status with an error object, or an error object inside a stream that has begun. The key of the request is in
 * the message, as with real providers, so that a router which passes it on is found out.
 */
function refusal(code: number, error: ProviderError, headers: Record<string, string> = {}): Fault {
  return {
    does: `answers ${code}: ${error.message}`,
    play: (exchange) => {
      const message = `${error.message} (${keyOf(exchange.request)})`;
      return exchange.refuse(code, { ...error, message }, headers);
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
function edge(code: number): Fault {
  return {
    does: `answers ${code} with a page, as an edge in front of a provider does`,
    play: (exchange) => exchange.reply(code, '<html>Edge error</html>', { 'content-type': 'text/html' }),
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

const PIECE = 64 * 1024;
const ENDLESS_BYTES = 300_000_000;

/** Bodies that are not what a good status promises. */
const BODY_FAULTS = {
  'U-38': {
    does: 'answers 200 with a web page',
    play: (exchange) => exchange.reply(200, '<!doctype html><title>Sign in</title>', { 'content-type': 'text/html' }),
  },
  'U-39-429': inDisguise({ message: 'Rate limit reached', code: 429 }),
  'U-39-400': inDisguise({ message: 'Invalid request', code: 400 }),
  'U-39-unknown': inDisguise({ message: 'Something went wrong', code: 'strange' }),
  'U-40-empty': bodyOf('nothing', ''),
  'U-40-object': bodyOf('an empty object', '{}'),
  'U-40-no-choices': {
    does: 'answers 200 with an answer in which there is nothing',
    play: (exchange) => exchange.reply(200, exchange.wire.emptyCompletion(exchange)),
  },
  'U-41-invalid': bodyOf('something that is not JSON', 'I am sorry, I cannot answer in JSON'),
  'U-41-truncated': {
    does: 'answers 200 with half a JSON object, in good order',
    play: (exchange) => {
      const body = JSON.stringify(exchange.completion);
      exchange.reply(200, body.slice(0, body.length >> 1));
    },
  },
  'U-41-two-values': {
    does: 'answers 200 with two JSON objects, one behind the other',
    play: (exchange) => exchange.reply(200, JSON.stringify(exchange.completion).repeat(2)),
  },
  'U-41-byte-order-mark': {
    does: 'answers well, with a byte order mark in front',
    play: (exchange) => {
      exchange.response.writeHead(200, { 'content-type': exchange.contentType });
      exchange.response.end(`\uFEFF${exchange.body}`);
    },
  },
  'U-42': {
    does: 'answers 200 with a JSON string of 300 MB',
    async play(exchange) {
      exchange.response.writeHead(200, { 'content-type': 'application/json' });
      await exchange.write('{"id":"');
      const piece = Buffer.alloc(PIECE, 'x');
      for (let sent = 0; sent < ENDLESS_BYTES && !exchange.socket.destroyed; sent += PIECE) await exchange.write(piece);
      exchange.response.end('"}');
    },
  },
  'U-43': {
    does: 'answers well, but whole although a stream was asked for',
    play: (exchange) => exchange.reply(200, exchange.completion),
  },
  'U-44': {
    does: 'answers well, but as a stream although a non-streaming response was asked for',
    play: (exchange) => exchange.reply(200, exchange.streamBody, { 'content-type': 'text/event-stream' }),
  },
  'U-45-204': status('answers 204 without a body', 204),
  'U-45-205': status('answers 205 without a body', 205),
  'U-46-301': redirect(301, 'a path of its own', (exchange) => `http://${host(exchange)}/v1/elsewhere`),
  'U-46-302': redirect(302, 'another host', () => 'https://elsewhere.invalid/v1'),
  'U-46-303': redirect(303, 'another port over plain HTTP', () => 'http://127.0.0.1:9/v1'),
  'U-46-307': redirect(307, 'a private address', () => 'http://10.0.0.1/v1/chat/completions'),
  'U-46-308': redirect(308, 'itself, in a loop', (exchange) => exchange.request.path),
  'U-60': {
    does: 'answers well, with headers that are nobody else’s business',
    play: (exchange) =>
      exchange.answer({
        'set-cookie': ['session=upstream; Path=/', 'other=upstream'],
        'x-powered-by': 'fault-upstream',
        server: 'fault-upstream',
        'access-control-allow-origin': 'https://fault-upstream.invalid',
        'x-request-id': 'fault-upstream',
      }),
  },
  'U-65': {
    does: 'answers well, and names another model than was asked for',
    play: (exchange) => {
      const body = exchange.body.replaceAll(JSON.stringify(exchange.model), '"another-model-2026-01-01"');
      exchange.response.writeHead(200, { 'content-type': exchange.contentType });
      exchange.response.end(body);
    },
  },
  'U-67-5000': nested(5_000),
  'U-67-100000': nested(100_000),
} as const satisfies Record<string, Fault>;

function bodyOf(what: string, body: string): Fault {
  return { does: `answers 200 with ${what}`, play: (exchange) => exchange.reply(200, body) };
}

function inDisguise(error: WireError): Fault {
  return {
    does: `answers 200 with an error of code ${error.code} in the body`,
    play: (exchange) => exchange.reply(200, exchange.wire.errorBody(error)),
  };
}

function status(does: string, code: number): Fault {
  return { does, play: (exchange) => void exchange.response.writeHead(code).end() };
}

function redirect(code: number, target: string, to: (exchange: FaultExchange) => string): Fault {
  return {
    does: `answers ${code} with the address of ${target}`,
    play: (exchange) => exchange.reply(code, '', { location: to(exchange) }),
  };
}

function host(exchange: FaultExchange): string {
  return String(exchange.request.headers['host']);
}

/** Parses everywhere, and overflows the stack of whoever walks it or writes it out again. */
function nested(depth: number): Fault {
  const details = `[{"type":"reasoning.text","data":${'['.repeat(depth)}${']'.repeat(depth)}}]`;
  const PLACE = 'nested-here';
  return {
    does: `answers with JSON nested ${depth} deep`,
    async play(exchange) {
      const { completion, event } = exchange.wire.holding(exchange, PLACE);
      const nest = (text: string): string => text.replace(JSON.stringify(PLACE), details);
      if (!exchange.streaming) return exchange.reply(200, nest(JSON.stringify(completion)));
      await exchange.begin();
      await exchange.write(nest(event));
      exchange.response.end(exchange.ending);
    },
  };
}

/** Number of a fault; a part behind the number distinguishes its variants. */
export type FaultId =
  | keyof typeof BODY_FAULTS
  | keyof typeof CONNECTION_FAULTS
  | keyof typeof ENCODING_FAULTS
  | keyof typeof FRAMING_FAULTS
  | keyof typeof STATUS_FAULTS
  | keyof typeof TIMING_FAULTS;

/**
 * Every fault that a {@link startFaultUpstream | fault upstream} can play, by number, with one sentence on what it
 * does. Faults of an address (no such host, nobody there, a black hole) have helpers of their own.
 */
export const FAULTS: Readonly<Record<FaultId, Fault>> = {
  ...CONNECTION_FAULTS,
  ...FRAMING_FAULTS,
  ...TIMING_FAULTS,
  ...STATUS_FAULTS,
  ...BODY_FAULTS,
  ...ENCODING_FAULTS,
};
