/** Finds the reasoning effort to send: what a model takes, nearest to what was requested. */
import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import { REASONING_EFFORTS, type ReasoningEffort } from '../protocol/reasoning.ts';

/**
 * A client's own body with the nearest effort that its provider takes, where that has refused another one before; the same
 * body otherwise.
 *
 * @param place - The member that holds `effort`.
 * @param accepted - Efforts that the provider has named. Undefined: it has refused none.
 */
export function withAcceptedEffort(
  body: JsonObject,
  place: string,
  accepted: readonly ReasoningEffort[] | undefined,
): JsonObject {
  const holder = body[place];
  if (accepted === undefined || !isJsonObject(holder)) return body;
  const wanted = REASONING_EFFORTS.find((effort) => effort === holder['effort']);
  if (wanted === undefined || accepted.includes(wanted)) return body;
  return { ...body, [place]: { ...holder, effort: nearestEffort(wanted, accepted) } };
}

/** The efforts of a model that always reasons, and so takes no `none`. */
export function reasoningOnly(efforts: readonly ReasoningEffort[] = REASONING_EFFORTS): readonly ReasoningEffort[] {
  return efforts.filter((effort) => effort !== 'none');
}

/**
 * The nearest of the efforts that a model takes; undefined where it takes none that reasons, so that saying nothing comes
 * closest.
 */
export function effortToAsk(wanted: ReasoningEffort, known: readonly ReasoningEffort[]): ReasoningEffort | undefined {
  const usable = wanted === 'none' ? known : reasoningOnly(known);
  return usable.length === 0 ? undefined : nearestEffort(wanted, usable);
}

/** Efforts as shares of a budget, for providers that grade where the caller counted (gaps 2.5). */
const SHARES: readonly (readonly [number, ReasoningEffort])[] = [
  [0.9, 'xhigh'],
  [0.65, 'high'],
  [0.35, 'medium'],
  [0.15, 'low'],
];

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
): ReasoningEffort {
  const usable = new Set(known);
  if (wanted !== 'none') usable.delete('none');
  const position = REASONING_EFFORTS.indexOf(wanted);
  const distance = (effort: ReasoningEffort): number => Math.abs(REASONING_EFFORTS.indexOf(effort) - position);
  // From the strongest down, so that the stronger of two as near is met first.
  const ranked = REASONING_EFFORTS.filter((effort) => usable.has(effort));
  return ranked.toSorted((left, right) => distance(left) - distance(right))[0] ?? wanted;
}
