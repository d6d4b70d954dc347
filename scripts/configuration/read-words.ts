import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { OptionTable } from '../../src/options/option.ts';

/** What the comments of a table say. */
export interface TableWords {
  readonly name: string;
  /** The comment above the table. */
  readonly about: string;
  /** The comments above its options, by name. */
  readonly options: ReadonlyMap<string, string>;
}

/**
 * Tables are written one way, which the formatter keeps: `export const NAME = {` in the first column, options and their
 * comments two columns further.
 */
const TABLE = /^(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?export const ([A-Z_]+) = \{\n([\s\S]*?)^\}/gm;
const MEMBER = /^ {2}(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {2})?(\w+):/gm;

/** Reads the comments of all tables below folders, which are what editors show. */
export async function readWords(folders: readonly string[]): Promise<ReadonlyMap<OptionTable, TableWords>> {
  const words = new Map<OptionTable, TableWords>();
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  for (const file of files) {
    if (!file.endsWith('.ts')) continue;
    const tables = tablesOf(readFileSync(file, 'utf8'));
    if (tables.length === 0) continue;
    const exported = (await import(pathToFileURL(file).href)) as Readonly<Record<string, OptionTable>>;
    for (const table of tables) {
      const value = exported[table.name];
      if (value !== undefined) words.set(value, table);
    }
  }
  return words;
}

/** What the tables of a source say. */
export function tablesOf(source: string): readonly TableWords[] {
  return [...source.matchAll(TABLE)].map(([, about, name = '', body = '']) => {
    const members = [...body.matchAll(MEMBER)].map(([, comment, option = '']) => [option, inOneLine(comment)] as const);
    return { name, about: inOneLine(about), options: new Map(members) };
  });
}

function inOneLine(comment = ''): string {
  return comment.replaceAll(/\n\s*\*? ?/g, ' ').trim();
}
