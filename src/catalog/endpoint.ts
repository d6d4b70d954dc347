/** The endpoint: one provider's offer of one model, with what is declared and known of it. */
import type { ApiFormatName } from '../protocol/api-format.ts';
import type { Quantization } from '../protocol/provider-preferences.ts';
import type { ReasoningEffort } from '../protocol/reasoning.ts';
import {
  ALL_PARAMETERS,
  type Modality,
  type ParameterName,
  type ToolChoiceKind,
  type ModelInfo,
  type Operation,
} from './model.ts';
import type { Price } from './price.ts';

/** Variants that have endpoints of their own; the others only change how endpoints are chosen. */
export type StaticVariant = 'free' | 'extended' | 'thinking' | 'batch';

/** Capacity class of an endpoint. */
export type EndpointTier = 'default' | 'priority' | 'flex';

/** The provider key of an account itself ("bring your own key"). */
interface ByokKey {
  readonly account: string;
  /** True when this key is used only after the shared capacity failed. */
  readonly fallback: boolean;
}

/**
 * One provider's offer of one model: the unit of routing, of health and of cooldown.
 * A capability that is `undefined` is unknown, which is different from absent.
 */
export interface Endpoint {
  /** Unique in the router. */
  readonly id: string;
  /** `author/slug`, with a static variant where there is one. */
  readonly model: string;
  /** Slug of the provider. */
  readonly provider: string;
  /** Display name of the provider. */
  readonly providerName: string;
  /** Slug that names this endpoint in preferences: `deepinfra`, `deepinfra/turbo`, `openai/priority`. */
  readonly tag: string;
  /** What the provider calls the model. */
  readonly upstreamModel: string;
  readonly variant?: StaticVariant | undefined;
  readonly tier: EndpointTier;
  /** Tiers that have endpoints of their own for this model, this one's included. Absent where nobody declared any. */
  readonly declaredTiers?: ReadonlySet<EndpointTier> | undefined;
  readonly region?: string | undefined;
  readonly price?: Price | undefined;
  /** Tokens of input and output together. */
  readonly contextLength?: number | undefined;
  readonly maxPromptTokens?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** Parameters that may be sent: those that are supported, and those whose support is unknown. */
  readonly parameters?: ReadonlySet<ParameterName> | undefined;
  /** Those of `parameters` whose support is unknown. */
  readonly unknownParameters?: ReadonlySet<ParameterName> | undefined;
  readonly toolChoices?: ReadonlySet<ToolChoiceKind> | undefined;
  readonly inputModalities?: ReadonlySet<Modality> | undefined;
  readonly outputModalities?: ReadonlySet<Modality> | undefined;
  /** True when its provider can request embeddings; whether the model makes any follows from its outputs. */
  readonly canEmbed: boolean;
  /** Efforts that the model supports, and whether reasoning cannot be switched off. */
  readonly reasoning?: { readonly efforts?: readonly ReasoningEffort[]; readonly mandatory?: boolean } | undefined;
  /** True when the provider stores prompts or trains on them. */
  readonly dataCollection: boolean;
  readonly zeroDataRetention: boolean;
  /** True when the model's author permits training on its text; undefined when unknown. */
  readonly distillable?: boolean | undefined;
  readonly quantization: Quantization;
  readonly moderated: boolean;
  /** API formats besides chat that the provider supports natively. */
  readonly apiFormats: readonly ApiFormatName[];
  /** True when repeated prefixes are cached without asking. */
  readonly implicitCaching: boolean;
  /** True when it goes on from an assistant message at the end of the prompt. Undefined where that is unknown. */
  readonly prefill?: boolean | undefined;
  /** The provider's own web search, if it has one for all its models; see {@link EndpointOwner.nativeSearch}. */
  readonly nativeSearch?: NativeSearch | undefined;
  /** True when files go to the provider as they are unless its model says otherwise; see {@link EndpointOwner.readsFiles}. */
  readonly readsFiles: boolean;
  /** Benchmark scores from 0 to 1, by task. */
  readonly scores?: Readonly<Record<string, number>> | undefined;
  /** How many prompts each of the scores was measured on. */
  readonly scoreCounts?: Readonly<Record<string, number>> | undefined;
  /** Requests per minute that it takes. */
  readonly rpm?: number | undefined;
  /** Tokens per minute that it takes, of prompts and answers together. */
  readonly tpm?: number | undefined;
  /** Calls at a time that it takes. */
  readonly concurrency?: number | undefined;
  /** Time limits of its own; see {@link EndpointDeclaration.timeouts}. */
  readonly timeouts?: CallTimeouts | undefined;
  readonly byok?: ByokKey | undefined;
  /** Name of the key of its provider that it is called with, where the provider has several. */
  readonly key?: string | undefined;
  /** How often it is drawn beside others, as a factor. Default 1. */
  readonly weight?: number | undefined;
  /**
   * Fields of a body that its provider has refused, with the names that it requires instead of them; without one, they
   * are left out. Absent until it has refused one.
   */
  readonly refusedFields?: ReadonlyMap<string, string | undefined> | undefined;
  /** Words of JSON Schema that its provider has refused, which are said in descriptions. Absent until it has refused one. */
  readonly refusedSchemaWords?: ReadonlySet<string> | undefined;
  /** Efforts that its provider has named in place of one that it refused. Absent until it has. */
  readonly acceptedEfforts?: readonly ReasoningEffort[] | undefined;
  /** Where facts come from that the program did not declare, by field of the declaration. */
  readonly origins?: FactOrigins | undefined;
}

