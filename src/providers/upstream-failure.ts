/** Turns error responses of providers into failures. */
import { type Classified, classifyError, classifyWebPage, statusOfWords } from './classify.ts';
import { type ErrorShape, readErrorShape } from './error-shape.ts';
import { presentable } from './redact.ts';
import { retryHintMs, waitSaid } from './retry-hint.ts';
import type { MaybePromise } from '../platform/wait.ts';
import { readStart, type TransportResponse } from '../net/transport.ts';
import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import { type AttemptFailure, failure } from '../contracts/failure.ts';

/** What is needed to turn a provider's error into a failure. */
export interface ErrorContext {
  /** Keys that must not appear in any text. */
  readonly secrets: readonly string[];
  /** Where the request was sent. Absent for an error that came otherwise than as the response to a request. */
  readonly url?: URL | undefined;
  /** Epoch milliseconds, for dates in `Retry-After`. */
  readonly wallClock: number;
  /** A header of the answer by its lower-case name, for what a provider says beside the body. */
  readonly header?: ((name: string) => string | undefined) | undefined;
  /** Reads error bodies of a form of their own; undefined for a body that has one of the common forms. */
  readonly errorShape?: ((body: unknown) => ErrorShape | undefined) | undefined;
}

/** Where a request was sent, as errors may show it: without query, key or user name. */
export function addressOf({ url, secrets }: ErrorContext): string {
  return url === undefined ? '' : (presentable(`${url.protocol}//${url.host}${url.pathname}`, secrets) ?? '');
}

/** The failure behind an HTTP answer with a bad status. */
export function failureOfResponse(
  status: number,
  header: (name: string) => string | undefined,
  body: string,
  context: ErrorContext,
): AttemptFailure {
  const html = body.trimStart().startsWith('<');
  const parsed = html ? undefined : parseOrText(body);
  const shape = shapeOf(parsed, context);
  const retryAfterMs = retryHintMs(status, header, shape, context.wallClock);
  const raw = html || typeof parsed === 'string' ? body : spelledPlainly(parsed);
  const classified = html ? classifyWebPage(status, shape) : classifyError(status, shape);
  return build(classified, shape, { status, retryAfterMs, raw }, context);
}

/** The failure behind an error object that came with a good status, as the response or inside a stream. */
export function failureInBand(body: unknown, context: ErrorContext): AttemptFailure {
  const shape = shapeOf(body, context);
  const status = statusOfWords(shape);
  const retryAfterMs = retryHintMs(status, () => undefined, shape, context.wallClock);
  return build(classifyError(status, shape), shape, { status, retryAfterMs, raw: shape.message ?? '' }, context);
}

function shapeOf(body: unknown, context: ErrorContext): ErrorShape {
  return context.errorShape?.(body) ?? readErrorShape(body);
}

function build(
  { kind, doubtful, errorType, evidence }: Classified,
  shape: ErrorShape,
  { raw, ...details }: Pick<AttemptFailure, 'status' | 'retryAfterMs'> & { readonly raw: string },
  { secrets }: ErrorContext,
): AttemptFailure {
  const wait = details.retryAfterMs === undefined ? undefined : waitSaid(shape.message);
  const said = [evidence, wait].filter((words) => words !== undefined);
  return failure(
    kind,
    presentable(shape.message ?? '', secrets) ?? `The provider answered ${details.status ?? 'with an error'}`,
    {
      ...details,
      ...(doubtful ? { doubtful } : {}),
      ...(said.length === 0 ? {} : { evidence: said }),
      ...(errorType === undefined ? {} : { errorType }),
      providerCode: codeOf(shape, secrets),
      parameter: PARAMETER.test(shape.parameter ?? '') ? shape.parameter : undefined,
      raw: presentable(raw, secrets),
    },
  );
}

/** A name with its path, and nothing else. */
const PARAMETER = /^\w+(?:\.\w+){0,3}$/;

