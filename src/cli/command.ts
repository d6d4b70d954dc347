import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import * as read from '../platform/json.ts';

/** A command of the `signalbox` program. */
export interface Command {
  /** Words that call it, for example `catalog refresh`. */
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** What `--help` prints behind the name. */
  readonly usage: string;
  /** Does it; gives the exit code. */
  run(args: readonly string[], io: CommandIo): Promise<number>;
}

/** What a command may use of the process around it. */
export interface CommandIo {
  /** Prints a line of the result. */
  print(line: string): void;
  /** Prints a line of trouble. */
  complain(line: string): void;
  /** Shows a line in the place of the one that was shown before, where that is possible. */
  progress(line: string): void;
  /** Folder that relative paths start from. */
  readonly folder: string;
  /** Reads everything from standard input, as text: what the file name "-" stands for. */
  readInput?(): Promise<string>;
  /** Epoch milliseconds. */
  now(): number;
  /** Aborted when a command that runs until it is stopped should stop. Default: at SIGINT and SIGTERM. */
  readonly stop?: AbortSignal | undefined;
  /** Waits so many milliseconds. */
  wait(ms: number): Promise<void>;
  /** Environment variables. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Something that the person who called a command can put right. Its message is all that is printed. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** Arguments that are not understood: the exit code is 2, and the message ends with where to look. */
export class MisuseError extends CommandError {}

/** Characters of an answer that is no error of the router which are shown. */
const SHOWN_LENGTH = 200;

/** What a server says that did not do what was requested. */
export function refusal(status: number, text: string): string {
  const message = read.text(read.object(read.parseObject(text)?.['error'])?.['message']);
  const said = `The server answered ${status}: ${message ?? text.slice(0, SHOWN_LENGTH)}`;
  return status === 401 ? `${said}; the key is taken from SIGNALBOX_API_KEY` : said;
}

/** Rows as lines whose columns are below each other. The first row is the head. */
export function tableOf(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/**
 * Reads the arguments of a command that looks at one file under a configuration.
 *
 * @param what - What is in the file, for whoever names none.
 * @throws {@link MisuseError} unless one file is named.
 */
export function fileArguments(
  args: readonly string[],
  what: string,
): { readonly file: string; readonly config: string | undefined; readonly json: boolean } {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { config: { type: 'string' }, json: { type: 'boolean' } },
    allowPositionals: true,
  });
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0)
    throw new MisuseError(`Name one file with ${what}, or - for standard input.`);
  return { file, config: values.config, json: values.json === true };
}

/** What stands for standard input in the place of a file. */
export const STANDARD_INPUT = '-';

/**
 * The text of a file, or of standard input.
 *
 * @throws {@link CommandError} when it cannot be read.
 */
export async function readFileOrInput(file: string, io: Pick<CommandIo, 'folder' | 'readInput'>): Promise<string> {
  if (file === STANDARD_INPUT && io.readInput !== undefined) return io.readInput();
  try {
    return await readFile(resolve(io.folder, file), 'utf8');
  } catch {
    throw new CommandError(`${file} cannot be read.`);
  }
}
