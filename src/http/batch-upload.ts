/** Reads uploads of batches while they arrive, within limits of size and time. */
import { errorOf, type RouterError } from '../protocol/router-error.ts';
import type { BatchRequest } from '../protocol/batch.ts';
import { BATCH_FIELDS, type BatchFields, parseBatchFields } from '../protocol/create-batch.ts';
import { echo, faultAt } from '../protocol/fault.ts';
import { shownValue } from '../protocol/issues.ts';
import { isJsonObject } from '../protocol/json.ts';
import type { RequestLimits } from '../protocol/limits.ts';
import { nearName } from '../protocol/near-name.ts';
import type { ResolvedBatchLimits } from '../options/limits.ts';
import type { NewBatch } from '../runtime/batches/create-batch.ts';
import { UploadedRequest } from '../runtime/batches/draft-writer.ts';
import type { ByteHold } from '../runtime/endpoints/concurrency.ts';
import { type Environment, timerMs } from '../platform/environment.ts';
import { yieldTurn } from '../platform/wait.ts';
import { unpack } from '../platform/unpack.ts';
import { errorOfFault } from '../runtime/chat/router-errors.ts';
import {
  type BodyContentLimits,
  checkContentType,
  checkRatio,
  errorOfBody,
  compressionFormat,
  isPlain,
  tooLarge,
} from './body.ts';
import type { HttpCall, UnreadBody } from '../contracts/exchange.ts';
import { type JsonPart, JsonStream, JsonStreamError, UnknownField } from './json-stream.ts';
import { inspectJson } from '../protocol/inspect-json.ts';

/** What an upload is held to. */
export interface UploadLimits {
  readonly batches: Pick<ResolvedBatchLimits, 'bytes' | 'requests' | 'uploadMs' | 'uploadBytesPerSecond'>;
  readonly requests: Pick<RequestLimits, 'bodyBytes' | 'bodyTimeoutMs' | 'compressionRatio'> & BodyContentLimits;
  readonly environment: Environment;
  /** Is told how many bytes are in hand, all the time. */
  readonly hold: ByteHold;
}

/** A batch that is still coming. */
interface Upload {
  readonly batch: NewBatch;
  /** Lets go of the body, read or not. */
  readonly close: () => Promise<unknown>;
}

/** Bytes that are parsed before everybody else has a turn. */
const CHUNK_BYTES = 64 * 1024;

/**
 * Begins to read the body of `POST /batches`: what describes the batch at once, its requests while they are requested.
 * The fields must come before `requests`, so that nothing has to be kept (contract: create a batch; gaps 8.2).
 *
 * @throws {@link RouterError} 400, 408, 413 or 415, here or while the requests are read.
 */
