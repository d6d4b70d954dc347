/** Reads files of batch requests for the command line. */
import { resolve } from 'node:path';
import process from 'node:process';
import type { BatchesOptions } from '../config/batches.ts';
import { sqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
import { CommandError, type CommandIo, STANDARD_INPUT } from './command.ts';
import { createReadStream } from 'node:fs';
import { BATCH_ENDPOINTS } from '../protocol/batch.ts';
import { isJsonObject } from '../protocol/json.ts';

const DEFAULT_FILE = 'signalbox.db';
/** In the place of a file: batches end with the process. */
const MEMORY = 'memory';

/** Options of batches for a server that runs by itself, and in words where they are kept. */
export function batchesIn(
  configured: BatchesOptions | undefined,
  file: string | undefined,
  io: CommandIo,
): { readonly batches: BatchesOptions | undefined; readonly kept: string } {
  if (configured?.storage !== undefined) return { batches: configured, kept: 'as the configuration says' };
  const inMemory = { batches: configured, kept: 'in memory, gone when this stops' };
  if (file === MEMORY) return inMemory;
  const name = file ?? DEFAULT_FILE;
  if (file === undefined && process.getBuiltinModule?.('node:sqlite') === undefined) return inMemory;
  const storage = sqliteStorage({ file: resolve(io.folder, name) });
  return { batches: { ...configured, storage }, kept: name };
}

/** One line of a file of requests, in the format of OpenAI's Batch API. */
export interface BatchLine {
  readonly customId: string;
  /** Operation, for example `/v1/chat/completions`. */
  readonly url: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * Reads a file, or standard input, line by line. Empty lines are passed over.
 *
 * @throws {@link CommandError} with the number of the line.
 */
export async function* readBatchLines(path: string): AsyncGenerator<BatchLine, void> {
  let number = 0;
  let first: string | undefined;
  for await (const text of linesOf(path)) {
    number += 1;
    if (text.trim() === '') continue;
    const line = parseLine(text, number);
    first ??= line.url;
    if (line.url !== first) {
      throw new CommandError(`Line ${number}: url is "${line.url}", and before it was "${first}"; a batch has one.`);
    }
    yield line;
  }
}

/** Lines end with a line feed only: other separators, such as U+2028, may be in a text of JSON. */
async function* linesOf(path: string): AsyncGenerator<string, void> {
  const pieces = path === STANDARD_INPUT ? process.stdin.setEncoding('utf8') : createReadStream(path, 'utf8');
  let held: string[] = [];
  for await (const piece of pieces as AsyncIterable<string>) {
    const lines = piece.split('\n');
    const last = lines.pop() ?? '';
    for (const line of lines) {
      yield held.join('') + line;
      held = [];
    }
    held.push(last);
  }
  const rest = held.join('');
  if (rest !== '') yield rest;
}

function parseLine(text: string, number: number): BatchLine {
  let json: unknown;
  try {
    json = JSON.parse(number === 1 ? text.replace(/^\uFEFF/, '') : text);
  } catch {
    throw new CommandError(`Line ${number} is not JSON. Each line must be one request.`);
  }
  if (!isJsonObject(json)) throw new CommandError(`Line ${number} must be a JSON object.`);
  const { custom_id: customId, method = 'POST', url, body } = json;
  if (typeof customId !== 'string') throw new CommandError(`Line ${number}: custom_id must be a string.`);
  if (method !== 'POST') throw new CommandError(`Line ${number}: method must be "POST".`);
  const endpoint = BATCH_ENDPOINTS.find((one) => one === url);
  if (endpoint === undefined) {
    throw new CommandError(`Line ${number}: url must be one of ${BATCH_ENDPOINTS.join(', ')}.`);
  }
  if (!isJsonObject(body)) throw new CommandError(`Line ${number}: body must be a JSON object.`);
  return { customId, url: endpoint, body };
}
