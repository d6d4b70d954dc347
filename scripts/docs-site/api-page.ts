/** What API Extractor writes about an export, or about a member of one: the part that is read here. */
export interface ApiItem {
  readonly kind: string;
  readonly name?: string;
  /** The comment as it is in the source. */
  readonly docComment?: string;
  readonly excerptTokens?: readonly { readonly text: string }[];
  readonly members?: readonly ApiItem[];
}

/**
 * The page of an entry point: each export with its comment and its declaration, as an editor shows them. One page instead
 * of one per member, as API Documenter writes them: those are 2,600 pages, most of one line.
 */
export function apiPage(specifier: string, model: ApiItem): string {
  const exported = (model.members ?? []).flatMap((entry) => entry.members ?? []);
  // Overloads and types that share a name with a value are under one heading.
  const byName = new Map<string, ApiItem[]>();
  for (const item of exported) {
    const { name = '' } = item;
    byName.set(name, [...(byName.get(name) ?? []), item]);
  }
  const sections = [...byName].map(([name, items]) => `## ${name}\n\n${items.map(sectionOf).join('\n\n')}`);
  return `---\neditLink: false\n---\n\n# ${specifier}\n\n${sections.join('\n\n')}\n`;
}

/** Names of what a program can call, without types. */
export function exportedNames(model: ApiItem): readonly string[] {
  const exported = (model.members ?? []).flatMap((entry) => entry.members ?? []);
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
