/** What API Extractor writes about an export, or about a member of one: the part that is read here. */
export interface ApiItem {
  readonly kind: string;
  readonly name?: string;
  /** The comment as it is in the source. */
  readonly docComment?: string;
  /** Declaration file that it comes from, below the project's folder. */
  readonly fileUrlPath?: string;
  readonly excerptTokens?: readonly { readonly text: string }[];
  readonly members?: readonly ApiItem[];
}

/**
 * The page of an entry point with few exports: each with its comment and its declaration, as an editor shows them. One
 * page instead of one per member, as API Documenter writes them: those are 2,600 pages, most of one line.
 */
export function apiPage(specifier: string, model: ApiItem): string {
  return pageOf(specifier, exportsOf(model));
}

/** Above so many exports an entry point has a page for each task, and a list of them. */
const MOST_ON_ONE_PAGE = 60;

/** What exports are for, by the folder of their source; the first that fits counts. */
const TASKS: readonly (readonly [task: string, sources: RegExp])[] = [
  [
    'Plugins and server tools',
    /\/(?:plugins|core\/pipeline|runtime\/(?:pipeline|tools))\/|contracts\/(?:plugin|server-tool)|protocol\/(?:plugins|server-tools)/,
  ],
  ['Batches and files', /batch|\/queue\/|webhook|protocol\/files?/],
  ['Providers', /\/(?:providers|net)\/|contracts\/(?:provider|transport)|core\/accepts/],
  ['Limits, budgets and accounts', /limit|budget|account|keys|authenticat|spending/],
  ['Storage', /\/storage\/|contracts\/(?:state|storage)/],
  ['Events, records and the inspector', /\/observe\/|ledger|inspector|events|replay|log-sink/],
  ['Models and prices', /\/catalog\/|tables\/model-info|protocol\/models/],
  ['Configuration', /\/config\//],
  ['Routing and fallback', /\/core\/(?:selection|fallback|normalize)\/|protocol\/(?:metadata|provider-preferences)/],
  ['Requests, responses and errors', /\/protocol\/|\/core\//],
];

/** Task of what fits none of {@link TASKS}: routers themselves, mounts and what they need. */
const REST = 'Routers';

/** One page of the reference. */
export interface ApiTaskPage {
  readonly task: string;
  /** Name of its file, without the ending. */
  readonly name: string;
  readonly names: readonly string[];
  readonly text: string;
}

/** The pages of an entry point that has too many exports for one; empty for all others. */
export function apiTaskPages(specifier: string, model: ApiItem): readonly ApiTaskPage[] {
  const all = exportsOf(model);
  if (all.length <= MOST_ON_ONE_PAGE) return [];
  const tasks = [REST, ...TASKS.map(([task]) => task)];
  return tasks.flatMap((task) => {
    const items = all.filter((item) => taskOf(item) === task);
    if (items.length === 0) return [];
    const name = task.toLowerCase().replaceAll(/\W+/g, '-');
    const title = `${specifier}: ${task.toLowerCase()}`;
    return [{ task, name, names: namesOf(items), text: pageOf(title, items) }];
  });
}

function taskOf({ fileUrlPath = '' }: ApiItem): string {
  return TASKS.find(([, sources]) => sources.test(fileUrlPath))?.[0] ?? REST;
}

function exportsOf(model: ApiItem): readonly ApiItem[] {
  return (model.members ?? []).flatMap((entry) => entry.members ?? []);
}

function pageOf(title: string, exported: readonly ApiItem[]): string {
  // Overloads and types that share a name with a value are under one heading.
  const byName = new Map<string, ApiItem[]>();
  for (const item of exported) {
    const { name = '' } = item;
    byName.set(name, [...(byName.get(name) ?? []), item]);
  }
  const sections = [...byName].map(([name, items]) => `## ${name}\n\n${items.map(sectionOf).join('\n\n')}`);
  return `---\neditLink: false\noutline: 2\n---\n\n# ${title}\n\n${sections.join('\n\n')}\n`;
}

/** Names of what a program can call, without types. */
export function exportedNames(model: ApiItem): readonly string[] {
  return namesOf(exportsOf(model));
}

function namesOf(exported: readonly ApiItem[]): readonly string[] {
  const called = exported.filter(({ kind }) => kind === 'Function' || kind === 'Class');
  return [...new Set(called.map(({ name = '' }) => name))];
}

function sectionOf(item: ApiItem): string {
  return `${proseOf(item.docComment ?? '')}\n\n\`\`\`ts\n${declarationOf(item)}\n\`\`\``;
}

/** A comment as Markdown. Outside code, nothing of it may read as HTML or as an expression of a page. */
function proseOf(comment: string): string {
  const text = comment
    .replace(/^\s*\/\*\*/, '')
    .replace(/\*\/\s*$/, '')
    .replaceAll(/^[ \t]*\* ?/gm, '')
    .trim();
  return text
    .split(/(```[\s\S]*?```|`[^`\n]*`)/)
    .map((part) => (part.startsWith('`') ? part : escaped(part)))
    .join('');
}

function escaped(text: string): string {
  return text
    .replaceAll(/\{@link ([^}|]+?)(?:\s*\|\s*([^}]+))?\}/g, (_, target: string, label = target) => label)
    .replaceAll(/^@(param|typeParam) (\w+)(?: -)?/gm, '- **$2**:')
    .replaceAll(/^@returns /gm, '\n**Returns** ')
    .replaceAll(/^@throws /gm, '\n**Throws** ')
    .replaceAll(/^@example/gm, '\n**Example**\n')
    .replaceAll(/^@remarks/gm, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('{{', '&#123;&#123;');
}

/** The declaration, with its members and what is said about each. */
function declarationOf({ excerptTokens = [], members = [], kind }: ApiItem): string {
  const head = excerptTokens
    .map(({ text }) => text)
    .join('')
    .trim();
  if (kind !== 'Interface' && kind !== 'Class') return head;
  const inner = members.map((member) => {
    const comment = member.docComment?.trim().replaceAll(/^\s*\*/gm, ' *') ?? '';
    return `${comment === '' ? '' : `${comment}\n`}${declarationOf(member)}`;
  });
  return `${head} {\n${inner.join('\n').replaceAll(/^(?=.)/gm, '  ')}\n}`;
}
