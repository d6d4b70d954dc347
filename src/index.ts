// The router.
export { createRouter } from './router.ts';
export type { CallOptions, OpenedChat, Router, RouterInternals, VectorOf } from './router.ts';
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

// Who calls, and what callers may use and spend.
export { apiKeys } from './auth/api-keys.ts';
export type { ApiKey } from './auth/api-keys.ts';
export type { Authenticate, Credentials } from './auth/authenticate.ts';
export type { Account, AccountProviderKey, RoutingPolicy, Scope } from './core/account.ts';
export type { BudgetsOptions, RateLimitsOptions, ResponseCacheOptions } from './config-limits.ts';
export type * from './limits/budget-keeper.ts';
export type * from './limits/rate-limiter.ts';
export type * from './limits/response-cache.ts';

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
  together,
  vllm,
  xai,
} from './providers/openai-compatible/vendors.ts';
export type { AzureOptions, ModelIds, VendorFactory } from './providers/openai-compatible/vendors.ts';
export { providersFromEnvironment } from './providers/from-environment.ts';
export { anthropic } from './providers/anthropic/provider.ts';
export type { AnthropicOptions } from './providers/anthropic/provider.ts';
export { google } from './providers/google/provider.ts';
export type { GoogleOptions, SafetySetting } from './providers/google/provider.ts';
export { openaiCompatible } from './providers/openai-compatible/provider.ts';
export type {
  ChatProviderOptions,
  ModelTable,
  OpenAiCompatibleOptions,
} from './providers/openai-compatible/provider.ts';
export type { Dialect, EmbeddingDialect } from './providers/openai-compatible/dialect.ts';
export type { BatchPath } from './providers/openai-compatible/native-batches.ts';
export type { NativeDialect } from './providers/openai-compatible/native-dialects.ts';
export { fromAiSdk } from './providers/ai-sdk/provider.ts';
export type { DownloadFile, DownloadedFile } from './providers/ai-sdk/download.ts';
export type { ProviderOptions } from './providers/ai-sdk/call-options.ts';
export type { AiSdkEmbeddingModel, AiSdkModel, AiSdkUpstream, SpecVersion } from './providers/ai-sdk/model.ts';
export type {
  AiSdkCommonOptions,
  AiSdkDeclaration,
  AiSdkModelOptions,
  AiSdkModelTable,
  AiSdkOptions,
} from './providers/ai-sdk/options.ts';
export type { AiSdkWarning } from './providers/ai-sdk/warnings.ts';
export { simulated } from './providers/simulated/provider.ts';
export type { SimulatedModelIds } from './providers/simulated/provider.ts';
export type { SimulatedModel } from './providers/simulated/models.ts';
export type { SimulatedOptions } from './providers/simulated/options.ts';
export type { SimulatedBreak, SimulatedFailure, SimulatedOutcome } from './providers/simulated/outcomes.ts';
export type { AnswerScript, SimulatedAnswer, SimulatedToolCall } from './providers/simulated/scripted-answer.ts';
export type { Abilities, Endpoint, EndpointDeclaration, EndpointTier, StaticVariant } from './catalog/endpoint.ts';
export type { FactOrigin } from './catalog/fact-origin.ts';
export type { CatalogFacts } from './catalog/facts.ts';
export type { CostPart } from './catalog/cost.ts';
export type { ModelInfo } from './catalog/model.ts';
export type { Operation } from './catalog/operation.ts';
export type { Modality, ParameterName, ToolChoiceKind } from './catalog/parameters.ts';
export type { BilledTier, LongPromptRates, Price, PriceChange, Rates } from './catalog/price.ts';
export type { CatalogInput } from './runtime/known-models.ts';

// To bring a provider of your own.
export { failedReply } from './providers/provider.ts';
export type {
  CallProgress,
  EmbeddingCall,
  EmbeddingReply,
  PieceStream,
  Provider,
  ProviderCall,
  ProviderReply,
} from './providers/provider.ts';
export type { Catalog } from './catalog/catalog.ts';
export { failure } from './core/fallback/failure.ts';
export type { AttemptFailure, FailureKind } from './core/fallback/failure.ts';
export type { NormalizedEmbeddingRequest } from './core/normalize/normalized-embedding-request.ts';
export type { ModelTarget, Needs, NormalizedRequest, RoutedRequest } from './core/normalize/normalized-request.ts';
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
export type { UpstreamEmbeddings } from './core/embeddings/upstream-embeddings.ts';
export type { UpstreamResult } from './core/stream/upstream-result.ts';
export type { Transport, TransportRequest, TransportResponse } from './providers/transport/transport.ts';

