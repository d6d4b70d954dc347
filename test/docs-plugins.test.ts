import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeBlocks, promisedOutput, runBlock } from './support/code-blocks.ts';
import { readProjectFile } from './support/source-files.ts';

/** Inside the project, so that `signalbox` in a block means this package. */
const folder = join(fileURLToPath(new URL('..', import.meta.url)), 'coverage/docs-plugins');
const blocks = codeBlocks(readProjectFile('docs/plugins.md'));

beforeAll(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the guide to plugins', () => {
  it('has an example of each kind', () => {
    expect(blocks.map((block) => block.includes('definePlugin'))).toEqual([true, false]);
    expect(blocks.map((block) => block.includes('defineServerTool'))).toEqual([false, true]);
  });

  it.each(blocks.map((block, index) => [index + 1, block] as const))(
    'block %i prints what it says it prints',
    async (index, block) => {
      const promised = promisedOutput(block);
      expect(promised.length).toBeGreaterThan(0);
      const { stdout, stderr } = await runBlock(block, join(folder, `block-${index}.ts`));
      expect([stdout.trim().split('\n'), stderr]).toEqual([promised, '']);
    },
    20_000,
  );
});
