/** Adds up usage and cost over several calls of one request. */
import { nanoFromUsd, usdFromNano } from '../../catalog/cost.ts';
import type { ServiceUse } from '../../contracts/plugin-context.ts';
import type { CostDetails, Usage } from '../../protocol/usage.ts';

type Counts = Readonly<Record<string, number | null | undefined>>;

/**
 * Adds what two calls used and cost, for requests that make several. Costs are added in whole nano-dollars. A cost that
 * is only known for one of them is the cost of both: it is a floor, and better than none.
 */
export function addUsage(left: Usage, right: Usage): Usage {
  const {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: total,
    cost,
    is_byok: byok,
    estimated,
    cost_details: costs,
    service_tier: tier,
    speed,
    iterations,
    ...details
  } = left;
  const rounds = [...(iterations ?? []), ...(right.iterations ?? [])];
  return {
    ...details,
    ...(tier !== undefined && tier === right.service_tier ? { service_tier: tier } : {}),
    ...(speed !== undefined && speed === right.speed ? { speed } : {}),
    ...(rounds.length === 0 ? {} : { iterations: rounds }),
    prompt_tokens: prompt + right.prompt_tokens,
    completion_tokens: completion + right.completion_tokens,
    total_tokens: total + right.total_tokens,
    ...sumOf('prompt_tokens_details', left, right),
    ...sumOf('completion_tokens_details', left, right),
    ...sumOf('cache_creation', left, right),
    ...sumOf('server_tool_use', left, right),
    ...sumOf('server_tool_use_details', left, right),
    ...(estimated === true || right.estimated === true ? { estimated: true } : {}),
    // The account's own key paid for everything, or it did not.
    ...(byok === undefined ? {} : { is_byok: byok && right.is_byok !== false }),
    ...(cost === undefined && right.cost === undefined ? {} : { cost: addUsd(cost, right.cost) }),
    ...(costs === undefined && right.cost_details === undefined
      ? {}
      : { cost_details: addCosts(costs, right.cost_details) }),
  };
}

/** Adds what services outside the models used and cost (gaps 5.11). */
export function addServiceUse(usage: Usage, use: ServiceUse): Usage {
  const { cost, web_search_requests: searches, web_fetch_requests: fetches } = use;
  const counted = {
    ...(searches ? { web_search_requests: searches } : {}),
    ...(fetches ? { web_fetch_requests: fetches } : {}),
  };
  const counts = searches || fetches ? { server_tool_use: add({ ...usage.server_tool_use }, counted) } : {};
  const details = searches
    ? { server_tool_use_details: add({ ...usage.server_tool_use_details }, { web_search_requests: searches }) }
    : {};
  const costs = cost
    ? {
        cost: addUsd(usage.cost, cost),
        cost_details: addCosts(usage.cost_details, { server_tool_cost: cost }),
      }
    : {};
  return { ...usage, ...counts, ...details, ...costs };
}

type Group =
  | 'prompt_tokens_details'
  | 'completion_tokens_details'
  | 'cache_creation'
  | 'server_tool_use'
  | 'server_tool_use_details';

function sumOf(group: Group, left: Usage, right: Usage): Partial<Usage> {
  if (left[group] === undefined && right[group] === undefined) return {};
  return { [group]: add(left[group] as Counts | undefined, right[group] as Counts | undefined) };
}

function add(left: Counts | undefined, right: Counts | undefined): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const [name, count] of [...Object.entries(left ?? {}), ...Object.entries(right ?? {})]) {
    if (count != null) sum[name] = (sum[name] ?? 0) + count;
  }
  return sum;
}

function addCosts(left: CostDetails | undefined, right: CostDetails | undefined): CostDetails {
  const sum: Record<string, number> = {};
  for (const [name, cost] of [...Object.entries(left ?? {}), ...Object.entries(right ?? {})]) {
    if (typeof cost === 'number') sum[name] = addUsd(sum[name], cost);
  }
  return sum;
}

function addUsd(left: number | undefined, right: number | undefined): number {
  return usdFromNano(nanoFromUsd(left ?? 0) + nanoFromUsd(right ?? 0));
}
