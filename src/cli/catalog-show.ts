import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { CatalogFacts, FactName, ModelFacts } from '../catalog/facts.ts';
import { LOCK_FILE } from '../runtime/chat/known-models.ts';
import { readCatalogLock } from '../runtime/catalog/lock-file.ts';
import { type Command, CommandError } from './command.ts';

const USAGE = `[<vendor> | <vendor>/<model> ...] [options]

Shows what a lock file knows. Without a name: its sources and vendors; with that of a vendor: its models; with that
of a model: every field, and the source, date and licence that it comes from.

  --file <path>  Default: ${LOCK_FILE}`;

/** `signalbox catalog show`: shows facts and where they come from. */
export const catalogShow: Command = {
  name: 'catalog show',
  summary: 'Show what the lock file knows, and where each field comes from',
  usage: USAGE,
  run(args, io) {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { file: { type: 'string' } },
      allowPositionals: true,
    });
    const facts = readCatalogLock(resolve(io.folder, values.file ?? LOCK_FILE));
    const lines = positionals.length === 0 ? overview(facts) : positionals.flatMap((name) => showNamed(facts, name));
    for (const line of lines) io.print(line);
    return Promise.resolve(0);
  },
};

function overview({ origins, vendors }: CatalogFacts): readonly string[] {
  const counts = Object.entries(vendors).map(([slug, models]) => {
    const list = Object.values(models);
    const priced = list.filter(({ endpoint }) => endpoint?.price !== undefined).length;
    return `${slug}: ${list.length} models, ${priced} with prices`;
  });
  return [...origins.map(({ source, date, licence }) => `from ${source}, ${date}, ${licence}`), ...counts];
}

function showNamed(facts: CatalogFacts, name: string): readonly string[] {
  const slash = name.indexOf('/');
  const slug = slash < 0 ? name : name.slice(0, slash);
  const models = Object.hasOwn(facts.vendors, slug) ? facts.vendors[slug] : undefined;
  if (models === undefined) {
    throw new CommandError(`"${slug}" is not in the file; there are ${Object.keys(facts.vendors).join(', ')}.`);
  }
  if (slash < 0) return Object.keys(models).map((model) => `${slug}/${model}`);
  const model = name.slice(slash + 1);
  const found = Object.hasOwn(models, model) ? models[model] : undefined;
  if (found === undefined) throw new CommandError(`"${model}" is not among the models of ${slug} in the file.`);
  return [name, ...fieldsOf(found, facts)];
}

function fieldsOf({ info, endpoint, from }: ModelFacts, { origins }: CatalogFacts): readonly string[] {
  const fields = Object.entries({ ...info, ...endpoint });
  const width = Math.max(0, ...fields.map(([field]) => field.length));
  return fields.map(([field, value]) => {
    const origin = origins[from[field as FactName] ?? -1];
    const where = origin === undefined ? 'unknown source' : `${origin.source}, ${origin.date}, ${origin.licence}`;
    return `  ${field.padEnd(width)}  ${JSON.stringify(value)}  (${where})`;
  });
}
