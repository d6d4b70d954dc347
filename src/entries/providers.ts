/** Public surface: who answers. */
export {
  azure,
  cerebras,
  cloudflare,
  cohere,
  deepinfra,
  deepseek,
  fireworks,
  github,
  groq,
  huggingface,
  lmstudio,
  minimax,
  mistral,
  moonshot,
  nvidia,
  ollama,
  openai,
  openrouter,
  perplexity,
  qwen,
  sambanova,
  together,
  vllm,
  xai,
  zhipu,
} from '../providers/openai-compatible/vendors.ts';
export type { AzureOptions, VendorFactory } from '../providers/openai-compatible/vendors.ts';
export { providersFromEnvironment } from '../providers/from-environment.ts';
export { anthropic } from '../providers/anthropic/provider.ts';
export type { AnthropicOptions } from '../providers/anthropic/provider.ts';
export { bedrock } from '../providers/bedrock/provider.ts';
export type { BedrockOptions } from '../providers/bedrock/provider.ts';
export { google } from '../providers/google/provider.ts';
export type { GoogleOptions, SafetySetting } from '../providers/google/provider.ts';
export { openaiCompatible } from '../providers/openai-compatible/provider.ts';
export type {
  ChatProviderOptions,
  ModelTable,
  OpenAiCompatibleOptions,
  NativeApiFormat,
} from '../providers/openai-compatible/options.ts';
export type { VendorQuirks, EmbeddingQuirks } from '../providers/openai-compatible/vendor-quirks.ts';
export type { BatchPath } from '../providers/openai-compatible/native-batches.ts';
export { fromAiSdk } from '../providers/ai-sdk/provider.ts';
export type { DownloadFile, DownloadedFile } from '../providers/guarded-download.ts';
export type { ProviderOptions } from '../providers/ai-sdk/model.ts';
export type { AiSdkEmbeddingModel, AiSdkModel, AiSdkUpstream, SpecVersion } from '../providers/ai-sdk/model.ts';
export type {
  AiSdkCommonOptions,
  AiSdkDeclaration,
  AiSdkModelOptions,
  AiSdkModelTable,
  AiSdkOptions,
} from '../providers/ai-sdk/options.ts';
export type { AiSdkWarning } from '../providers/ai-sdk/warnings.ts';
export { simulated } from '../providers/simulated/provider.ts';
export type { SimulatedModel } from '../providers/simulated/options.ts';
export type { SimulatedOptions } from '../providers/simulated/options.ts';
export type { SimulatedBreak, SimulatedFailure, SimulatedOutcome } from '../providers/simulated/outcomes.ts';
export type { AnswerScript, SimulatedAnswer, SimulatedToolCall } from '../providers/simulated/options.ts';
export type {
  Abilities,
  Endpoint,
  EndpointDeclaration,
  EndpointTier,
  StaticVariant,
  FactOrigin,
} from '../catalog/endpoint.ts';
export type { CatalogFacts } from '../catalog/facts.ts';
export type { CostPart } from '../catalog/cost.ts';
export type { ModelInfo } from '../catalog/model.ts';
export type { Operation } from '../catalog/model.ts';
export type { Modality, ParameterName, ToolChoiceKind } from '../catalog/model.ts';
export type { BilledTier, LongPromptRates, Price, PriceChange, Rates } from '../catalog/price.ts';
export type { CatalogInput } from '../runtime/endpoints/known-models.ts';

/** Public surface: what a provider of your own is made of. */
export { failedReply } from '../contracts/provider.ts';
export type { CallProgress, EmbeddingCall, Provider, ProviderCall } from '../contracts/provider.ts';
export type { ProviderTokenCount, TokenCountCall } from '../contracts/provider.ts';
export type { ProviderKey, ProviderKeyFunction, ProviderToken } from '../contracts/account.ts';
export type { EndpointKey } from '../catalog/endpoint.ts';
export type { NamedKey } from '../providers/provider-api.ts';
export type { Catalog } from '../catalog/catalog.ts';
export type {
  ModelTarget,
  Needs,
  NormalizedRequest,
  RoutedRequest,
  NormalizedEmbeddingRequest,
} from '../contracts/request.ts';
export type { Transport, TransportRequest, TransportResponse } from '../net/transport.ts';
export type { EmbeddingReply, PieceStream, ProviderReply } from '../contracts/provider-reply.ts';
export { failure } from '../contracts/failure.ts';
export type { AttemptFailure, FailureKind } from '../contracts/failure.ts';
export type {
  DeltaPiece,
  EndPiece,
  FactsPiece,
  FailurePiece,
  FinishPiece,
  ReportedUsage,
  StreamPiece,
  UsagePiece,
  UpstreamEmbeddings,
  UpstreamResult,
} from '../contracts/stream-piece.ts';
