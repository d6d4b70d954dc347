import type { FaultExchange } from './exchange.ts';
import type { Fault } from './fault.ts';
import type { WireError } from './wire.ts';

const PIECE = 64 * 1024;
const ENDLESS_BYTES = 300_000_000;

/** Bodies that are not what a good status promises. */
export const BODY_FAULTS = {
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
    does: 'answers well, but as a stream although a whole answer was asked for',
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
