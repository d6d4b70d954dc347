import { createReadStream, existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
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

async function* recordsIn(path: string, name: string): AsyncGenerator<LedgerRecord, void, undefined> {
  let number = 0;
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
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
