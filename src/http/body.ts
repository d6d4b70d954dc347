import { RouterError } from '../protocol/router-error.ts';
import { decodeStrictly } from '../platform/decode-text.ts';
import type { RequestLimits } from '../protocol/limits.ts';
import { BodyError, type HttpCall } from './exchange.ts';
import { verbatimTexts } from '../platform/verbatim-text.ts';
import { mistakeInJson } from './json-position.ts';
import type { Brand } from '../config/router-config.ts';

/** A body, and what is known of the text that it was read from. */
export interface JsonBody {
  readonly value: unknown;
  /** Its long texts, where none of them has a character that JSON must escape; see {@link verbatimTexts}. */
  readonly verbatim?: readonly string[] | undefined;
}

/**
 * Reads the JSON body of a call, or takes the one that the host has parsed already.
 *
 * @throws {@link RouterError} 400 for what is not JSON or not UTF-8, 408 for a body that comes too slowly, 413 for one
 * that is too large, 415 for another content type or coding.
 */
export async function readJsonBody(call: HttpCall, limits: RequestLimits): Promise<JsonBody> {
  const declared = Number(call.header('content-length') ?? 0);
  if (declared > limits.bodyBytes) throw tooLarge(limits.bodyBytes);
  if (call.body.type === 'parsed') return { value: call.body.value };
  checkContentType(call.header('content-type'));
  const coding = call.header('content-encoding');
  let bytes: Uint8Array;
  try {
    bytes = await call.body.collect(limits.bodyBytes, limits.bodyTimeoutMs);
  } catch (error) {
    throw errorOfBody(error, limits.bodyBytes);
  }
  const text = decode(isPlain(coding) ? bytes : await decompress(bytes, coding, limits));
  const value = parseJson(text);
  return { value, verbatim: verbatimTexts(text, value) };
}

/** @throws {@link RouterError} 415 for a body that says that it is something else than JSON. */
export function checkContentType(type: string | undefined): void {
  if (type === undefined || type === 'application/json' || /^\s*application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type))
    return;
  throw new RouterError({
    status: 415,
    errorType: 'invalid_request',
    message: `The content type must be application/json, not "${type.slice(0, 100)}"`,
  });
}

/** The error for a body that could not be read. */
export function errorOfBody(error: unknown, maxBytes: number): unknown {
  if (!(error instanceof BodyError)) return error;
  if (error.reason === 'too_large') return tooLarge(maxBytes);
  if (error.reason === 'incomplete') return invalid('The request body ended before it was complete');
  return new RouterError({ status: 408, errorType: 'timeout', message: 'The request body came too slowly' });
}

/** Undoes a compression of the body. The size limit holds for what comes out. */
async function decompress(bytes: Uint8Array, coding: string, limits: RequestLimits): Promise<Uint8Array> {
  const format = formatOf(coding);
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

/** True for a body that is not compressed. */
export function isPlain(coding: string | undefined): coding is undefined | '' | 'identity' {
  return coding === undefined || coding === '' || coding.toLowerCase() === 'identity';
}

/** @throws {@link RouterError} 415 for a coding that is not understood. */
export function formatOf(coding: string): 'gzip' | 'deflate' {
  const format = coding.toLowerCase() === 'x-gzip' ? 'gzip' : coding.toLowerCase();
  if (format === 'gzip' || format === 'deflate') return format;
  const message = `The content encoding must be gzip, deflate or identity, not "${coding.slice(0, 50)}"`;
  throw new RouterError({ status: 415, errorType: 'invalid_request', message });
}

/** A body with invalid UTF-8 is refused: replaced characters would silently change what the caller said. */
function decode(bytes: Uint8Array): string {
  try {
    return decodeStrictly(bytes);
  } catch {
    throw invalid('The request body is not valid UTF-8');
  }
}

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

/** A 400 with this message. */
export function invalid(message: string): RouterError {
  return new RouterError({ status: 400, errorType: 'invalid_request', message });
}

/** The error for a body over the limit. */
export function tooLarge(maxBytes: number): RouterError {
  const message = `The request body must not be larger than ${maxBytes.toLocaleString('en-US')} bytes`;
  return new RouterError({ status: 413, errorType: 'payload_too_large', message });
}

/** How names are spelled in one answer. */
export interface Spelling {
  readonly metadataField: 'router_metadata' | 'openrouter_metadata';
  readonly processing: string;
  /** Beginning of the names of our headers. */
  readonly headers: 'x-router' | 'x-openrouter';
}

const SPELLINGS: Readonly<Record<Brand, Spelling>> = {
  router: { metadataField: 'router_metadata', processing: 'ROUTER PROCESSING', headers: 'x-router' },
  openrouter: { metadataField: 'openrouter_metadata', processing: 'OPENROUTER PROCESSING', headers: 'x-openrouter' },
};

/** Names of the header that asks for metadata, current and legacy, in both spellings. */
const METADATA_HEADERS: readonly (readonly [string, Brand])[] = [
  ['x-router-metadata', 'router'],
  ['x-router-experimental-metadata', 'router'],
  ['x-openrouter-metadata', 'openrouter'],
  ['x-openrouter-experimental-metadata', 'openrouter'],
];

/** Whether a call wants `router_metadata`, and how its answer is spelled (gaps 0.2, 6.5). */
export function negotiate(
  call: HttpCall,
  configured: Brand,
): { readonly wantsMetadata: boolean; readonly spelling: Spelling } {
  for (const named of METADATA_HEADERS) {
    const value = call.header(named[0]);
    if (value === undefined) continue;
    return {
      wantsMetadata: value.trim().toLowerCase() === 'enabled',
      spelling: SPELLINGS[named[1] === 'openrouter' ? 'openrouter' : configured],
    };
  }
  return { wantsMetadata: false, spelling: SPELLINGS[configured] };
}

/** Gives the metadata member its name in this answer. */
export function spell<Body extends { readonly router_metadata?: unknown }>(
  body: Body,
  { metadataField }: Spelling,
): object {
  if (metadataField === 'router_metadata' || body.router_metadata === undefined) return body;
  const { router_metadata: metadata, ...rest } = body;
  return { ...rest, [metadataField]: metadata };
}
