/**
 * The types of options are computed from tables (`src/options/option.ts`), and TypeScript 7 shows no comments over
 * members of computed types. So declarations that are published have the members written out, each with the comment and
 * the type of its table. Sources keep one place for each option, and the build writes this anew each time, from the
 * syntax trees that the compiler gives of its own declarations.
 */
import { API } from 'typescript/unstable/sync';
import type { ExpressionWithTypeArguments, InterfaceDeclaration, Node, SourceFile } from 'typescript/unstable/ast';
import {
  isIdentifier,
  isImportTypeNode,
  isInterfaceDeclaration,
  isLiteralTypeNode,
  isMappedTypeNode,
  isPropertySignatureDeclaration,
  isTypeAliasDeclaration,
  isTypeLiteralNode,
  isTypeQueryNode,
  isTypeReferenceNode,
  isUnionTypeNode,
  isVariableStatement,
} from 'typescript/unstable/ast/is';

/** One member of a table, as the compiler declares it. */
interface Member {
  readonly name: string;
  readonly comment: string;
  /** What programs give, whether they may leave it out, and what the router reads. */
  readonly value: string;
  readonly when: string;
  readonly whole: string;
  /** Where its value names options in part, and the interface of these options. */
  readonly parts: readonly { readonly start: number; readonly end: number; readonly type: string }[];
}

/** Members of tables by the names of the tables, and the tables of interfaces by the names of the interfaces. */
interface DeclaredTables {
  readonly members: ReadonlyMap<string, readonly Member[]>;
  readonly tableOf: ReadonlyMap<string, string>;
}

/** An interface over a table, alone or beside others, with members of its own or without. */
interface Computed {
  readonly node: InterfaceDeclaration;
  /** `OptionsOf`, `ResolvedOf` or `FilledOf`. */
  readonly kind: string;
  readonly table: string;
  /** The member of the table that the interface leaves out. */
  readonly without: string | undefined;
  readonly others: readonly ExpressionWithTypeArguments[];
}

/** A passage of a declaration and what takes its place. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const COMPUTED: ReadonlySet<string> = new Set(['OptionsOf', 'ResolvedOf', 'FilledOf']);
const FOLDER = '/declarations';

/**
 * Declarations in which interfaces over tables have their members written out.
 *
 * @param declarations - What the compiler declares, by the names of the files.
 */
export function documentedTypes(declarations: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const files = new Map([...declarations].map(([, text], index) => [`${FOLDER}/${index}.d.ts`, text]));
  // Nothing is resolved: what is written here stands in the trees of these files alone.
  const options = { compilerOptions: { noLib: true, noResolve: true, types: [] }, files: [...files.keys()] };
  const all = new Map([...files, [`${FOLDER}/tsconfig.json`, JSON.stringify(options)]]);
  const api = new API({
    cwd: FOLDER,
    fs: { fileExists: (path) => all.has(path), readFile: (path) => all.get(path) ?? null },
  });
  try {
    const project = api.updateSnapshot({ openProjects: [`${FOLDER}/tsconfig.json`] }).getProjects()[0];
    const trees = [...files.keys()].map((path) => {
      const tree = project?.program.getSourceFile(path);
      if (tree === undefined) throw new Error(`${path} cannot be parsed`);
      return tree;
    });
    const tables = tablesOf(trees);
    return new Map([...declarations.keys()].map((name, index) => [name, documented(trees[index], tables)]));
  } finally {
    api.close();
  }
}

/** Reads the tables of declarations. */
function tablesOf(trees: readonly SourceFile[]): DeclaredTables {
  const members = new Map<string, readonly Member[]>();
  const tableOf = new Map<string, string>();
  for (const node of trees.flatMap(({ statements }) => [...statements])) {
    if (isInterfaceDeclaration(node)) {
      const computed = computedOf(node);
      if (computed !== undefined) tableOf.set(node.name.text, computed.table);
    }
    const [declared] = isVariableStatement(node) ? node.declarationList.declarations : [];
    if (declared?.type === undefined || !isTypeLiteralNode(declared.type)) continue;
    const found = declared.type.members.flatMap((member) => memberOf(member));
    if (found.length > 0) members.set(declared.name.getText(), found);
  }
  const all = [...members.values()].flat();
  for (const [name, found] of members)
    members.set(
      name,
      found.map((member) => commented(member, all)),
    );
  return { members, tableOf };
}

