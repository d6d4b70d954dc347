import { runCommand } from '../../src/cli/run.ts';
import type { TemporaryFolder } from './temporary-folder.ts';

/** What a command of the program did. */
export interface Ran {
  readonly code: number;
  readonly printed: readonly string[];
  readonly complained: readonly string[];
}

/** Runs the program in a folder. */
export async function runIn(folder: TemporaryFolder, ...args: readonly string[]): Promise<Ran> {
  const printed: string[] = [];
  const complained: string[] = [];
  const code = await runCommand(args, {
    print: (line) => printed.push(line),
    complain: (line) => complained.push(line),
    folder: folder.path,
    now: () => Date.UTC(2026, 10, 20, 12),
    progress: () => {},
    wait: () => Promise.resolve(),
    environment: {},
  });
  return { code, printed, complained };
}
