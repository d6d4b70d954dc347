import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { SERVERS } from './support/servers.ts';

const root = fileURLToPath(new URL('.', import.meta.url));
const tests = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.test.ts'));

describe('tests that need a server', () => {
  it.each(SERVERS)('of $name are named so that they can be left out', ({ name, tests: beginning }) => {
    const start = name === 'PostgreSQL' ? /\bstartPostgres\(/ : /\bstartRedis\(/;
    const needing = tests.filter((path) => start.test(readFileSync(join(root, path), 'utf8')));
    const known = SERVERS.map((server) => server.tests);
    expect(needing.length).toBeGreaterThan(1);
    // A test that needs two servers has the name of one, and looks for the other by itself.
    expect(needing.filter((path) => !known.some((one) => basename(path).startsWith(one)))).toEqual([]);
    expect(needing.some((path) => basename(path).startsWith(beginning))).toBe(true);
  });
});
