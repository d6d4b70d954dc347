/** Faults of HTTP/1.1 framing and of compressed bodies. */
import type { FaultExchange } from './exchange.ts';
import type { Fault } from './fault.ts';

const MANY_HEADERS = 150;
const EARLY_HINTS = 100;

/** Faults of HTTP/1.1 itself: cut answers, wrong lengths, impossible heads. */
export const FRAMING_FAULTS = {
  'U-12': {
    does: 'resets the connection right after the headers',
    async play(exchange) {
      exchange.response.writeHead(200, { 'content-type': exchange.contentType });
      exchange.response.flushHeaders();
      await exchange.reset();
    },
  },
  'U-13': {
    does: 'resets the connection in the middle of a JSON body',
    async play(exchange) {
      await sendHalf(exchange);
      await exchange.reset();
    },
  },
  'U-14': {
    does: 'resets the connection in the middle of a stream',
    async play(exchange) {
      await exchange.begin();
      await exchange.reset();
    },
  },
  'U-15': {
    does: 'closes the connection in the middle of a body whose end only the close tells',
    async play(exchange) {
      const body = exchange.streaming && exchange.cutAt === undefined ? exchange.opening : exchange.body;
      const cutAt = exchange.cutAt ?? (exchange.streaming ? body.length : body.length >> 1);
      await exchange.raw(head(200, [`content-type: ${exchange.contentType}`, 'connection: close']));
      await exchange.raw(Buffer.from(body).subarray(0, cutAt));
      exchange.hangUp();
    },
  },
  'U-16-longer': {
    does: 'announces more bytes than it sends',
    async play(exchange) {
      await sendJson(exchange, (length) => length + 100);
      exchange.hangUp();
    },
  },
  'U-16-shorter': {
    does: 'announces fewer bytes than it sends',
    play: (exchange) => sendJson(exchange, (length) => length >> 1),
  },
  'U-17-endless': {
    does: 'begins its headers and never ends them',
    async play(exchange) {
      await exchange.raw('HTTP/1.1 200 OK\r\nx-begun: ');
      await exchange.silence();
    },
  },
  'U-17-slow': {
    does: 'sends one byte of its headers every ten seconds',
    async play(exchange) {
      for (const letter of head(200, [`content-type: ${exchange.contentType}`])) {
        if (exchange.socket.destroyed) return;
        await exchange.raw(letter);
        await exchange.wait(10_000);
      }
    },
  },
  'U-18-large': {
    does: 'sends 20 KiB of headers',
    play: (exchange) => exchange.answer({ 'x-large': 'x'.repeat(20 * 1024) }),
  },
  'U-18-many': {
    does: 'sends 150 headers',
    play: (exchange) =>
      exchange.answer(Object.fromEntries(Array.from({ length: MANY_HEADERS }, (_, index) => [`x-${index}`, 'x']))),
  },
  'U-47-continue': {
    does: 'says 100 Continue unasked, and then answers well',
    async play(exchange) {
      await exchange.raw('HTTP/1.1 100 Continue\r\n\r\n');
      exchange.answer();
    },
  },
  'U-47-early-hints': {
    does: 'sends a hundred early hints, and then answers well',
    async play(exchange) {
      await exchange.raw(head(103, ['link: </style.css>; rel=preload']).repeat(EARLY_HINTS));
      exchange.answer();
    },
  },
  'U-48': {
    does: 'switches protocols',
    play: (exchange) => exchange.raw(head(101, ['upgrade: websocket', 'connection: upgrade'])),
  },
  'U-54-000': { does: 'answers with status 000', play: withStatus('000') },
  'U-54-099': { does: 'answers with status 099', play: withStatus('099') },
  'U-54-99': { does: 'answers with status 99', play: withStatus('99') },
  'U-54-600': { does: 'answers with status 600', play: withStatus('600') },
  'U-54-999': { does: 'answers with status 999', play: withStatus('999') },
  'U-54-text': { does: 'answers with a word for a status', play: withStatus('OK') },
  'U-57-second-response': {
    does: 'answers well and sends a second answer right behind it',
    async play(exchange) {
      const forged = JSON.stringify(exchange.wire.completion({ model: exchange.model, text: 'forged' }));
      await exchange.raw(respond(exchange, exchange.body) + respond(exchange, forged));
    },
  },
  'U-57-extra-bytes': {
    does: 'answers well and sends some more bytes behind the body',
    play: (exchange) => exchange.raw(`${respond(exchange, exchange.body)}and more`),
  },
  'U-58-both-lengths': {
    does: 'announces a length and chunks at once',
    async play(exchange) {
      const body = JSON.stringify(exchange.completion);
      const headers = [
        'content-type: application/json',
        `content-length: ${body.length}`,
        'transfer-encoding: chunked',
      ];
      await exchange.raw(`${head(200, headers)}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
    },
  },
  'U-58-bad-chunk': { does: 'sends a chunk whose size is no number', play: withChunkSize('zz') },
  'U-58-huge-chunk': { does: 'sends a chunk of 2^64 bytes', play: withChunkSize('10000000000000000') },
  'U-61': {
    does: 'refuses a body as too large before it has read it, and reads no more',
    early: true,
    async play(exchange) {
      exchange.socket.pause();
      exchange.reply(413, { error: { message: 'The body is too large' } }, { connection: 'close' });
      await exchange.silence();
    },
  },
} as const satisfies Record<string, Fault>;

/** A response head, byte for byte. */
function head(status: number | string, headers: readonly string[]): string {
  return `HTTP/1.1 ${status} Fault\r\n${headers.map((header) => `${header}\r\n`).join('')}\r\n`;
}

function respond(exchange: FaultExchange, body: string): string {
  const length = `content-length: ${Buffer.byteLength(body)}`;
  return `${head(200, [`content-type: ${exchange.contentType}`, length])}${body}`;
}

function withStatus(status: string): (exchange: FaultExchange) => Promise<void> {
  return async (exchange) => {
    const body = JSON.stringify(exchange.completion);
    await exchange.raw(head(status, ['content-type: application/json', `content-length: ${body.length}`]) + body);
  };
}

function withChunkSize(size: string): (exchange: FaultExchange) => Promise<void> {
  return async (exchange) => {
    const opening = exchange.streaming ? exchange.opening : '{"id":';
    const headers = [`content-type: ${exchange.contentType}`, 'transfer-encoding: chunked'];
    const chunk = `${Buffer.byteLength(opening).toString(16)}\r\n${opening}\r\n`;
    await exchange.raw(`${head(200, headers)}${chunk}${size}\r\nmore`);
  };
}

/** A JSON answer with a length of our choice. */
async function sendJson(exchange: FaultExchange, announce: (length: number) => number): Promise<void> {
  const body = JSON.stringify(exchange.completion);
  const length = `content-length: ${announce(body.length)}`;
  await exchange.raw(head(200, ['content-type: application/json', length]) + body);
}

async function sendHalf(exchange: FaultExchange): Promise<void> {
  const body = JSON.stringify(exchange.completion);
  const headers = ['content-type: application/json', `content-length: ${body.length}`];
  await exchange.raw(head(200, headers) + body.slice(0, body.length >> 1));
}

const BOMB_BYTES = 256 * 1024 * 1024;
const ZEROS = 1024 * 1024;

type Coding = 'gzip' | 'brotli' | 'double';

/** Faults of compressed bodies. Nobody requested a compressed one, which does not stop a server. */
export const ENCODING_FAULTS = {
  'U-55-gzip': bomb('gzip', 'gzip'),
  'U-55-brotli': bomb('brotli', 'br'),
  'U-55-double': bomb('double', 'gzip, gzip'),
  'U-56-six': {
    does: 'says that its body is compressed six times over',
    play: (exchange) => exchange.answer({ 'content-encoding': Array(6).fill('gzip').join(', ') }),
  },
  'U-56-unknown': {
    does: 'names a coding that does not exist',
    play: (exchange) => exchange.answer({ 'content-encoding': 'squeeze' }),
  },
  'U-56-plain': {
    does: 'says that its body is compressed, and sends it plain',
    play: (exchange) => exchange.answer({ 'content-encoding': 'gzip' }),
  },
  'U-56-truncated': {
    does: 'ends a compressed body early, in good order',
    async play(exchange) {
      const { constants, gzipSync } = await import('node:zlib');
      const text = exchange.streaming ? exchange.opening : exchange.body.slice(0, exchange.body.length >> 1);
      const bytes = gzipSync(text, { finishFlush: constants.Z_SYNC_FLUSH });
      exchange.response.writeHead(200, { 'content-type': exchange.contentType, 'content-encoding': 'gzip' });
      exchange.response.end(bytes);
    },
  },
} as const satisfies Record<string, Fault>;

function bomb(coding: Coding, header: string): Fault {
  return {
    does: `sends a small body that unpacks to 256 MiB (${header})`,
    async play(exchange) {
      const bytes = await packed(coding, exchange.streaming ? exchange.opening : '{"id":"');
      exchange.response.writeHead(200, { 'content-type': exchange.contentType, 'content-encoding': header });
      exchange.response.end(bytes);
    },
  };
}

/** Packing takes a while, so it is done once for each beginning. */
const PACKED = new Map<string, Promise<Buffer>>();

function packed(coding: Coding, opening: string): Promise<Buffer> {
  const key = `${coding} ${opening}`;
  const known = PACKED.get(key) ?? pack(coding, opening);
  PACKED.set(key, known);
  return known;
}

/** An answer that begins well and goes on in zeros. */
async function pack(coding: Coding, opening: string): Promise<Buffer> {
  const { constants, createBrotliCompress, createGzip, gzipSync } = await import('node:zlib');
  if (coding === 'double') return gzipSync(await packed('gzip', opening));
  const { Readable } = await import('node:stream');
  const { buffer } = await import('node:stream/consumers');
  const zeros = Buffer.alloc(ZEROS);
  function* plain(): Generator<Uint8Array> {
    yield Buffer.from(opening);
    for (let sent = 0; sent < BOMB_BYTES; sent += ZEROS) yield zeros;
  }
  // Zeros are small at the lowest level too, and packing them is what costs time here.
  const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
  const packer = coding === 'brotli' ? createBrotliCompress(brotli) : createGzip({ level: 1 });
  return buffer(Readable.from(plain()).pipe(packer));
}
