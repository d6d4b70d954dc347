import { RouterError } from '../errors.ts';
import type { RequestLimits } from '../protocol/limits.ts';
import { BodyError, type HttpCall } from './exchange.ts';
import { mistakeInJson } from './json-position.ts';

/**
 * Reads the JSON body of a call, or takes the one that the host has parsed already.
 *
 * @throws {@link RouterError} 400 for what is not JSON or not UTF-8, 408 for a body that comes too slowly, 413 for one
 * that is too large, 415 for another content type or coding.
 */
export async function readJsonBody(call: HttpCall, limits: RequestLimits): Promise<unknown> {
  const declared = Number(call.header('content-length') ?? 0);
  if (declared > limits.bodyBytes) throw tooLarge(limits.bodyBytes);
  if (call.body.type === 'parsed') return call.body.value;
  checkContentType(call.header('content-type'));
  const bytes = await collect(call.body, limits);
  return parseJson(decode(await decompress(bytes, call.header('content-encoding'), limits)));
}

function checkContentType(type: string | undefined): void {
  if (type === undefined || /^\s*application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type)) return;
  throw new RouterError({
    status: 415,
    errorType: 'invalid_request',
    message: `The content type must be application/json, not "${type.slice(0, 100)}"`,
  });
}

async function collect(
  body: Extract<HttpCall['body'], { type: 'unread' }>,
  limits: RequestLimits,
): Promise<Uint8Array> {
  try {
    return await body.collect(limits.bodyBytes, limits.bodyTimeoutMs);
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    if (error.reason === 'too_large') throw tooLarge(limits.bodyBytes);
    if (error.reason === 'timeout') {
      throw new RouterError({ status: 408, errorType: 'timeout', message: 'The request body came too slowly' });
    }
    throw invalid('The request body ended before it was complete');
  }
}

/** Undoes a compression of the body. The size limit holds for what comes out. */
async function decompress(bytes: Uint8Array, coding: string | undefined, limits: RequestLimits): Promise<Uint8Array> {
  if (coding === undefined || coding === '' || coding.toLowerCase() === 'identity') return bytes;
  const format = coding.toLowerCase() === 'x-gzip' ? 'gzip' : coding.toLowerCase();
  if (format !== 'gzip' && format !== 'deflate') {
    const message = `The content encoding must be gzip, deflate or identity, not "${coding.slice(0, 50)}"`;
    throw new RouterError({ status: 415, errorType: 'invalid_request', message });
  }
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new DecompressionStream(format));
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      length += chunk.byteLength;
      if (length > limits.bodyBytes) throw tooLarge(limits.bodyBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    throw RouterError.isInstance(error) ? error : invalid(`The request body is not valid ${format}`);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

/** A body with invalid UTF-8 is refused: replaced characters would silently change what the caller said. */
function decode(bytes: Uint8Array): string {
  try {
    return FATAL_DECODER.decode(bytes);
  } catch {
    throw invalid('The request body is not valid UTF-8');
  }
}

const FATAL_DECODER = new TextDecoder('utf-8', { fatal: true });

function parseJson(text: string): unknown {
  if (text.trim() === '') throw invalid('The request body is empty; it must be a JSON object');
  try {
    return JSON.parse(text);
  } catch {
    // The engine's own message would repeat the body.
    const mistake = mistakeInJson(text);
    throw invalid(`The request body is not valid JSON${mistake === undefined ? '' : `: ${mistake}`}`);
  }
}

function invalid(message: string): RouterError {
  return new RouterError({ status: 400, errorType: 'invalid_request', message });
}

/** The error for a body over the limit. */
export function tooLarge(maxBytes: number): RouterError {
  const message = `The request body must not be larger than ${maxBytes.toLocaleString('en-US')} bytes`;
  return new RouterError({ status: 413, errorType: 'payload_too_large', message });
}
