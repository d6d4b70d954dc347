/** The commands that read a ledger: `signalbox ledger export` and `signalbox replay`. */
import { createWriteStream, closeSync, existsSync, openSync, readSync } from 'node:fs';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { finished } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { createRouter } from '../index.ts';
import {
  type Command,
  CommandError,
  MisuseError,
  type CommandIo,
  fileArguments,
  refusal,
  STANDARD_INPUT,
} from './command.ts';
import { loadConfig, CONFIG_HELP } from './load-config.ts';
import { StringDecoder } from 'node:string_decoder';
import type { LedgerRecord } from '../contracts/ledger.ts';
import { replay as replayRecords, replayTable } from '../entries/replay.ts';
import { isJsonObject } from '../protocol/json.ts';
import { parse } from '../platform/json.ts';

const EXPORT_USAGE = `[options]

Writes the records of a ledger, one per line: what was decided about each request, what became of it and what it cost.
Reads the ledger of a server, page by page, with an operator or management key; or, with --config, the store that the option
ledger of a configuration names.

  --format <form>  jsonl, or csv for spreadsheets. Default: jsonl
  --json           The same as --format jsonl
  --out <path>     File to write. Default: print
  --account <id>   Only requests of this account
  --from <ms>      Only requests from this time on, in milliseconds since 1970
  --to <ms>        Only requests before this time
  --config <path>  Read the store of this configuration, and not a server
  --url <address>  Base URL of the server, for example http://localhost:3000/v1. Default: SIGNALBOX_URL
                   The key is taken from SIGNALBOX_API_KEY; it is no option, so that it is not in the list of
                   processes.`;

/** Records that are requested at a time. */
const PAGE = 1_000;
/** Milliseconds in which a server answers with a page. */
const TIMEOUT_MS = 60_000;

/** Lines of a page, without the head of CSV, and where the next one begins. */
interface Page {
  readonly head: string | undefined;
  readonly lines: string;
  readonly next: string | undefined;
}

type PageReader = (query: URLSearchParams) => Promise<Page>;

/** `signalbox ledger export`: writes what a ledger has kept. */
export const ledgerExport: Command = {
  name: 'ledger export',
  summary: 'Write the records of a ledger as JSON lines or CSV',
  usage: EXPORT_USAGE,
  async run(args, io) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        ...Object.fromEntries(
          ['format', 'out', 'account', 'from', 'to', 'config', 'url'].map((name) => [
            name,
            { type: 'string' as const },
          ]),
        ),
        json: { type: 'boolean' as const },
      },
    });
    const { json, ...texts } = values as { readonly json?: boolean };
    const { format = 'jsonl', out, config, url, ...filters } = texts as Readonly<Record<string, string | undefined>>;
    if (format !== 'jsonl' && (format !== 'csv' || json === true))
      throw new MisuseError(`--format must be jsonl or csv, and jsonl beside --json, not "${format}".`);
    for (const name of ['from', 'to']) {
      const value = filters[name];
      if (value !== undefined && !/^\d{1,15}$/.test(value))
        throw new MisuseError(`--${name} must be a time in milliseconds since 1970, not "${value}".`);
    }
    const query = new URLSearchParams({ format, limit: String(PAGE) });
    for (const [name, value] of Object.entries(filters)) if (value !== undefined) query.set(name, value);
    const { read, close } = config === undefined ? serverReader(url, io) : await storeReader(config, io);
    const target = out === undefined ? undefined : createWriteStream(resolve(io.folder, out));
    try {
      let isFirst = true;
      for (;;) {
        const { head, lines, next } = await read(query);
        const text = isFirst && head !== undefined ? head + lines : lines;
        isFirst = false;
        if (target === undefined) {
          if (text !== '') io.print(text.replace(/\r?\n$/, ''));
        } else if (!target.write(text)) await once(target, 'drain');
        if (next === undefined) return 0;
        query.set('after', next);
      }
    } finally {
      target?.end();
      if (target !== undefined) await finished(target);
      await close();
    }
  },
};

/** Splits a page of CSV from its head. */
function pageOf(text: string, format: string | null, next: string | undefined): Page {
  if (format !== 'csv') return { head: undefined, lines: text, next };
  const end = text.indexOf('\n') + 1;
  return { head: text.slice(0, end), lines: text.slice(end), next };
}

