/** Reads the body of a request within its limits and passes it on to a model. */
import type { RouterInternals } from '../router/router.ts';
import type { RequestSlot, ByteHold } from '../runtime/endpoints/concurrency.ts';
import { type HttpCall, BodyError } from '../contracts/exchange.ts';
import type { AdmittedCall, ModelReply, ModelRequest } from './model-reply.ts';
import { errorOf, RouterError } from '../protocol/router-error.ts';
import { faultAt } from '../protocol/fault.ts';
import { decodeStrictly, LONG_TEXT, parseAround, verbatimTexts } from '../platform/decode-text.ts';
import type { RequestLimits } from '../protocol/limits.ts';
import { type JsonScan, scanJson } from '../protocol/scan-json.ts';
import { unpack } from '../platform/unpack.ts';
import { type MaybePromise, yieldTurn } from '../platform/wait.ts';
import { errorOfFault } from '../runtime/chat/router-errors.ts';
import { mistakeInJson } from './json-position.ts';
import { inspectJson } from '../protocol/inspect-json.ts';

/** Lets a model answer a request. */
export type AnswerOfModel = (internals: RouterInternals, request: ModelRequest) => Promise<ModelReply>;

/**
 * Reads the body of a request, takes a place for it, and answers it. Who sends slowly holds no place, and who would find
 * neither a place nor room for the body is not made to send it.
 *
 * @param tokens - Numbers that may be in the body on top of `limits.nodes`.
 * @throws {@link RouterError} 400 for what is not JSON or not UTF-8, or holds too much, 408 for a body that comes too
 * slowly, 413 for one that is too large, 415 for another content type or coding, 429 when its account has its share of
 * places or bytes, 503 when there is no room for it or no place is free.
 */
export async function receive(
  internals: RouterInternals,
  { call, account, context }: AdmittedCall,
  tokens: number,
  answer: AnswerOfModel,
): Promise<ModelReply> {
  const { admission, bytesInHand } = internals;
  const { limits } = internals.config;
  admission.check(account.id);
  const declared = Number(call.header('content-length') ?? 0) || 0;
  bytesInHand.check(account.id, Math.min(declared, limits.bodyBytes));
  const hold = bytesInHand.open(account.id);
  let slot: RequestSlot | undefined;
  const leave = (): void => {
    hold.release();
    slot?.leave();
  };
  try {
    const held = tokens === 0 ? limits : { ...limits, nodes: limits.nodes + tokens };
    const { body: given } = call;
    if (declared > held.bodyBytes) throw tooLarge(held.bodyBytes);
    checkContentType(call);
    let read: JsonBody;
    if (given.type === 'parsed') read = await inspected(given.value, held, hold);
    else {
      let bytes: Uint8Array;
      try {
        bytes = await given.collect(held.bodyBytes, held.bodyTimeoutMs, (count) => hold.add(count));
      } catch (error) {
        throw errorOfBody(error, held.bodyBytes);
      }
      const made = readBytes(bytes, call.header('content-encoding'), held, hold);
      read = made instanceof Promise ? await made : made;
    }
    const { value: body, verbatim } = read;
    slot = admission.enter(account.id);
    const reply = await answer(internals, { call, account, context, body, verbatim });
    // What was taken is free again when nothing more of the answer is to come.
    if (reply.type === 'stream') reply.frames.onEnd(leave);
    else leave();
    return reply;
  } catch (error) {
    leave();
    throw error;
  }
}

/** What may be in a body. */
export type BodyContentLimits = Pick<RequestLimits, 'depth' | 'nodes' | 'names'>;

/** What the reader of a body is held to. */
type BodyLimits = BodyContentLimits & Pick<RequestLimits, 'bodyBytes' | 'bodyTimeoutMs' | 'compressionRatio'>;

/** Bytes that one parsed value takes in memory besides its text, roughly. */
const BYTES_PER_NODE = 32;

/** A body of this many bytes is parsed before anybody could notice, whatever is in it. */
const QUICK = 64 * 1024;

/** Bytes of a body from which on its parts are worked on in turns, so that others have theirs in between. */
const LARGE = 1_000_000;
/** Values in a body from which on the same is done: they cost more than bytes. */
const MANY_NODES = 4_000;

/** A body, and what is known of the text that it was read from. */
export interface JsonBody {
  readonly value: unknown;
  /** Its long texts, where none of them has a character that JSON must escape; see {@link verbatimTexts}. */
  readonly verbatim?: readonly string[] | undefined;
}

/** The JSON in the bytes of a body, compressed or not. */
function readBytes(
  bytes: Uint8Array,
  coding: string | undefined,
  limits: BodyLimits,
  hold: ByteHold,
): MaybePromise<JsonBody> {
  // Hosts need not tell of every piece.
  hold.set(bytes.byteLength);
  if (!isPlain(coding))
    return decompress(bytes, coding, limits, hold).then((unpacked) => parseBytes(unpacked, limits, hold));
  return parseBytes(bytes, limits, hold);
}

function parseBytes(bytes: Uint8Array, limits: BodyLimits, hold: ByteHold): MaybePromise<JsonBody> {
  return bytes.byteLength > QUICK ? readScanned(bytes, limits, hold) : parse(bytes, undefined);
}

/** Reads a body that is looked at before it is parsed, and that others may have to wait for. */
async function readScanned(bytes: Uint8Array, limits: BodyLimits, hold: ByteHold): Promise<JsonBody> {
  const isLong = bytes.byteLength > LARGE;
  if (isLong) await yieldTurn();
  const found = scanJson(bytes, limits, LONG_TEXT);
  if (!found.ok) throw errorOfFault(faultAt('', found.problem));
  hold.add(BYTES_PER_NODE * found.nodes);
  const isLarge = isLong || found.nodes > MANY_NODES;
  if (isLarge) await yieldTurn();
  const parsed = parse(bytes, found);
  if (isLarge) await yieldTurn();
  return parsed;
}