/** Codes are short words; whatever else is in their place is not passed on. */
function codeOf({ code, type }: ErrorShape, secrets: readonly string[]): string | undefined {
  const text = code ?? type;
  return text === undefined || text.length > MAX_CODE_LENGTH ? undefined : presentable(text, secrets);
}

const MAX_CODE_LENGTH = 100;

/** The same JSON in its plainest spelling, so that nothing hides behind escapes. */
function spelledPlainly(body: unknown): string {
  try {
    return JSON.stringify(body);
  } catch {
    // Nested so deep that it cannot be written again; nobody needs to see that.
    return '';
  }
}

function parseOrText(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** Bytes of an error body that are read: an error that needs more is a page of somebody else's. */
const MAX_ERROR_BYTES = 64 * 1024;

/** The failure that a status means. An error body that cannot be read must not hide it. */
export function readFailedStatus(
  response: TransportResponse,
  context: ErrorContext,
): MaybePromise<AttemptFailure> | undefined {
  const { status } = response;
  if (status === 200 || status === 201) return undefined;
  if (status >= 200 && status < 300) {
    response.cancel();
    return failure('bad_response', `The provider answered ${status} without an answer in it`, { status });
  }
  return readStart(response, MAX_ERROR_BYTES).then((body) =>
    failureOfResponse(response.status, (name) => response.header(name), body, context),
  );
}

/** The object that an answer consists of, or what came in its place. */
export type JsonAnswer =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly failure: AttemptFailure };

/**
 * Reads the body of a non-streaming response. One that is HTML, empty, or not a JSON object is a failure.
 *
 * @param content - What the answer should hold, for example `choices`.
 */
export function readJsonAnswer(body: string, content: string): JsonAnswer {
  const text = body.trim();
  if (text === '') return bad('an empty answer');
  if (text.startsWith('<')) return bad('a web page instead of an answer');
  const value = parseJson(text);
  if (value === undefined) return bad('an answer that is not valid JSON');
  // Google's compatible layer puts errors into an array.
  const parsed: unknown = Array.isArray(value) ? value[0] : value;
  return isJsonObject(parsed) ? { ok: true, value: parsed } : bad(`an answer without ${content}`);
}

function bad(what: string): JsonAnswer {
  return { ok: false, failure: failure('bad_response', `The provider sent ${what}`) };
}

/** Levels of nesting in what a provider sends. Deeper values parse, but overflow the stack of whoever walks them. */
const MAX_DEPTH = 64;

/** Parses what a provider sent; undefined for what is not JSON, or is nested deeper than any answer. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isDeeper(value, MAX_DEPTH) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** The objects in one event: nearly always one, but some servers put several in an array. Limits as {@link parseJson}. */
export function parseObjects(text: string): readonly JsonObject[] | undefined {
  const value = parseJson(text);
  if (Array.isArray(value)) return value.every(isJsonObject) ? value : undefined;
  return isJsonObject(value) ? [value] : undefined;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value as readonly unknown[]) {
      if (typeof item === 'object' && item !== null && isDeeper(item, levels - 1)) return true;
    }
    return false;
  }
  for (const key in value) {
    const member = (value as Readonly<Record<string, unknown>>)[key];
    // Most members are texts and numbers.
    if (typeof member === 'object' && member !== null && isDeeper(member, levels - 1)) return true;
  }
  return false;
}

/** Most bytes of a non-streaming response: 64 MB, decompressed. */
export const MAX_WHOLE_BYTES = 64_000_000;

/** Collects a body that came where an event stream was expected. Bytes may be cut inside a character. */
export class PlainBody {
  readonly #decoder = new TextDecoder();
  #text = '';
  #left = MAX_WHOLE_BYTES;

  /** Reads more bytes. Returns false once the body is larger than a non-streaming response may be. */
  push(bytes: Uint8Array): boolean {
    this.#left -= bytes.byteLength;
    if (this.#left < 0) return false;
    this.#text += this.#decoder.decode(bytes, STREAMED);
    return true;
  }

  /** The whole text. */
  end(): string {
    return this.#text + this.#decoder.decode();
  }
}

const STREAMED = { stream: true } as const;
