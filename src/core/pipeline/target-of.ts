import type { Catalog } from '../../catalog/catalog.ts';
import type { RoutingStrategy } from '../../protocol/metadata.ts';
import type { ModelTarget } from '../normalize/normalized-request.ts';
import { resolveTargets } from '../normalize/targets.ts';

/** Router models resolve to nothing here: a plugin that answers with another router model would never end. */
const NO_ROUTER_MODELS: ReadonlySet<string> = new Set();

/** A model of the catalog as a target, for plugins that choose models. Of an alias for several, the first. */
export function targetOf(catalog: Catalog, model: string, strategy: RoutingStrategy = 'auto'): ModelTarget | undefined {
  const context = { catalog, routerModels: NO_ROUTER_MODELS, docsUrl: '' };
  const resolved = resolveTargets([{ slug: model, path: 'model' }], context);
  const target = resolved.ok ? resolved.value.targets[0] : undefined;
  return target === undefined || target.endpoints.length === 0 ? undefined : { ...target, strategy };
}
