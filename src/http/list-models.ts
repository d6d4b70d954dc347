/** Answers `GET /models`, with filters and orders. */
import { type Endpoint, declareEndpoint, type Model, serves } from '../catalog/endpoint.ts';
import { blendedPrice } from '../catalog/price.ts';
import { errorOf, type RouterError } from '../protocol/router-error.ts';
import type { ModelList } from '../protocol/models.ts';
import { modelAuthor, modelCard, endpointsAt } from './catalog-cards.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { selectorIndex } from '../catalog/selectors.ts';

type Served = { readonly model: Model; readonly endpoints: readonly Endpoint[] };

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 500;

/** Filters of `GET /models` by the name of their query parameter (gaps 10). Lists are separated by commas. */
const FILTERS: Readonly<Record<string, (value: string) => (served: Served) => boolean>> = {
  q: (text) => {
    const wanted = text.toLowerCase();
    return ({ model }) => `${model.id} ${model.name ?? ''}`.toLowerCase().includes(wanted);
  },
  supported_parameters: (list) => (served) => items(list).every((name) => has(served, 'parameters', name)),
  input_modalities: (list) => (served) => items(list).every((name) => has(served, 'inputModalities', name)),
  output_modalities: (list) => (served) =>
    list === 'all' || items(list).every((name) => has(served, 'outputModalities', name)),
  context:
    (text) =>
    ({ endpoints }) =>
      endpoints.some((one) => (one.contextLength ?? 0) >= toNumber('context', text)),
  min_price: (text) => (served) => prices(served).some((price) => price >= toNumber('min_price', text)),
  max_price: (text) => (served) => prices(served).some((price) => price <= toNumber('max_price', text)),
  providers:
    (list) =>
    ({ endpoints }) =>
      endpoints.some((one) => selectorIndex(items(list), one) >= 0),
  model_authors:
    (list) =>
    ({ model }) =>
      items(list).includes(modelAuthor(model)),
  zdr:
    (flag) =>
    ({ endpoints }) =>
      flag !== 'true' || endpoints.some((one) => one.zeroDataRetention),
  distillable:
    (flag) =>
    ({ endpoints }) =>
      flag !== 'true' || endpoints.some((one) => one.distillable === true),
  variant:
    (name) =>
    ({ endpoints }) =>
      endpoints.some((one) => one.variant === name),
};

/** Names of the query parameters that filter. */
export const MODEL_FILTERS: readonly string[] = Object.keys(FILTERS);

/** Models that only make images, sounds or embeddings are listed when they are requested. */
const DEFAULT_OUTPUT = ['output_modalities', 'text'] as const;

/** Orders of `GET /models` by the value of `sort`. What is unknown comes last. */
const ORDERS: Readonly<Record<string, (left: Served, right: Served) => number>> = {
  name: (left, right) => nameOf(left).localeCompare(nameOf(right), 'en'),
  newest: (left, right) => (right.model.created ?? 0) - (left.model.created ?? 0),
  'context-high-to-low': (left, right) => longestContext(right) - longestContext(left),
  'pricing-low-to-high': (left, right) => byNumber(lowestPrice(left), lowestPrice(right)),
  'pricing-high-to-low': (left, right) => byNumber(negated(lowestPrice(left)), negated(lowestPrice(right))),
};

/** Values of `sort`. */
export const MODEL_ORDERS: readonly string[] = Object.keys(ORDERS);

/** Answers `GET /models`, with the prices of a time in Unix seconds. Without `offset` and `limit` the list is complete. */
export function listModels(facts: ListedFacts, query: URLSearchParams, at: number): ModelList {
  const found = sorted(filterModels(facts, query, at), query.get('sort'));
  const paged = query.has('offset') || query.has('limit');
  const offset = paged ? toCount('offset', query.get('offset') ?? '0', Number.MAX_SAFE_INTEGER) : 0;
  const limit = paged ? toCount('limit', query.get('limit') ?? String(DEFAULT_LIMIT), MAX_LIMIT) : found.length;
  const page = found.slice(offset, offset + limit);
  const next = new URLSearchParams(query);
  next.set('offset', String(offset + limit));
  return {
    data: page.map(({ model, endpoints }) => modelCard(model, endpoints)),
    total_count: found.length,
    links: { next: limit > 0 && offset + limit < found.length ? `/models?${next.toString()}` : null },
  };
}

