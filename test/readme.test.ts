import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readProjectFile } from './support/source-files.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Inside the project, so that `signalbox` in a block means this package. */
const folder = join(root, 'coverage/readme');
const readme = readProjectFile('README.md');
const blocks = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
/** What the README shows as the output of a block. */
const shownAfter = (block: string): string | undefined =>
  /^```\n\n```text\n([\s\S]*?)```/.exec(readme.slice(readme.indexOf(block) + block.length))?.[1];
const titleOf = (block: string): string => block.trim().split('\n').at(-1) ?? '';

/** Servers of the blocks end by themselves, so that each block can be run to its end. */
const END =
  "\nsetTimeout(() => process.exit(0), 1_500).unref();\nif (process.argv[2] === 'server') setTimeout(() => process.exit(0), 500);\n";

beforeAll(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the README', () => {
  it('shows what its blocks print', () => {
    expect(blocks.filter((block) => shownAfter(block) !== undefined).length).toBeGreaterThan(1);
  });

  it('names the two commands for a clone', () => {
    const [, clone = ''] = /## Try it from a clone\n([\s\S]*)/.exec(readme) ?? [];
    const commands = /```sh\n([\s\S]*?)\n```/.exec(clone)?.[1]?.split('\n');
    expect(commands).toEqual(['npm ci && npm start', 'npm ci && npm test']);
  });

  it('can be read in a minute', () => {
    expect(readme.split('\n').length).toBeLessThan(140);
  });

  it('links only to what is there', () => {
    const links = [...readme.matchAll(/\]\(([^)#][^)]*)\)/g)]
      .map((match) => match[1] ?? '')
      .filter((link) => !link.includes('://'));
    expect(links.filter((link) => !existsSync(join(root, link)))).toEqual([]);
  });

  it.each(blocks.map((block, index) => [index + 1, titleOf(block), block] as const))(
    'block %i runs: %s',
    async (index, _title, block) => {
      const file = join(folder, `block-${index}.ts`);
      // Every block gets a port of its own, whatever the reader would choose.
      writeFileSync(file, block.replaceAll('3000', String(0)) + END);
      const kind = /listen\(/.test(block) ? 'server' : 'script';
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [file, kind], {
        cwd: root,
        timeout: 100_000,
      });
      expect(stderr.replace(/signalbox: .*\n/g, '')).toBe('');
      const shown = shownAfter(block);
      if (shown !== undefined) expect(stdout).toBe(shown);
    },
    20_000,
  );
});
