import type { Catalog } from '../../catalog/catalog.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { isForbidden } from '../selection/filters.ts';

/** Who gave an answer that was kept. */
export interface KeptAnswer {
  /** Id of the endpoint; of an answer that a plugin gave by itself, that of the endpoint that stands for it. */
  readonly endpoint: string;
  readonly model: string;
}

/** What decides whether a kept answer may be given again, besides the request. */
interface KeptContext {
  readonly catalog: Pick<Catalog, 'endpoints'>;
  /** Ids of the plugins that take part: they may answer themselves, and choose other models. */
  readonly plugins: readonly string[];
}

/**
 * Whether a kept answer may still be given to a request: rules, policies and preferences apply to it as they are now,
 * whatever they were when it was made. Whether its endpoint is well, or free, makes no difference.
 */
export function mayAnswer(kept: KeptAnswer, request: NormalizedRequest, context: KeptContext): boolean {
  const { catalog, plugins } = context;
  const { targets, account, preferences, requested } = request;
  const isOpen = plugins.length > 0 || targets.some(({ router }) => router !== undefined);
  const known = isOpen ? catalog.endpoints(kept.model) : targets.flatMap(({ endpoints }) => endpoints);
  // That of an account's own key ends with the account.
  const endpoint = known.find(({ id }) => kept.endpoint === id || kept.endpoint === `${id}@${account.id}`);
  if (endpoint !== undefined) return !isForbidden(endpoint, request);
  const isPlugin = plugins.some((id) => kept.endpoint.startsWith(`${id}#`));
  if (!isPlugin || kept.model === requested) return isPlugin;
  return preferences.denied?.(kept.model) === undefined && preferences.models?.(kept.model) !== false;
}
