/** The plugin `file-parser`: turns files in prompts into text. */
import { OUTBOUND } from '../../options/http.ts';
import { schemaOf } from '../../options/option.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { ChunkTransform, Plugin, RequestChange } from '../../contracts/plugin.ts';
import { definePlugin, unaskedFor } from '../../core/pipeline/define-plugin.ts';
import { checkShape } from '../../platform/check-options.ts';
import { wholeNumber, milliseconds, type OptionShape, withFunctions } from '../../options/values.ts';
import { createOutbound, type OutboundOptions, outboundToFiles } from '../../net/outbound.ts';
import { type FileParserRequestOptions, parseFileParserOptions, type PdfEngine } from '../../protocol/web-options.ts';
import type { ChatResult } from '../../protocol/chat-result.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { Message } from '../../protocol/message.ts';
import type { OptionsCheck } from '../../protocol/options.ts';
import { systemEnvironment } from '../../platform/environment.ts';
import { pdfReader, localPdfReader } from '../services/pdf/local-pdf-reader.ts';
import type { FileStore } from '../../contracts/plugin-services.ts';
import type { OcrEngine, PdfReader } from '../../contracts/pdf-reader.ts';
import { type FileAnnotation, fileParts } from './file-parts.ts';
import type { FileSession } from './file-session.ts';
import { mistralOcrFromEnvironment } from './mistral-ocr.ts';
import type { Outbound } from '../../net/outbound-request.ts';

/** Options of {@link fileParser}. */
export interface FileParserOptions {
  /** Reads the text of PDFs. Default: `localPdfReader()`, which takes the optional package unpdf. */
  readonly reader?: PdfReader | undefined;
  /** Reads PDFs whose pages are pictures. Default: Mistral's, when `MISTRAL_API_KEY` is set. */
  readonly ocr?: OcrEngine | undefined;
  /** Where files with a `file_id` are. Default: nowhere; then only providers know such ids. */
  readonly store?: FileStore | undefined;
  /** Which hosts and ports addresses of files may lead to. Default: all of the public internet. */
  readonly outbound?: OutboundOptions | undefined;
  /** Bytes of one file. Default 50,000,000. */
  readonly maxBytes?: number | undefined;
  /** Milliseconds for all files of a request. Default 120,000. */
  readonly timeoutMs?: number | undefined;
}

const OPTIONS: OptionShape<FileParserOptions> = {
  reader: pdfReader,
  ocr: withFunctions('an OCR engine, such as mistralOcr() makes one', 'read'),
  store: withFunctions('a store of files, such as memoryFileLibrary() makes one', 'find'),
  outbound: schemaOf(OUTBOUND),
  maxBytes: wholeNumber(1),
  timeoutMs: milliseconds,
};

/**
 * The plugin `file-parser` (contract: plugin objects; gaps 5.6): makes text of PDFs for models that do not read them.
 * Takes part in every request with files that some endpoint cannot take, asked or not.
 *
 * Engines: `native` leaves files to the model; `cloudflare-ai` (also called `pdf-text`) takes the text out on this
 * machine; `mistral-ocr` calls the OCR engine. Without a choice files stay as they are where the endpoint reads them,
 * and are read by the OCR engine, or without one on this machine, where it does not.
 */