/** Models that pass every filter of a query. */
export function filterModels(facts: ListedFacts, query: URLSearchParams, at: number): readonly Served[] {
  const requested = query.has('output_modalities') ? [...query] : [...query, DEFAULT_OUTPUT];
  const active = requested.flatMap(([name, value]) => {
    const filter = Object.hasOwn(FILTERS, name) ? FILTERS[name] : undefined;
    return filter === undefined ? [] : [filter(value)];
  });
  return servedModels(facts, at).filter((served) => active.every((matches) => matches(served)));
}

function sorted(found: readonly Served[], order: string | null): readonly Served[] {
  if (order === null) return found;
  const compare = Object.hasOwn(ORDERS, order) ? ORDERS[order] : undefined;
  if (compare === undefined) throw badQuery('sort', `one of ${Object.keys(ORDERS).join(', ')}`);
  return [...found].sort(compare);
}

function nameOf({ model }: Served): string {
  return model.name ?? model.id;
}

function longestContext({ endpoints }: Served): number {
  return Math.max(0, ...endpoints.map((one) => one.contextLength ?? 0));
}

function lowestPrice(served: Served): number | undefined {
  const known = prices(served);
  return known.length === 0 ? undefined : Math.min(...known);
}

function negated(value: number | undefined): number | undefined {
  return value === undefined ? undefined : -value;
}

function byNumber(left: number | undefined, right: number | undefined): number {
  if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
  return left - right;
}

/** What nobody declared may be there, except embeddings: those who look for them do not look for chat models. */
function has({ endpoints }: Served, set: 'parameters' | 'inputModalities' | 'outputModalities', name: string): boolean {
  const unknown = name !== 'embeddings';
  return endpoints.some((endpoint) => (endpoint[set] as ReadonlySet<string> | undefined)?.has(name) ?? unknown);
}

function prices({ endpoints }: Served): readonly number[] {
  return endpoints.map((endpoint) => blendedPrice(endpoint.price)).filter((price) => price !== undefined);
}

function items(list: string): readonly string[] {
  return list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function toNumber(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw badQuery(name, 'a number');
  return value;
}

function toCount(name: string, text: string, maximum: number): number {
  if (!/^\d+$/.test(text) || Number(text) > maximum) throw badQuery(name, `a whole number up to ${maximum}`);
  return Number(text);
}

function badQuery(name: string, expected: string): RouterError {
  return errorOf(400, `The query parameter ${name} must be ${expected}.`);
}

/** What a list of models is made of. */
export interface ListedFacts {
  readonly catalog: Catalog;
  /** Router models that plugins resolve. */
  readonly routerModels: ReadonlySet<string>;
  /** Which models are listed. Router models are, whatever they may choose. Default: all. */
  readonly mayUse?: ((model: string) => boolean) | undefined;
}

/** A router model as lists show it. */
interface ListedRouterModel {
  readonly model: Model;
  /** One that stands for all that it may choose: it reads what any of them reads, and its price is not known before. */
  readonly endpoints: readonly [Endpoint];
}

const OWNER = { slug: 'router', name: 'Router' };

/** The router models that the plugins of this router resolve (gaps 10). */
export function listedRouterModels({ catalog, routerModels }: ListedFacts): readonly ListedRouterModel[] {
  if (routerModels.size === 0) return [];
  const chat = [...catalog.models.keys()]
    .flatMap((model) => catalog.endpoints(model))
    .filter((endpoint) => serves(endpoint, 'chat') !== 'no');
  const inputModalities = [...new Set(['text' as const, ...chat.flatMap((one) => [...(one.inputModalities ?? [])])])];
  return [...routerModels].map((id) => ({
    model: { id, description: 'Chooses the model that answers, for each request.' },
    endpoints: [declareEndpoint(OWNER, id, { inputModalities, outputModalities: ['text'] })],
  }));
}

/**
 * All models that somebody serves and that can be called directly, with the prices of a time in Unix seconds, and after
 * them the router models.
 */
export function servedModels(
  facts: ListedFacts,
  at: number,
): readonly { readonly model: Model; readonly endpoints: readonly Endpoint[] }[] {
  const served = [...facts.catalog.models.values()]
    .map((model) => ({ model, endpoints: endpointsAt(facts.catalog, model.id, at) }))
    .filter(({ model, endpoints }) => endpoints.length > 0 && (facts.mayUse?.(model.id) ?? true));
  return [...served, ...listedRouterModels(facts)];
}
