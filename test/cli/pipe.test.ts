import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const program = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

it('ends without a complaint when its reader stops early, as `| head` does', async () => {
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'pipe'] });
  // Nobody reads: the first line that is written finds the pipe closed.
  child.stdout.destroy();
  let complained = '';
  child.stderr.on('data', (text) => (complained += String(text)));
  const [code] = (await once(child, 'close')) as [number];
  expect([code, complained]).toEqual([0, '']);
}, 20_000);
