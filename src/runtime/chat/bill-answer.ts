import type { Endpoint } from '../../catalog/endpoint.ts';
import type { RoutedRequest } from '../../core/normalize/normalized-request.ts';
import { type ReportedUsage, scatter } from '../../core/stream/pieces.ts';
import { StreamTracker } from '../../core/stream/stream-tracker.ts';
import type { UpstreamResult } from '../../core/stream/upstream-result.ts';
import { type Settlement, settleUsage } from '../../core/stream/usage.ts';
import type { AnswerCall } from './execution.ts';
import { billingOf } from './settle.ts';

/** An answer, as far as its bill depends on it. */
interface Billed {
  readonly endpoint: Endpoint;
  readonly call: Pick<AnswerCall, 'tracker'>;
  readonly result?: UpstreamResult | undefined;
}

/** What was counted in an answer. */
interface Counted {
  /** Undefined when the provider reported nothing. */
  readonly reported: ReportedUsage | undefined;
  /** The likely number of tokens in everything the model wrote. */
  readonly likelyTokens: number;
  readonly images: number;
  /** The tier in which the provider says it served. */
  readonly serviceTier: string | null | undefined;
}

/** What an answer used and cost: a whole one, or a stream as far as it was read. Both cost the same. */
export function billAnswer(request: RoutedRequest, { endpoint, call, result }: Billed): Settlement {
  const { reported, likelyTokens, images, serviceTier } =
    result === undefined ? countedIn(call.tracker) : countedInWhole(call.tracker, result);
  return settleUsage(endpoint, reported, {
    ...billingOf(request, serviceTier, reported),
    completionTokens: likelyTokens,
    outputImages: images,
  });
}

function countedIn({ usage, likelyTokens, images, facts }: StreamTracker): Counted {
  return { reported: usage, likelyTokens, images, serviceTier: facts.serviceTier };
}

function countedInWhole(tracker: StreamTracker, result: UpstreamResult): Counted {
  return {
    reported: result.usage,
    likelyTokens: result.usage === undefined ? likelyTokensOf(tracker, result) : 0,
    images: result.choices.reduce((count, { message }) => count + (message.images?.length ?? 0), 0),
    serviceTier: result.serviceTier,
  };
}

/** Counts an answer exactly as it would be counted in a stream. */
function likelyTokensOf(seen: StreamTracker, result: UpstreamResult): number {
  if (seen.likelyTokens > 0) return seen.likelyTokens;
  const tracker = new StreamTracker();
  for (const piece of scatter(result)) if (typeof piece !== 'string') tracker.observe(piece);
  return tracker.likelyTokens;
}
