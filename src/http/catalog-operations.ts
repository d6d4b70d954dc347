import { RouterError } from '../errors.ts';
import { shortened } from '../protocol/echo.ts';
import type { EndpointList, ModelCard, ModelList, ProviderList } from '../protocol/models.ts';
import type { RuntimeServices } from '../runtime/services.ts';
import { architectureOf, endpointCard, endpointsAt, modelCard, providerCard } from './catalog-cards.ts';
import { filterModels, listModels } from './list-models.ts';
import { listedRouterModels } from './router-models.ts';
import type { CatalogOperation } from './routes.ts';

/** Bodies of the operations that read the catalog. */
export type CatalogAnswer =
  | ModelList
  | EndpointList
  | ProviderList
  | { readonly data: { readonly count: number } }
  | { readonly data: ModelCard };

/**
 * Answers the operations that read the catalog (gaps 10). They are public: prices are no secret.
 *
 * @throws {@link RouterError} 404 for a model that is not there, 400 for a bad query.
 */
export function answerCatalog(
  { facts, records, environment }: RuntimeServices,
  operation: CatalogOperation,
  query: URLSearchParams,
): CatalogAnswer {
  const { catalog } = facts;
  const at = Math.floor(environment.wallClock() / 1_000);
  switch (operation.name) {
    case 'models':
      return listModels(facts, query, at);
    case 'models_count':
      return { data: { count: filterModels(facts, query, at).length } };
    case 'providers':
      return { data: [...catalog.providers.values()].map(providerCard) };
    case 'model':
    case 'endpoints': {
      const id = catalog.models.has(operation.slug) ? operation.slug : catalog.find(operation.slug);
      const router = listedRouterModels(facts).find(({ model: { id: slug } }) => slug === operation.slug);
      const model = router?.model ?? (id === undefined ? undefined : catalog.models.get(id));
      if (model === undefined) throw unknownModel(operation.slug);
      // Who answers a router model is only known when there is a request.
      const endpoints = router === undefined ? endpointsAt(catalog, model.id, at) : [];
      const shown = router?.endpoints ?? endpoints;
      if (operation.name === 'model') return { data: modelCard(model, shown) };
      const now = environment.now();
      return {
        data: {
          id: model.id,
          name: model.name ?? model.id,
          created: model.created ?? 0,
          description: model.description ?? '',
          architecture: architectureOf(model, shown),
          endpoints: endpoints.map((endpoint) => endpointCard(endpoint, model, records.record(endpoint), now)),
        },
      };
    }
  }
}

function unknownModel(slug: string): RouterError {
  return new RouterError({
    status: 404,
    errorType: 'not_found',
    message: `There is no model "${shortened(slug)}" here`,
  });
}
