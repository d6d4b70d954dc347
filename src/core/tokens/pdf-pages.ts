/** Finds the pages of a PDF without parsing it, to estimate tokens. */
import { byteLength, bytesAt } from './base64-bytes.ts';

/** What a PDF is counted by. */
export interface PdfContent {
  readonly pages: number;
  /** Characters of text. */
  readonly characters: number;
}

/** Bytes of a PDF that are searched, at its start and at its end. */
const MOST_SEARCHED = 750_000;
const END_SEARCHED = 250_000;
/** Bytes of a PDF for a page, where it does not say how many it has. */
const BYTES_PER_PAGE = 50_000;
/** Characters of text on a page that was not read. */
const CHARACTERS_PER_PAGE = 1_800;

/** A PDF by its pages alone, whose text is guessed. */
export function guessedPdf(base64: string): PdfContent {
  const pages = pagesIn(searchedIn(base64), byteLength(base64));
  return { pages, characters: pages * CHARACTERS_PER_PAGE };
}

/** The parts of a PDF that are searched: it begins with most of what it shows, and at its end is often the page tree. */
export function searchedIn(base64: string): readonly string[] {
  const rest = byteLength(base64) - MOST_SEARCHED;
  const head = bytesAt(base64, 0, MOST_SEARCHED) ?? '';
  if (rest <= 0) return [head];
  const end = Math.min(rest, END_SEARCHED);
  return [head, bytesAt(base64, byteLength(base64) - end, end) ?? ''];
}

/**
 * Pages of a PDF: the count in its page tree, its page objects, or a guess by its length where it shows neither.
 *
 * @param texts - What is read of the file.
 * @param bytes - Of the whole file.
 */
export function pagesIn(texts: readonly string[], bytes: number): number {
  let objects = 0;
  let counted = 0;
  for (const text of texts) {
    let isTree = false;
    let count = 0;
    for (const [found, number] of text.matchAll(PAGE_MARKS)) {
      // Outlines have counts too: the one that counts is in one dictionary with the type of the tree.
      if (found === '<<' || found === '>>') [isTree, count] = [false, 0];
      else if (number !== undefined) count = Number(number);
      else if (found.endsWith('s')) isTree = true;
      else objects += 1;
      if (isTree) counted = Math.max(counted, count);
    }
  }
  const pages = Math.max(objects, counted);
  return pages > 0 ? pages : Math.max(1, Math.round(bytes / BYTES_PER_PAGE));
}

const PAGE_MARKS = /\/Type\s{0,4}\/Pages?\b|\/Count\s{1,4}(\d{1,5})\b|<<|>>/g;
