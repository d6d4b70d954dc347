import { fileURLToPath } from 'node:url';
import type { Option, OptionTable } from '../../src/options/option.ts';
import { ROUTER } from '../../src/config/router.ts';
import { ACCOUNT } from '../../src/options/accounts.ts';
import { describeOption } from './describe-option.ts';
import { type TableWords, readWords } from './read-words.ts';

/** Where the tables are. */
const TABLES = ['options', 'config'].map((folder) => fileURLToPath(new URL(`../../src/${folder}`, import.meta.url)));

/** The options of a router, by what they are about. One that is not here goes with the one above it in the table. */
const GROUPS: Readonly<Record<string, readonly (keyof typeof ROUTER)[]>> = {
  'Providers and models': ['providers', 'models', 'catalog', 'aliases', 'presets', 'defaultModel'],
  'Routing, retries and timeouts': [
    'policy',
    'selection',
    'strategy',
    'pacer',
    'hangDetection',
    'hedge',
    'tuning',
    'rules',
    'stickyTtlMs',
    'cacheMarks',
    'timeouts',
    'fallback',
    'breaker',
  ],
  'Access, limits and budgets': [
    'authenticate',
    'allowAnonymous',
    'cors',
    'net',
    'limits',
    'rateLimits',
    'budgets',
    'responseCache',
    'identitySecret',
  ],
  'Plugins and server tools': ['plugins', 'pluginDefaults', 'serverTools'],
  'State, streams, batches and webhooks': ['state', 'streams', 'batches', 'webhooks'],
  'Responses and events': ['brand', 'docsUrl', 'keepAlive', 'inspector', 'ledger', 'on'],
  Tests: ['environment'],
};

const HEAD = `# Configuration

<!-- Written by \`npm run docs:configuration\` from the tables in src/options and src/config. Do not edit it here. -->

Every option of \`createRouter\`, with its type, its default and its unit. All may be left out unless the default says
*required*, and an option that is \`undefined\` counts as left out. They are checked together when the router is made: a
\`ConfigError\` names everything that is wrong at once, and for an option that does not exist the one that was probably
meant. Types with a capital letter are exported by \`signalbox\`. \`[]\` in a name is each item of a list, \`.*\` each value
of an object with names of your own. Providers, plugins and storages have options of their own, on their pages:
[providers](providers.md), [plugins](plugins.md), [server tools](server-tools.md), [storage](storage-and-scaling.md).`.replaceAll(
  /(?<=\S)\n(?=\S)/g,
  ' ',
);

const COLUMNS = ['| Option | What it is | Type | Default | Unit |', '|---|---|---|---|---|'];

/**
 * The text of \`docs/configuration.md\`.
 *
 * @throws Error when an option has no comment, or its comment names another default than its table.
 */
export async function configurationPage(): Promise<string> {
  const words = await readWords(TABLES);
  /** Tables that are on the page already, and where. */
  const shown = new Map<OptionTable, string>();
  const sections = groupsOf(Object.keys(ROUTER) as (keyof typeof ROUTER)[]).flatMap(([title, names]) => {
    const lists = names.flatMap((name) => listOf(name, words, shown));
    const rows = rowsOf(ROUTER, '', names, words).map((row, index) => {
      const name = names[index] ?? '';
      return lists.includes(headingOf(name))
        ? row.replace(`\`${name}\``, `[\`${name}\`](#${name.toLowerCase()})`)
        : row;
    });
    return [`## ${title}`, [...COLUMNS, ...rows].join('\n'), ...lists];
  });
  const account = [
    '## Accounts',
    'What `authenticate` gives for a caller, and what `apiKeys([...])` takes with each key.',
    [...COLUMNS, ...deepRows(ACCOUNT, '', words, shown)].join('\n'),
  ];
  return `${[HEAD, ...sections, ...account].join('\n\n')}\n`;
}

/** All options in their groups. */
function groupsOf<Name extends string>(all: readonly Name[]): [title: string, names: Name[]][] {
  const groups = Object.entries<readonly string[]>(GROUPS).map(([title, names]): [string, Name[]] => [
    title,
    all.filter((name) => names.includes(name)).sort((left, right) => names.indexOf(left) - names.indexOf(right)),
  ]);
  for (const [index, name] of all.entries()) {
    if (groups.some(([, names]) => names.includes(name))) continue;
    const above = all[index - 1] ?? name;
    const [, names] = groups.find(([, some]) => some.includes(above)) ?? groups[0] ?? ['', []];
    names.splice(names.indexOf(above) + 1, 0, name);
  }
  return groups;
}

/** The options inside one of the router, if it has any, under a heading of their own. */
function listOf(
  name: keyof typeof ROUTER,
  words: ReadonlyMap<OptionTable, TableWords>,
  shown: Map<OptionTable, string>,
): readonly string[] {
  const inner = innerTable(ROUTER[name], name);
  if (inner === undefined) return [];
  shown.set(inner.table, inner.path);
  const about = words.get(inner.table)?.about.replaceAll(/ \((?:contract|gaps)[^)]*\)/g, '') ?? '';
  return [headingOf(name), about, [...COLUMNS, ...deepRows(inner.table, inner.path, words, shown)].join('\n')];
}

function headingOf(name: string): string {
  return `### \`${name}\``;
}

/** The rows of a table and of those inside it; one that is on the page already is only named. */
function deepRows(
  table: OptionTable,
  path: string,
  words: ReadonlyMap<OptionTable, TableWords>,
  shown: Map<OptionTable, string>,
): readonly string[] {
  return Object.entries(table).flatMap(([name, one]) => {
    const rows = (note?: string): readonly string[] => rowsOf(table, path, [name], words, note);
    const inner = innerTable(one, below(path, name));
    if (inner === undefined) return rows();
    const before = shown.get(inner.table);
    if (before !== undefined) return rows(` Options as in \`${before}\`.`);
    shown.set(inner.table, inner.path);
    return [...rows(), ...deepRows(inner.table, inner.path, words, shown)];
  });
}

function rowsOf(
  table: OptionTable,
  path: string,
  names: readonly string[],
  words: ReadonlyMap<OptionTable, TableWords>,
  note = '',
): readonly string[] {
  return names.map((name) => {
    const one = table[name];
    if (one === undefined) throw new Error(`There is no option ${below(path, name)}`);
    const { type, usual, unit, words: text } = describeOption(below(path, name), one, commentOf(table, name, words));
    const what = `${text.replaceAll(/(?<!\\)\|/g, '\\|')}${note}`;
    const cells = [`\`${below(path, name)}\``, what, type, usual, unit];
    return `| ${cells.join(' | ')} |`;
  });
}

/** What stands above an option, in its table or in the one that its table takes it from. */
function commentOf(table: OptionTable, name: string, words: ReadonlyMap<OptionTable, TableWords>): string {
  const own = words.get(table)?.options.get(name);
  if (own !== undefined) return own;
  const source = [...words].find(([other, { options }]) => other[name] === table[name] && options.has(name));
  return source?.[1].options.get(name) ?? '';
}

/** The options inside an option, and the path that leads to them. */
function innerTable(
  { form, table }: Pick<Option, 'form' | 'table'>,
  path: string,
): { readonly table: OptionTable; readonly path: string } | undefined {
  if (table !== undefined) return { table, path };
  if (form.kind === 'array') return innerTable(form.item, `${path}[]`);
  // A switch that may also be an object: what the object holds.
  if (form.kind === 'union')
    return form.options.map((one) => innerTable(one, path)).findLast((one) => one !== undefined);
  return form.kind === 'record' ? innerTable(form.value, `${path}.*`) : undefined;
}

function below(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
