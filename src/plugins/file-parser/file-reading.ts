import { MAX_PLUGIN_OUTPUT_LENGTH } from '../../protocol/limits.ts';
import { looksLikePdf } from '../pdf/local-pdf-reader.ts';
import type { OcrEngine } from '../ports/ocr-engine.ts';
import { PdfError, type PdfReader } from '../ports/pdf-reader.ts';
import { type FileAnnotation, fileAnnotation } from './file-annotations.ts';
import type { FoundFile } from './file-parts.ts';
import { fileProblem } from './file-problem.ts';
import type { LoadedFile } from './load-file.ts';

/** How a file was read: by an engine, as the text that it is, or from what the caller sent back. */
export type ReadBy = 'cloudflare-ai' | 'mistral-ocr' | 'text' | 'annotation';

/** What was read from one file. */
export interface FileReading {
  readonly annotation: FileAnnotation;
  readonly by: ReadBy;
  /** Pages that were read now. */
  readonly pages: number;
  /** US dollars. */
  readonly cost: number;
}

/** What reads files. */
export interface FileEngines {
  readonly reader: PdfReader;
  readonly ocr: OcrEngine | undefined;
}

/** Pictures of one request that are passed on (gaps 5.6). */
export const MAX_IMAGES = 8;
/** Characters of one file's pictures: what plugins may add to a request is bounded. */
const MAX_IMAGE_CHARACTERS = MAX_PLUGIN_OUTPUT_LENGTH * 0.75;

/**
 * Reads a PDF with an engine.
 *
 * @throws {@link PdfError} when the local reader cannot; {@link RouterError} when the OCR engine fails.
 */
export async function readPdf(
  { data, name }: LoadedFile,
  hash: string,
  engine: 'cloudflare-ai' | 'mistral-ocr',
  { reader, ocr }: FileEngines,
  signal: AbortSignal,
): Promise<FileReading> {
  if (engine === 'mistral-ocr' && ocr !== undefined) {
    const { pages, images, pagesProcessed, cost } = await ocr.read({ data, name, maxImages: MAX_IMAGES, signal });
    const annotation = fileAnnotation(hash, name, joined(pages), fitting(images));
    return { annotation, by: 'mistral-ocr', pages: pagesProcessed, cost };
  }
  const { pages, title } = await reader.read({ data, signal });
  return {
    annotation: fileAnnotation(hash, name ?? title, joined(pages), []),
    by: 'cloudflare-ai',
    pages: pages.length,
    cost: 0,
  };
}

/** A file that is no PDF, as the text that it is; undefined when it is none. */
export function readPlain({ data, name }: LoadedFile, hash: string): FileReading | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(data);
    if (text.includes('\0')) return undefined;
    return { annotation: fileAnnotation(hash, name, text, []), by: 'text', pages: 0, cost: 0 };
  } catch {
    return undefined;
  }
}

/** True for a PDF, whatever its source calls it. */
export function isPdf({ data }: LoadedFile): boolean {
  return looksLikePdf(data);
}

/** What went wrong with a PDF, as the caller's error: files come from callers. */
export function problemOfPdf(error: unknown, { path, part }: FoundFile): unknown {
  if (!(error instanceof PdfError)) return error;
  const where = `${path}.${part.file.file_data === undefined ? 'file_id' : 'file_data'}`;
  const tooLarge = error.problem === 'too_large';
  return fileProblem(where, `cannot be read: ${error.message}`, tooLarge ? 413 : 400);
}

/** SHA-256 of a file in hexadecimal digits: the hash by which its annotation is known again. */
export async function hashOf(data: Uint8Array): Promise<string> {
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
