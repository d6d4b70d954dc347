/** The errors of requests that exceed a rate limit or a budget. */
import { RouterError } from '../../protocol/router-error.ts';
import { usdFromNano } from '../../catalog/cost.ts';
import type { MostCost } from './most-cost.ts';
import { UNKNOWN_PRICE } from './unpaid.ts';
import { echo } from '../../protocol/fault.ts';
import type { BrokenRateLimit, LimitOwner, ShortBudget } from '../../contracts/account-limits.ts';

/** Is in `metadata.limit_source` of a 429 that is the router's own and not a provider's. */
export const OWN_RATE_LIMIT = 'router_rate_limit';

/** The 429 for a request that exceeds the rate limit (gaps 7.6). `X-RateLimit-Reset` is in epoch milliseconds. */
export function rateLimitError(broken: BrokenRateLimit, now: number): RouterError {
  const { name, limit, remaining, resetsAt, tag } = broken;
  const retryAfterMs = Math.max(0, resetsAt - now);
  if (broken.isOfNames === true && tag !== undefined) return namesError(tag, limit, resetsAt);
  return new RouterError({
    status: 429,
    errorType: 'rate_limit_exceeded',
    message: `Rate limit exceeded: ${name}${tag === undefined ? '' : ` of ${ownerOf(tag)}`}. At most ${limit}; try again in ${Math.ceil(retryAfterMs / 1_000)} seconds`,
    metadata: {
      provider_name: null,
      limit_source: OWN_RATE_LIMIT,
      headers: {
        'X-RateLimit-Limit': String(limit),
        'X-RateLimit-Remaining': String(remaining),
        'X-RateLimit-Reset': String(resetsAt),
      },
    },
    retryAfterMs,
  });
}

/** Is in `metadata.limit_source` of a 429 because the account has its share of what all accounts have in common. */
export const ACCOUNT_SHARE = 'account_share';

/** Milliseconds after which a place is worth another try. */
const FULL_RETRY_MS = 1_000;

/**
 * The 429 for an account that has its share of something.
 *
 * @param share - What one account may have of it at most.
 * @param what - What it is, as a plural.
 */
export function shareError(share: number, what: string): RouterError {
  const most = share.toLocaleString('en-US');
  return new RouterError({
    status: 429,
    errorType: 'rate_limit_exceeded',
    message: `This account has its share: at most ${most} ${what} at a time, and twice as many as it leaves free for others; try again when some of its requests have ended`,
    metadata: { provider_name: null, limit_source: ACCOUNT_SHARE },
    retryAfterMs: FULL_RETRY_MS,
  });
}

/** The 503 for a request that finds no room, because other accounts have the rest of it. */
export function fullError(limit: number, what: string): RouterError {
  return new RouterError({
    status: 503,
    errorType: 'provider_overloaded',
    message: `The router has room for ${limit.toLocaleString('en-US')} ${what} at a time, and none is free; try again in a second`,
    retryAfterMs: FULL_RETRY_MS,
  });
}

/** The 429 for a new session id or value of metadata, where an account has used as many as can be counted. */
export function namesError({ key }: LimitOwner, most: number, resetsAt: number | undefined): RouterError {
  const what = key === undefined ? 'session ids' : `values of metadata.${key}`;
  return new RouterError({
    status: 429,
    errorType: 'rate_limit_exceeded',
    message: `This account has used ${most} different ${what}, as many as can be limited one by one; use one that it has used before, or leave it out`,
    metadata: {
      provider_name: null,
      limit_source: OWN_RATE_LIMIT,
      ...(resetsAt === undefined ? {} : { resets_at: resetsAt }),
    },
    retryable: false,
  });
}

function ownerOf({ key, value }: LimitOwner): string {
  return key === undefined ? 'this session' : `metadata.${key} ${echo(value)}`;
}

/** Milliseconds after which a request is worth another try for which other requests have reserved the rest of a budget. */
const HELD_RETRY_MS = 1_000;
/** Is in `metadata.budget` of a 402 that is only temporary: nothing is missing but what other requests have reserved. */
const RESERVED = 'reserved';

