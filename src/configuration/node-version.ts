import type { ConfigProblem } from '../errors.ts';

/** Oldest Node that is tested, as `engines` in package.json has it. */
const OLDEST: readonly [major: number, minor: number] = [22, 12];

/** Says that Node is too old; nothing on runtimes that are not Node or that are new enough. */
export function nodeProblems(version: string | undefined = nodeVersion()): readonly ConfigProblem[] {
  if (version === undefined) return [];
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return [];
  return [{ path: 'Node.js', problem: `must be version ${OLDEST.join('.')} or newer, not ${version}` }];
}

/** Bun and Deno say a version of Node too, but have one of their own. */
function nodeVersion(): string | undefined {
  const { process } = globalThis as { process?: { versions?: Readonly<Record<string, string | undefined>> } };
  const { node, bun, deno } = process?.versions ?? {};
  return bun === undefined && deno === undefined ? node : undefined;
}
