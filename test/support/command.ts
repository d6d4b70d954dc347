import { runCommand } from '../../src/cli/main.ts';
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
    progress: () => {},
    wait: () => Promise.resolve(),
    environment: {},
    folder: folder.path,
    now: () => Date.UTC(2026, 10, 20, 12),
  });
  return { code, printed, complained };
}
