import { buildCatalog } from '../../catalog/catalog.ts';
import { normalizeEmbeddingRequest } from '../../core/normalize/normalize-embedding.ts';
import type { EmbeddingRequest } from '../../protocol/embedding-request.ts';
import type { EmbeddingReply } from '../../providers/provider-reply.ts';
import { CHECK_CONTEXT, modelsOf, routerFacts } from './ask.ts';
import type { ProviderHarness } from './harness.ts';

/** How a check asks for embeddings. */
export interface EmbeddingAsking {
  readonly input: readonly string[];
  readonly dimensions?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The account's own key. */
  readonly apiKey?: string | undefined;
}

/** Makes one call for embeddings and gives the provider's reply, as it is. */
export async function embedOnce(harness: ProviderHarness, asking: EmbeddingAsking): Promise<EmbeddingReply> {
  const { provider } = harness;
  const { input, dimensions, signal = new AbortController().signal, apiKey } = asking;
  if (provider.embed === undefined) throw new Error('the provider under check has the ability, but no `embed`');
  const { endpoint, request } = requestFor(harness, { input, ...(dimensions === undefined ? {} : { dimensions }) });
  const progress = { connecting: ignore, connected: ignore, sending: ignore };
  return provider.embed({ request, endpoint, apiKey, signal, progress });
}

/** A request for the first model that makes embeddings, or may make some. */
function requestFor(
  { provider }: ProviderHarness,
  body: Omit<EmbeddingRequest, 'model'>,
): Pick<Parameters<NonNullable<ProviderHarness['provider']['embed']>>[0], 'request' | 'endpoint'> {
  const catalog = buildCatalog([provider]);
  const declared = modelsOf(provider);
  const model =
    declared.find((id) => catalog.endpoints(id).some((one) => one.outputModalities?.has('embeddings') === true)) ??
    declared[0] ??
    `${provider.slug}/check`;
  const checked = normalizeEmbeddingRequest({ model, ...body }, CHECK_CONTEXT, routerFacts(catalog));
  if (!checked.ok) throw new Error(`the check's own request is wrong: ${checked.fault.message}`);
  const endpoint = checked.value.targets[0]?.endpoints[0];
  if (endpoint === undefined) throw new Error('the provider under check must declare a model, or accept any');
  return { request: checked.value, endpoint };
}

function ignore(): void {}
