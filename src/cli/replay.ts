import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { resolve } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { parseArgs } from 'node:util';
import type { LedgerRecord } from '../contracts/ledger.ts';
import { replay as replayRecords, replayTable } from '../entries/replay.ts';
import { isJsonObject } from '../protocol/json.ts';
import { type Command, CommandError } from './command.ts';
import { CONFIG_HELP, loadConfig } from './load-config.ts';
import * as read from '../platform/json.ts';

const USAGE = `<ledger.jsonl> [options]

Decides every recorded request again under a configuration, on the world as it was recorded, and shows what would have
changed: choices, cost, failures and latency, each with its 95 % interval. Calls no provider. The file is what
"signalbox ledger export" writes. The exit code is 0, whether anything changed or not.

${CONFIG_HELP}
  --json           Print it as JSON`;

/** `signalbox replay`: plays a ledger again under another configuration. */
export const replay: Command = {
  name: 'replay',
  summary: 'Decide recorded requests again under another configuration',
  usage: USAGE,
  async run(args, io) {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { config: { type: 'string' }, json: { type: 'boolean' } },
      allowPositionals: true,
    });
    const [file, ...others] = positionals;
    if (file === undefined || others.length > 0) throw new CommandError('Name one file with records.');
    const path = resolve(io.folder, file);
    if (!existsSync(path)) throw new CommandError(`${file} is not there.`);
    const { config } = await loadConfig(io, values.config);
    const report = await replayRecords(recordsIn(path, file), config);
    io.print(values.json === true ? JSON.stringify(report, undefined, 2) : replayTable(report));
    return 0;
  },
};

/** Bytes that are read at once. */
const CHUNK = 1 << 16;

/**
 * The records of a file. Nothing else happens in this process meanwhile, so it is read synchronously: to wait for each
 * line takes as long as to decide it again.
 */
function* recordsIn(path: string, name: string): Generator<LedgerRecord, void, undefined> {
  let number = 0;
  for (const line of linesIn(path)) {
    number += 1;
    if (line.trim() === '') continue;
    const value = read.parse(line);
    if (!isJsonObject(value) || value['version'] !== 1 || !Array.isArray(value['candidates'])) {
      throw new CommandError(
        `${name}, line ${number}, is no record of a ledger; export it with "signalbox ledger export".`,
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
