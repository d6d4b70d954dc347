import {
  type OptionKind,
  type OptionShape,
  amount,
  anything,
  callable,
  flag,
  group,
  headerText,
  httpAddress,
  listOf,
  milliseconds,
  oneOf,
  text,
  wholeNumber,
  withFunctions,
} from '../core/options/option-kinds.ts';
import type { OutboundOptions } from '../outbound/outbound.ts';
import type { AutoRouterOptions } from './auto-router/auto-router.ts';
import type { ContextCompressionOptions } from './context-compression/context-compression.ts';
import type { FileParserOptions } from './file-parser/file-parser.ts';
import type { MistralOcrOptions } from './file-parser/mistral-ocr.ts';
import type { FilesToolOptions } from './files/files.ts';
import type { MemoryFileLibraryOptions } from './files/memory-file-library.ts';
import type { FusionOptions } from './fusion/fusion-tool.ts';
import type { FusionTeam, FusionTeams } from './fusion/team.ts';
import type { GuardrailsOptions } from './guardrails/guardrails.ts';
import type { ImageGenerationToolOptions } from './image-generation/image-generation.ts';
import type { OpenAIImagesOptions } from './image-generation/openai-images.ts';
import type { HelperToolOptions } from './inner-call/helper-model.ts';
import type { ModerationOptions } from './moderation/moderation.ts';
import type { OpenAiModerationOptions } from './moderation/openai-moderation.ts';
import type { GuardedFetcherOptions } from './pages/guarded-fetcher.ts';
import type { ParetoRouterOptions } from './pareto-router/pareto-router.ts';
import type { LocalPdfReaderOptions } from './pdf/local-pdf-reader.ts';
import type { KeyedSearchEngineOptions } from './search/engine-options.ts';
import type { SearxngOptions } from './search/searxng.ts';
import type { WebFetchToolOptions } from './web-fetch/web-fetch-tool.ts';
import type { WebSearchToolOptions } from './web-search/web-search.ts';
import type { WebPluginOptions } from './web/web.ts';

const count = wholeNumber(0);
const positive = wholeNumber(1);
const whenItThrows = oneOf<'fail' | 'skip'>({ fail: true, skip: true });
const transport = withFunctions('a transport', 'send', 'close');
const pdfReader = withFunctions('a reader of PDFs, such as localPdfReader() makes one', 'read');
const outbound: OptionKind = group<OutboundOptions>({ ports: listOf(positive), allowedHosts: listOf(text) });

/** Options of `searxng`. */
export const SEARXNG_OPTIONS: OptionShape<SearxngOptions> = {
  baseURL: httpAddress,
  pricePerSearch: amount,
  timeoutMs: milliseconds,
  transport,
};

/** Options of the search engines that want a key. */
export const KEYED_SEARCH_ENGINE_OPTIONS: OptionShape<KeyedSearchEngineOptions> = {
  ...SEARXNG_OPTIONS,
  apiKey: headerText,
};

const engines = listOf(withFunctions('a search engine, such as exa() makes one', 'search'));

/** Options of `web`. */
export const WEB_OPTIONS: OptionShape<WebPluginOptions> = { engines, whenItThrows, timeoutMs: milliseconds };

/** Options of `webSearchTool`. */
export const WEB_SEARCH_OPTIONS: OptionShape<WebSearchToolOptions> = { engines, timeoutMs: milliseconds };

/** Options of `guardedFetcher`. */
export const GUARDED_FETCHER_OPTIONS: OptionShape<GuardedFetcherOptions> = {
  outbound,
  maxBytes: positive,
  timeoutMs: milliseconds,
  maxRedirects: count,
  pdf: pdfReader,
  userAgent: text,
};

/** Options of `webFetchTool`. */
export const WEB_FETCH_OPTIONS: OptionShape<WebFetchToolOptions> = {
  ...GUARDED_FETCHER_OPTIONS,
  fetcher: withFunctions('a fetcher of pages, such as guardedFetcher() makes one', 'fetch'),
};

/** Options of `localPdfReader`. */
export const PDF_READER_OPTIONS: OptionShape<LocalPdfReaderOptions> = {
  maxBytes: positive,
  maxPages: positive,
  maxCharacters: positive,
  timeoutMs: milliseconds,
  memoryMb: positive,
  concurrency: positive,
  run: callable,
};

