/** Counts the characters of PDFs, to estimate their tokens. */
import { pagesIn, type PdfContent, searchedIn } from '../../core/tokens/pdf-pages.ts';
import { byteLength } from '../../core/tokens/base64-bytes.ts';
import { unpack } from '../../platform/unpack.ts';

/** Streams of a PDF that are read, those of them that show text, and bytes of each and of all: the rest is taken to be alike. */
const MOST_STREAMS = 512;
const MOST_PAGES = 64;
const MOST_BYTES = 262_144;
const MOST_IN_ALL = 2_000_000;
/** Characters before a stream in which it is described. */
const DESCRIPTION = 400;
/** A gap in a line of text, in thousandths of its size, that is as wide as a space. */
const SPACE = -180;
const IS_SOMETHING_ELSE = /\/(?:Type|Subtype|Length1|Width|FunctionType|N)\b/;

/**
 * Finds how many characters of text the pages of a PDF show, without reading fonts or pictures: enough to count, not to
 * read. Text of a scanned page is a picture and has none.
 *
 * @param base64 - The file, of which at most the first 750,000 bytes and the last 250,000 are looked at.
 */
export async function pdfContent(base64: string): Promise<PdfContent> {
  const searched = searchedIn(base64);
  const found = [...searched];
  const shown: string[] = [];
  let isComplete = searched.length === 1;
  let read = 0;
  let room = MOST_IN_ALL;
  for (const { about, packed } of streamsIn(searched[0] ?? '')) {
    if (shown.length >= MOST_PAGES || read >= MOST_STREAMS || room <= 0) {
      isComplete = false;
      break;
    }
    read += 1;
    const content = await unpacked(packed, about);
    room -= content.length;
    if (about.includes('/ObjStm')) found.push(content);
    else if (showsText(content)) shown.push(content);
  }
  const digits = found.some((part) => part.includes('/Identity-H')) ? WIDE_DIGITS : NARROW_DIGITS;
  const characters = shown.reduce((sum, content) => sum + charactersIn(content, digits), 0);
  const pages = pagesIn(found, byteLength(base64));
  return { pages, characters: Math.round(isComplete ? characters : (characters / Math.max(1, shown.length)) * pages) };
}

/** The streams of a file that can be what pages show, or hold its objects; fonts and pictures say what they are. */
function* streamsIn(text: string): Generator<{ readonly about: string; readonly packed: string }> {
  for (let at = text.indexOf('stream'); at >= 0; at = text.indexOf('stream', at + 6)) {
    const described = text.slice(Math.max(0, at - DESCRIPTION), at);
    const about = described.slice(described.lastIndexOf(' obj') + 1);
    if (described.endsWith('end') || (!about.includes('/ObjStm') && IS_SOMETHING_ELSE.test(about))) continue;
    const start = at + (text.startsWith('\r\n', at + 6) ? 8 : 7);
    const end = text.indexOf('endstream', start);
    if (end < 0) return;
    yield { about, packed: text.slice(start, end) };
    at = end;
  }
}

async function unpacked(bytes: string, about: string): Promise<string> {
  if (!about.includes('/Filter')) return bytes.slice(0, MOST_BYTES);
  if (!about.includes('/FlateDecode') || /\/(?:ASCII|LZW|Crypt)/.test(about)) return '';
  const packed = Uint8Array.from(bytes, (character) => character.charCodeAt(0));
  let text = '';
  try {
    for await (const part of unpack(new Blob([packed]).stream(), 'deflate')) {
      text += new TextDecoder('latin1').decode(part);
      if (text.length >= MOST_BYTES) break;
    }
  } catch {
    // A line break after the data is taken for junk, when all of it has come; and not every runtime unpacks.
  }
  return text;
}

/** A page chooses a font and shows strings in it. */
function showsText(content: string): boolean {
  return content.includes('BT') && content.includes('Tf') && /T[jJ]\b/.test(content);
}

/** Hexadecimal digits of a character, in fonts of more than 256 characters and in others. */
const WIDE_DIGITS = 4;
const NARROW_DIGITS = 2;

/** Characters of the strings that a page shows, and of the gaps between them that stand for spaces. */
function charactersIn(content: string, digits: number): number {
  let characters = 0;
  let isInLine = false;
  // Read sign by sign: a pattern would try again from every bracket of a string that does not end.
  for (let at = 0; at < content.length; at += 1) {
    const sign = content[at];
    if (sign === '[' || sign === ']') isInLine = sign === '[';
    else if (sign === '(') {
      const end = endOfString(content, at);
      characters += lengthOfString(content.slice(at + 1, end));
      at = end;
    } else if (sign === '<' && content[at + 1] === '<') at += 1;
    else if (sign === '<') {
      const end = content.indexOf('>', at);
      if (end < 0) break;
      characters += (end - at - 1) / digits;
      at = end;
    } else if (sign === '-' && isInLine) characters += Number.parseInt(content.slice(at, at + 6), 10) <= SPACE ? 1 : 0;
    else if (sign === 'E' && content[at + 1] === 'T') characters += 1;
  }
  return characters;
}

/** Where the bracket is that ends a string; strings may have brackets in pairs, and others after a backslash. */
function endOfString(content: string, start: number): number {
  let depth = 0;
  for (let at = start; at < content.length; at += 1) {
    const sign = content[at];
    if (sign === '\\') at += 1;
    else if (sign === '(') depth += 1;
    else if (sign === ')') {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return content.length;
}

function lengthOfString(text: string): number {
  return text.includes('\\') ? text.replaceAll(/\\(?:[0-7]{1,3}|[^])/g, 'x').length : text.length;
}