// Plugins and server tools.
export { defaultPlugins, defaultServerTools } from './plugins/defaults.ts';
export * from './plugins/model-routers.ts';
export { datetime } from './plugins/datetime/datetime.ts';
export type { DatetimeOptions } from './plugins/datetime/datetime.ts';
export { fusion } from './plugins/fusion/fusion.ts';
export { fusionTool } from './plugins/fusion/fusion-tool.ts';
export type { FusionOptions } from './plugins/fusion/fusion-tool.ts';
export type { FusionTeam, FusionTeams } from './plugins/fusion/team.ts';
export type { FusionAnalysis } from './protocol/fusion-analysis.ts';
export type {
  AdvisorOptions,
  FusionPluginOptions,
  FusionPreset,
  FusionToolOptions,
  SubagentOptions,
} from './protocol/inner-model-options.ts';
export { advisorTool } from './plugins/advisor/advisor.ts';
export { subagentTool } from './plugins/subagent/subagent.ts';
export type { HelperToolOptions } from './plugins/inner-call/helper-model.ts';
export { imageGenerationTool } from './plugins/image-generation/image-generation.ts';
export type {
  ImageGenerationOptions,
  ImageGenerationToolOptions,
} from './plugins/image-generation/image-generation.ts';
export { openaiImages } from './plugins/image-generation/openai-images.ts';
export type { OpenAIImagesOptions } from './plugins/image-generation/openai-images.ts';
export type { GeneratedImages, ImageGenerator, ImageRequest } from './plugins/ports/image-generator.ts';
export { searchModelsTool } from './plugins/search-models/search-models.ts';
export type { SearchModelsOptions } from './plugins/search-models/search-models.ts';
export { filesTool } from './plugins/files/files.ts';
export type { FilesToolOptions } from './plugins/files/files.ts';
export { memoryFileLibrary } from './plugins/files/memory-file-library.ts';
export type { MemoryFileLibraryOptions } from './plugins/files/memory-file-library.ts';
export { FileLibraryFull } from './plugins/ports/file-library.ts';
export type { FileCard, FileLibrary } from './plugins/ports/file-library.ts';
export { contextCompression } from './plugins/context-compression/context-compression.ts';
export type {
  ContextCompressionOptions,
  ContextCompressionRequestOptions,
} from './plugins/context-compression/context-compression.ts';
export { gptTokens } from './plugins/context-compression/gpt-tokens.ts';
export type { TokenCounter } from './plugins/context-compression/count-message.ts';
export { responseHealing } from './plugins/response-healing/response-healing.ts';
export { web } from './plugins/web/web.ts';
export type { WebPluginOptions, WebRequestOptions } from './plugins/web/web.ts';
export { webSearchTool } from './plugins/web-search/web-search.ts';
export type { WebSearchOptions, WebSearchToolOptions } from './plugins/web-search/web-search.ts';
export { webFetch } from './plugins/web-fetch/web-fetch.ts';
export { webFetchTool } from './plugins/web-fetch/web-fetch-tool.ts';
export type { WebFetchToolOptions } from './plugins/web-fetch/web-fetch-tool.ts';
export type { WebFetchOptions } from './plugins/web-fetch/web-fetch-options.ts';

