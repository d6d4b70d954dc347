/** Answers `GET /models` in the form of Anthropic's API. */
import type { Endpoint, Model } from '../catalog/endpoint.ts';
import { errorOf } from '../protocol/router-error.ts';

/** A model and the endpoints that serve it. */
interface ServedModel {
  readonly model: Model;
  readonly endpoints: readonly Endpoint[];
}

/** A model as Anthropic's Models API shows it. What only that vendor knows of its own models is null. */
interface AnthropicModel {
  readonly type: 'model';
  readonly id: string;
  readonly display_name: string;
  /** RFC 3339; the epoch where the release is unknown. */
  readonly created_at: string;
  /** Tokens; null where no endpoint declares it. */
  readonly max_input_tokens: number | null;
  /** Tokens; null where no endpoint declares it. */
  readonly max_tokens: number | null;
  readonly capabilities: null;
  readonly lifecycle: 'active' | 'deprecated';
  readonly deprecated_at: null;
  readonly retires_at: null;
  readonly line: null;
}

/** A page of models as Anthropic's Models API shows it. */
interface AnthropicModelPage {
  readonly data: readonly AnthropicModel[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1_000;

/** Writes a model for clients of Anthropic. */
export function anthropicModel({ model, endpoints }: ServedModel): AnthropicModel {
  return {
    type: 'model',
    id: model.id,
    display_name: model.name ?? model.id,
    created_at: new Date((model.created ?? 0) * 1_000).toISOString(),
    max_input_tokens: most(endpoints.map(({ contextLength }) => contextLength)),
    max_tokens: most(endpoints.map(({ maxOutputTokens }) => maxOutputTokens)),
    capabilities: null,
    lifecycle: model.status === 'deprecated' ? 'deprecated' : 'active',
    deprecated_at: null,
    retires_at: null,
    line: null,
  };
}

/**
 * Answers `GET /models` for clients of Anthropic, which page by ids: `limit`, `after_id`, `before_id`. The newest models
 * come first, as they do there.
 *
 * @throws {@link RouterError} 400 for a limit that is out of range, or an id that is not in the list.
 */
export function anthropicModels(served: readonly ServedModel[], query: URLSearchParams): AnthropicModelPage {
  const limit = limitOf(query.get('limit'));
  const ordered = [...served].sort((left, right) => (right.model.created ?? 0) - (left.model.created ?? 0));
  const [after, before] = [place(ordered, query, 'after_id'), place(ordered, query, 'before_id')];
  const start = before === undefined ? (after ?? -1) + 1 : Math.max(0, before - limit);
  const end = Math.min(before ?? ordered.length, start + limit);
  const data = ordered.slice(start, end).map(anthropicModel);
  return {
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    // What is left in the direction in which the client goes.
    has_more: before === undefined ? end < ordered.length : start > 0,
  };
}

function limitOf(text: string | null): number {
  if (text === null) return DEFAULT_LIMIT;
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw errorOf(400, `limit must be a whole number from 1 to ${MAX_LIMIT.toLocaleString('en-US')}`);
}

function place(ordered: readonly ServedModel[], query: URLSearchParams, name: string): number | undefined {
  const id = query.get(name);
  if (id === null) return undefined;
  const index = ordered.findIndex(({ model }) => model.id === id);
  if (index < 0) throw errorOf(400, `${name} must be the id of a model in the list`);
  return index;
}

function most(values: readonly (number | undefined)[]): number | null {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? null : Math.max(...known);
}
