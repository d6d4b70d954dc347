import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { SERVERS } from './support/servers.ts';

const root = fileURLToPath(new URL('.', import.meta.url));
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.test.ts'));

describe('tests that need a server', () => {
  it.each(SERVERS)('of $name, and no others, are named so that they are left out', ({ tests, starts }) => {
    const needing = files.filter((path) => path !== 'servers.test.ts' && textOf(path).includes(starts));
    const named = files.filter((path) => basename(path).includes(tests));
    expect(needing.length).toBeGreaterThan(0);
    expect(named).toEqual(needing);
  });
});

function textOf(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}