// Services behind plugins and server tools.
export { brave } from './plugins/search/brave.ts';
export { exa } from './plugins/search/exa.ts';
export { searxng } from './plugins/search/searxng.ts';
export type { SearxngOptions } from './plugins/search/searxng.ts';
export { tavily } from './plugins/search/tavily.ts';
export { searchEnginesFromEnvironment } from './plugins/search/engines-from-environment.ts';
export type { KeyedSearchEngineOptions, SearchEngineOptions } from './plugins/search/engine-options.ts';
export type { SearchAnswer, SearchEngine, SearchQuery, SearchResult } from './plugins/ports/search-engine.ts';
export { guardedFetcher } from './plugins/pages/guarded-fetcher.ts';
export type { GuardedFetcherOptions } from './plugins/pages/guarded-fetcher.ts';
export { PageError } from './plugins/ports/page-fetcher.ts';
export type { FetchedPage, PageFetcher, PageRequest } from './plugins/ports/page-fetcher.ts';
export { guardrails } from './plugins/guardrails/guardrails.ts';
export type { GuardrailsOptions } from './plugins/guardrails/guardrails.ts';
export type {
  ContentGuardrail,
  Guardrail,
  GuardrailAction,
  GuardrailRequestOptions,
  InjectionGuardrail,
  PiiGuardrail,
  PiiKind,
} from './protocol/guardrail-options.ts';
export { moderation } from './plugins/moderation/moderation.ts';
export type { ModerationOptions } from './plugins/moderation/moderation.ts';
export { openaiModeration } from './plugins/moderation/openai-moderation.ts';
export type { OpenAiModerationOptions } from './plugins/moderation/openai-moderation.ts';
export type { ModerationInput, ModerationService, ModerationVerdict } from './plugins/ports/moderation-service.ts';
export { fileParser } from './plugins/file-parser/file-parser.ts';
export type { FileParserOptions } from './plugins/file-parser/file-parser.ts';
export { mistralOcr } from './plugins/file-parser/mistral-ocr.ts';
export type { MistralOcrOptions } from './plugins/file-parser/mistral-ocr.ts';
export { localPdfReader } from './plugins/pdf/local-pdf-reader.ts';
export type { LocalPdfReaderOptions } from './plugins/pdf/local-pdf-reader.ts';
export type { PdfJob, PdfResources, RunPdfJob } from './plugins/pdf/pdf-job.ts';
export type { OcrEngine, OcrRequest, OcrText } from './plugins/ports/ocr-engine.ts';
export type { FileQuery, FileStore, StoredFile } from './plugins/ports/file-store.ts';
export type { FileParserRequestOptions, PdfEngine } from './protocol/file-parser-options.ts';
export { PdfError } from './plugins/ports/pdf-reader.ts';
export type { PdfProblem, PdfReader, PdfRequest, PdfText } from './plugins/ports/pdf-reader.ts';
export type { DomainFilter } from './plugins/domains/domain-filter.ts';
export type { DomainRule } from './plugins/domains/domain-rule.ts';
export type { OutboundOptions } from './outbound/outbound.ts';
export type { SearchContextSize, SearchMode, UserLocation } from './protocol/web-options.ts';

// To bring a plugin or a server tool of your own.
export { definePlugin } from './core/pipeline/plugin.ts';
export type { Plugin, PluginAnswer, Verdict } from './core/pipeline/plugin.ts';
export type { CandidatesContext } from './core/pipeline/candidates-context.ts';
export type { UsableTarget } from './core/selection/usable.ts';
export type { PluginDefault } from './core/pipeline/plugin-default.ts';
export type {
  Awaitable,
  InnerCallOptions,
  PlanContext,
  PluginCause,
  PluginContext,
  ServiceUse,
  StageRecord,
} from './core/pipeline/plugin-context.ts';
export type { RequestChange } from './core/pipeline/request-change.ts';
export type { ChunkTransform } from './core/pipeline/chunk-transform.ts';
export { defineServerTool } from './core/pipeline/server-tool.ts';
export type { ServerToolDefinition, ToolContext, ToolFunction, ToolOutcome } from './core/pipeline/server-tool.ts';
export { textAnswer } from './core/pipeline/text-answer.ts';
export type { OptionsCheck, OptionsParser } from './protocol/options.ts';

