/** Answers the operations on models, endpoints and providers. */
import { RouterError } from '../protocol/router-error.ts';
import type { RouterInternals } from '../router/router.ts';
import type { HttpReply } from '../contracts/exchange.ts';
import { type AdmittedCall, completeReply } from './model-reply.ts';
import { policiesOf } from '../core/normalize/normalize.ts';
import { modelRules } from '../core/normalize/preset.ts';
import type { CatalogOperation } from './routes.ts';
import { shortened } from '../protocol/fault.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { splitVariants } from '../catalog/slug.ts';
import type { EndpointList, ModelCard, ModelList, PrivateEndpointList, ProviderList } from '../protocol/models.ts';
import type { RuntimeServices } from '../runtime/chat/services.ts';
import { architectureOf, endpointCard, endpointsAt, modelCard, providerCard } from './catalog-cards.ts';
import { filterModels, listModels, listedRouterModels } from './list-models.ts';

/**
 * Answers the operations that read the catalog (gaps 10). They are public: prices are no secret.
 *
 * @throws {@link RouterError} 404 for a model that is not there, 400 for a bad query.
 */
export async function answerCatalog(
  { services }: RouterInternals,
  operation: CatalogOperation,
  { call, account, context: { headers, apiFormat } }: AdmittedCall,
): Promise<HttpReply> {
  const mayUse = modelRules(policiesOf(account, services.facts));
  const query = new URLSearchParams(call.query);
  const isList = operation.name === 'models' || operation.name === 'model';
  if (isList && apiFormat !== undefined)
    return completeReply(await anthropicAnswer(services, operation, query, mayUse), headers);
  return completeReply(catalogAnswer(services, operation, query, mayUse), headers);
}

/** Lists of models as clients of Anthropic know them; loaded when one of them asks. */
async function anthropicAnswer(
  services: RuntimeServices,
  operation: Extract<CatalogOperation, { name: 'models' | 'model' }>,
  query: URLSearchParams,
  mayUse: ReturnType<typeof modelRules>,
): Promise<object> {
  const { anthropicModel, anthropicModels } = await import('./anthropic-models.ts');
  const { facts, environment } = services;
  const at = Math.floor(environment.wallClock() / 1_000);
  const served = filterModels({ ...facts, mayUse }, new URLSearchParams(), at);
  if (operation.name === 'models') return anthropicModels(served, query);
  const id = modelNamed(facts.catalog, operation.slug);
  const found = served.find(({ model }) => model.id === id || model.id === operation.slug);
  if (found === undefined) throw unknownModel(operation.slug);
  return anthropicModel(found);
}

/** Bodies of the operations that read the catalog. */
type CatalogAnswer =
  | ModelList
  | EndpointList
  | PrivateEndpointList
  | ProviderList
  | { readonly data: { readonly count: number } }
  | { readonly data: ModelCard };

/**
 * The body of an answer from the catalog.
 *
 * @param mayUse - Which models the account may use; the others are not there for it.
 */
function catalogAnswer(
  { facts, records, environment }: RuntimeServices,
  operation: CatalogOperation,
  query: URLSearchParams,
  mayUse: (model: string) => boolean = () => true,
): CatalogAnswer {
  const { catalog } = facts;
  const at = Math.floor(environment.wallClock() / 1_000);
  switch (operation.name) {
    case 'models':
      return listModels({ ...facts, mayUse }, query, at);
    case 'models_count':
      return { data: { count: filterModels({ ...facts, mayUse }, query, at).length } };
    case 'endpoints_private': {
      const now = environment.now();
      const models = [...catalog.models.values()].filter(({ id }) => mayUse(id));
      const cards = models.flatMap((model) =>
        endpointsAt(catalog, model.id, at)
          .filter((endpoint) => endpoint.zeroDataRetention)
          .map((endpoint) => endpointCard(endpoint, model, records.record(endpoint), now)),
      );
      return { data: cards };
    }
    case 'providers':
      return { data: [...catalog.providers.values()].map(providerCard) };
    case 'model':
    case 'endpoints': {
      const id = modelNamed(catalog, operation.slug);
      const router = listedRouterModels(facts).find(({ model: { id: slug } }) => slug === operation.slug);
      const model = router?.model ?? (id === undefined ? undefined : catalog.models.get(id));
      if (model === undefined || (router === undefined && !mayUse(model.id))) throw unknownModel(operation.slug);
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

/** A model by its id, another spelling or an alias of it, with variants of routing such as `:nitro` or without. */
function modelNamed(catalog: Catalog, slug: string): string | undefined {
  return catalog.models.has(slug) ? slug : (catalog.find(slug) ?? catalog.find(splitVariants(slug).slug));
}

function unknownModel(slug: string): RouterError {
  return new RouterError({
    status: 404,
    errorType: 'not_found',
    message: `There is no model "${shortened(slug)}" here; GET /models lists them`,
  });
}