/** An option of a table; nothing where a member is none. */
function memberOf(node: Node): readonly Member[] {
  if (!isPropertySignatureDeclaration(node) || node.type === undefined) return [];
  const [value, when, whole] = referenceTo('Option', node.type) ?? [];
  if (value === undefined || when === undefined || whole === undefined || !isLiteralTypeNode(when)) return [];
  const start = value.getStart();
  const parts = partsOf(value).map((part) => ({ ...part, start: part.start - start, end: part.end - start }));
  return [
    {
      name: node.name.getText(),
      comment: commentOf(node),
      value: value.getText(),
      when: when.getText().slice(1, -1),
      whole: whole.getText(),
      parts,
    },
  ];
}

/** The arguments of a type of this name, also where the compiler writes it with the file that it is from. */
function referenceTo(name: string, node: Node): readonly Node[] | undefined {
  if (isTypeReferenceNode(node) && node.typeName.getText() === name) return node.typeArguments;
  return isImportTypeNode(node) && node.qualifier?.getText() === name ? node.typeArguments : undefined;
}

/** Every `Partially<…>` in a type. */
function partsOf(node: Node): Member['parts'] {
  const [type] = referenceTo('Partially', node) ?? [];
  if (type !== undefined) return [{ start: node.getStart(), end: node.getEnd(), type: type.getText() }];
  const parts: Member['parts'][number][] = [];
  node.forEachChild((child) => {
    parts.push(...partsOf(child));
  });
  return parts;
}

/** The comment above a member, with the line break and the blanks that lead to the member. */
function commentOf(node: Node): string {
  const text = node.getSourceFile().text.slice(node.getFullStart(), node.getStart());
  return text.trim() === '' ? '' : `${text.trim()}\n    `;
}

/** A member that its table has from another one has the comment there. */
function commented(member: Member, all: readonly Member[]): Member {
  if (member.comment !== '') return member;
  const same = all.find(({ name, value, comment }) => name === member.name && value === member.value && comment !== '');
  return { ...member, comment: same?.comment ?? '' };
}

/** How an interface is computed from a table, if it is. */
function computedOf(node: InterfaceDeclaration): Computed | undefined {
  const types = [...(node.heritageClauses?.[0]?.types ?? [])];
  for (const type of types) {
    const name = type.expression.getText();
    const [first, second] = type.typeArguments ?? [];
    const others = types.filter((other) => other !== type);
    if (COMPUTED.has(name) && first !== undefined && isTypeQueryNode(first)) {
      return { node, kind: name, table: first.exprName.getText(), without: undefined, others };
    }
    if (name !== 'Omit' || first === undefined || !isTypeReferenceNode(first)) continue;
    if (second === undefined || !isLiteralTypeNode(second)) continue;
    const [query] = first.typeArguments ?? [];
    if (!COMPUTED.has(first.typeName.getText()) || query === undefined || !isTypeQueryNode(query)) continue;
    const without = second.getText().slice(1, -1);
    return { node, kind: first.typeName.getText(), table: query.exprName.getText(), without, others };
  }
  return undefined;
}

function documented(tree: SourceFile | undefined, tables: DeclaredTables): string {
  if (tree === undefined) return '';
  const edits = [...tree.statements].flatMap((node) => {
    if (isInterfaceDeclaration(node)) return interfaceEdits(node, tables);
    return isTypeAliasDeclaration(node) ? mappedEdits(node, tables) : [];
  });
  return edits
    .toSorted((left, right) => right.start - left.start)
    .reduce((text, { start, end, text: written }) => text.slice(0, start) + written + text.slice(end), tree.text);
}

