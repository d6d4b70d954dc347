import type { CommandIo } from '../../src/cli/command.ts';
import { runCommand } from '../../src/cli/main.ts';
import type { TemporaryFolder } from './temporary-folder.ts';

/** What a command of the program did. */
export interface Ran {
  readonly code: number;
  readonly printed: readonly string[];
  readonly complained: readonly string[];
}

/** Runs the program in a folder. */
export function runIn(folder: TemporaryFolder, ...args: readonly string[]): Promise<Ran> {
  return runWith({}, folder, ...args);
}

/** Runs the program in a folder, with other parts of the process around it. */
export async function runWith(
  more: Partial<CommandIo>,
  folder: TemporaryFolder,
  ...args: readonly string[]
): Promise<Ran> {
  const printed: string[] = [];
  const complained: string[] = [];
  const code = await runCommand(args, {
    print: (line) => printed.push(line),
    complain: (line) => complained.push(line),
    progress: () => {},
    wait: () => Promise.resolve(),
    environment: {},
    folder: folder.path,
    now: () => Date.UTC(2026, 10, 20, 12),
    ...more,
  });
  return { code, printed, complained };
}
