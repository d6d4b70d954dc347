// The router.
export { createRouter } from './router.ts';
export type { CallOptions, OpenedChat, Router, RouterInternals } from './router.ts';
export type { Brand, Cors, KeepAlive, ResolvedConfig, RouterConfig } from './config.ts';
export type { AliasOf, ModelOf, RequestModel } from './model-names.ts';
export type {
  ExplainedPlugin,
  ExplainedRejection,
  ExplainedServerTool,
  ExplainedStep,
  Explanation,
} from './explanation.ts';
export { ConfigError, RouterError } from './errors.ts';
export type { ConfigProblem, RouterErrorOptions } from './errors.ts';

// Who calls.
export { apiKeys } from './auth/api-keys.ts';
export type { ApiKey } from './auth/api-keys.ts';
export type { Authenticate, Credentials } from './auth/authenticate.ts';
export type { Account, AccountProviderKey, RoutingPolicy, Scope } from './core/account.ts';

// Who answers.
export {
  azure,
  deepinfra,
  deepseek,
  fireworks,
  groq,
  lmstudio,
  mistral,
  ollama,
  openai,
  openrouter,
  providersFromEnvironment,
  together,
  vllm,
  xai,
} from './providers/openai-compatible/vendors.ts';
export type { AzureOptions, ModelIds, VendorFactory } from './providers/openai-compatible/vendors.ts';
export { openaiCompatible } from './providers/openai-compatible/provider.ts';
export type {
  ChatProviderOptions,
  ModelTable,
  OpenAiCompatibleOptions,
} from './providers/openai-compatible/provider.ts';
export type { Dialect } from './providers/openai-compatible/dialect.ts';
export { simulated } from './providers/simulated/provider.ts';
export type { SimulatedModelIds } from './providers/simulated/provider.ts';
export type { SimulatedModel } from './providers/simulated/models.ts';
export type { SimulatedOptions } from './providers/simulated/options.ts';
export type { SimulatedBreak, SimulatedFailure, SimulatedOutcome } from './providers/simulated/outcomes.ts';
export type { AnswerScript, SimulatedAnswer, SimulatedToolCall } from './providers/simulated/scripted-answer.ts';
export type { EndpointDeclaration, EndpointTier, StaticVariant } from './catalog/endpoint.ts';
export type { ModelInfo } from './catalog/model.ts';
export type { Modality, ParameterName, ToolChoiceKind } from './catalog/parameters.ts';
export type { Price } from './catalog/price.ts';

// To bring a provider of your own.
export { failedReply } from './providers/provider.ts';
export type { CallProgress, PieceStream, Provider, ProviderCall, ProviderReply } from './providers/provider.ts';
export type { Catalog } from './catalog/catalog.ts';
export type { Endpoint } from './catalog/endpoint.ts';
export { failure } from './core/fallback/failure.ts';
export type { AttemptFailure, FailureKind } from './core/fallback/failure.ts';
export type { ModelTarget, Needs, NormalizedRequest } from './core/normalize/normalized-request.ts';
export type {
  DeltaPiece,
  EndPiece,
  FactsPiece,
  FailurePiece,
  FinishPiece,
  ReportedUsage,
  StreamPiece,
  UsagePiece,
} from './core/stream/pieces.ts';
export type { UpstreamResult } from './core/stream/upstream-result.ts';
export type { Transport, TransportRequest, TransportResponse } from './providers/transport/transport.ts';

// Plugins and server tools.
export { defaultPlugins, defaultServerTools } from './plugins/defaults.ts';
export { autoBetaRouter, autoRouter } from './plugins/auto-router/auto-router.ts';
export type { AutoRouterOptions } from './plugins/auto-router/auto-router.ts';
export { localClassifier } from './plugins/auto-router/classifier.ts';
export type { Classification, TaskClassifier } from './plugins/auto-router/classifier.ts';
export type { Prompt } from './plugins/auto-router/prompt-text.ts';
export { catalogScores } from './plugins/auto-router/ranking.ts';
export type { RankingSource } from './plugins/auto-router/ranking.ts';
export type { TaskType } from './plugins/auto-router/task-types.ts';
export type { Candidate } from './plugins/model-choice/candidates.ts';
export { paretoRouter } from './plugins/pareto-router/pareto-router.ts';
export type { ParetoRouterOptions } from './plugins/pareto-router/pareto-router.ts';
export { datetime } from './plugins/datetime/datetime.ts';
export type { DatetimeOptions } from './plugins/datetime/datetime.ts';