/** Options of `fileParser`. */
export const FILE_PARSER_OPTIONS: OptionShape<FileParserOptions> = {
  reader: pdfReader,
  ocr: withFunctions('an OCR engine, such as mistralOcr() makes one', 'read'),
  store: withFunctions('a store of files, such as memoryFileLibrary() makes one', 'find'),
  outbound,
  maxBytes: positive,
  timeoutMs: milliseconds,
};

/** Options of `mistralOcr`. */
export const MISTRAL_OCR_OPTIONS: OptionShape<MistralOcrOptions> = {
  apiKey: headerText,
  baseURL: httpAddress,
  model: text,
  pricePerPage: amount,
  timeoutMs: milliseconds,
  transport,
};

/** Options of `moderation`. */
export const MODERATION_OPTIONS: OptionShape<ModerationOptions> = {
  service: withFunctions('a moderation service, such as openaiModeration() makes one', 'check'),
  timeoutMs: milliseconds,
};

/** Options of `openaiModeration`. */
export const OPENAI_MODERATION_OPTIONS: OptionShape<OpenAiModerationOptions> = {
  apiKey: headerText,
  baseURL: httpAddress,
  model: text,
  timeoutMs: milliseconds,
  transport,
};

/** Options of `guardrails`. Rules are checked by their schema. */
export const GUARDRAILS_OPTIONS: OptionShape<GuardrailsOptions> = {
  rules: anything,
  id: text,
  prepared: flag,
  answers: flag,
  streams: oneOf<NonNullable<GuardrailsOptions['streams']>>({ refuse: true, unscanned: true }),
};

const team: OptionKind = group<FusionTeam>({ analysisModels: listOf(text), model: text });

/** Options of `fusion` and `fusionTool`. */
export const FUSION_OPTIONS: OptionShape<FusionOptions> = {
  presets: group<FusionTeams>({ 'general-high': team, 'general-budget': team, 'general-fast': team }),
  memberTimeoutMs: milliseconds,
  analystTimeoutMs: milliseconds,
};

/** Options of `advisorTool` and `subagentTool`. */
export const HELPER_TOOL_OPTIONS: OptionShape<HelperToolOptions> = { model: text, timeoutMs: milliseconds };

/** Options of `imageGenerationTool`. */
export const IMAGE_GENERATION_OPTIONS: OptionShape<ImageGenerationToolOptions> = {
  generator: withFunctions('a service that makes images, such as openaiImages() makes one', 'generate'),
  timeoutMs: milliseconds,
};

/** Options of `openaiImages`. */
export const OPENAI_IMAGES_OPTIONS: OptionShape<OpenAIImagesOptions> = {
  apiKey: headerText,
  baseURL: httpAddress,
  model: text,
  price: group<NonNullable<OpenAIImagesOptions['price']>>({ prompt: amount, completion: amount }, [
    'prompt',
    'completion',
  ]),
  pricePerImage: amount,
  timeoutMs: milliseconds,
  transport,
};

/** Options of `filesTool`. */
export const FILES_TOOL_OPTIONS: OptionShape<FilesToolOptions> = {
  library: withFunctions('a library of files, such as memoryFileLibrary() makes one', 'find', 'list', 'add'),
};

/** Options of `memoryFileLibrary`. */
export const MEMORY_FILE_LIBRARY_OPTIONS: OptionShape<MemoryFileLibraryOptions> = {
  maxBytes: count,
  maxFiles: count,
  maxAccounts: count,
  now: callable,
};

/** Options of `contextCompression`. */
export const CONTEXT_COMPRESSION_OPTIONS: OptionShape<ContextCompressionOptions> = {
  countTokens: callable,
  tokenFactor: callable,
  imageTokens: amount,
  maxMessages: callable,
  whenItThrows,
};

/** Options of `autoRouter` and `autoBetaRouter`. */
export const AUTO_ROUTER_OPTIONS: OptionShape<AutoRouterOptions> = {
  classify: callable,
  rank: callable,
  defaultModels: listOf(text),
  maxModels: positive,
};

/** Options of `paretoRouter`. */
export const PARETO_ROUTER_OPTIONS: OptionShape<ParetoRouterOptions> = { codingScore: callable };
