import { fill } from '../../../config/option.ts';
import { HEDGE, type HedgePolicy } from '../../../config/tables/selection.ts';
import type { SpeedPolicy } from './policy.ts';
import { usualMedian, usualP95, type UsualTime } from './wellness.ts';
import type { RoutedRequest } from '../../normalize/normalized-request.ts';

export type { HedgePolicy } from '../../../config/tables/selection.ts';

/** Default {@link HedgePolicy}. */
export const DEFAULT_HEDGE_POLICY: HedgePolicy = fill(HEDGE);

/**
 * Milliseconds after which a call is late enough for a second one; undefined when too little is known of the endpoint.
 *
 * @param call - Whether it finds out if an endpoint is back, and whether the endpoint has answered another since it began.
 */
export function hedgeDelay(
  usual: UsualTime,
  policy: HedgePolicy,
  speed: SpeedPolicy,
  { probe, answering }: { readonly probe: boolean; readonly answering: boolean },
): number | undefined {
  const median = usualMedian(usual, speed);
  const p95 = usualP95(usual, speed);
  if (median === undefined || p95 === undefined) return undefined;
  return Math.max(
    policy.minimumMs,
    probe ? policy.probeLateAfter * median : (answering ? policy.answeringLateAfter : policy.lateAfter) * p95,
  );
}

/** What hedges may cost: every request pays in a share of what it is expected to cost. */
export interface HedgePurse {
  readonly usd: number;
  /** Mean expected cost of a request, for the bound of what is saved. */
  readonly meanUsd: number;
}

/** A purse that nobody has paid into. */
export const EMPTY_PURSE: HedgePurse = { usd: 0, meanUsd: 0 };

/** Weight of a request in the mean cost. */
const MEAN_GAIN = 0.01;

/** Pays in for a request. */
export function purseAfterRequest(purse: HedgePurse, policy: HedgePolicy, expectedUsd: number): HedgePurse {
  const meanUsd = purse.meanUsd === 0 ? expectedUsd : purse.meanUsd + MEAN_GAIN * (expectedUsd - purse.meanUsd);
  const most = policy.share * policy.savedRequests * meanUsd;
  return { usd: Math.min(Math.max(most, purse.usd), purse.usd + policy.share * expectedUsd), meanUsd };
}

/** Takes out what a hedge costs; undefined when there is not enough. Where nothing costs anything, hedges do not either. */
export function purseAfterHedge(purse: HedgePurse, usd: number): HedgePurse | undefined {
  return purse.usd < usd ? undefined : { ...purse, usd: purse.usd - usd };
}

/** Tools that a caller runs itself: asking twice does nothing twice. */
const HARMLESS: ReadonlySet<string> = new Set(['function', 'custom']);

/**
 * Whether a request makes a provider run tools, which may have effects: code, remote servers, a computer. Such a request
 * must never be sent to two providers at a time.
 */
export function runsProviderTools({ native, extra }: RoutedRequest): boolean {
  if (extra['mcp_servers'] !== undefined || extra['container'] !== undefined) return true;
  const tools = native?.body['tools'];
  return Array.isArray(tools) && tools.some((tool) => !isHarmless(tool));
}

function isHarmless(tool: unknown): boolean {
  if (typeof tool !== 'object' || tool === null) return false;
  const { type } = tool as { readonly type?: unknown };
  return type === undefined || (typeof type === 'string' && HARMLESS.has(type));
}
