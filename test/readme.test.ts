import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROUTER_OPTIONS } from '../src/config/router.ts';
import { readProjectFile } from './support/source-files.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Inside the project, so that `signalbox` in a block means this package. */
const folder = join(root, 'coverage/readme');
const readme = readProjectFile('README.md');
const blocks = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');
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
  it('begins with the two commands', () => {
    const commands = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1]?.trim());
    expect(commands.slice(0, 2)).toEqual(['npm ci && npm start', 'npm ci && npm test']);
  });

  it('links only to what is there', () => {
    const links = [...readme.matchAll(/\]\(([^)#][^)]*)\)/g)]
      .map((match) => match[1] ?? '')
      .filter((link) => !link.includes('://'));
    expect(links.filter((link) => !existsSync(join(root, link)))).toEqual([]);
  });

  it('lists every option', () => {
    const listed = /## Options\n([\s\S]*?)\n## /.exec(readme)?.[1] ?? '';
    const names = [...listed.matchAll(/`(\w+)`/g)].map((match) => match[1]);
    expect(new Set(names)).toEqual(new Set(Object.keys(ROUTER_OPTIONS)));
  });

  it.each(blocks.map((block, index) => [index + 1, titleOf(block), block] as const))(
    'block %i runs: %s',
    async (index, _title, block) => {
      const file = join(folder, `block-${index}.ts`);
      // Every block gets a port of its own, whatever the reader would choose.
      writeFileSync(file, block.replaceAll('3000', String(0)) + END);
      const kind = /listen\(/.test(block) ? 'server' : 'script';
      const { stderr } = await promisify(execFile)(process.execPath, [file, kind], { cwd: root, timeout: 18_000 });
      expect(stderr.replace(/signalbox: .*\n/g, '')).toBe('');
    },
    20_000,
  );
});
