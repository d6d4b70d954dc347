/** Public surface: services behind plugins and server tools. */
export { brave } from '../plugins/search/brave.ts';
export { exa } from '../plugins/search/exa.ts';
export { searxng } from '../plugins/search/searxng.ts';
export type { SearxngOptions } from '../plugins/search/searxng.ts';
export { tavily } from '../plugins/search/tavily.ts';
export { searchEnginesFromEnvironment } from '../plugins/search/engines-from-environment.ts';
export type { KeyedSearchEngineOptions, SearchEngineOptions } from '../plugins/search/engine-options.ts';
export type { SearchAnswer, SearchEngine, SearchQuery, SearchResult } from '../plugins/ports/search-engine.ts';
export { guardedFetcher } from '../plugins/pages/guarded-fetcher.ts';
export type { GuardedFetcherOptions } from '../plugins/pages/guarded-fetcher.ts';
export { PageError } from '../plugins/ports/page-fetcher.ts';
export type { FetchedPage, PageFetcher, PageRequest } from '../plugins/ports/page-fetcher.ts';
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
export type { ModerationInput, ModerationService, ModerationVerdict } from '../plugins/ports/moderation-service.ts';
export { fileParser } from '../plugins/file-parser/file-parser.ts';
export type { FileParserOptions } from '../plugins/file-parser/file-parser.ts';
export { mistralOcr } from '../plugins/file-parser/mistral-ocr.ts';
export type { MistralOcrOptions } from '../plugins/file-parser/mistral-ocr.ts';
export { localPdfReader } from '../plugins/pdf/local-pdf-reader.ts';
export type { LocalPdfReaderOptions } from '../plugins/pdf/local-pdf-reader.ts';
export type { PdfJob, PdfResources, RunPdfJob } from '../plugins/pdf/pdf-job.ts';
export type { OcrEngine, OcrRequest, OcrText } from '../plugins/ports/ocr-engine.ts';
export type { FileQuery, FileStore, StoredFile } from '../plugins/ports/file-store.ts';
export type { FileParserRequestOptions, PdfEngine } from '../protocol/file-parser-options.ts';
export { PdfError } from '../plugins/ports/pdf-reader.ts';
export type { PdfProblem, PdfReader, PdfRequest, PdfText } from '../plugins/ports/pdf-reader.ts';
export type { DomainFilter } from '../plugins/domains/domain-filter.ts';
export type { DomainRule } from '../plugins/domains/domain-rule.ts';
export type { OutboundOptions } from '../outbound/outbound.ts';
export type { SearchContextSize, SearchMode, UserLocation } from '../protocol/web-options.ts';
