import { type AttemptFailure, failure } from '../core/fallback/failure.ts';
import { retryAfterMs } from '../core/fallback/retry-after.ts';
import { classifyError, statusOfWords } from './classify.ts';
import { type ErrorShape, readErrorShape } from './error-shape.ts';
import { presentable } from './redact.ts';

/** What is needed to turn a provider's error into a failure. */
export interface ErrorContext {
  /** Keys that must not appear in any text. */
  readonly secrets: readonly string[];
  /** Epoch milliseconds, for dates in `Retry-After`. */
  readonly wallClock: number;
}

/** The failure behind an HTTP answer with a bad status. */
export function failureOfResponse(
  status: number,
  header: (name: string) => string | undefined,
  body: string,
  context: ErrorContext,
): AttemptFailure {
  const html = /^\s*</.test(body);
  const parsed = html ? undefined : parseOrText(body);
  const shape = readErrorShape(parsed);
  const wait = retryAfterMs(
    {
      'retry-after-ms': header('retry-after-ms'),
      'x-ms-retry-after-ms': header('x-ms-retry-after-ms'),
      'retry-after': header('retry-after'),
      date: header('date'),
    },
    context.wallClock,
  );
  return build(classifyError(status, shape, html), shape, html ? '' : body, { status, retryAfterMs: wait }, context);
}

/** The failure behind an error object that came with a good status, whole or inside a stream. */
export function failureInBand(body: unknown, context: ErrorContext): AttemptFailure {
  const shape = readErrorShape(body);
  const status = statusOfWords(shape);
  return build(classifyError(status, shape), shape, shape.message ?? '', { status }, context);
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
      providerCode: shape.code ?? shape.type,
      raw: presentable(raw, secrets),
    },
  );
}

function parseOrText(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}