// Where state lives, and what happens.
export { memoryStore } from './storage/memory.ts';
export type { MemoryStoreOptions } from './storage/memory.ts';
export type { ChangedCounters, CounterChange, MaybePromise, StateStore } from './storage/state-store.ts';
export { withLocalFallback } from './storage/local-fallback.ts';
export type { LocalFallbackOptions } from './storage/local-fallback.ts';
export { memoryStorage } from './storage/memory-storage.ts';
export type { MemoryStorageOptions } from './storage/memory-storage.ts';
export { StorageError } from './storage/storage-error.ts';
export type { StorageErrorReason } from './storage/storage-error.ts';
export { DuplicateCustomIdError } from './storage/batch-store.ts';
export type {
  BatchListQuery,
  BatchStore,
  BatchTask,
  ClaimedItem,
  ClaimedTask,
  IdempotencyKey,
  ItemOutcome,
  PublishOutcome,
  StoredItem,
  StoredOutcome,
} from './storage/batch-store.ts';
export type { BatchPreferences, BatchRecord } from './core/batch/batch-record.ts';
export type { BatchEffect } from './core/batch/machine.ts';
export type {
  AttemptEvent,
  AttemptFacts,
  AttemptStartEvent,
  BatchUpdateEvent,
  ErrorEvent,
  HealthEvent,
  NumericParameter,
  PluginEvent,
  PluginFacts,
  PluginOutcome,
  RequestEvent,
  RequestFacts,
  ResultEvent,
  RouterEventSource,
  RouterEvents,
  RouterListener,
  RouterListeners,
  StageCosts,
  StageFacts,
  ToolCallOutcome,
  ToolEvent,
  ToolFacts,
  WarningEvent,
} from './runtime/events.ts';
export type { TraceContext } from './core/trace-context.ts';
export { logSink } from './observe/log-sink.ts';
export type { Logger } from './observe/log-sink.ts';
export type { Environment } from './runtime/environment.ts';

// Batches.
export type { BatchesOptions, WebhooksOptions } from './config-batches.ts';
export type { BatchOptions, Batches, ListBatchesOptions } from './runtime/batches/batches.ts';
export type { CreateBatchOptions, NewBatch } from './runtime/batches/create-batch.ts';
export type { BatchLimits } from './runtime/batches/limits.ts';
export { FAIL_POINTS } from './runtime/batches/fail-point.ts';
export type { FailPoint, ReachFailPoint } from './runtime/batches/fail-point.ts';
export { localQueue } from './queue/local.ts';
export type { LocalQueueOptions } from './queue/local.ts';
export type { TaskPumpOptions } from './queue/task-pump.ts';
export type {
  QueuePorts,
  TaskHandler,
  TaskQueue,
  TaskQueueFactory,
  TaskResult,
  TaskSignals,
} from './queue/task-queue.ts';
export { WebhookVerificationError, verifyWebhook } from './runtime/webhooks/verify-webhook.ts';
export type { WebhookDelivery } from './runtime/webhooks/verify-webhook.ts';
export type {
  NativeBatches,
  NativeCall,
  NativeItem,
  NativeJob,
  NativeJobCall,
  NativeLookup,
  NativeReply,
  NativeResult,
  NativeState,
  NativeSubmission,
} from './providers/native-batches.ts';

// To bring a mount of your own.
export { handle } from './http/handle.ts';
export { errorReplyOf, notFoundReply } from './http/error-reply.ts';
export { BodyError } from './http/exchange.ts';
export type { Frames, HttpCall, HttpHeaders, HttpReply, ParsedBody, UnreadBody } from './http/exchange.ts';

// The wire.
export type { ChatRequest, OutputModality, ServiceTier } from './protocol/chat-request.ts';
export type {
  EmbeddingInput,
  EmbeddingItem,
  EmbeddingRequest,
  EncodingFormat,
  MultimodalInput,
} from './protocol/embedding-request.ts';
export type { Embedding, EmbeddingResult, EmbeddingUsage } from './protocol/embedding-result.ts';
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
export type { ToolCallExtra } from './protocol/tool-call-extra.ts';
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
export type { MessagesRequest, MessagesTurn } from './protocol/messages/messages-request.ts';
export type { MessagesErrorBody, MessagesResult, MessagesUsage } from './protocol/messages/messages-result.ts';
export type {
  Batch,
  BatchEndpoint,
  BatchItemError,
  BatchList,
  BatchRequest,
  BatchRequestCounts,
  BatchResultItem,
  BatchStatus,
  DeletedBatch,
} from './protocol/batch.ts';
export type { BatchFields, BatchProvider } from './protocol/create-batch.ts';
export type { BatchEnd, BatchWebhookEvent } from './protocol/webhook.ts';
export type { JsonObject, JsonValue } from './protocol/json.ts';
