/** Reads the files of one request, each once and within common limits. */
import { frozenCopy } from '../../core/pipeline/frozen.ts';
import type { PluginContext } from '../../contracts/plugin-context.ts';
import type { ContentPart, ImagePart, TextPart } from '../../protocol/content-part.ts';
import { MAX_PLUGIN_OUTPUT_LENGTH } from '../../protocol/limits.ts';
import type { Message } from '../../protocol/message.ts';
import { toBase64 } from '../../platform/data-url.ts';
import { type OcrEngine, PdfError, type PdfReader } from '../../contracts/pdf-reader.ts';
import {
  earlierAnnotations,
  type FileAnnotation,
  fileAnnotation,
  fileParts,
  fileProblem,
  type FoundFile,
  imagesOf,
  quoted,
  replaceParts,
} from './file-parts.ts';
import { type FileSources, type LoadedFile, loadFile } from './load-file.ts';
import { looksLikePdf } from '../services/pdf/local-pdf-reader.ts';

/** How the files of a request become text. */
interface ReadingOptions {
  readonly engine: 'cloudflare-ai' | 'mistral-ocr';
  /** True: files that nothing here can read stay as they are, for a provider that may. */
  readonly mayStay: boolean;
}

/** A file that is loaded, with its hash. */
interface HashedFile extends LoadedFile {
  readonly hash: string;
}

/** Text of all files of a request together. */
const MAX_CHARACTERS = MAX_PLUGIN_OUTPUT_LENGTH - 100_000;

/** The files of one request: each is loaded and read once, however many endpoints are tried. */
export class FileSession {
  readonly #sources: FileSources;
  readonly #engines: FileEngines;
  readonly #earlier: ReadonlyMap<string, FileAnnotation>;
  readonly #loaded = new Map<string, HashedFile>();
  readonly #readings = new Map<string, FileReading>();
  /** Pictures of files, by the part of the prompt that holds their text. */
  readonly #images = new WeakMap<object, readonly ImagePart[]>();
  #fresh: readonly FileAnnotation[] = [];

  constructor(messages: readonly Message[], sources: FileSources, engines: FileEngines) {
    this.#sources = sources;
    this.#engines = engines;
    this.#earlier = earlierAnnotations(messages);
  }

  /** Annotations of what was read for this request, without those that the caller had already. */
  get annotations(): readonly FileAnnotation[] {
    return this.#fresh;
  }

  /**
   * Puts the text of files in their place.
   *
   * @throws {@link RouterError} when a file cannot be used.
   */
  async withText(
    messages: readonly Message[],
    options: ReadingOptions,
    context: PluginContext<FileSession>,
  ): Promise<readonly Message[]> {
    const texts = new Map<ContentPart, TextPart>();
    const readings: FileReading[] = [];
    let left = MAX_CHARACTERS;
    for (const found of fileParts(messages)) {
      const reading = await this.#read(found, options, context);
      if (reading === undefined) continue;
      readings.push(reading);
      const { cache_control: mark, prompt_cache_breakpoint: breakpoint } = found.part;
      const text = frozenCopy({
        ...quoted(reading.annotation),
        ...(mark == null ? {} : { cache_control: mark }),
        ...(breakpoint == null ? {} : { prompt_cache_breakpoint: breakpoint }),
      });
      left -= text.text.length;
      if (left < 0) throw fileProblem(found.path, `makes all files hold more than ${MAX_CHARACTERS} characters`, 413);
      texts.set(found.part, text);
      this.#images.set(text, frozenCopy(imagesOf(reading.annotation)));
    }
    this.#note(readings, context);
    return texts.size === 0 ? messages : replaceParts(messages, (part) => listed(texts.get(part)));
  }

