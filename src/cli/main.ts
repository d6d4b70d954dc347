#!/usr/bin/env node
/** The entry point of the program `signalbox`: finds the command and runs it. */
import { type Command, CommandError, type CommandIo, MisuseError } from './command.ts';
import { ConfigError } from '../protocol/router-error.ts';
import { nearName } from '../protocol/near-name.ts';
import { batchesResults, batchesSubmit, batchesWatch } from './batches.ts';
import { catalogRefresh, catalogShow } from './catalog.ts';
import { check } from './check.ts';
import { demo, serve } from './serve.ts';
import { explain } from './explain.ts';
import { keysCreate, keysList, keysRevoke, keysRotate } from './keys.ts';
import { ledgerExport, replay } from './ledger.ts';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';

/** All commands. A new one is a {@link Command} and a line here. */
const COMMANDS: readonly Command[] = [
  serve,
  demo,
  check,
  explain,
  batchesSubmit,
  batchesWatch,
  batchesResults,
  catalogRefresh,
  catalogShow,
  keysCreate,
  keysList,
  keysRotate,
  keysRevoke,
  ledgerExport,
  replay,
];

/** What the program is, for whoever calls it without arguments. */
const ABOUT = `Signalbox is a model router: one OpenAI-compatible API in front of many model providers.
Start it with "npx signalbox serve". To try it without API keys: "npx signalbox demo".
`;

/** Exit code of a call that could not be understood. */
const MISUSED = 2;

/** Runs the command that the arguments name, and gives the exit code: 0 done, 1 failed, 2 not understood. */
export async function runCommand(
  args: readonly string[],
  io: CommandIo,
  commands: readonly Command[] = COMMANDS,
): Promise<number> {
  if (VERSION_WORDS.has(args[0] ?? '')) {
    io.print(packageVersion());
    return 0;
  }
  const command = commands.find(({ name }) => name.split(' ').every((word, index) => args[index] === word));
  if (command === undefined) return listCommands(args, io, commands);
  const rest = args.slice(command.name.split(' ').length);
  if (rest.some((word) => HELP_WORDS.has(word))) {
    io.print(`signalbox ${command.name} ${command.usage}`);
    return 0;
  }
  try {
    return await command.run(rest, io);
  } catch (error) {
    if (error instanceof MisuseError || isMisuse(error)) {
      const said = error.message.replace(/[^.]$/, '$&.');
      io.complain(`signalbox ${command.name}: ${said} Try "npx signalbox ${command.name} --help".`);
      return MISUSED;
    }
    if (!(error instanceof CommandError) && !ConfigError.isInstance(error)) throw error;
    io.complain(`signalbox ${command.name}: ${error.message}`);
    return 1;
  }
}

const VERSION_WORDS: ReadonlySet<string> = new Set(['--version', '-v', 'version']);
const HELP_WORDS: ReadonlySet<string> = new Set(['--help', '-h']);

/** Of the package that this program is in, wherever it was built to. */
function packageVersion(): string {
  const folder = import.meta.url.endsWith('.ts') ? '../../' : '../';
  const { version } = JSON.parse(readFileSync(new URL(`${folder}package.json`, import.meta.url), 'utf8')) as {
    version: string;
  };
  return version;
}

function listCommands(args: readonly string[], io: CommandIo, commands: readonly Command[]): number {
  const words = args[0] === 'help' ? args.slice(1) : args;
  const [group] = words;
  const inGroup = commands.filter(({ name }) => name.startsWith(`${group} `));
  const isGroup = inGroup.length > 0 && words.slice(1).every((word) => HELP_WORDS.has(word));
  const isRequested = group === undefined || HELP_WORDS.has(group) || (isGroup && args.length > 1);
  const listed = inGroup.length > 0 ? inGroup : commands;
  const width = Math.max(...listed.map(({ name }) => name.length));
  const print = (line: string): void => (isRequested ? io.print(line) : io.complain(line));
  if (!isRequested) {
    const given = args.slice(0, inGroup.length > 0 ? 2 : 1).join(' ');
    const near = nearName(
      given,
      listed.map(({ name }) => name),
    );
    print(`signalbox: "${given}" is not a command${near === undefined ? '' : `; did you mean "${near}"?`}`);
  }
  if (group === undefined) print(ABOUT);
  print('Usage: npx signalbox <command> [options]');
  for (const { name, summary } of listed) print(`  ${name.padEnd(width)}  ${summary}`);
  print('Each command has a --help.');
  return isRequested ? 0 : MISUSED;
}

/** What `parseArgs` throws for arguments that it does not know. */
function isMisuse(error: unknown): error is Error {
  return error instanceof TypeError && String((error as { code?: unknown }).code).startsWith('ERR_PARSE_ARGS_');
}

/** True while the last line may be written over. */
let open = false;

function close(): void {
  if (open) process.stderr.write('\n');
  open = false;
}

// Whoever reads the output, such as `head`, may stop before its end: that is no failure.
process.stdout.on('error', (error: Error & { readonly code?: string }) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

void runCommand(process.argv.slice(2), {
  print: (line) => process.stdout.write(`${line}\n`),
  complain(line) {
    close();
    process.stderr.write(`${line}\n`);
  },
  progress(line) {
    open = process.stderr.isTTY;
    process.stderr.write(open ? `\r\x1B[K${line}` : `${line}\n`);
  },
  wait: (ms) => setTimeout(ms),
  environment: process.env,
  readInput: () => text(process.stdin),
  folder: process.cwd(),
  now: () => Date.now(),
}).then((code) => {
  close();
  process.exitCode = code;
});
