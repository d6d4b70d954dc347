import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { documentedTypes, tablesOf } from './build/option-types.ts';

/**
 * Writes the interfaces of options out in the published declarations, so that every editor shows what a table says
 * about its options. Part of `npm run build`, after the compiler.
 */
const folder = fileURLToPath(new URL('../dist/types/src/config', import.meta.url));
/** Outside of that folder, listeners are told by their events. */
const EVENTS = '../runtime/chat/events.d.ts';
const files = [...readdirSync(folder, { recursive: true, encoding: 'utf8' }), EVENTS]
  .filter((name) => name.endsWith('.d.ts'))
  .map((name) => join(folder, name))
  .map((file) => ({ file, text: readFileSync(file, 'utf8') }));
const tables = tablesOf(files.map(({ text }) => text));
for (const { file, text } of files) writeFileSync(file, documentedTypes(text, tables));
