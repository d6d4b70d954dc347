/** Public surface: plugins and server tools. */
export { defaultPlugins, defaultServerTools } from '../plugins/defaults.ts';
export { autoBetaRouter, autoRouter } from '../plugins/auto-router/auto-router.ts';
export type { AutoRouterOptions } from '../plugins/auto-router/auto-router.ts';
export { localClassifier } from '../plugins/auto-router/classifier.ts';
export type {
  Classification,
  LocalClassifier,
  TaskClassifier,
  TaskProbability,
} from '../plugins/auto-router/classifier.ts';
export type { Prompt } from '../plugins/auto-router/classifier.ts';
export { catalogScores } from '../plugins/auto-router/catalog-scores.ts';
export type { RankingSource, Score } from '../plugins/auto-router/catalog-scores.ts';
export type { TaskType } from '../plugins/auto-router/task-types.ts';
export type { Candidate } from '../plugins/services/inner-call/candidates.ts';
export { bodyBuilder } from '../plugins/body-builder/body-builder.ts';
export { paretoRouter } from '../plugins/pareto-router/pareto-router.ts';
export type { ParetoRouterOptions } from '../plugins/pareto-router/pareto-router.ts';
export { datetime } from '../plugins/datetime/datetime.ts';
export type { DatetimeOptions } from '../plugins/datetime/datetime.ts';
export { fusion, fusionTool } from '../plugins/fusion/fusion.ts';
export type { FusionOptions } from '../plugins/fusion/fusion.ts';
export type {
  AdvisorOptions,
  FusionAnalysis,
  FusionPluginOptions,
  FusionPreset,
  FusionToolOptions,
  SubagentOptions,
} from '../protocol/inner-model-options.ts';
export { advisorTool } from '../plugins/advisor/advisor.ts';
export { subagentTool } from '../plugins/subagent/subagent.ts';
export type { HelperToolOptions } from '../plugins/services/inner-call/helper-model.ts';
export { imageGenerationTool } from '../plugins/image-generation/image-generation.ts';
export type {
  ImageGenerationOptions,
  ImageGenerationToolOptions,
} from '../plugins/image-generation/image-generation.ts';
export { openaiImages } from '../plugins/image-generation/openai-images.ts';
export type { OpenAIImagesOptions } from '../plugins/image-generation/openai-images.ts';
export { FileLibraryFull, PageError } from '../contracts/plugin-services.ts';
export type {
  DomainFilter,
  DomainRule,
  FetchedPage,
  FileCard,
  FileLibrary,
  FileQuery,
  FileStore,
  GeneratedImages,
  ImageGenerator,
  ImageRequest,
  ModerationInput,
  ModerationService,
  ModerationVerdict,
  PageFetcher,
  PageRequest,
  SearchAnswer,
  SearchEngine,
  SearchQuery,
  SearchResult,
  StoredFile,
} from '../contracts/plugin-services.ts';
export { searchModelsTool } from '../plugins/search-models/search-models.ts';
export type { SearchModelsOptions } from '../plugins/search-models/search-models.ts';
export { filesTool, memoryFileLibrary } from '../plugins/files/files.ts';
export type { FilesToolOptions, MemoryFileLibraryOptions } from '../plugins/files/files.ts';
export { contextCompression } from '../plugins/context-compression/context-compression.ts';
export type {
  CompressionEngine,
  ContextCompressionOptions,
  ContextCompressionRequestOptions,
} from '../plugins/context-compression/context-compression.ts';
export { gptTokens } from '../plugins/context-compression/count-message.ts';
export type { TokenCounter } from '../plugins/context-compression/count-message.ts';
export { responseHealing } from '../plugins/response-healing/response-healing.ts';
export type { ResponseHealingRequestOptions } from '../plugins/response-healing/response-healing.ts';
export { web } from '../plugins/web/web.ts';
export type { WebPluginOptions, WebRequestOptions } from '../plugins/web/web.ts';
export { webSearchTool } from '../plugins/web-search/web-search.ts';
export type { WebSearchOptions, WebSearchToolOptions } from '../plugins/web-search/web-search.ts';
export { webFetch } from '../plugins/web-fetch/web-fetch.ts';
export { webFetchTool } from '../plugins/web-fetch/web-fetch.ts';
export type { WebFetchToolOptions } from '../plugins/web-fetch/web-fetch.ts';
export type { WebFetchOptions } from '../plugins/web-fetch/web-fetch.ts';

