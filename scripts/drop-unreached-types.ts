import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ENTRY_POINTS } from './entry-points.ts';

/**
 * Removes published declarations that no entry point leads to: the compiler writes one for every source file, and nobody
 * can import those. The lists of names that the compiler writes on one line get a line for each name, as lines of more
 * than {@link LONGEST} characters cannot be read. Part of `npm run build`, after the compiler.
 */
const LONGEST = 400;
const types = fileURLToPath(new URL('../dist/types', import.meta.url));

const reached = new Set(ENTRY_POINTS.map(({ source }) => join(types, declarationOf(source))));
for (const file of reached) {
  for (const [, from = ''] of readFileSync(file, 'utf8').matchAll(
    /(?:\bfrom\s*|\bimport\s*\(?\s*)['"](\.[^'"]+)['"]/g,
  )) {
    const next = declarationOf(resolve(dirname(file), from));
    if (!existsSync(next)) throw new Error(`${file} imports ${from}, which has no declaration.`);
    reached.add(next);
  }
}
for (const name of readdirSync(types, { recursive: true, encoding: 'utf8' })) {
  const file = join(types, name);
  if (name.endsWith('.d.ts') && !reached.has(file)) rmSync(file);
}

for (const file of reached) {
  const text = readFileSync(file, 'utf8');
  const lines = text.split('\n').map((line) => (line.length > LONGEST ? brokenUp(line) : line));
  const broken = lines.join('\n');
  if (broken !== text) writeFileSync(file, broken);
}

/** A declaration with a line break behind each name of a tuple or union of names. */
function brokenUp(line: string): string {
  const indent = /^ */.exec(line)?.[0] ?? '';
  return line.replaceAll(/(?<=['"])(, | \| )(?=['"])/g, (between) => `${between.trimEnd()}\n${indent}    `);
}

function declarationOf(source: string): string {
  return source.replace(/\.[jt]s$/, '.d.ts');
}
