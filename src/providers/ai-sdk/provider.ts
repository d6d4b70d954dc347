/** The provider `fromAiSdk`: models of the Vercel AI SDK as endpoints. */
import type { EndpointDeclaration } from '../../catalog/endpoint.ts';
import type { Provider } from '../../contracts/provider.ts';
import { onDemand } from '../../platform/wait.ts';
import { type AiSdkUpstream, isEmbeddingModel, looksLikeModel, takesCacheMarks } from './model.ts';
import {
  type AiSdkDeclaration,
  type AiSdkModelOptions,
  type AiSdkOptions,
  declaredBy,
  entriesOf,
  tableOfOne,
} from './options.ts';

/**
 * A provider made of language models and embedding models of the Vercel AI SDK, which brings every provider of the SDK:
 * Bedrock, Vertex, Cohere and so on. The models are recognised by their members; this package needs no part of the SDK.
 *
 * Routing, retries, fallbacks, timeouts and accounting are the router's: models by themselves never retry.
 *
 * @example
 * ```ts
 * fromAiSdk({
 *   slug: 'bedrock',
 *   models: {
 *     'anthropic/claude-sonnet-5': { model: bedrock('eu.anthropic.claude-sonnet-5'), contextLength: 200_000 },
 *     'amazon/nova-pro': bedrock('eu.amazon.nova-pro-v1:0'),
 *   },
 * });
 * fromAiSdk(cohere('command-a'), { id: 'cohere/command-a', price: { prompt: 2.5, completion: 10 } });
 * ```
 * @throws {@link ConfigError} when something is not a model of a version that is understood.
 */
export function fromAiSdk<const Model extends string>(options: AiSdkOptions<Model>): Provider<Model>;

/**
 * A provider made of one model of the Vercel AI SDK.
 *
 * @param options - `id` is the model's name here; by default it is made of the model's own provider and id.
 * @throws {@link ConfigError} when it is not a model of a version that is understood.
 */
export function fromAiSdk<const Id extends string = string>(
  model: AiSdkUpstream,
  options?: AiSdkModelOptions<Id>,
): Provider<Id>;
export function fromAiSdk(first: AiSdkOptions | AiSdkUpstream, options: AiSdkModelOptions = {}): Provider {
  const isTable = typeof first === 'object' && first !== null && 'models' in first && !looksLikeModel(first);
  return aiSdkProvider(isTable ? first : tableOfOne(first, options));
}

function aiSdkProvider(options: AiSdkOptions): Provider {
  const { slug } = options;
  const declarations = new Map<string, AiSdkDeclaration>();
  const models: Record<string, readonly EndpointDeclaration[]> = {};
  for (const [id, entries] of entriesOf(options)) {
    models[id] = entries.map(({ upstreamModel, declaration }) => {
      declarations.set(upstreamModel, declaration);
      return { ...declaredBy(declaration), upstreamModel };
    });
  }
  let isCalled = false;
  // What writes and reads calls is loaded by the first of them.
  const calls = onDemand(async () => {
    isCalled = true;
    const { aiSdkCalls } = await import('./calls.ts');
    return aiSdkCalls(options, declarations);
  });
  const declared = [...declarations.values()].map(({ model }) => model);
  return {
    slug,
    name: options.name ?? slug,
    models,
    dataCollection: options.dataCollection,
    zeroDataRetention: options.zeroDataRetention,
    timeouts: options.timeouts,
    cacheMarks: declared.some(takesCacheMarks),
    chat: async (call) => (await calls()).chat(call),
    ...(declared.some(isEmbeddingModel) ? { embed: async (call) => (await calls()).embed(call) } : {}),
    async close() {
      if (isCalled) await (await calls()).close();
    },
  };
}
