import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { documentedTypes } from './build/option-types.ts';

/**
 * Writes the interfaces of options out in the published declarations, so that every editor shows what a table says
 * about its options. Part of `npm run build`, after the compiler.
 */
const folder = fileURLToPath(new URL('../dist/types/src', import.meta.url));
const declared = readdirSync(folder, { recursive: true, encoding: 'utf8' });
// Beside the tables, listeners are described by their events.
const files = declared
  .filter((name) => /^(?:options|config)\/.*\.d\.ts$|^contracts\/events\.d\.ts$/.test(name))
  .map((name) => join(folder, name));
const texts = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));
for (const [file, text] of documentedTypes(texts)) writeFileSync(file, text);