/** Public surface: services behind plugins and server tools. */
export { brave } from '../plugins/services/search/brave.ts';
export { exa } from '../plugins/services/search/exa.ts';
export { searxng } from '../plugins/services/search/searxng.ts';
export type { SearxngOptions } from '../plugins/services/search/searxng.ts';
export { tavily } from '../plugins/services/search/tavily.ts';
export { searchEnginesFromEnvironment } from '../plugins/services/search/choose-search.ts';
export type { KeyedSearchEngineOptions, SearchEngineOptions } from '../plugins/services/search/engine-options.ts';
export { guardedFetcher } from '../plugins/services/pages/guarded-fetcher.ts';
export type { GuardedFetcherOptions } from '../plugins/services/pages/guarded-fetcher.ts';
export { guardrails } from '../plugins/guardrails/guardrails.ts';
export type { GuardrailsOptions } from '../plugins/guardrails/guardrails.ts';
export type {
  ContentGuardrail,
  Guardrail,
  GuardrailAction,
  GuardrailRequestOptions,
  InjectionGuardrail,
  PiiGuardrail,
  PiiKind,
} from '../protocol/guardrail-options.ts';
export { moderation } from '../plugins/moderation/moderation.ts';
export type { ModerationOptions } from '../plugins/moderation/moderation.ts';
export { openaiModeration } from '../plugins/moderation/openai-moderation.ts';
export type { OpenAiModerationOptions } from '../plugins/moderation/openai-moderation.ts';
export { fileParser } from '../plugins/file-parser/file-parser.ts';
export type { FileParserOptions } from '../plugins/file-parser/file-parser.ts';
export { mistralOcr } from '../plugins/file-parser/mistral-ocr.ts';
export type { MistralOcrOptions } from '../plugins/file-parser/mistral-ocr.ts';
export { localPdfReader } from '../plugins/services/pdf/local-pdf-reader.ts';
export type { LocalPdfReaderOptions } from '../plugins/services/pdf/local-pdf-reader.ts';
export type { PdfJob, PdfResources, RunPdfJob } from '../plugins/services/pdf/pdf-job.ts';
export type { OcrEngine, OcrRequest, OcrText } from '../contracts/pdf-reader.ts';
export type { FileParserRequestOptions, PdfEngine } from '../protocol/web-options.ts';
export { PdfError } from '../contracts/pdf-reader.ts';
export type { PdfProblem, PdfReader, PdfRequest, PdfText } from '../contracts/pdf-reader.ts';
export type { OutboundOptions } from '../net/outbound.ts';
export type { SearchContextSize, SearchMode, UserLocation } from '../protocol/web-options.ts';

/** Public surface: what a plugin or a server tool of your own is made of. */
export { definePlugin } from '../core/pipeline/define-plugin.ts';
export type { Plugin, PluginAnswer, Verdict } from '../contracts/plugin.ts';
export type { PluginDefault } from '../contracts/plugin.ts';
export type {
  Awaitable,
  ChunksContext,
  InnerCallOptions,
  PlanContext,
  PluginCause,
  PluginContext,
  ServiceUse,
  StageRecord,
  CandidatesContext,
  UsableTarget,
} from '../contracts/plugin-context.ts';
export type { RequestChange } from '../contracts/plugin.ts';
export type { AnswerJudge, AnswerVerdict, ChunkTransform } from '../contracts/plugin.ts';
export type { Mismatch } from '../contracts/failure.ts';
export { defineServerTool } from '../core/pipeline/define-plugin.ts';
export type {
  ServerToolDefinition,
  ToolContext,
  ToolExpansion,
  ToolFunction,
  ToolOutcome,
} from '../contracts/server-tool.ts';
export { textAnswer } from '../core/pipeline/define-plugin.ts';
export type { OptionsCheck, OptionsParser } from '../protocol/options.ts';
export type { StandardIssue, StandardResult, StandardSchema } from '../protocol/standard-schema.ts';
export type { FusionTeam, FusionTeams } from '../plugins/fusion/team.ts';