/**
 * How a program declares an {@link Endpoint}: everything but the upstream name has a default.
 * Declared capabilities are complete: what a list leaves out is not supported. A list that is left out is unknown.
 */
export interface EndpointDeclaration {
  /** What the provider calls the model. Default: the model id without the provider's own slug in front. */
  readonly upstreamModel?: string | undefined;
  /** Variant by which requests name it: `author/slug:free`, `:extended` or `:thinking`. Default: none. */
  readonly variant?: StaticVariant | undefined;
  /** Service tier; requests require another than `default` by `service_tier`. Default `default`. */
  readonly tier?: EndpointTier | undefined;
  /** Where it runs, such as `eu`. Default: unknown. */
  readonly region?: string | undefined;
  /** Ending of the endpoint's slug, for example `turbo`. Default: the region or the tier, if any. */
  readonly tag?: string | undefined;
  /**
   * US dollars per million tokens, and per unit of everything else. Default: unknown, and then so is the cost.
   *
   * @example `{ prompt: 1.25, completion: 10, cacheRead: 0.125 }`
   */
  readonly price?: Price | undefined;
  /** Most tokens of prompt and answer together. Default: unknown. */
  readonly contextLength?: number | undefined;
  /** Most tokens of the prompt. Default: what the context leaves. */
  readonly maxPromptTokens?: number | undefined;
  /** Most tokens of an answer. Default: unknown. */
  readonly maxOutputTokens?: number | undefined;
  /** All request parameters that it takes, by name: a complete list. Default: unknown; see `abilities`. */
  readonly parameters?: readonly ParameterName[] | undefined;
  /**
   * What is known about single parameters, where a complete list would say too much: `{ tools: true, seed: false }`.
   * A parameter that is in neither is unknown; without `parameters`, so are all that are left out here.
   */
  readonly abilities?: Abilities | undefined;
  /** Which forms of `tool_choice` it takes. Default: unknown. */
  readonly toolChoices?: readonly ToolChoiceKind[] | undefined;
  /** What prompts may hold, such as `['text', 'image', 'file']`. Default: unknown. */
  readonly inputModalities?: readonly Modality[] | undefined;
  /** What answers may hold; `['embeddings']` for a model of vectors. Default: unknown. */
  readonly outputModalities?: readonly Modality[] | undefined;
  /** Whether and how it reasons, such as `{ efforts: ['low', 'high'], mandatory: true }`. Default: unknown. */
  readonly reasoning?: Endpoint['reasoning'];
  /** True: prompts are stored or trained on. Default: that of the provider, which is `false` unless said otherwise. */
  readonly dataCollection?: boolean | undefined;
  /** True: nothing is kept after the answer. Default: that of the provider, which is `false` unless said otherwise. */
  readonly zeroDataRetention?: boolean | undefined;
  /** True: the model's author permits training other models on its text. Default: unknown. */
  readonly distillable?: boolean | undefined;
  /** Number format of the weights. Default `unknown`. */
  readonly quantization?: Quantization | undefined;
  /** True: the provider moderates what it is sent. Default: unknown. */
  readonly moderated?: boolean | undefined;
  /** True: prompts are cached without marks. Default: unknown. */
  readonly implicitCaching?: boolean | undefined;
  /**
   * True: the model goes on from an assistant message at the end of `messages`, and its answer begins behind it. Used
   * where `fallback.afterFirstToken` is `continue`. Default: what is known of the model, and otherwise unknown.
   */
  readonly prefill?: boolean | undefined;
  /** Benchmark scores from 0 to 1, by task. Default: those of the model. */
  readonly scores?: Readonly<Record<string, number>> | undefined;
  /** How many prompts each of the scores was measured on. Default: unknown. */
  readonly scoreCounts?: Readonly<Record<string, number>> | undefined;
  /**
   * Requests per minute that are sent at most, by all instances that share their state. Default: no limit but what the
   * endpoint refuses.
   */
  readonly rpm?: number | undefined;
  /**
   * Tokens per minute, of prompts and answers together, that are sent at most, by all instances that share their state.
   * Default: no limit.
   */
  readonly tpm?: number | undefined;
  /** Calls that are open there at most, by all instances that share their state. Default: no limit. */
  readonly concurrency?: number | undefined;
  /** Time limits in milliseconds, before those of the provider and of the router. Default: none of its own. */
  readonly timeouts?: CallTimeouts | undefined;
}

