/** Public surface: what travels: requests, answers, chunks, errors. */
export type { ChatFields, ChatRequest, OutputModality, ServiceTier } from '../protocol/chat-request.ts';
export type {
  Embedding,
  EmbeddingInput,
  EmbeddingItem,
  EmbeddingRequest,
  EmbeddingResult,
  EmbeddingUsage,
  EncodingFormat,
  MultimodalInput,
} from '../protocol/embedding.ts';
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
} from '../protocol/content-part.ts';
export type {
  AssistantMessage,
  Message,
  SystemMessage,
  ToolCall,
  ToolMessage,
  UserMessage,
} from '../protocol/message.ts';
export type {
  BuiltInServerTool,
  FunctionTool,
  ServerTool,
  Tool,
  ToolChoice,
  ToolCallExtra,
} from '../protocol/tools.ts';
export type { JsonSchemaFormat, ResponseFormat } from '../protocol/reasoning.ts';
export type { ReasoningDetail, ReasoningEffort, ReasoningOptions } from '../protocol/reasoning.ts';
export type {
  MaxPrice,
  Percentiles,
  ProviderPreferences,
  Quantization,
  SortKey,
} from '../protocol/provider-preferences.ts';
export type { PluginEntry } from '../protocol/plugins.ts';
export type { BuiltInPlugin, BuiltInProvider, PluginId, ProviderName } from '../options/names.ts';
export type { StopCondition } from '../protocol/reasoning.ts';
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
} from '../protocol/chat-result.ts';
export type { ChatChunk, ChunkChoice, Delta, ToolCallDelta } from '../protocol/chunk.ts';
export type { PipelineStage, RouterMetadata, RoutingStrategy } from '../protocol/metadata.ts';
export type {
  Availability,
  AvailabilityCode,
  ErrorBody,
  ErrorDetail,
  ErrorMetadata,
  ErrorType,
} from '../protocol/error.ts';
export type {
  EndpointCard,
  EndpointList,
  ModelCard,
  ModelList,
  PrivateEndpointList,
  ProviderCard,
  ProviderList,
} from '../protocol/models.ts';
export type { MessagesRequest, MessagesTurn } from '../formats/messages/protocol/messages-request.ts';
export type { MessagesErrorBody, MessagesResult, MessagesUsage } from '../formats/messages/protocol/messages-result.ts';
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
} from '../protocol/batch.ts';
export type { BatchFields, BatchProvider } from '../protocol/create-batch.ts';
export type { BatchEnd, BatchWebhookEvent } from '../protocol/batch.ts';
export type { JsonObject, JsonValue } from '../protocol/json.ts';
export type { CompletionTokensDetails, CostDetails, PromptTokensDetails, Usage } from '../protocol/usage.ts';
