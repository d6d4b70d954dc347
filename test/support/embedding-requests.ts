import type { Endpoint, EndpointDeclaration } from '../../src/catalog/endpoint.ts';
import { buildCatalog } from '../../src/catalog/catalog.ts';
import { normalizeEmbeddingRequest } from '../../src/core/normalize/normalize-embedding.ts';
import type { EmbeddingRequest } from '../../src/protocol/embedding.ts';
import type { Checked } from '../../src/protocol/fault.ts';
import type { NormalizedEmbeddingRequest } from '../../src/contracts/request.ts';
import type { RequestContext, RouterFacts } from '../../src/core/normalize/context.ts';

/** Models by provider, all of whom know how to embed unless they are called `silent`. */
export type Offers = Readonly<Record<string, Readonly<Record<string, EndpointDeclaration>>>>;

/** What a router over these providers knows. */
export function factsOver(offers: Offers, more: Partial<RouterFacts> = {}): RouterFacts {
  const providers = Object.entries(offers).map(([slug, models]) => ({
    slug,
    name: slug,
    models,
    ...(slug === 'silent' ? {} : { embed: true }),
  }));
  return {
    catalog: buildCatalog(providers),
    policy: {},
    presets: {},
    routerModels: new Set(),
    docsUrl: 'docs',
    ...more,
  };
}

/** Normalises a request for embeddings. */
export function normalizedOver(
  facts: RouterFacts,
  request: Partial<EmbeddingRequest>,
  context: Partial<RequestContext> = {},
): Checked<NormalizedEmbeddingRequest> {
  return normalizeEmbeddingRequest(
    { input: 'Hello', model: 'acme/embed', ...request },
    { id: 'gen-1-test', created: 1, account: { id: 'tester' }, endUser: 'user_test', wantsMetadata: false, ...context },
    facts,
  );
}

/** A request and the one endpoint that may serve it. */
export function embeddingScene(
  request: Partial<EmbeddingRequest>,
  offer: EndpointDeclaration = {},
): { readonly normalized: NormalizedEmbeddingRequest; readonly endpoint: Endpoint } {
  const checked = normalizedOver(factsOver({ up: { 'acme/embed': offer } }), request);
  if (!checked.ok) throw new Error(checked.fault.message);
  const endpoint = checked.value.targets[0]?.endpoints[0];
  if (endpoint === undefined) throw new Error('was declared');
  return { normalized: checked.value, endpoint };
}