/** Time limits of one call, in milliseconds. */
export interface CallTimeouts {
  /** To make a connection. */
  readonly connectMs?: number | undefined;
  /** From the connection to the first token of a stream. */
  readonly firstTokenMs?: number | undefined;
  /** From the connection to the end of a non-streaming answer. */
  readonly answerMs?: number | undefined;
  /** Between two signs of life of a stream. */
  readonly idleMs?: number | undefined;
}

/**
 * A provider's own web search: `filtered` can be limited to domains or kept from them; `alone` cannot be beside
 * functions.
 */
export type NativeSearch = 'plain' | 'filtered' | 'alone';

/** Whether single parameters are supported; those left out are unknown. */
export type Abilities = Readonly<Partial<Record<ParameterName, boolean>>>;

/** One of several keys of a provider, without the key itself. */
export interface EndpointKey {
  /** Lower-case letters, digits and dashes. The last part of the tags of its endpoints. */
  readonly name: string;
  /** How often it is drawn beside the others. Default 1. */
  readonly weight?: number | undefined;
  /** Requests per minute that are sent with it at most, for each model. Default: what the model declares. */
  readonly rpm?: number | undefined;
  /** Tokens per minute, likewise. Default: what the model declares. */
  readonly tpm?: number | undefined;
  /** Calls that are open with it at most, likewise. Default: what the model declares. */
  readonly concurrency?: number | undefined;
}

/** What all endpoints of a provider have in common. */
export interface EndpointOwner {
  readonly slug: string;
  /** Slug of the vendor, for what is known of its models. Default: the provider's own. */
  readonly vendor?: string | undefined;
  /** Its keys, where it has several: each makes endpoints of its own. Default: one. */
  readonly keys?: readonly EndpointKey[] | undefined;
  readonly name: string;
  readonly dataCollection?: boolean | undefined;
  readonly zeroDataRetention?: boolean | undefined;
  /** Present when the provider makes embeddings. */
  readonly embed?: unknown;
  /** API formats besides chat in which it may be called. Default: none. */
  readonly apiFormats?: readonly ApiFormatName[] | undefined;
  /** Its own web search, which `web_search_options` require, if all its models have it. Default: none. */
  readonly nativeSearch?: NativeSearch | undefined;
  /** True when its models read PDFs by themselves, as far as nothing else is known of them. Default false. */
  readonly readsFiles?: boolean | undefined;
  /** Whether a model, by its upstream name, goes on from an assistant message. Default: unknown. */
  readonly prefill?: ((upstreamModel: string) => boolean) | undefined;
  /** Parameters that it has no words for, whatever the model and whatever is declared. Default: none. */
  readonly unsupported?: readonly ParameterName[] | undefined;
}

/** Completes a declaration with the defaults of its provider. */
export function declareEndpoint(
  owner: EndpointOwner,
  model: string,
  declared: EndpointDeclaration,
  origins?: FactOrigins,
): Endpoint {
  const { upstreamModel, parameters, abilities, toolChoices, inputModalities, outputModalities, ...rest } = declared;
  const tier = declared.tier ?? 'default';
  const ending = declared.tag ?? declared.region ?? (tier === 'default' ? undefined : tier);
  const tag = ending === undefined ? owner.slug : `${owner.slug}/${ending}`;
  const name = upstreamModel ?? upstreamName(owner, model);
  const id = declared.variant === undefined ? model : `${model}:${declared.variant}`;
  return {
    ...rest,
    id: `${tag}#${id}`,
    model: id,
    provider: owner.slug,
    providerName: owner.name,
    tag,
    upstreamModel: name,
    tier,
    ...parameterSets(parameters, withoutWords(abilities, owner.unsupported)),
    toolChoices: toolChoices && new Set(toolChoices),
    inputModalities: inputModalities && new Set(inputModalities),
    outputModalities: outputModalities && new Set(outputModalities),
    canEmbed: owner.embed !== undefined,
    dataCollection: declared.dataCollection ?? owner.dataCollection ?? false,
    zeroDataRetention: declared.zeroDataRetention ?? owner.zeroDataRetention ?? false,
    quantization: declared.quantization ?? 'unknown',
    moderated: declared.moderated ?? false,
    apiFormats: owner.apiFormats ?? [],
    nativeSearch: owner.nativeSearch,
    readsFiles: owner.readsFiles ?? false,
    implicitCaching: declared.implicitCaching ?? false,
    prefill: declared.prefill ?? owner.prefill?.(name),
    ...(origins === undefined ? {} : { origins }),
  };
}

