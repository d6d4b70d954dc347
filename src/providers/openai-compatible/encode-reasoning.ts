import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ReasoningRequest } from '../../core/normalize/normalized-request.ts';
import { REASONING_EFFORTS, type ReasoningEffort } from '../../protocol/reasoning.ts';
import type { Dialect } from './dialect.ts';

/** Efforts as shares of a budget, for providers that grade where the caller counted (gaps 2.5). */
const SHARES: readonly (readonly [number, ReasoningEffort])[] = [
  [0.9, 'xhigh'],
  [0.65, 'high'],
  [0.35, 'medium'],
  [0.15, 'low'],
];

/** What a server is taken to know that says nothing of it: `max` is the word of a few. */
const COMMON_EFFORTS = REASONING_EFFORTS.filter((effort) => effort !== 'max');

/** Writes the reasoning options in the way of the dialect. */
export function encodeReasoning(
  reasoning: ReasoningRequest | undefined,
  maxTokens: number | undefined,
  endpoint: Endpoint,
  dialect: Dialect,
): object {
  if (reasoning === undefined) return {};
  const known = endpoint.reasoning?.efforts ?? dialect.efforts ?? COMMON_EFFORTS;
  const wanted = reasoning.effort ?? effortOfBudget(reasoning.maxTokens, maxTokens);
  const effort = wanted && nearestEffort(wanted, known, endpoint.reasoning?.mandatory === true);
  switch (dialect.reasoning ?? 'reasoning_effort') {
    case 'reasoning':
      return {
        reasoning: {
          ...(reasoning.maxTokens === undefined ? effort && { effort } : { max_tokens: reasoning.maxTokens }),
          ...(reasoning.exclude ? { exclude: true } : {}),
          ...(reasoning.summary === undefined ? {} : { summary: reasoning.summary }),
          ...(reasoning.context === undefined ? {} : { context: reasoning.context }),
          ...(reasoning.mode === undefined ? {} : { mode: reasoning.mode }),
        },
      };
    case 'thinking':
      if (effort === undefined) return {};
      if (wanted === 'none') return { thinking: { type: 'disabled' } };
      return { thinking: { type: 'enabled' }, reasoning_effort: effort };
    case 'reasoning_effort':
      return effort === undefined ? {} : { reasoning_effort: effort };
  }
}

/** The effort that comes closest to a budget of reasoning tokens. */
export function effortOfBudget(budget: number | undefined, maxTokens: number | undefined): ReasoningEffort | undefined {
  if (budget === undefined) return undefined;
  if (maxTokens === undefined) return 'medium';
  return SHARES.find(([share]) => budget / maxTokens >= share)?.[1] ?? 'minimal';
}

/**
 * The known effort nearest to the wanted one; of two as near, the stronger, as servers that grade coarsely do it
 * themselves. Reasoning is only switched off when `none` itself is known: a model that always reasons gets its lowest
 * effort.
 */
export function nearestEffort(
  wanted: ReasoningEffort,
  known: readonly ReasoningEffort[] = REASONING_EFFORTS,
  mandatory = false,
): ReasoningEffort {
  const usable = new Set(known);
  if (wanted !== 'none' || mandatory) usable.delete('none');
  const position = REASONING_EFFORTS.indexOf(wanted);
  const distance = (effort: ReasoningEffort): number => Math.abs(REASONING_EFFORTS.indexOf(effort) - position);
  // From the strongest down, so that the stronger of two as near is met first.
  const ranked = REASONING_EFFORTS.filter((effort) => usable.has(effort));
  return ranked.toSorted((left, right) => distance(left) - distance(right))[0] ?? wanted;
}