function interfaceEdits(node: InterfaceDeclaration, tables: DeclaredTables): readonly Edit[] {
  const computed = computedOf(node);
  const clause = node.heritageClauses?.[0];
  if (computed === undefined || clause === undefined) return [];
  const { kind, table, without, others } = computed;
  const members = tables.members.get(table) ?? [];
  const own = node.members.filter((member) => isPropertySignatureDeclaration(member));
  // Members that the interface declares itself, or has from another one, take the place of those of its table.
  const taken = new Set([
    without,
    ...own.map((member) => member.name.getText()),
    ...others.flatMap((other) => membersOf(other.getText(), tables).map(({ name }) => name)),
  ]);
  const written = members
    .filter(({ name }) => !taken.has(name))
    .map((member) => `    ${kind === 'OptionsOf' ? given(member, tables) : read(member, kind)}\n`);
  const rest = others.length === 0 ? '' : `extends ${others.map((other) => other.getText()).join(', ')} `;
  const brace = node.getSourceFile().text.indexOf('{', clause.getEnd());
  // Members that the interface declares itself, with another type than their table, have the table's comment.
  const comments = own.flatMap((member) => {
    const comment = members.find(({ name }) => name === member.name.getText())?.comment ?? '';
    const start = member.getStart();
    return commentOf(member) === '' && comment !== '' ? [{ start, end: start, text: comment }] : [];
  });
  return [{ start: clause.getStart(), end: brace + 2, text: `${rest}{\n${written.join('')}` }, ...comments];
}

/**
 * A type with a member for each option of a table whose values differ by the names of the options alone, as an interface.
 * Its table is the one whose values it has: layers below the tables cannot name it.
 */
function mappedEdits(node: Node, tables: DeclaredTables): readonly Edit[] {
  if (!isTypeAliasDeclaration(node) || !isMappedTypeNode(node.type) || node.type.type === undefined) return [];
  const value = node.type.type;
  const [type] = isUnionTypeNode(value) ? value.types : [];
  if (type === undefined || !isTypeReferenceNode(type) || !isIdentifier(type.typeName)) return [];
  const name = type.typeName.text;
  const isTheirs = (member: Member): boolean => member.value === `${name}<"${member.name}">`;
  const members = [...tables.members.values()].find((found) => found.every(isTheirs));
  if (members === undefined) return [];
  const written = members.map((member) => `    ${given(member, tables)}\n`).join('');
  const text = `export interface ${node.name.text} {\n${written}}`;
  return [{ start: node.getStart(), end: node.getEnd(), text }];
}

/** An option as programs write it. */
function given(member: Member, tables: DeclaredTables): string {
  const { name, comment, when, parts } = member;
  const value = parts
    .toReversed()
    .reduce(
      (text, { start, end, type }) => text.slice(0, start) + inPart(type, tables) + text.slice(end),
      member.value,
    );
  return `${comment}readonly ${name}${when === 'required' ? `: ${value}` : `?: ${value} | undefined`};`;
}

/** An option as the router reads it. */
function read({ name, comment, when, whole }: Member, kind: string): string {
  const mayMiss = when === 'optional' || (kind === 'FilledOf' && when === 'computed');
  return `${comment}readonly ${name}: ${whole}${mayMiss ? ' | undefined' : ''};`;
}

/** The members of the table that an interface is over. */
function membersOf(name: string, tables: DeclaredTables): readonly Member[] {
  return tables.members.get(tables.tableOf.get(name) ?? '') ?? [];
}

/** The options of a section, all of which may be left out. */
function inPart(type: string, tables: DeclaredTables): string {
  const members = membersOf(type, tables);
  if (members.length === 0) throw new Error(`Partially<${type}>: ${type} is no interface over a table of options`);
  const written = members.map((member) => `    ${given({ ...member, when: 'optional' }, tables)}`).join('\n');
  const lines = written.split('\n').map((line) => (line === '' ? line : `    ${line}`));
  return `{\n${lines.join('\n')}\n    }`;
}
