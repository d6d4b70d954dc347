import type { Fault } from './fault.ts';

const BOMB_BYTES = 256 * 1024 * 1024;
const ZEROS = 1024 * 1024;

type Coding = 'gzip' | 'brotli' | 'double';

/** Faults of compressed bodies. Nobody asked for a compressed one, which does not stop a server. */
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
    does: 'breaks off a compressed body, in good order',
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
