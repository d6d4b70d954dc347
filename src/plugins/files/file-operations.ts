import type { JsonObject } from '../../protocol/json.ts';
import type { FileContent, FileStore, StoredFile } from '../ports/file-store.ts';

/** What became of an operation, as the model reads it (gaps 2.2). */
export type FileOutcome = { readonly result: JsonObject } | { readonly error: string };

/** Characters of a file that one call shows or stores. */
export const MAX_FILE_CHARACTERS = 200_000;
/** Bytes of a file that is looked into at all. */
const MAX_FILE_BYTES = 4_000_000;
const MAX_FILENAME_LENGTH = 255;
/** Files in one list. */
const LIST_LIMIT = 100;

/** Carries out one operation on the files of one account. */
export async function runFileOperation(args: JsonObject, store: FileStore, account: string): Promise<FileOutcome> {
  switch (args['operation']) {
    case 'list':
      return { result: { files: (await store.list(account, LIST_LIMIT)).map(cardOf) } };
    case 'read':
      return read(args, store, account);
    case 'write':
      return write(args, store, account);
    case 'edit':
      return edit(args, store, account);
    default:
      return { error: 'operation must be list, read, write or edit' };
  }
}

async function read(args: JsonObject, store: FileStore, account: string): Promise<FileOutcome> {
  const found = await find(args, store, account);
  if (typeof found === 'string') return { error: found };
  const text = textOf(found);
  if (text === undefined) return { error: NO_TEXT };
  const content = text.slice(0, MAX_FILE_CHARACTERS);
  const cut = content.length < text.length ? { truncated: true, characters: text.length } : {};
  return { result: { ...cardOf(found.file), content, ...cut } };
}

async function write(args: JsonObject, store: FileStore, account: string): Promise<FileOutcome> {
  const { filename, content } = args;
  const problem = problemOfName(filename) ?? problemOfText('content', content);
  if (problem !== undefined || typeof filename !== 'string' || typeof content !== 'string') {
    return { error: problem ?? 'filename and content must be texts' };
  }
  return keep(filename, typeOf(filename), content, store, account);
}

/** A changed file is a new one: what an id stands for never changes. */
async function edit(args: JsonObject, store: FileStore, account: string): Promise<FileOutcome> {
  const { old_text: before, new_text: after } = args;
  if (typeof before !== 'string' || before === '') return { error: 'old_text must be a text that is not empty' };
  if (typeof after !== 'string') return { error: 'new_text must be a text' };
  const found = await find(args, store, account);
  if (typeof found === 'string') return { error: found };
  const text = textOf(found);
  if (text === undefined) return { error: NO_TEXT };
  const at = text.indexOf(before);
  if (at < 0) return { error: 'old_text is not in the file' };
  if (text.includes(before, at + 1)) return { error: 'old_text is in the file more than once; give more of it' };
  const content = `${text.slice(0, at)}${after}${text.slice(at + before.length)}`;
  const problem = problemOfText('the new content', content);
  if (problem !== undefined) return { error: problem };
  return keep(found.file.filename, found.file.mediaType, content, store, account);
}

async function keep(
  filename: string,
  mediaType: string,
  content: string,
  store: FileStore,
  account: string,
): Promise<FileOutcome> {
  const data = new TextEncoder().encode(content);
  return { result: cardOf(await store.write(account, { filename, mediaType, data })) };
}

async function find({ file_id: id }: JsonObject, store: FileStore, account: string): Promise<FileContent | string> {
  if (typeof id !== 'string' || id === '') return 'file_id must be the id of a file';
  return (await store.read(account, id)) ?? 'There is no file of that id; list tells which there are';
}

const NO_TEXT = 'This file is not text, or too large to be read here';

function textOf({ data }: FileContent): string | undefined {
  if (data.byteLength > MAX_FILE_BYTES) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(data);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

function problemOfName(name: unknown): string | undefined {
  if (typeof name !== 'string' || name.trim() === '') return 'filename must be a text that is not empty';
  if (name.length > MAX_FILENAME_LENGTH) return `filename must have at most ${MAX_FILENAME_LENGTH} characters`;
  return /[\p{Cc}/\\]/u.test(name) ? 'filename must not hold slashes or control characters' : undefined;
}

function problemOfText(what: string, text: unknown): string | undefined {
  if (typeof text !== 'string') return `${what} must be a text`;
  if (text.length > MAX_FILE_CHARACTERS) return `${what} must have at most ${MAX_FILE_CHARACTERS} characters`;
  return undefined;
}

const TYPES: Readonly<Record<string, string>> = {
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  json: 'application/json',
};

function typeOf(filename: string): string {
  const ending = filename.slice(filename.lastIndexOf('.') + 1).toLowerCase();
  return (Object.hasOwn(TYPES, ending) ? TYPES[ending] : undefined) ?? 'text/plain';
}

function cardOf({ id, filename, mediaType, size, created }: StoredFile): JsonObject {
  return { file_id: id, filename, media_type: mediaType, size_bytes: size, created };
}
