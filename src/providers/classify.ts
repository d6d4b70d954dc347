import type { FailureKind } from '../core/fallback/failure.ts';
import type { ErrorShape } from './error-shape.ts';

/** Words by which providers say the same thing. Asked in this order: the most specific first. */
const BY_TEXT: readonly (readonly [RegExp, FailureKind])[] = [
  [
    /context_length|context length|context window|prompt is too long|too many tokens|input token count|maximum.{0,40}tokens/i,
    'context_length',
  ],
  [/content_filter|content_policy|responsibleai|content management policy|safety system|moderation/i, 'content_policy'],
  [
    /insufficient_quota|credit_balance|spend_limit|usage_limit|insufficient balance|billing|prepay|specified API usage limits/i,
    'quota',
  ],
  [/api_key_invalid|invalid_api_key|invalid api key|incorrect api key|authentication/i, 'credentials'],
  [
    /unsupported_parameter|unsupported_value|extra inputs are not permitted|unrecognized request argument/i,
    'unsupported_parameter',
  ],
  [/tool_use_failed/i, 'server'],
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
  522: 'timeout',
  524: 'timeout',
  529: 'overloaded',
};

/** Which of the kinds of {@link BY_TEXT} may replace the meaning of a status. */
const SPECIFIC: Readonly<Record<number, readonly FailureKind[]>> = {
  400: ['context_length', 'content_policy', 'quota', 'credentials', 'unsupported_parameter', 'server'],
  403: ['content_policy', 'quota'],
  404: [],
  413: ['context_length'],
  422: ['context_length', 'content_policy', 'unsupported_parameter'],
  429: ['quota'],
};

/**
 * Finds out what a provider's error means. A status alone does not tell: a used-up balance comes as 400, 402 and 429,
 * and an invalid key as 400 and 401.
 *
 * @param html - The body was a web page, so no API stands behind that address.
 */
export function classifyError(status: number, shape: ErrorShape, html = false): FailureKind {
  const text = `${shape.code ?? ''} ${shape.type ?? ''} ${shape.message ?? ''}`;
  if (html && (status === 403 || status === 404)) return 'unreachable';
  const specific = SPECIFIC[status];
  for (const [words, kind] of BY_TEXT) if (specific?.includes(kind) === true && words.test(text)) return kind;
  const known = BY_STATUS[status];
  if (known !== undefined) return known;
  if (status >= 300 && status < 400) return 'unreachable';
  if (status >= 400 && status < 500) return /invalid/i.test(text) ? 'invalid_request' : 'bad_response';
  return status >= 500 && status < 600 ? 'server' : 'bad_response';
}

/** The status that an error without one stands for, by the words of its code. */
export function statusOfWords(shape: ErrorShape): number {
  if (shape.status !== undefined) return shape.status;
  const words = `${shape.code ?? ''} ${shape.type ?? ''}`;
  for (const [pattern, status] of STATUS_WORDS) if (pattern.test(words)) return status;
  return 500;
}

const STATUS_WORDS: readonly (readonly [RegExp, number])[] = [
  [/insufficient_quota|rate_limit|resource_exhausted|too_many/i, 429],
  [/overloaded|overload|unavailable/i, 503],
  [/authentication|api_key/i, 401],
  [/permission/i, 403],
  [/not_found/i, 404],
  [/timeout|deadline/i, 504],
  [/invalid|bad_request|context_length|content_filter|content_policy/i, 400],
];