export async function readUpload(call: HttpCall, limits: UploadLimits): Promise<Upload> {
  const declared = Number(call.header('content-length') ?? 0);
  if (declared > limits.batches.bytes) throw tooLarge(limits.batches.bytes);
  checkContentType(call);
  if (call.body.type === 'parsed') return { batch: parsedBatch(call.body.value, limits), close: nothing };
  const parts = readParts(uploadedBytes(call, call.body, limits), limits);
  const close = (): Promise<unknown> => parts.return(undefined);
  try {
    const { fields, hasRequests } = await fieldsOf(parts);
    return { batch: hasRequests ? { ...fields, requests: requestsOf(parts, limits) } : fields, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function nothing(): Promise<void> {
  return Promise.resolve();
}

/** Everything that comes before the requests. */
async function fieldsOf(
  parts: AsyncGenerator<JsonPart, void>,
): Promise<{ readonly fields: BatchFields; readonly hasRequests: boolean }> {
  const fields: Record<string, unknown> = {};
  let next = await parts.next();
  for (; next.done !== true && next.value.type !== 'array'; next = await parts.next()) {
    if (next.value.type === 'field') fields[next.value.name] = next.value.value;
  }
  const parsed = parseBatchFields(fields);
  if (!parsed.ok) throw errorOfFault(explainOrder(parsed.fault, fields));
  // Whether there must be requests depends on the other fields.
  return { fields: parsed.value, hasRequests: next.done !== true };
}

/** Who puts a required field behind the requests sees that it is missing, and should see why. */
function explainOrder(fault: ReturnType<typeof faultAt>, fields: Readonly<Record<string, unknown>>): typeof fault {
  const [name = ''] = fault.path.split(/[.[]/);
  if (name === '' || name in fields) return fault;
  return faultAt(fault.path, `is required and must come before "requests" in the body`);
}

/** A body that the host has parsed: nothing is left to be saved, so the order of its members does not matter. */
function parsedBatch(value: unknown, limits: UploadLimits): NewBatch {
  if (!isJsonObject(value))
    throw errorOfFault(faultAt('', `must be a JSON object with "requests", not ${shownValue(value)}`));
  const { requests, ...fields } = value;
  const unknown = Object.keys(fields).find((name) => !(BATCH_FIELDS as readonly string[]).includes(name));
  if (unknown !== undefined) throw errorOfFault(unknownField(unknown));
  const parsed = parseBatchFields(fields);
  if (!parsed.ok) throw errorOfFault(parsed.fault);
  if (requests === undefined) return parsed.value;
  if (!Array.isArray(requests)) throw errorOfFault(faultAt('requests', 'must be an array'));
  if (requests.length > limits.batches.requests) throw tooMany(limits.batches.requests);
  return { ...parsed.value, requests: givenRequests(requests, limits) };
}

/** Requests that the host has parsed. What they hold is counted: their bytes are not known any more. */
async function* givenRequests(
  requests: readonly unknown[],
  { batches, requests: limits, hold }: UploadLimits,
): AsyncGenerator<BatchRequest, void> {
  let length = 0;
  let unrested = 0;
  for (const [index, request] of requests.entries()) {
    const found = inspectJson(request, limits);
    const path = `requests[${index}]`;
    if (!found.ok) throw errorOfFault(faultAt(found.path === '' ? path : `${path}.${found.path}`, found.problem));
    // Each value has a comma or a bracket; marks and escapes come on top, so this is never too much.
    const bytes = found.characters + found.nodes;
    length += bytes;
    if (length > batches.bytes) throw tooLarge(batches.bytes);
    if (bytes > limits.bodyBytes) throw itemTooLarge(path, limits.bodyBytes);
    hold.add(bytes);
    yield request as BatchRequest;
    unrested += bytes;
    if (unrested < CHUNK_BYTES) continue;
    unrested = 0;
    await yieldTurn();
  }
}

function itemTooLarge(path: string, limit: number): RouterError {
  return errorOfFault(faultAt(path, `must not be larger than ${limit.toLocaleString('en-US')} bytes`, 413));
}

async function* requestsOf(
  parts: AsyncGenerator<JsonPart, void>,
  { batches }: UploadLimits,
): AsyncGenerator<BatchRequest, void> {
  for await (const part of parts) {
    if (part.type !== 'item') continue;
    if (part.index >= batches.requests) throw tooMany(batches.requests);
    // Its form is checked where the requests of all callers are.
    const request = part.value as BatchRequest;
    yield part.member === undefined ? request : new UploadedRequest(request, part.member);
  }
}

async function* readParts(bites: AsyncIterable<Uint8Array>, limits: UploadLimits): AsyncGenerator<JsonPart, void> {
  const { depth, nodes, names, bodyBytes } = limits.requests;
  const stream = new JsonStream({
    fields: BATCH_FIELDS,
    array: 'requests',
    member: 'body',
    depth,
    nodes,
    names,
    itemBytes: bodyBytes,
  });
  try {
    for await (const chunk of bites) {
      const before = stream.pending;
      limits.hold.set(before + chunk.byteLength);
      const parts = stream.write(chunk);
      // An item that has become complete stays in hand until somebody wants the next one.
      limits.hold.set(before + chunk.byteLength + stream.pending);
      yield* parts;
    }
    stream.end();
  } catch (error) {
    throw errorOfUpload(error, limits.batches.bytes);
  }
}

/** The error for an upload that could not be read: it stalled, ended early, is too large, or is not what it says. */
export function errorOfUpload(error: unknown, maxBytes: number): unknown {
  return error instanceof JsonStreamError ? errorOfStream(error) : errorOfBody(error, maxBytes);
}

/** Milliseconds that are waited for a body before its pace is judged. */
const RATE_GRACE_MS = 10_000;

/** The body in small pieces, unpacked, within its size and its time. */
export async function* uploadedBytes(
  call: HttpCall,
  body: UnreadBody,
  limits: UploadLimits,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { environment, batches, requests } = limits;
  const { bytes, uploadMs } = batches;
  const endsAt = environment.now() + uploadMs;
  const coding = call.header('content-encoding');
  const sent = { bytes: 0 };
  const raw = paced(
    body.chunks?.(bytes, requests.bodyTimeoutMs) ?? whole(body, bytes, timerMs(uploadMs)),
    limits,
    sent,
  );
  let length = 0;
  for await (const chunk of isPlain(coding) ? raw : decompressed(raw, coding)) {
    length += chunk.byteLength;
    if (length > bytes) throw tooLarge(bytes);
    if (!isPlain(coding)) checkRatio(length, sent.bytes, requests.compressionRatio);
    if (environment.now() > endsAt) throw tooSlow();
    for (let start = 0; start < chunk.byteLength; start += CHUNK_BYTES) {
      yield chunk.subarray(start, start + CHUNK_BYTES);
      await yieldTurn();
    }
  }
}

/** Counts what is sent, and ends what comes so slowly that it only keeps a place. Time in which nobody reads is free. */
async function* paced(
  raw: AsyncIterable<Uint8Array>,
  { environment, batches }: UploadLimits,
  sent: { bytes: number },
): AsyncGenerator<Uint8Array, void> {
  let waitedMs = 0;
  let requested = environment.now();
  for await (const chunk of raw) {
    waitedMs += environment.now() - requested;
    sent.bytes += chunk.byteLength;
    const late = waitedMs - RATE_GRACE_MS;
    if (late > 0 && sent.bytes * 1_000 < late * batches.uploadBytesPerSecond) throw tooSlow();
    yield chunk;
    requested = environment.now();
  }
}

function tooSlow(): RouterError {
  return errorOf(408, 'The request body arrived too slowly; send it again, in smaller batches');
}

async function* whole(body: UnreadBody, maxBytes: number, timeoutMs: number): AsyncGenerator<Uint8Array, void> {
  yield await body.collect(maxBytes, timeoutMs);
}

async function* decompressed(raw: AsyncIterable<Uint8Array>, coding: string): AsyncGenerator<Uint8Array, void> {
  const format = compressionFormat(coding);
  let cause: unknown;
  const source = raw[Symbol.asyncIterator]();
  const packed = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      try {
        const { done, value } = await source.next();
        if (done === true) controller.close();
        else controller.enqueue(value as Uint8Array<ArrayBuffer>);
      } catch (error) {
        cause = error;
        controller.error(error);
      }
    },
  });
  try {
    yield* unpack(packed, format);
  } catch (error) {
    if (cause !== undefined) throw cause;
    throw error instanceof TypeError ? new JsonStreamError('syntax', '', `is not valid ${format}`) : error;
  } finally {
    // Who sends slowly is not waited for.
    void Promise.resolve(source.return?.()).catch(() => undefined);
  }
}

function errorOfStream(error: JsonStreamError): RouterError {
  if (error instanceof UnknownField) return errorOfFault(unknownField(error.field));
  const fault = faultAt(error.path, error.message, error.reason === 'too_large' ? 413 : 400);
  return errorOfFault(fault);
}

function unknownField(name: string): ReturnType<typeof faultAt> {
  const known = [...BATCH_FIELDS, 'requests'];
  const near = nearName(name, known);
  const hint = near === undefined ? `known are ${known.join(', ')}` : `did you mean "${near}"?`;
  return faultAt('', `has a member that is not known here: ${echo(name)}; ${hint}`);
}

function tooMany(limit: number): RouterError {
  return errorOfFault(faultAt('requests', `must have at most ${limit.toLocaleString('en-US')} items`));
}
