/** The options of providers that speak chat completions. */
import type { ProviderKey } from '../../options/accounts.ts';
import type { AcceptedConversation } from '../../core/accepts.ts';
import type { CallTimeouts, EndpointDeclaration } from '../../catalog/endpoint.ts';
import { callTimeouts } from '../../catalog/model-options.ts';
import type { Transport } from '../../net/transport.ts';
import { NETWORK, type NetworkOptions } from '../../options/http.ts';
import type { NamedKey } from '../provider-api.ts';
import type { VendorQuirks, EmbeddingQuirks } from './vendor-quirks.ts';
import { unknown, boolean } from '../../schema/scalars.ts';
import { anyString, sender, group, valueThat, type OptionShape, nonEmptyString } from '../../options/values.ts';
import { schemaOf } from '../../options/option.ts';
import { array, record } from '../../schema/collections.ts';
import { anyNumber, headerValue, keyOrFunction, severalKeys } from '../check-options.ts';
import type { ApiFormatName } from '../../protocol/api-format.ts';

/** Models of a provider: id in this router to how the provider offers it, or to several such endpoints. */
export type ModelTable<Model extends string = string> = Readonly<
  Record<Model, EndpointDeclaration | readonly EndpointDeclaration[]>
>;

/** Options that every vendor of the chat completions wire has. */
export interface ChatProviderOptions<Model extends string = string> {
  /**
   * Key for the provider, or a function that gives keys or tokens when they are needed, kept until their `expiresAt`.
   * Default: the vendor's environment variable.
   */
  readonly apiKey?: ProviderKey | undefined;
  /**
   * Several keys instead of one, as they are or with `name`, `weight`, `rpm`, `tpm` and `concurrency`. Each makes
   * endpoints of its own, with a health and limits of their own; `order: ['openai/NAME']` selects one. Default: `apiKey`.
   */
  readonly keys?: readonly (ProviderKey | NamedKey)[] | undefined;
  /**
   * Name of the provider in preferences and in front of ids of models: lower-case letters, digits and dashes. Default:
   * that of the vendor; another one for routers that have the vendor more than once.
   */
  readonly slug?: string | undefined;
  /** Address of the API. Default: the vendor's own. */
  readonly baseURL?: string | undefined;
  /** Models on offer. Left out: every model under the provider's slug is passed on, with unknown price and abilities. */
  readonly models?: ModelTable<Model> | undefined;
  /** Default: the vendor's name. */
  readonly name?: string | undefined;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** True when prompts are stored or trained on. Default: what the vendor does by default. */
  readonly dataCollection?: boolean | undefined;
  /** True when nothing is kept after the answer. Default false. */
  readonly zeroDataRetention?: boolean | undefined;
  /** Time limits of calls, in milliseconds, before those of the router. Default: none of its own. */
  readonly timeouts?: CallTimeouts | undefined;
  /**
   * API formats besides chat completions that this server supports natively: callers with requests in one of them get
   * its own words. Default: what the vendor supports at its own address, and none at any other.
   */
  readonly nativeApiFormats?: readonly NativeApiFormat[] | undefined;
  /**
   * Whether batches are handed to the server's own batch API, which stores requests and answers, takes up to its own
   * window and charges its own price. Default: yes where the vendor has one, at its own address; no at any other, where
   * the requests of batches are run one by one.
   */
  readonly nativeBatches?: boolean | undefined;
  /**
   * Whether the server is asked why a prompt was not in its cache, where a ledger is kept: by `diagnostics` of Messages,
   * and by `comparison_response_id` of Responses from GPT-5.6 on. Default: yes at Anthropic's and OpenAI's own addresses.
   */
  readonly cacheDiagnostics?: boolean | undefined;
  /**
   * Proxy and certificate authorities of this provider, in place of the router's `net`. Not with `transport`, and on Node
   * only. Default: those of the router.
   */
  readonly net?: NetworkOptions | undefined;
  /** How requests are sent. Default: undici on Node, `fetch` elsewhere. */
  readonly transport?: Transport | undefined;
}

