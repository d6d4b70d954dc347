/** Ranks models of the catalog by a rule, such as strong or small. */
import { type Endpoint, type Model, serves } from '../../../catalog/endpoint.ts';
import type { Catalog } from '../../../catalog/catalog.ts';
import { blendedPrice } from '../../../catalog/price.ts';
import { authorOf } from '../../../catalog/slug.ts';
import type { NormalizedRequest } from '../../../contracts/request.ts';
import { exclusionsFor } from '../../../core/selection/filters.ts';
import { DEFAULT_SELECTION_POLICY } from '../../../core/selection/world.ts';

/** Which models of the router's own catalog are wanted. Names of models go stale; this does not. */
export interface ModelRule {
  /**
   * Share of all models that are cheaper, from 0 to 1: `{ from: 0.5, to: 0.9 }` is the more expensive half without the
   * most expensive.
   */
  readonly band: { readonly from: number; readonly to: number };
  /** Among models of the band without scores. */
  readonly prefer: 'dearest' | 'cheapest';
}

/** Strong models: the more expensive half, but not the few that cost many times as much as all others. */
export const STRONG: ModelRule = { band: { from: 0.5, to: 0.9 }, prefer: 'dearest' };
/** Models that cost little and are still good. */
export const ECONOMICAL: ModelRule = { band: { from: 0.15, to: 0.5 }, prefer: 'dearest' };
/** Small models. */
export const SMALL: ModelRule = { band: { from: 0, to: 0.3 }, prefer: 'cheapest' };

interface Ranked {
  readonly id: string;
  readonly price: number | undefined;
  readonly score: number | undefined;
}

/**
 * The chat models that may see a request's content, best first: those whose price lies in the band, or near it where
 * there are too few; among them by their mean benchmark score, then by price. Models of different authors come before
 * second ones of the same: a panel of relatives agrees too easily. Pure.
 *
 * @param needsTools - True: only models that may be able to call tools.
 */
export function rankModels(
  catalog: Catalog,
  request: NormalizedRequest,
  rule: ModelRule,
  { needsTools = false }: { readonly needsTools?: boolean | undefined } = {},
): readonly string[] {
  const requested = asPrompt(request, { tools: needsTools });
  const candidates = [...catalog.models.values()].flatMap((model) => rankedOf(model, catalog, requested));
  const prices = candidates.flatMap(({ price }) => price ?? []).sort((left, right) => left - right);
  const keyed = candidates.map((one) => ({ ...one, distance: distanceOf(one.price, prices, rule) }));
  const sign = rule.prefer === 'dearest' ? -1 : 1;
  keyed.sort(
    (left, right) =>
      left.distance - right.distance ||
      (right.score ?? -1) - (left.score ?? -1) ||
      sign * ((left.price ?? 0) - (right.price ?? 0)),
  );
  return byAuthor(keyed.map(({ id }) => id));
}

/** The request as other models get it: its content and its rules, not its tools and parameters. */
function asPrompt(request: NormalizedRequest, { tools }: Pick<NormalizedRequest['needs'], 'tools'>): NormalizedRequest {
  const { inputModalities } = request.needs;
  return {
    ...request,
    native: undefined,
    serviceTier: undefined,
    preferences: { ...request.preferences, requireParameters: false },
    needs: { inputModalities, outputModalities: [], tools, parameters: [], promptTokens: 0, images: 0 },
  };
}

function rankedOf(model: Model, catalog: Catalog, request: NormalizedRequest): readonly Ranked[] {
  if (model.status === 'deprecated') return [];
  const all = catalog.endpoints(model.id);
  const target = { requested: model.id, model: model.id, endpoints: all, strategy: 'direct' };
  const exclusionOf = exclusionsFor(request, DEFAULT_SELECTION_POLICY);
  const endpoints = all.filter(
    (endpoint) => endpoint.variant === undefined && writesText(endpoint) && exclusionOf(endpoint, target) === undefined,
  );
  if (endpoints.length === 0) return [];
  const prices = endpoints.flatMap((endpoint) => blendedPrice(endpoint.price) ?? []);
  const scores = Object.values(endpoints.find((one) => one.scores !== undefined)?.scores ?? {});
  return [
    {
      id: model.id,
      price: prices.length === 0 ? undefined : Math.min(...prices),
      score: scores.length === 0 ? undefined : scores.reduce((sum, one) => sum + one, 0) / scores.length,
    },
  ];
}

function writesText(endpoint: Endpoint): boolean {
  return serves(endpoint, 'chat') !== 'no' && endpoint.outputModalities?.has('text') !== false;
}

/** How far from the band a price lies, in shares of all models; an unknown price lies farther than any other. */
function distanceOf(price: number | undefined, sorted: readonly number[], { band }: ModelRule): number {
  if (price === undefined) return 1;
  const first = sorted.indexOf(price);
  const share = (first + sorted.lastIndexOf(price) + 1) / (2 * sorted.length);
  return Math.max(band.from - share, share - band.to, 0);
}

function byAuthor(ids: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  const firsts = ids.filter((id) => {
    const author = authorOf(id);
    const isFirst = !seen.has(author);
    seen.add(author);
    return isFirst;
  });
  const chosen = new Set(firsts);
  return [...firsts, ...ids.filter((id) => !chosen.has(id))];
}
