/** Public surface: plugins and server tools. */
export { defaultPlugins, defaultServerTools } from '../plugins/defaults.ts';
export { autoBetaRouter, autoRouter } from '../plugins/auto-router/auto-router.ts';
export type { AutoRouterOptions } from '../plugins/auto-router/auto-router.ts';
export { localClassifier } from '../plugins/auto-router/classifier.ts';
export type { Classification, TaskClassifier } from '../plugins/auto-router/classifier.ts';
export type { Prompt } from '../plugins/auto-router/prompt-text.ts';
export { catalogScores } from '../plugins/auto-router/ranking.ts';
export type { RankingSource } from '../plugins/auto-router/ranking.ts';
export type { TaskType } from '../plugins/auto-router/task-types.ts';
export type { Candidate } from '../plugins/model-choice/candidates.ts';
export { paretoRouter } from '../plugins/pareto-router/pareto-router.ts';
export type { ParetoRouterOptions } from '../plugins/pareto-router/pareto-router.ts';
export { datetime } from '../plugins/datetime/datetime.ts';
export type { DatetimeOptions } from '../plugins/datetime/datetime.ts';
export { fusion } from '../plugins/fusion/fusion.ts';
export { fusionTool } from '../plugins/fusion/fusion-tool.ts';
export type { FusionOptions } from '../plugins/fusion/fusion-tool.ts';
export type { FusionTeam, FusionTeams } from '../plugins/fusion/team.ts';
export type { FusionAnalysis } from '../protocol/fusion-analysis.ts';
export type {
  AdvisorOptions,
  FusionPluginOptions,
  FusionPreset,
  FusionToolOptions,
  SubagentOptions,
} from '../protocol/inner-model-options.ts';
export { advisorTool } from '../plugins/advisor/advisor.ts';
export { subagentTool } from '../plugins/subagent/subagent.ts';
export type { HelperToolOptions } from '../plugins/inner-call/helper-model.ts';
export { imageGenerationTool } from '../plugins/image-generation/image-generation.ts';
export type {
  ImageGenerationOptions,
  ImageGenerationToolOptions,
} from '../plugins/image-generation/image-generation.ts';
export { openaiImages } from '../plugins/image-generation/openai-images.ts';
export type { OpenAIImagesOptions } from '../plugins/image-generation/openai-images.ts';
export type { GeneratedImages, ImageGenerator, ImageRequest } from '../plugins/ports/image-generator.ts';
export { searchModelsTool } from '../plugins/search-models/search-models.ts';
export type { SearchModelsOptions } from '../plugins/search-models/search-models.ts';
export { filesTool } from '../plugins/files/files.ts';
export type { FilesToolOptions } from '../plugins/files/files.ts';
export { memoryFileLibrary } from '../plugins/files/memory-file-library.ts';
export type { MemoryFileLibraryOptions } from '../plugins/files/memory-file-library.ts';
export { FileLibraryFull } from '../plugins/ports/file-library.ts';
export type { FileCard, FileLibrary } from '../plugins/ports/file-library.ts';
export { contextCompression } from '../plugins/context-compression/context-compression.ts';
export type {
  ContextCompressionOptions,
  ContextCompressionRequestOptions,
} from '../plugins/context-compression/context-compression.ts';
export { gptTokens } from '../plugins/context-compression/gpt-tokens.ts';
export type { TokenCounter } from '../plugins/context-compression/count-message.ts';
export { responseHealing } from '../plugins/response-healing/response-healing.ts';
export { web } from '../plugins/web/web.ts';
export type { WebPluginOptions, WebRequestOptions } from '../plugins/web/web.ts';
export { webSearchTool } from '../plugins/web-search/web-search.ts';
export type { WebSearchOptions, WebSearchToolOptions } from '../plugins/web-search/web-search.ts';
export { webFetch } from '../plugins/web-fetch/web-fetch.ts';
export { webFetchTool } from '../plugins/web-fetch/web-fetch-tool.ts';
export type { WebFetchToolOptions } from '../plugins/web-fetch/web-fetch-tool.ts';
export type { WebFetchOptions } from '../plugins/web-fetch/web-fetch-options.ts';