/** Options of `openaiCompatible`. */
export interface OpenAiCompatibleOptions<Model extends string = string> extends ChatProviderOptions<Model> {
  /** Name of the provider in preferences: lower-case letters, digits and dashes. */
  readonly slug: string;
  readonly baseURL: string;
  /** How this server differs from the others. */
  readonly quirks?: VendorQuirks | undefined;
  /** Query of every request, for example `api-version=2024-10-21`. */
  readonly query?: string | undefined;
  /** Header that carries the key. Default `authorization`, with `Bearer` in front. */
  readonly keyHeader?: string | undefined;
}

/**
 * Options of every vendor of the chat completions wire. What slugs, addresses and keys must look like is checked by
 * `checkProviderOptions`, and models by the router.
 */
export const CHAT_PROVIDER_OPTIONS: OptionShape<ChatProviderOptions> = {
  apiKey: keyOrFunction,
  keys: severalKeys,
  slug: anyString,
  baseURL: valueThat('an http(s) address', (value) => typeof value === 'string'),
  models: record(unknown),
  name: nonEmptyString,
  headers: record(headerValue),
  dataCollection: boolean,
  zeroDataRetention: boolean,
  timeouts: callTimeouts,
  nativeApiFormats: unknown,
  nativeBatches: boolean,
  cacheDiagnostics: boolean,
  net: schemaOf(NETWORK),
  transport: sender,
};

/** Options of a server with the chat completions API. */
export const OPENAI_COMPATIBLE_OPTIONS: OptionShape<OpenAiCompatibleOptions> = {
  ...CHAT_PROVIDER_OPTIONS,
  quirks: group<VendorQuirks>({
    maxTokensField: nonEmptyString,
    userField: nonEmptyString,
    batchWire: nonEmptyString,
    batchPaths: array(nonEmptyString),
    batchPriceFactor: anyNumber,
    developerRole: boolean,
    streamOptions: boolean,
    padsChunks: boolean,
    reasoning: nonEmptyString,
    efforts: array(nonEmptyString),
    seedField: nonEmptyString,
    forcedTool: nonEmptyString,
    toolCallIds: nonEmptyString,
    conversation: group<NonNullable<VendorQuirks['conversation']>>({
      systemTurns: nonEmptyString,
      turns: nonEmptyString,
      calls: nonEmptyString,
      afterResults: nonEmptyString,
      nullContent: boolean,
      lists: group<AcceptedConversation['lists']>({
        system: boolean,
        user: boolean,
        assistant: boolean,
        tool: boolean,
      }),
      media: group<AcceptedConversation['media']>({
        user: array(nonEmptyString),
        assistant: array(nonEmptyString),
        tool: array(nonEmptyString),
      }),
      fileNames: nonEmptyString,
      fileAddresses: boolean,
      prefill: nonEmptyString,
      toolIds: nonEmptyString,
    }),
    cacheMarks: nonEmptyString,
    reasoningHistory: nonEmptyString,
    messageNames: boolean,
    originalImages: boolean,
    readsFiles: boolean,
    prefill: boolean,
    maxTemperature: valueThat('a number', (value) => typeof value === 'number' && value >= 0),
    serviceTiers: array(nonEmptyString),
    promptCacheFields: boolean,
    countsInput: boolean,
    responsesExtensions: boolean,
    unsupported: array(nonEmptyString),
    embeddings: group<EmbeddingQuirks>({ base64: boolean, dimensionsField: nonEmptyString, user: boolean }),
    reasoningOutsideCompletion: boolean,
  }),
  query: anyString,
  keyHeader: nonEmptyString,
};

/** API formats besides chat completions that servers of this family support. */
export type NativeApiFormat = Extract<ApiFormatName, 'responses'>;