function serverReader(option: string | undefined, io: CommandIo): { read: PageReader; close: () => Promise<void> } {
  const base = option ?? io.environment['SIGNALBOX_URL'];
  if (base === undefined || !URL.canParse(base) || !/^https?:$/.test(new URL(base).protocol)) {
    throw new MisuseError(
      `Give --config, or --url or SIGNALBOX_URL as the base URL of a server, as http://localhost:3000/v1.`,
    );
  }
  const key = io.environment['SIGNALBOX_API_KEY'] ?? '';
  const headers: Record<string, string> = key === '' ? {} : { authorization: `Bearer ${key}` };
  const read: PageReader = async (query) => {
    let response: Response;
    let text: string;
    try {
      const address = `${base.replace(/\/+$/, '')}/ledger?${query.toString()}`;
      response = await fetch(address, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
      text = await response.text();
    } catch (error) {
      const { cause } = error as { readonly cause?: unknown };
      const reason = cause instanceof Error && cause.message !== '' ? cause.message : String(error);
      throw new CommandError(`${base} cannot be reached: ${reason}`);
    }
    if (!response.ok) throw new CommandError(refusal(response.status, text));
    return pageOf(text, query.get('format'), response.headers.get('x-next-cursor') ?? undefined);
  };
  return { read, close: () => Promise.resolve() };
}

async function storeReader(path: string, io: CommandIo): Promise<{ read: PageReader; close: () => Promise<void> }> {
  const { config } = await loadConfig(io, path);
  const router = createRouter(config);
  const { ledger } = router;
  if (ledger === undefined) throw new CommandError(`${path} has no option ledger, so there is nothing to export.`);
  const { CSV_HEAD, csvLine } = await import('../core/ledger/csv.ts');
  const number = (query: URLSearchParams, name: string): number | undefined =>
    query.has(name) ? Number(query.get(name)) : undefined;
  const read: PageReader = async (query) => {
    const { records, next } = await ledger.read({
      limit: PAGE,
      after: query.get('after') ?? undefined,
      account: query.get('account') ?? undefined,
      from: number(query, 'from'),
      to: number(query, 'to'),
    });
    const isCsv = query.get('format') === 'csv';
    const lines = records.map((record) => (isCsv ? `${csvLine(record)}\r\n` : `${JSON.stringify(record)}\n`)).join('');
    return { head: isCsv ? `${CSV_HEAD}\r\n` : undefined, lines, next };
  };
  return { read, close: () => router.close() };
}

const REPLAY_USAGE = `<ledger.jsonl | -> [options]

Decides every recorded request again under a configuration, on the world as it was recorded, and shows what would have
changed: choices, cost, failures and latency, each with its 95 % interval. Calls no provider. The file is what
"signalbox ledger export" writes. The exit code is 0, whether anything changed or not.

${CONFIG_HELP}
  --json           Print it as JSON`;

/** `signalbox replay`: plays a ledger again under another configuration. */
export const replay: Command = {
  name: 'replay',
  summary: 'Decide recorded requests again under another configuration',
  usage: REPLAY_USAGE,
  async run(args, io) {
    const { file, config: configPath, json } = fileArguments(args, 'records');
    const path = resolve(io.folder, file);
    const input = file === STANDARD_INPUT && io.readInput !== undefined ? await io.readInput() : undefined;
    if (input === undefined && !existsSync(path)) throw new CommandError(`${file} is not there.`);
    const { config } = await loadConfig(io, configPath);
    const report = await replayRecords(recordsIn(input?.split('\n') ?? linesIn(path), file), config);
    io.print(json ? JSON.stringify(report, undefined, 2) : replayTable(report));
    return 0;
  },
};

/** Bytes that are read at once. */
const CHUNK = 1 << 16;

/**
 * The records of a file. Nothing else happens in this process meanwhile, so it is read synchronously: to wait for each
 * line takes as long as to decide it again.
 */
function* recordsIn(lines: Iterable<string>, name: string): Generator<LedgerRecord, void, undefined> {
  let number = 0;
  for (const line of lines) {
    number += 1;
    if (line.trim() === '') continue;
    const value = parse(line);
    if (!isJsonObject(value) || value['version'] !== 1 || !Array.isArray(value['candidates'])) {
      throw new CommandError(
        `${name}, line ${number}, is not a record of a ledger; export it with "signalbox ledger export".`,
      );
    }
    yield value as unknown as LedgerRecord;
  }
}

function* linesIn(path: string): Generator<string, void, undefined> {
  const file = openSync(path, 'r');
  try {
    const chunk = Buffer.allocUnsafe(CHUNK);
    // A character may be cut in two where a chunk ends.
    const decoder = new StringDecoder('utf8');
    let begun = '';
    for (let count = readSync(file, chunk); count > 0; count = readSync(file, chunk)) {
      const lines = (begun + decoder.write(chunk.subarray(0, count))).split('\n');
      begun = lines.pop() ?? '';
      yield* lines;
    }
    yield begun + decoder.end();
  } finally {
    closeSync(file);
  }
}