/** True for the 402 of a request that fits into its budget once other requests have ended. */
export function isHeldBudget({ budget }: RouterError['metadata']): boolean {
  return budget === RESERVED;
}

/** True when a budget would suffice if nothing of it was reserved for other calls. */
export function sufficesLater({ remainingNanoUsd, heldNanoUsd = 0 }: ShortBudget, nanoUsd: number): boolean {
  return remainingNanoUsd + heldNanoUsd >= nanoUsd;
}

/**
 * The 402 for a request that could cost more than is left (contract: errors; gaps 7.2). What is spent is final; what is
 * only reserved for others comes back in a moment, so that such a request may be sent again.
 */
export function budgetError(budget: ShortBudget, cost: MostCost): RouterError {
  const { remainingNanoUsd: left, heldNanoUsd = 0, scope, period, limitNanoUsd, tag } = budget;
  if (budget.mostNames !== undefined && tag !== undefined) return namesError(tag, budget.mostNames, budget.resetsAt);
  const { nanoUsdPerAnswerToken: each, answerTokens } = cost;
  // What is missing could be saved at the answer, if that is where the cost would arise.
  const affordable = each > 0 ? Math.floor(answerTokens - (cost.nanoUsd - left) / each) : 0;
  const of =
    tag === undefined
      ? `the budget of this ${scope === 'key' ? 'API key' : 'account'}`
      : `the budget of ${ownerOf(tag)}`;
  const every = period === 'total' ? '' : ` per ${period}`;
  const details = {
    status: 402,
    errorType: 'payment_required',
    metadata: {
      provider_name: null,
      limit_source: `${scope}_budget`,
      ...(budget.resetsAt === undefined ? {} : { resets_at: budget.resetsAt }),
      ...(budget.key === undefined ? {} : { key: budget.key }),
      ...(tag === undefined ? {} : { value: tag.value }),
      period,
      limit_usd: usdFromNano(limitNanoUsd),
      spent_usd: usdFromNano(limitNanoUsd - left - heldNanoUsd),
      reserved_usd: usdFromNano(heldNanoUsd),
      needed_usd: usdFromNano(cost.nanoUsd),
    },
  } as const;
  if (sufficesLater(budget, cost.nanoUsd)) {
    const held = usdFromNano(heldNanoUsd);
    return new RouterError({
      ...details,
      message: `Requests under way have reserved $${held} of ${of}, $${usdFromNano(limitNanoUsd)}${every}; this one may cost $${usdFromNano(cost.nanoUsd)}. Try again in ${HELD_RETRY_MS / 1_000} second, or set a lower max_tokens`,
      metadata: { ...details.metadata, budget: RESERVED },
      retryAfterMs: HELD_RETRY_MS,
      retryable: true,
    });
  }
  const message =
    left > 0 && affordable > 0
      ? `This request requires more credits, or fewer max_tokens. You requested up to ${answerTokens} tokens, but can only afford ${affordable} of ${of}: $${usdFromNano(left)} of $${usdFromNano(limitNanoUsd)}${every} are left, and the cheapest endpoint may cost $${usdFromNano(cost.nanoUsd)}`
      : `Insufficient credits: ${of}, $${usdFromNano(limitNanoUsd)}${every}, has $${usdFromNano(Math.max(0, left))} left, but this request may cost up to $${usdFromNano(cost.nanoUsd)} at the cheapest endpoint${outputOf(cost)}`;
  return new RouterError({ ...details, message, retryable: false });
}

/** What of a cost its output is, which the caller can limit. */
function outputOf({ nanoUsdPerAnswerToken: each, answerTokens }: MostCost): string {
  const usd = usdFromNano(Math.round(each * answerTokens));
  return answerTokens > 0 ? `, of which $${usd} for up to ${answerTokens} tokens of output` : '';
}

/** The 402 for an endpoint that a budget cannot be held against, because its price is not known. */
export function unpricedError(model: string, providerName: string): RouterError {
  return new RouterError({
    status: 402,
    errorType: 'payment_required',
    message: `This account has a budget, and the price of ${model} is unknown at ${providerName}; choose a model with a price`,
    metadata: { provider_name: null, limit_source: UNKNOWN_PRICE },
    retryable: false,
  });
}
