/** Adds up the usage of the requests in a batch. */
import { nanoFromUsd, usdFromNano } from '../../catalog/cost.ts';
import { isJsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';
import type { Usage, UsageIteration } from '../../protocol/usage.ts';

/** Nothing was used yet. */
export const NO_USAGE: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

type Counts = Readonly<Record<string, unknown>>;

/**
 * Adds the usage of one request to that of others. Members that nobody reported stay absent, and what cannot be added
 * up is left out. The cost of all is only
 * known while that of each is, amounts are added as whole nano-dollars, and `is_byok` is true when every request was
 * paid with the account's own key.
 *
 * @param total - Undefined before the first request.
 */
export function addItemUsage(total: Usage | undefined, usage: Usage): Usage {
  if (total === undefined) {
    const { cost, is_byok, estimated, cost_details, service_tier, speed, iterations, ...counts } = usage;
    const rounds = addedRounds(undefined, iterations);
    const known = { cost, is_byok, estimated, cost_details, service_tier, speed, iterations: rounds };
    const stated = Object.entries(known).filter(([, value]) => value !== undefined);
    return { ...(added({}, counts) as unknown as Usage), ...Object.fromEntries(stated) };
  }
  const { cost, is_byok: byok, estimated, cost_details: details, service_tier: tier, speed, ...counts } = usage;
  const { cost: costs, is_byok: byoks, estimated: estimates, cost_details: allDetails, ...known } = total;
  const { service_tier: allTiers, speed: speeds, iterations, ...sums } = known;
  const rounds = addedRounds(iterations, usage.iterations);
  return {
    ...(added(sums, counts) as unknown as Usage),
    ...(tier !== undefined && tier === allTiers ? { service_tier: tier } : {}),
    ...(speed !== undefined && speed === speeds ? { speed } : {}),
    ...(rounds === undefined ? {} : { iterations: rounds }),
    ...(cost === undefined || costs === undefined ? {} : { cost: usd(costs, cost) }),
    ...(byok === undefined && byoks === undefined ? {} : { is_byok: byok === true && byoks === true }),
    ...(estimated === true || estimates === true ? { estimated: true } : {}),
    ...(details === undefined || allDetails === undefined ? {} : { cost_details: addedCosts(allDetails, details) }),
  };
}

/** Rounds of each type, added up: a batch has thousands of them. */
function addedRounds(left: Usage['iterations'], right: Usage['iterations']): Usage['iterations'] {
  const sums = new Map<string, UsageIteration>();
  for (const round of [...read.list(left), ...read.list(right)]) {
    if (!isJsonObject(round) || typeof round['type'] !== 'string') continue;
    const { type } = round;
    sums.set(type, { ...added(sums.get(type) ?? {}, round), type });
  }
  return sums.size === 0 ? undefined : [...sums.values()];
}

/** Numbers of both, member by member; members of one side only count as they are. */
function added(left: Counts, right: Counts): Counts {
  const sums: Record<string, unknown> = { ...left };
  for (const [name, value] of Object.entries(right)) {
    const known = sums[name];
    if (typeof value === 'number') sums[name] = (typeof known === 'number' ? known : 0) + value;
    else if (isJsonObject(value)) sums[name] = added(isJsonObject(known) ? known : {}, value);
  }
  return sums;
}

/** Amounts that both sides know. */
function addedCosts(left: NonNullable<Usage['cost_details']>, right: NonNullable<Usage['cost_details']>): object {
  const amounts: Counts = { ...right };
  return Object.fromEntries(
    Object.entries(left).flatMap(([name, amount]) => {
      const other = amounts[name];
      return typeof amount === 'number' && typeof other === 'number' ? [[name, usd(amount, other)]] : [];
    }),
  );
}

function usd(left: number, right: number): number {
  return usdFromNano(nanoFromUsd(left) + nanoFromUsd(right));
}