/** A body that the host has parsed is counted before anything is made of it. */
async function inspected(value: unknown, limits: BodyLimits, hold: ByteHold): Promise<JsonBody> {
  const found = inspectJson(value, limits);
  if (!found.ok) throw errorOfFault(faultAt(found.path, found.problem));
  hold.set(found.characters + BYTES_PER_NODE * found.nodes);
  if (found.characters > LARGE || found.nodes > MANY_NODES) await yieldTurn();
  return { value };
}

/**
 * A body must say that it is JSON, also where the host has parsed it: pages of other sites can send forms, and bodies
 * without a type, with the cookies of their reader and without asking first.
 *
 * @throws {@link RouterError} 415
 */
export function checkContentType({ header }: HttpCall): void {
  const type = header('content-type');
  if (type === 'application/json' || (type === undefined && header('origin') === undefined)) return;
  const [isJson, charset] =
    /^\s*application\/(?:[\w.-]+\+)?json\s*(?:;.*?\bcharset\s*=\s*"?([^";\s]*)|;|$)/i.exec(type ?? '') ?? [];
  if (isJson === undefined) {
    throw unsupported(
      `The content type must be application/json${type === undefined ? '' : `, not "${type.slice(0, 100)}"`}`,
    );
  }
  // JSON is UTF-8 by definition. A type that says something else comes from a client that writes something else.
  if (charset === undefined || /^(?:utf-?8|us-ascii)$/i.test(charset)) return;
  throw unsupported(`The charset of the request body must be utf-8, not "${charset.slice(0, 50)}"`);
}

function unsupported(message: string): RouterError {
  return new RouterError({ status: 415, errorType: 'invalid_request', message });
}

/** The error for a body that could not be read. */
export function errorOfBody(error: unknown, maxBytes: number): unknown {
  if (!(error instanceof BodyError)) return error;
  if (error.reason === 'too_large') return tooLarge(maxBytes);
  if (error.reason === 'taken') return bodyIsTaken();
  if (error.reason === 'incomplete') return invalid('The request body ended before it was complete');
  return new RouterError({
    status: 408,
    errorType: 'timeout',
    message: 'The request body arrived too slowly; send it again, or raise limits.bodyTimeoutMs',
  });
}

/** The error for a body that the host has read and not handed on. The caller has done nothing wrong, nor helps a repeat. */
export function bodyIsTaken(): RouterError {
  const message = 'The host has read the request body before the router: mount the router before whatever reads bodies';
  return errorOf(500, message, { retryable: false });
}

/** Undoes a compression of the body. The size limit applies to what comes out. */
async function decompress(
  bytes: Uint8Array,
  coding: string,
  { bodyBytes, compressionRatio }: BodyLimits,
  hold: ByteHold,
): Promise<Uint8Array> {
  const format = compressionFormat(coding);
  const packed = new Blob([bytes]).stream();
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of unpack(packed, format)) {
      length += chunk.byteLength;
      if (length > bodyBytes) throw tooLarge(bodyBytes);
      checkRatio(length, bytes.byteLength, compressionRatio);
      hold.add(chunk.byteLength);
      chunks.push(chunk);
    }
  } catch (error) {
    throw RouterError.isInstance(error) ? error : invalid(`The request body is not valid ${format}`);
  }
  const whole = new Uint8Array(await new Blob(chunks).arrayBuffer());
  hold.set(length);
  return whole;
}

/** Bytes that may come out of any compressed body. */
const SMALL = 64 * 1024;

/** @throws {@link RouterError} 413 for a body that was made to be much larger than it looks. */
export function checkRatio(unpacked: number, packed: number, limit: number): void {
  if (unpacked <= Math.max(SMALL, packed * limit)) return;
  const message = `The request body must not be more than ${limit.toLocaleString('en-US')} times as large as its compressed form`;
  throw new RouterError({ status: 413, errorType: 'payload_too_large', message });
}

/** True for a body that is not compressed. */
export function isPlain(coding: string | undefined): coding is undefined | '' | 'identity' {
  return coding === undefined || coding === '' || coding.toLowerCase() === 'identity';
}

/** @throws {@link RouterError} 415 for a coding that is not understood. */
export function compressionFormat(coding: string): 'gzip' | 'deflate' {
  const format = coding.toLowerCase() === 'x-gzip' ? 'gzip' : coding.toLowerCase();
  if (format === 'gzip' || format === 'deflate') return format;
  const message = `The content encoding must be gzip, deflate or identity, not "${coding.slice(0, 50)}"`;
  throw unsupported(message);
}

/**
 * The value in a body. Invalid UTF-8 is refused: replaced characters would silently change what the caller said.
 *
 * @param found - Of a body that was scanned.
 */
function parse(bytes: Uint8Array, found: JsonScan | undefined): JsonBody {
  let text = '';
  try {
    const around = found?.ok === true ? parseAround(bytes, found.long, found.nodes) : undefined;
    if (around !== undefined) return around;
    text = decodeStrictly(bytes);
    const value: unknown = JSON.parse(text);
    return { value, verbatim: text.length < LONG_TEXT ? undefined : verbatimTexts(text, value) };
  } catch (error) {
    throw error instanceof TypeError ? invalid('The request body is not valid UTF-8') : notJson(text);
  }
}

/** The error for a text that the engine could not parse: the engine's own message would repeat the body. */
function notJson(text: string): RouterError {
  if (text.trim() === '') return invalid('The request body is empty; it must be a JSON object');
  const mistake = mistakeInJson(text);
  return invalid(`The request body is not valid JSON${mistake === undefined ? '' : `: ${mistake}`}`);
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