/** What a provider cannot say is not supported by any of its models. */
function withoutWords(
  abilities: Abilities | undefined,
  unsupported: readonly ParameterName[] = [],
): Abilities | undefined {
  if (unsupported.length === 0) return abilities;
  return { ...abilities, ...Object.fromEntries(unsupported.map((name) => [name, false])) };
}

/** A complete list with exceptions, or everything but what is known to be missing. */
function parameterSets(
  complete: readonly ParameterName[] | undefined,
  abilities: Abilities | undefined,
): Pick<Endpoint, 'parameters' | 'unknownParameters'> {
  if (abilities === undefined) return { parameters: complete && new Set(complete) };
  const maybe =
    complete === undefined
      ? ALL_PARAMETERS
      : [...complete, ...ALL_PARAMETERS.filter((name) => abilities[name] === true)];
  const parameters = new Set<ParameterName>(maybe.filter((name) => abilities[name] !== false));
  if (complete !== undefined) return { parameters };
  return { parameters, unknownParameters: new Set([...parameters].filter((name) => abilities[name] === undefined)) };
}

function upstreamName({ slug, vendor = slug }: EndpointOwner, model: string): string {
  const owner = [slug, vendor].find((one) => model.startsWith(`${one}/`));
  return owner === undefined ? model : model.slice(owner.length + 1);
}

/** A provider as the catalog sees it. */
export interface CatalogProvider extends EndpointOwner {
  readonly models: Readonly<Record<string, EndpointDeclaration | readonly EndpointDeclaration[]>>;
  /** True when any model under the provider's own slug may be requested, declared or not. */
  readonly acceptsAnyModel?: boolean | undefined;
}

/** Fields of an endpoint that a source may have. */
export type EndpointFacts = Pick<
  EndpointDeclaration,
  | 'price'
  | 'contextLength'
  | 'maxPromptTokens'
  | 'maxOutputTokens'
  | 'abilities'
  | 'inputModalities'
  | 'outputModalities'
  | 'reasoning'
>;

/** Fields of a model that a source may have. */
export type KnownInfo = Pick<ModelInfo, 'name' | 'description' | 'created' | 'family' | 'knowledgeCutoff' | 'status'>;

/** Name of a fact. */
export type FactName = keyof EndpointFacts | keyof KnownInfo;

/** Where a fact about a model comes from. */
export interface FactOrigin {
  /** Name of the source, for example `models.dev`. */
  readonly source: string;
  /** Day on which the source said so, `YYYY-MM-DD`. */
  readonly date: string;
  /** Licence of the source's data, for example `MIT`. */
  readonly licence: string;
}

/** Where facts come from, by the name of the field. */
export type FactOrigins = Readonly<Record<string, FactOrigin>>;

/** A model and its info, under its id. */
export interface Model extends ModelInfo {
  readonly id: string;
}

/**
 * Whether an endpoint may be called for this, by its declaration; `unknown` when nobody declared what comes out of it.
 * An endpoint serves embeddings when it declares the output `embeddings`, and chat when it declares any other.
 */
export function serves({ outputModalities, canEmbed }: Endpoint, operation: Operation): 'yes' | 'no' | 'unknown' {
  if (operation === 'embeddings' && !canEmbed) return 'no';
  if (outputModalities === undefined) return 'unknown';
  const embeds = outputModalities.has('embeddings');
  const does = operation === 'embeddings' ? embeds : !embeds || outputModalities.size > 1;
  return does ? 'yes' : 'no';
}

/**
 * The endpoint for embeddings. Where it may serve chat as well, its health is kept apart: a model that
 * refuses to make embeddings is no worse at chat.
 */
export function asEmbeddingEndpoint(endpoint: Endpoint): Endpoint {
  return serves(endpoint, 'chat') === 'no' ? endpoint : { ...endpoint, id: `${endpoint.id}/embeddings` };
}