// To bring a plugin or a server tool of your own.
export { definePlugin } from './core/pipeline/plugin.ts';
export type { Plugin, PluginAnswer, Verdict } from './core/pipeline/plugin.ts';
export type { CandidatesContext } from './core/pipeline/candidates-context.ts';
export type { UsableTarget } from './core/selection/usable.ts';
export type { PluginDefault } from './core/pipeline/plugin-default.ts';
export type { PluginCause } from './core/pipeline/choose-plugins.ts';
export type { Awaitable, PlanContext, PluginContext, ServiceUse, StageRecord } from './core/pipeline/plugin-context.ts';
export type { RequestChange } from './core/pipeline/request-change.ts';
export type { ChunkTransform } from './core/pipeline/chunk-transform.ts';
export { defineServerTool } from './core/pipeline/server-tool.ts';
export type { ServerToolDefinition, ToolContext, ToolFunction, ToolOutcome } from './core/pipeline/server-tool.ts';
export { textAnswer } from './core/pipeline/text-answer.ts';
export type { OptionsCheck, OptionsParser } from './protocol/options.ts';

// Where state lives, and what happens.
export { memoryStore } from './storage/memory.ts';
export type { MemoryStoreOptions } from './storage/memory.ts';
export type { MaybePromise, StateStore } from './storage/state-store.ts';
export type {
  AttemptEvent,
  ErrorEvent,
  RequestFacts,
  ResultEvent,
  RouterEvents,
  RouterListener,
  WarningEvent,
} from './runtime/events.ts';
export type { Environment } from './runtime/environment.ts';

// To bring a mount of your own.
export { handle } from './http/handle.ts';
export { errorReplyOf, notFoundReply } from './http/error-reply.ts';
export { BodyError } from './http/exchange.ts';
export type { Frames, HttpCall, HttpHeaders, HttpReply, ParsedBody, UnreadBody } from './http/exchange.ts';

// The wire.
export type { ChatRequest, OutputModality, ServiceTier } from './protocol/chat-request.ts';
export type {
  AudioPart,
  CacheControl,
  ContentPart,
  FilePart,
  ImagePart,
  PromptCacheBreakpoint,
  RefusalPart,
  TextPart,
  VideoPart,
} from './protocol/content-part.ts';
export type {
  AssistantMessage,
  Message,
  SystemMessage,
  ToolCall,
  ToolMessage,
  UserMessage,
} from './protocol/message.ts';
export type { FunctionTool, ServerTool, Tool, ToolChoice } from './protocol/tools.ts';
export type { JsonSchemaFormat, ResponseFormat } from './protocol/response-format.ts';
export type { ReasoningDetail, ReasoningEffort, ReasoningOptions } from './protocol/reasoning.ts';
export type {
  MaxPrice,
  Percentiles,
  ProviderPreferences,
  Quantization,
  SortKey,
} from './protocol/provider-preferences.ts';
export type { PluginEntry } from './protocol/plugins.ts';
export type { StopCondition } from './protocol/stop-conditions.ts';
export type {
  Annotation,
  ChatResult,
  Choice,
  FinishReason,
  Logprobs,
  OutputAudio,
  OutputImage,
  ResultMessage,
  ResultToolCall,
  TokenLogprob,
} from './protocol/chat-result.ts';
export type { ChatChunk, ChunkChoice, Delta, ToolCallDelta } from './protocol/chunk.ts';
export type { CompletionTokensDetails, CostDetails, PromptTokensDetails, Usage } from './protocol/usage.ts';
export type { PipelineStage, RouterMetadata, RoutingStrategy } from './protocol/metadata.ts';
export type {
  Availability,
  AvailabilityCode,
  ErrorBody,
  ErrorDetail,
  ErrorMetadata,
  ErrorType,
} from './protocol/error.ts';
export type {
  EndpointCard,
  EndpointList,
  ModelCard,
  ModelList,
  ProviderCard,
  ProviderList,
} from './protocol/models.ts';
export type { JsonObject, JsonValue } from './protocol/json.ts';
