/** Extracts the text of a PDF with the optional package unpdf. */
import type * as Package from 'unpdf';
import { PdfError, type PdfText } from '../../../contracts/pdf-reader.ts';
import type { PdfJob } from './pdf-job.ts';

/** What is used of unpdf. */
type Unpdf = typeof Package;
type PdfDocument = Awaited<ReturnType<Unpdf['getDocumentProxy']>>;

/**
 * Takes the text out of a PDF with the package unpdf, page by page. Scripts, attachments and pictures in the file are
 * not touched.
 *
 * @param checkpoint - Called before every page; throws to stop.
 * @throws {@link PdfError} when the file cannot be read, or unpdf is not installed.
 */
export async function extractText(job: PdfJob, checkpoint: () => void = () => {}): Promise<PdfText> {
  const unpdf = await loadUnpdf();
  const document = await open(unpdf, job.data);
  try {
    const { numPages: totalPages } = document;
    if (job.allPages && totalPages > job.maxPages) {
      throw new PdfError('too_large', `The PDF has ${totalPages} pages; at most ${job.maxPages} are read`);
    }
    const pages: string[] = [];
    let left = job.maxCharacters;
    for (let number = 1; number <= Math.min(totalPages, job.maxPages); number += 1) {
      checkpoint();
      const text = await textOf(document, number);
      left -= text.length;
      if (left < 0) {
        throw new PdfError('too_large', `The PDF holds more than ${job.maxCharacters} characters of text`);
      }
      pages.push(text);
    }
    const title = await titleOf(document);
    return { pages, totalPages, ...(title === undefined ? {} : { title }) };
  } finally {
    await document.loadingTask.destroy();
  }
}

async function loadUnpdf(): Promise<Pick<Unpdf, 'getDocumentProxy'>> {
  let found: Partial<Unpdf>;
  try {
    found = await import('unpdf');
  } catch {
    throw new PdfError('unavailable', 'PDFs cannot be read here: it takes the package unpdf (npm install unpdf)');
  }
  // Any version may be installed beside this package, since the host may use it for itself.
  const { getDocumentProxy } = found;
  if (getDocumentProxy !== undefined) return { getDocumentProxy };
  const message = 'PDFs cannot be read here: the installed unpdf is too old for it (npm install unpdf@latest)';
  throw new PdfError('unavailable', message);
}

async function open({ getDocumentProxy }: Pick<Unpdf, 'getDocumentProxy'>, data: Uint8Array): Promise<PdfDocument> {
  try {
    // A copy: the reader takes the memory of what it is given.
    return await getDocumentProxy(data.slice(), QUIET);
  } catch (error) {
    throw problemOf(error);
  }
}

/** No code from the file, no fonts of the machine, and nothing on the console. */
const QUIET = { isEvalSupported: false, useSystemFonts: false, disableFontFace: true, verbosity: 0 } as const;

async function textOf(document: PdfDocument, number: number): Promise<string> {
  try {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    page.cleanup();
    const text = items.map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : '')).join('');
    return text.trim();
  } catch (error) {
    throw problemOf(error);
  }
}

async function titleOf(document: PdfDocument): Promise<string | undefined> {
  try {
    const { info } = await document.getMetadata();
    const title: unknown = (info as { readonly Title?: unknown }).Title;
    return typeof title === 'string' && title.trim() !== '' ? title.trim().slice(0, MAX_TITLE_LENGTH) : undefined;
  } catch {
    return undefined;
  }
}

const MAX_TITLE_LENGTH = 512;

/** What the reader throws says nothing to a user, and may repeat the file; its kind is what matters. */
function problemOf(error: unknown): PdfError {
  if (error instanceof PdfError) return error;
  const name = error instanceof Error ? error.name : '';
  if (name === 'PasswordException') return new PdfError('encrypted', 'The PDF is encrypted and needs a password');
  return new PdfError('invalid', 'The PDF is broken, or is no PDF');
}
