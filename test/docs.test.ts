import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeBlocks, promisedOutput, runBlock } from './support/code-blocks.ts';
import { readProjectFile } from './support/source-files.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Inside the project, so that `signalbox` in a block means this package. */
const folder = join(root, 'coverage/docs');
const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
/** Blocks that say what they print are whole programs; the others are fragments. */
const blocks = pages.flatMap((page) =>
  codeBlocks(readProjectFile(`docs/${page}`))
    .map((block, index) => [page, index + 1, block] as const)
    .filter(([, , block]) => promisedOutput(block).length > 0),
);

beforeAll(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the documentation', () => {
  it.each(pages)('links only to what is there: %s', (page) => {
    const links = [...readProjectFile(`docs/${page}`).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(
      (match) => match[1] ?? '',
    );
    const local = links.filter((link) => !link.includes('://'));
    expect(local.filter((link) => !existsSync(join(root, 'docs', link)))).toEqual([]);
  });

  it('has an example of each kind of thing that users bring', () => {
    const all = blocks.map(([, , block]) => block).join('\n');
    for (const name of ['definePlugin', 'defineServerTool']) expect(all).toContain(name);
  });

  it.each(blocks)(
    '%s, block %i prints what it says it prints',
    async (page, index, block) => {
      const { stdout, stderr } = await runBlock(block, join(folder, `${page}-${index}.ts`));
      expect([stdout.trim().split('\n'), stderr]).toEqual([promisedOutput(block), '']);
    },
    20_000,
  );
});
