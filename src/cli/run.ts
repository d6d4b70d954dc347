import { ConfigError } from '../errors.ts';
import { nearName } from '../protocol/near-name.ts';
import { batchesResults } from './batches-results.ts';
import { batchesSubmit } from './batches-submit.ts';
import { batchesWatch } from './batches-watch.ts';
import { catalogRefresh } from './catalog-refresh.ts';
import { catalogShow } from './catalog-show.ts';
import { check } from './check.ts';
import { type Command, CommandError, type CommandIo } from './command.ts';
import { explain } from './explain.ts';
import { serve } from './serve.ts';

/** All commands. A new one is a file with a {@link Command} and a line here. */
export const COMMANDS: readonly Command[] = [
  serve,
  check,
  explain,
  batchesSubmit,
  batchesWatch,
  batchesResults,
  catalogRefresh,
  catalogShow,
];

/** Exit code of a call that could not be understood. */
const MISUSED = 2;

/** Runs the command that the arguments name, and gives the exit code: 0 done, 1 failed, 2 not understood. */
export async function runCommand(
  args: readonly string[],
  io: CommandIo,
  commands: readonly Command[] = COMMANDS,
): Promise<number> {
  const command = commands.find(({ name }) => name.split(' ').every((word, index) => args[index] === word));
  if (command === undefined) return listCommands(args, io, commands);
  const rest = args.slice(command.name.split(' ').length);
  if (rest.includes('--help')) {
    io.print(`signalbox ${command.name} ${command.usage}`);
    return 0;
  }
  try {
    return await command.run(rest, io);
  } catch (error) {
    if (isMisuse(error)) {
      io.complain(`signalbox ${command.name}: ${error.message} Try "signalbox ${command.name} --help".`);
      return MISUSED;
    }
    if (!(error instanceof CommandError) && !ConfigError.isInstance(error)) throw error;
    io.complain(`signalbox ${command.name}: ${error.message}`);
    return 1;
  }
}

function listCommands(args: readonly string[], io: CommandIo, commands: readonly Command[]): number {
  const [group] = args;
  const isAsked = group === undefined || group === 'help' || group === '--help';
  const inGroup = commands.filter(({ name }) => name.startsWith(`${group} `));
  const listed = inGroup.length > 0 ? inGroup : commands;
  const width = Math.max(...listed.map(({ name }) => name.length));
  const print = (line: string): void => (isAsked ? io.print(line) : io.complain(line));
  if (!isAsked) {
    const words = args.slice(0, inGroup.length > 0 ? 2 : 1).join(' ');
    const near = nearName(
      words,
      listed.map(({ name }) => name),
    );
    print(`signalbox: "${words}" is not a command${near === undefined ? '' : `; did you mean "${near}"?`}`);
  }
  print('Usage: signalbox <command> [options]');
  for (const { name, summary } of listed) print(`  ${name.padEnd(width)}  ${summary}`);
  print('Each command explains itself with --help.');
  return isAsked ? 0 : MISUSED;
}

/** What `parseArgs` throws for arguments that it does not know. */
function isMisuse(error: unknown): error is Error {
  return error instanceof TypeError && String((error as { code?: unknown }).code).startsWith('ERR_PARSE_ARGS_');
}
