import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { type AttemptFailure, failure } from '../../core/fallback/failure.ts';
import { TransportError } from './transport.ts';
import type { UndiciResponse } from './undici-response.ts';

/** Codings in a row that are undone; more than this is an attack, not a server. */
const MAX_CODINGS = 2;

/** True when a response says that its body is compressed. We ask for plain bodies, but some servers do not listen. */
export function needsDecoding(encoding: string | string[] | undefined): boolean {
  return encoding !== undefined && encoding !== '' && encoding !== 'identity';
}

/**
 * Puts decompression between the wire and the reader. The limit on the response's size applies to what comes out, so
 * a few bytes that unpack to gigabytes stop early.
 */
export function startDecoding(response: UndiciResponse, encoding: string): AttemptFailure | undefined {
  const codings = encoding.split(',').map((coding) => coding.trim().toLowerCase());
  const steps = codings.toReversed().map(decoderOf);
  const [first] = steps;
  if (codings.length > MAX_CODINGS || first === undefined || steps.includes(undefined)) {
    return failure('bad_response', 'The provider sent a body in an encoding that is not accepted');
  }
  const last = steps.reduce((from, to) => (from === undefined || to === undefined || from === to ? to : from.pipe(to)));
  const onError = (): void => {
    response.abort(new TransportError(failure('bad_response', 'The provider sent a body that cannot be decoded')));
  };
  for (const step of steps) step?.on('error', onError);
  last?.on('data', (chunk: Buffer) => response.deliver(chunk));
  last?.on('end', () => response.finish());
  response.filterThrough({
    write: (chunk) => first.write(chunk),
    end: () => first.end(),
    destroy: () => {
      for (const step of steps) step?.destroy();
    },
  });
  return undefined;
}

function decoderOf(
  coding: string,
): ReturnType<typeof createGunzip> | ReturnType<typeof createBrotliDecompress> | undefined {
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      return undefined;
  }
}
