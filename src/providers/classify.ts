/** Classifies errors of providers into kinds of failure: the one status table. */
import type { ErrorType } from '../protocol/error.ts';
import { VENDOR_WORDINGS, type Wording } from '../core/fallback/vendor-wordings.ts';
import type { ErrorShape } from './error-shape.ts';
import { FAILURE_RULES, type FailureKind } from '../contracts/failure.ts';

/** Statuses with one meaning. */
const BY_STATUS: Readonly<Record<number, FailureKind>> = {
  400: 'invalid_request',
  401: 'credentials',
  402: 'quota',
  403: 'credentials',
  404: 'model_not_found',
  405: 'unreachable',
  406: 'unreachable',
  408: 'timeout',
  409: 'conflict',
  412: 'invalid_request',
  413: 'too_large',
  415: 'unreachable',
  421: 'conflict',
  422: 'unprocessable',
  424: 'server',
  425: 'conflict',
  429: 'rate_limited',
  498: 'overloaded',
  499: 'server',
  503: 'overloaded',
  504: 'timeout',
  524: 'timeout',
  529: 'overloaded',
};

/** What a provider's error means. */
export interface Classified {
  readonly kind: FailureKind;
  /** True when nothing in it says that other requests would be refused as well; see `AttemptFailure.doubtful`. */
  readonly doubtful: boolean;
  /** Words of the message that say so. Absent where its status or a code does. */
  readonly evidence?: string | undefined;
  /** The message for callers, where that is more than the kind says. */
  readonly errorType?: ErrorType | undefined;
}

/**
 * Kinds that put an endpoint to sleep, by statuses that servers also give for the request itself. 401 is not among them:
 * it says by itself that the key is not accepted.
 */
const DOUBTFUL_STATUSES: ReadonlySet<number> = new Set([402, 403, 404]);

/**
 * Finds out what a provider's error means. A status alone does not tell: a used-up balance comes as 400, 402 and 429,
 * and an invalid key as 400 and 401; and a 403 or 404 is about the request as often as about our account.
 */
export function classifyError(status: number, shape: ErrorShape): Classified {
  const wording = wordingOf(status, shape);
  if (wording !== undefined) {
    const { kind, concerns, errorType } = wording;
    const isSaid = rests(wording) && wording.code?.test(codesOf(shape)) !== true;
    const evidence = isSaid ? wording.message?.exec(shape.message ?? '')?.[0] : undefined;
    return { kind, doubtful: concerns === 'request' && rests(wording), errorType, evidence };
  }
  const errorType = status === 412 ? ({ errorType: 'precondition_failed' } as const) : {};
  return { kind: kindOfStatus(status, shape), doubtful: DOUBTFUL_STATUSES.has(status), ...errorType };
}

/** Finds out what an error means whose body is a web page, so that no API may be behind that address. */
export function classifyWebPage(status: number, shape: ErrorShape): Classified {
  // A firewall in front of an API looks at what was sent.
  if (status === 403 || status === 404) return { kind: 'unreachable', doubtful: status === 403 };
  return classifyError(status, shape);
}

function kindOfStatus(status: number, shape: ErrorShape): FailureKind {
  const known = BY_STATUS[status];
  if (known !== undefined) return known;
  if (status >= 300 && status < 400) return 'unreachable';
  if (status >= 400 && status < 500) {
    return /invalid/i.test(`${codesOf(shape)} ${shape.message ?? ''}`) ? 'invalid_request' : 'bad_response';
  }
  return status >= 500 && status < 600 ? 'server' : 'bad_response';
}

/**
 * A code says more than a message. But where it would put an endpoint to sleep, words about this request overrule it,
 * and words about the account overrule a code that may mean either.
 */
function wordingOf(status: number, shape: ErrorShape): Wording | undefined {
  const codes = codesOf(shape);
  const possible = VENDOR_WORDINGS.filter(({ statuses }) => statuses.includes(status));
  const byCode = possible.find(({ code }) => code?.test(codes));
  // Only the code tells a used-up balance from a rate limit: messages of both speak of plans and billing. Google has
  // one code for both, so there the beginning of the message tells.
  if (status === 429 && codes !== '' && codes !== 'RESOURCE_EXHAUSTED') return byCode;
  const byMessage = possible.find(({ message }) => message?.test(shape.message ?? ''));
  if (byCode === undefined || byMessage === undefined) return byCode ?? byMessage;
  // `invalid_image_url` is the code of an image that could not be fetched, and of one that is none.
  if (byCode.errorType === 'invalid_image' && byMessage.kind === byCode.kind) return byMessage;
  if (!rests(byCode)) return byCode;
  return byCode.concerns === 'request' || byMessage.concerns === 'request' ? byMessage : byCode;
}

/** Whether a refusal of this kind puts an endpoint to sleep. */
function rests({ kind }: Wording): boolean {
  return FAILURE_RULES[kind].cooldownMs > 0;
}

function codesOf({ code, type, reasons = [] }: ErrorShape): string {
  return [code, type, ...reasons].filter((part) => part !== undefined).join(' ');
}

/** The status that an error without one stands for, by the words of its code; 502 where they are unknown (fault U-39). */
export function statusOfWords(shape: ErrorShape): number {
  if (shape.status !== undefined) return shape.status;
  const words = codesOf(shape);
  for (const [pattern, status] of STATUS_WORDS) if (pattern.test(words)) return status;
  return 502;
}

const STATUS_WORDS: readonly (readonly [RegExp, number])[] = [
  [/insufficient_quota|rate_limit|resource_exhausted|too_many|throttl/i, 429],
  [/insufficient_balance|credit_balance|spend_limit|usage_limit|billing|payment/i, 402],
  [/\boverloaded_error\b/i, 529],
  [/overload|unavailable/i, 503],
  [/authenticat|api_key/i, 401],
  [/permission/i, 403],
  [/not_found/i, 404],
  [/timeout|deadline/i, 504],
  [/conflict|^(?:aborted|already_exists)/i, 409],
  [/too_large/i, 413],
  [/^cancelled/i, 499],
  [/^unimplemented/i, 501],
  [/server_error|internal|api_error|data_loss|^unknown/i, 500],
  [/invalid|bad_request|precondition|out_of_range|context_length|content_filter|content_policy|unsupported_/i, 400],
];
