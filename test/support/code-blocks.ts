import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** TypeScript blocks of a document. */
export function codeBlocks(document: string): readonly string[] {
  return [...document.matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
}

/** What a block says that it prints: the comment below each `console.log`. */
export function promisedOutput(block: string): readonly string[] {
  return [...block.matchAll(/^console\.log\(.*\);\n\/\/ (.*)$/gm)].map((match) => match[1] ?? '');
}

/** What a document shows below a block as its output. */
export function shownBelow(document: string, block: string): readonly string[] {
  const behind = document.slice(document.indexOf(block) + block.length);
  return /^```\n\n```text\n([\s\S]*?)\n```/.exec(behind)?.[1]?.split('\n') ?? [];
}

/** Runs a block as a program of its own; gives what it printed. The file must be inside the project. */
export async function runBlock(
  block: string,
  file: string,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  writeFileSync(file, block);
  return promisify(execFile)(process.execPath, [file], { cwd: ROOT, timeout: 100_000 });
}
