/** Decompresses response bodies on Node. */
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { TransportError } from './transport.ts';
import { failure } from '../contracts/failure.ts';

/** Codings in a row that are undone; more than this is an attack, not a server. */
const MAX_CODINGS = 2;

/** A body that unpacks to more than this many bytes per byte sent is a trap: text packs by ten, repetition by a hundred. */
const MAX_RATIO = 200;
/** Bytes up to which no body is a trap. */
const HARMLESS_BYTES = 4_000_000;

type Decoder = ReturnType<typeof createGunzip> | ReturnType<typeof createBrotliDecompress>;

const DECODERS: Readonly<Record<string, () => Decoder>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** A response whose body can be sent through a filter. */
interface FilteredResponse {
  deliver(chunk: Uint8Array): void;
  finish(): void;
  abort(error: TransportError): void;
  filterThrough(filter: ByteFilter): void;
}

/**
 * Puts decompression between the wire and the reader, if the body is compressed. We require plain bodies, but some
 * servers do not listen. The limit on the response's size applies to what comes out, so a few bytes that unpack to
 * gigabytes stop early. A coding that is not known fails the body and leaves status and headers readable.
 */
export function decompressBody(response: FilteredResponse, encoding: string | string[] | undefined): void {
  const codings = codingsOf(encoding);
  if (codings.length === 0) return;
  const known = codings.filter((coding) => Object.hasOwn(DECODERS, coding));
  if (codings.length > MAX_CODINGS || known.length < codings.length) {
    response.abort(problem('The provider sent a body in an encoding that is not accepted'));
    return;
  }
  const steps = codings.toReversed().flatMap((coding) => DECODERS[coding]?.() ?? []);
  const [first, ...others] = steps;
  if (first === undefined) return;
  const last = others.reduce((from, to) => from.pipe(to), first);
  for (const step of steps) {
    step.on('error', () => response.abort(problem('The provider sent a body that cannot be decoded')));
  }
  let unpacked = 0;
  last.on('data', (chunk: Buffer) => {
    unpacked += chunk.byteLength;
    if (unpacked <= HARMLESS_BYTES || unpacked <= first.bytesWritten * MAX_RATIO) response.deliver(chunk);
    else response.abort(problem('The provider sent a small body that unpacks to a very large one'));
  });
  last.on('end', () => response.finish());
  response.filterThrough({
    write: (chunk) => first.write(chunk),
    end: () => first.end(),
    pause: () => last.pause(),
    resume: () => last.resume(),
    destroy: () => {
      for (const step of steps) step.destroy();
    },
  });
}

/** The codings of a body in the order in which they were applied; none for a plain one. */
function codingsOf(encoding: string | string[] | undefined): readonly string[] {
  if (encoding === undefined) return [];
  return String(encoding)
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');
}

function problem(message: string): TransportError {
  return new TransportError(failure('bad_response', message));
}

/** A step between the wire and the reader, such as decompression. */
export interface ByteFilter {
  write(chunk: Uint8Array): void;
  end(): void;
  /** Stops and continues the output, for a reader who does not keep up. */
  pause(): void;
  resume(): void;
  destroy(): void;
}