export function fileParser(options: FileParserOptions = {}): Plugin<FileParserRequestOptions, FileSession> {
  checkShape(OPTIONS, options, 'fileParser');
  const { maxBytes = 50_000_000, timeoutMs = 120_000, store } = options;
  const ocr = options.ocr ?? mistralOcrFromEnvironment();
  const engines = { reader: options.reader ?? localPdfReader({ maxBytes }), ocr };
  const usual = ocr === undefined ? 'cloudflare-ai' : 'mistral-ocr';
  let outbound: Outbound | undefined;
  const sources = {
    outbound: () => (outbound ??= createOutbound(outboundToFiles(options.outbound), systemEnvironment())),
    store,
    maxBytes,
  };

  return definePlugin<FileParserRequestOptions, FileSession>({
    id: 'file-parser',
    parseOptions: (value) => parseOptions(value, ocr),
    whenItThrows: 'fail',
    timeoutMs,
    runsUnasked: unaskedFor('files', (request) => hasFilesToRead(request, store)),

    async onRequest(request, { pdf }, context) {
      const { messages } = request;
      if (fileParts(messages).length === 0) return { type: 'continue' };
      const { FileSession: Session } = await import('./file-session.ts');
      const state = new Session(messages, sources, engines);
      const engine = pdf?.engine ?? defaultEngine(request, usual);
      if (engine === undefined) return { type: 'continue', state };
      const changed =
        engine === 'native'
          ? await state.withUploads(messages, context)
          : await state.withText(messages, { engine: engineOf(engine), mayStay: false }, context);
      return { type: 'continue', state, change: changeTo(changed, messages) };
    },

    onCandidates(targets, request, { pdf }) {
      if (pdf?.engine !== 'native' || fileParts(request.messages).length === 0) return targets;
      // Whoever wants the model to read the file itself cannot be served by one that is known not to.
      return targets.map((target) => ({ ...target, endpoints: target.endpoints.filter(mayReadFiles) }));
    },

    async onAttempt(request, endpoint, { pdf }, context): Promise<RequestChange | undefined> {
      const { state } = context;
      if (state === undefined) return undefined;
      let { messages } = request;
      if (pdf?.engine == null) {
        messages = readsFiles(endpoint)
          ? await state.withUploads(messages, context)
          : await state.withText(messages, { engine: usual, mayStay: mayReadFiles(endpoint) }, context);
      }
      if (endpoint.inputModalities?.has('image') !== false) messages = state.withImages(messages);
      return changeTo(messages, request.messages);
    },

    onChunks: (_request, _options, { state }) => annotating(state?.annotations ?? []),
    onResult: (result, _request, _options, { state }) => annotated(result, state?.annotations ?? []),

    async close() {
      await Promise.all([outbound?.close(), engines.reader.close?.(), ocr?.close?.()]);
    },
  });
}

/** The change to these messages; none where they are those of the request. */
function changeTo(messages: readonly Message[], before: readonly Message[]): RequestChange | undefined {
  return messages === before ? undefined : { messages };
}

/** Whether a request has files that its endpoints cannot take as they are, or that are here. */
function hasFilesToRead(request: NormalizedRequest, store: FileParserOptions['store']): boolean {
  if (request.needs.files !== true || request.native?.requiredBy !== undefined) return false;
  const files = fileParts(request.messages);
  const endpoints = request.targets.flatMap((target) => target.endpoints);
  const isUpload = store !== undefined && files.some(({ part }) => part.file.file_data === undefined);
  return isUpload || endpoints.length === 0 || !endpoints.every(readsFiles);
}

/**
 * The engine of a request that chooses none; undefined where it depends on the endpoint that answers.
 *
 * @param usual - Where no endpoint may read files.
 */
function defaultEngine({ targets }: NormalizedRequest, usual: PdfEngine): PdfEngine | undefined {
  const endpoints = targets.flatMap((target) => target.endpoints);
  if (endpoints.length === 0) return undefined;
  if (endpoints.every(readsFiles)) return 'native';
  return endpoints.some(mayReadFiles) ? undefined : usual;
}

function parseOptions(value: JsonObject, ocr: FileParserOptions['ocr']): OptionsCheck<FileParserRequestOptions> {
  const parsed = parseFileParserOptions(value);
  if (!parsed.ok || parsed.options.pdf?.engine !== 'mistral-ocr' || ocr !== undefined) return parsed;
  return { ok: false, path: 'pdf.engine', problem: NO_OCR };
}

/** Adds what was read from files behind the chunks of an answer. */
function annotating(annotations: readonly FileAnnotation[]): ChunkTransform | undefined {
  if (annotations.length === 0) return undefined;
  return {
    start: undefined,
    step: (held, chunk) => [held, [chunk]],
    end: () => [{ type: 'delta', index: 0, delta: { annotations } }],
  };
}

/** The same for a result. */
function annotated(result: ChatResult, annotations: readonly FileAnnotation[]): ChatResult {
  if (annotations.length === 0) return result;
  const choices = result.choices.map((choice) => ({
    ...choice,
    message: { ...choice.message, annotations: [...(choice.message.annotations ?? []), ...annotations] },
  }));
  return { ...result, choices };
}

const NO_OCR =
  'must not be "mistral-ocr" on this router, which has no OCR engine; its program sets MISTRAL_API_KEY or passes ' +
  'fileParser({ ocr })';

function engineOf(name: PdfEngine): 'cloudflare-ai' | 'mistral-ocr' {
  return name === 'mistral-ocr' ? 'mistral-ocr' : 'cloudflare-ai';
}

/** True for an endpoint that is known to take files: by its model, or else by its provider. */
function readsFiles({ inputModalities, readsFiles: byProvider }: Endpoint): boolean {
  return inputModalities?.has('file') ?? byProvider;
}

/** False for an endpoint that is known not to take files. */
function mayReadFiles({ inputModalities }: Endpoint): boolean {
  return inputModalities?.has('file') ?? true;
}
