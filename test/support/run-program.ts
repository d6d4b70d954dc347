import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Runs a program of the project to its end; rejects when it fails. */
export function runProgram(
  file: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const env = { ...process.env, ...environment };
  return promisify(execFile)(process.execPath, [file], { cwd: ROOT, env, timeout: 60_000 });
}
