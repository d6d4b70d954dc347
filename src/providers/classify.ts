import type { FailureKind } from '../core/fallback/failure.ts';
import type { ErrorShape } from './error-shape.ts';

/** Words in a provider's codes, the most specific first. */
const BY_CODE: readonly (readonly [RegExp, FailureKind])[] = [
  [/context_length|prompt_too_long/i, 'context_length'],
  [/content_filter|content_policy|responsibleai|moderation|safety/i, 'content_policy'],
  [
    /insufficient_quota|exceeded_current_quota|insufficient_balance|credit_balance|spend_limit|usage_limit|billing|payment/i,
    'quota',
  ],
  [/api_key_invalid|invalid_api_key|authentication|unsupported_country|failed_precondition/i, 'credentials'],
  [/model_not_found/i, 'model_not_found'],
  [/unsupported_parameter|unsupported_value/i, 'unsupported_parameter'],
  [/tool_use_failed/i, 'server'],
  [/unknown_url/i, 'unreachable'],
];

/**
 * Whole phrases in a provider's message, for errors whose codes say less. Messages repeat what callers sent, so a kind
 * that puts an endpoint to sleep for everybody must be at the beginning of one.
 */
const BY_MESSAGE: readonly (readonly [RegExp, FailureKind])[] = [
  [
    /context length|context window|context limit|prompt is too long|too many tokens|input token count|maximum.{0,40}tokens/i,
    'context_length',
  ],
  [/content management policy|content filtering policy|safety system|flagged|moderation/i, 'content_policy'],
  [
    /^\W*(?:insufficient (?:balance|credits?|quota)|your credit balance|your prepay|you have reached your specified api usage)/i,
    'quota',
  ],
  [
    /^\W*(?:invalid api key|incorrect api key|api key not valid|user location is not supported|this organization has been disabled)/i,
    'credentials',
  ],
  [/^\W*(?:model not exist|invalid model:|the model .{1,100} does not exist)/i, 'model_not_found'],
  [/unsupported parameter|extra inputs are not permitted|unrecognized request argument/i, 'unsupported_parameter'],
  [/^\W*(?:(?:404 )?(?:page )?not found\W*$|unknown request url|invalid url)/i, 'unreachable'],
];

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

/** Which kinds a code or a message may put in the place of a status's own. */
const SPECIFIC: Readonly<Record<number, readonly FailureKind[]>> = {
  400: [
    'context_length',
    'content_policy',
    'quota',
    'credentials',
    'model_not_found',
    'unsupported_parameter',
    'server',
  ],
  403: ['content_policy', 'quota'],
  404: ['unreachable'],
  413: ['context_length'],
  422: ['context_length', 'content_policy', 'unsupported_parameter'],
  429: ['quota'],
};

/**
 * Finds out what a provider's error means. A status alone does not tell: a used-up balance comes as 400, 402 and 429,
 * and an invalid key as 400 and 401.
 *
 * @param html - The body was a web page, so no API is behind that address.
 */
export function classifyError(status: number, shape: ErrorShape, html = false): FailureKind {
  if (html && (status === 403 || status === 404)) return 'unreachable';
  const specific = specificKind(status, shape);
  if (specific !== undefined) return specific;
  const known = BY_STATUS[status];
  if (known !== undefined) return known;
  if (status >= 300 && status < 400) return 'unreachable';
  if (status >= 400 && status < 500) {
    return /invalid/i.test(`${codesOf(shape)} ${shape.message ?? ''}`) ? 'invalid_request' : 'bad_response';
  }
  return status >= 500 && status < 600 ? 'server' : 'bad_response';
}

function specificKind(status: number, shape: ErrorShape): FailureKind | undefined {
  const allowed = SPECIFIC[status];
  if (allowed === undefined) return undefined;
  const codes = codesOf(shape);
  const byCode = BY_CODE.find(([words, kind]) => allowed.includes(kind) && words.test(codes));
  if (byCode !== undefined) return byCode[1];
  // Only the code tells a used-up balance from a rate limit: messages of both speak of plans and billing. Google has
  // one code for both, so there the beginning of the message tells.
  if (status === 429 && codes !== '' && codes !== 'RESOURCE_EXHAUSTED') return undefined;
  const message = shape.message ?? '';
  return BY_MESSAGE.find(([words, kind]) => allowed.includes(kind) && words.test(message))?.[1];
}

function codesOf({ code, type, reasons = [] }: ErrorShape): string {
  return [code, type, ...reasons].filter((part) => part !== undefined).join(' ');
}

/** The status that an error without one stands for, by the words of its code. */
export function statusOfWords(shape: ErrorShape): number {
  if (shape.status !== undefined) return shape.status;
  const words = codesOf(shape);
  for (const [pattern, status] of STATUS_WORDS) if (pattern.test(words)) return status;
  return 500;
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
  [/invalid|bad_request|precondition|out_of_range|context_length|content_filter|content_policy|unsupported_/i, 400],
];
