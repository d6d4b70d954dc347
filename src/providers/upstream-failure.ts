import { type AttemptFailure, failure } from '../core/fallback/failure.ts';
import { classifyError, statusOfWords } from './classify.ts';
import { type ErrorShape, readErrorShape } from './error-shape.ts';
import { presentable } from './redact.ts';
import { retryHintMs } from './retry-hint.ts';

/** What is needed to turn a provider's error into a failure. */
export interface ErrorContext {
  /** Keys that must not appear in any text. */
  readonly secrets: readonly string[];
  /** Epoch milliseconds, for dates in `Retry-After`. */
  readonly wallClock: number;
  /** A header of the answer by its lower-case name, for what a provider says beside the body. */
  readonly header?: ((name: string) => string | undefined) | undefined;
  /** Reads error bodies of a form of their own; undefined for a body that has one of the common forms. */
  readonly errorShape?: ((body: unknown) => ErrorShape | undefined) | undefined;
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
  const wait = retryHintMs(status, header, shape, context.wallClock);
  const raw = html || typeof parsed === 'string' ? body : spelledPlainly(parsed);
  return build(classifyError(status, shape, html), shape, raw, { status, retryAfterMs: wait }, context);
}

/** The failure behind an error object that came with a good status, whole or inside a stream. */
export function failureInBand(body: unknown, context: ErrorContext): AttemptFailure {
  const shape = shapeOf(body, context);
  const status = statusOfWords(shape);
  const wait = retryHintMs(status, () => undefined, shape, context.wallClock);
  return build(classifyError(status, shape), shape, shape.message ?? '', { status, retryAfterMs: wait }, context);
}

function shapeOf(body: unknown, context: ErrorContext): ErrorShape {
  return context.errorShape?.(body) ?? readErrorShape(body);
}

function build(
  kind: AttemptFailure['kind'],
  shape: ErrorShape,
  raw: string,
  details: Pick<AttemptFailure, 'status' | 'retryAfterMs'>,
  { secrets }: ErrorContext,
): AttemptFailure {
  return failure(
    kind,
    presentable(shape.message ?? '', secrets) ?? `The provider answered ${details.status ?? 'with an error'}`,
    {
      ...details,
      providerCode: codeOf(shape, secrets),
      raw: presentable(raw, secrets),
    },
  );
}

/** Codes are short words; whatever else stands in their place is not passed on. */
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