  /**
   * Puts uploads into the request itself, for a provider that reads files but knows nothing of our uploads.
   *
   * @throws {@link RouterError} for an id that is not in the store.
   */
  async withUploads(messages: readonly Message[], context: PluginContext<FileSession>): Promise<readonly Message[]> {
    if (this.#sources.store === undefined) return messages;
    const uploads = new Map<ContentPart, ContentPart>();
    for (const found of fileParts(messages)) {
      if (found.part.file.file_data !== undefined) continue;
      const { data, name, mediaType } = await this.#load(found, context);
      const type = mediaType ?? (isPdf({ data, name, mediaType }) ? 'application/pdf' : 'application/octet-stream');
      const file = {
        file_data: `data:${type};base64,${toBase64(data)}`,
        ...(name === undefined ? {} : { filename: name }),
      };
      uploads.set(found.part, { ...found.part, file });
    }
    return uploads.size === 0 ? messages : replaceParts(messages, (part) => listed(uploads.get(part)));
  }

  /** Adds the pictures of files behind their text, for an endpoint that takes pictures (gaps 5.6). */
  withImages(messages: readonly Message[]): readonly Message[] {
    let left = MAX_IMAGES;
    return replaceParts(messages, (part) => {
      const images = this.#images.get(part)?.slice(0, left) ?? [];
      left -= images.length;
      return images.length === 0 ? undefined : [part, ...images];
    });
  }

  async #read(
    found: FoundFile,
    { engine, mayStay }: ReadingOptions,
    context: PluginContext<FileSession>,
  ): Promise<FileReading | undefined> {
    // A provider may know an id that is none of ours.
    if (mayStay && found.part.file.file_data === undefined && this.#sources.store === undefined) return undefined;
    const file = await this.#load(found, context);
    const key = `${engine} ${file.hash}`;
    const known = this.#readings.get(key);
    if (known !== undefined) return known;
    const earlier = this.#earlier.get(file.hash);
    const reading: FileReading | undefined =
      earlier === undefined
        ? await this.#readNow(found, file, { engine, mayStay }, readingFor(context))
        : { annotation: earlier, by: 'annotation', pages: 0, cost: 0 };
    if (reading !== undefined) this.#readings.set(key, reading);
    return reading;
  }

  async #readNow(
    found: FoundFile,
    file: HashedFile,
    { engine, mayStay }: ReadingOptions,
    reading: ReadingFor,
  ): Promise<FileReading | undefined> {
    if (!isPdf(file)) {
      const plain = readPlain(file, file.hash);
      if (plain !== undefined || mayStay) return plain;
      const { mediaType = 'of an unknown type' } = file;
      throw fileProblem(found.path, `is ${mediaType.slice(0, 100)}; what can be read here are PDFs and plain texts`);
    }
    try {
      return await readPdf(file, engine, this.#engines, reading);
    } catch (error) {
      if (mayStay && error instanceof PdfError && error.problem === 'unavailable') return undefined;
      throw problemOfPdf(error, found);
    }
  }

  async #load(found: FoundFile, context: PluginContext<FileSession>): Promise<HashedFile> {
    const { file_data: address, file_id: id } = found.part.file;
    const key = address === undefined ? `id ${id}` : `data ${address}`;
    const known = this.#loaded.get(key);
    if (known !== undefined) return known;
    const file = await loadFile(found, this.#sources, readingFor(context));
    const hashed = { ...file, hash: await hashOf(file.data) };
    this.#loaded.set(key, hashed);
    return hashed;
  }

  /** Tells what was read now: for the cost, the metadata and, should the request fail, its error. */
  #note(readings: readonly FileReading[], context: PluginContext<FileSession>): void {
    const notified = new Set(this.#noted);
    const news = [...new Set(readings)].filter((reading) => !notified.has(reading));
    if (news.length === 0) return;
    this.#noted.push(...news);
    const cost = news.reduce((sum, one) => sum + one.cost, 0);
    const pages = news.reduce((sum, one) => sum + one.pages, 0);
    const reused = news.filter((one) => one.by === 'annotation').length;
    const engines = [...new Set(news.map((one) => one.by))].filter((by) => by !== 'annotation');
    const ocr = engines.includes('mistral-ocr') ? this.#engines.ocr?.id : undefined;
    if (cost > 0) context.used({ cost });
    context.stage({
      summary: `files=${news.length}, pages=${pages}${engines.length === 0 ? '' : `, engine=${engines.join('+')}`}`,
      ...(cost > 0 ? { cost_usd: cost } : {}),
      data: { files: news.length, pages, reused, engines, ...(ocr === undefined ? {} : { ocr }) },
    });
    const fresh = news.filter((one) => one.by === 'cloudflare-ai' || one.by === 'mistral-ocr');
    if (fresh.length === 0) return;
    this.#fresh = [...this.#fresh, ...fresh.map((one) => one.annotation)];
    context.onError({ file_annotations: this.#fresh });
  }

  readonly #noted: FileReading[] = [];
}

function listed<Part>(part: Part | undefined): readonly Part[] | undefined {
  return part === undefined ? undefined : [part];
}

/** How a file was read: by an engine, as the text that it is, or from what the caller sent back. */
type ReadBy = 'cloudflare-ai' | 'mistral-ocr' | 'text' | 'annotation';

/** What was read from one file. */
interface FileReading {
  readonly annotation: FileAnnotation;
  readonly by: ReadBy;
  /** Pages that were read now. */
  readonly pages: number;
  /** US dollars. */
  readonly cost: number;
}

/** For whom a file is read, and until when. */
interface ReadingFor {
  readonly account: string;
  readonly signal: AbortSignal;
}

function readingFor({ account, signal }: PluginContext<FileSession>): ReadingFor {
  return { account: account.id, signal };
}

/** What reads files. */
interface FileEngines {
  readonly reader: PdfReader;
  readonly ocr: OcrEngine | undefined;
}

/** Pictures of one request that are passed on (gaps 5.6). */
const MAX_IMAGES = 8;
/** Characters of one file's pictures: what plugins may add to a request is limited. */
const MAX_IMAGE_CHARACTERS = MAX_PLUGIN_OUTPUT_LENGTH * 0.75;

/**
 * Reads a PDF with an engine.
 *
 * @throws {@link PdfError} when the local reader cannot; {@link RouterError} when the OCR engine fails.
 */
async function readPdf(
  { data, name, hash }: HashedFile,
  engine: 'cloudflare-ai' | 'mistral-ocr',
  { reader, ocr }: FileEngines,
  { account, signal }: ReadingFor,
): Promise<FileReading> {
  if (engine === 'mistral-ocr' && ocr !== undefined) {
    const { pages, images, pagesProcessed, cost } = await ocr.read({ data, name, maxImages: MAX_IMAGES, signal });
    const annotation = fileAnnotation(hash, name, joined(pages), fitting(images));
    return { annotation, by: 'mistral-ocr', pages: pagesProcessed, cost };
  }
  const { pages, title } = await reader.read({ data, account, signal });
  return {
    annotation: fileAnnotation(hash, name ?? title, joined(pages), []),
    by: 'cloudflare-ai',
    pages: pages.length,
    cost: 0,
  };
}

/** A file that is no PDF, as the text that it is; undefined when it is none. */
function readPlain({ data, name }: LoadedFile, hash: string): FileReading | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(data);
    if (text.includes('\0')) return undefined;
    return { annotation: fileAnnotation(hash, name, text, []), by: 'text', pages: 0, cost: 0 };
  } catch {
    return undefined;
  }
}

/** True for a PDF, whatever its source calls it. */
function isPdf({ data }: LoadedFile): boolean {
  return looksLikePdf(data);
}

/** What went wrong with a PDF, as the caller's error: files come from callers. */
function problemOfPdf(error: unknown, { path, part }: FoundFile): unknown {
  if (!(error instanceof PdfError)) return error;
  const where = `${path}.${part.file.file_data === undefined ? 'file_id' : 'file_data'}`;
  const tooLarge = error.problem === 'too_large';
  return fileProblem(where, `cannot be read: ${error.message}`, tooLarge ? 413 : 400);
}

/** SHA-256 of a file in hexadecimal digits: the hash by which its annotation is known again. */
async function hashOf(data: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', data);
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

function joined(pages: readonly string[]): string {
  return pages.filter((page) => page !== '').join('\n\n');
}

function fitting(images: readonly string[]): readonly string[] {
  let left = MAX_IMAGE_CHARACTERS;
  return images.slice(0, MAX_IMAGES).filter((url) => (left -= url.length) >= 0);
}
