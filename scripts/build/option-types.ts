/**
 * The types of options are computed from tables (`src/options/option.ts`), and TypeScript 7 shows no comments over
 * members of computed types. So declarations that are published have the members written out, each with the comment and
 * the type of its table. Sources keep one place for each option, and the build writes this anew each time.
 */

/** One member of a table, as the compiler declares it. */
interface Member {
  readonly name: string;
  readonly comment: string;
  /** What programs give, whether they may leave it out, and what the router reads. */
  readonly value: string;
  readonly when: string;
  readonly whole: string;
}

/** Members of tables by the names of the tables, and the tables of interfaces by the names of the interfaces. */
interface DeclaredTables {
  readonly members: ReadonlyMap<string, readonly Member[]>;
  readonly tableOf: ReadonlyMap<string, string>;
}

const TABLE = /^export declare const ([A-Z_]+): \{\n([\s\S]*?)^\};$/gm;
const MEMBER =
  /^ {4}(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n {4})?(\w+): (?:import\("[^"]+"\)\.)?Option<([\s\S]*?), "(default|computed|optional|required)", ([\s\S]*?)>;$/gm;
/** An interface over a table, alone or beside others, with members of its own or without. */
const INTERFACE =
  /^(export interface (\w+)(?:<[^\n]*?>)? extends )((?:\w+, )*)(Omit<)?(OptionsOf|ResolvedOf|FilledOf)<typeof ([A-Z_]+)>(?:, '(\w+)'>)? \{\n/gm;
/** A type with a member for each option of a table whose values differ by the names of the options alone. */
const MAPPED = /^export type (\w+) = \{\n {4}readonly \[Name in keyof \w+\]\?: (\w+)<Name> \| undefined;\n\};$/gm;
const PARTIALLY = /(?:import\("[^"]+"\)\.)?Partially<(\w+)>/g;

/** Reads the tables of declarations. */
export function tablesOf(declarations: readonly string[]): DeclaredTables {
  const members = new Map<string, readonly Member[]>();
  const tableOf = new Map<string, string>();
  for (const text of declarations) {
    for (const [, name = '', body = ''] of text.matchAll(TABLE)) {
      const found = [...body.matchAll(MEMBER)].map(
        ([, comment = '', member = '', value = '', when = '', whole = '']) => ({
          name: member,
          comment,
          value,
          when,
          whole,
        }),
      );
      if (found.length > 0) members.set(name, found);
    }
    for (const [, , name = '', , , , table = ''] of text.matchAll(INTERFACE)) tableOf.set(name, table);
  }
  const all = [...members.values()].flat();
  for (const [name, found] of members)
    members.set(
      name,
      found.map((member) => commented(member, all)),
    );
  return { members, tableOf };
}

/** A member that its table has from another one has the comment there. */
function commented(member: Member, all: readonly Member[]): Member {
  if (member.comment !== '') return member;
  const same = all.find(({ name, value, comment }) => name === member.name && value === member.value && comment !== '');
  return { ...member, comment: same?.comment ?? '' };
}

/** A declaration in which interfaces over tables have their members written out. */
export function documentedTypes(declaration: string, tables: DeclaredTables): string {
  return withOwnComments(withMapped(declaration, tables), tables).replaceAll(
    INTERFACE,
    (_all, head: string, name: string, others: string, _omit, kind: string, table: string, left?: string) => {
      // Members that the interface declares itself, or has from another one, take the place of those of its table.
      const own = declaration.slice(declaration.indexOf(`interface ${name}`)).split('\n}')[0] ?? '';
      const inherited = new Set(
        others.split(', ').flatMap((other) => membersOf(other, tables).map(({ name: one }) => one)),
      );
      const members = (tables.members.get(table) ?? []).filter(
        (member) => member.name !== left && !inherited.has(member.name) && !own.includes(`readonly ${member.name}?: `),
      );
      const written = members.map((member) => (kind === 'OptionsOf' ? given(member, tables) : read(member, kind)));
      const before = others === '' ? head.replace(/ extends $/, ' ') : `${head}${others.replace(/, $/, ' ')}`;
      return `${before}{\n${written.map((member) => `    ${member}\n`).join('')}`;
    },
  );
}

/** Mapped types as interfaces. Their table is the one whose values they have: layers below the tables cannot name it. */
function withMapped(declaration: string, tables: DeclaredTables): string {
  return declaration.replaceAll(MAPPED, (written, name: string, type: string) => {
    const isTheirs = (member: Member): boolean => member.value === `${type}<"${member.name}">`;
    const members = [...tables.members.values()].find((found) => found.every(isTheirs));
    if (members === undefined) return written;
    return `export interface ${name} {\n${members.map((member) => `    ${given(member, tables)}\n`).join('')}}`;
  });
}

/** Members that an interface declares itself, with another type than their table: they have the table's comment. */
function withOwnComments(declaration: string, tables: DeclaredTables): string {
  return [...declaration.matchAll(INTERFACE)].reduce((text, [, , name = '', , , , table = '']) => {
    const start = text.indexOf(`export interface ${name}`);
    const end = text.indexOf('\n}', start);
    const own = text.slice(start, end).replaceAll(/(?<!\*\/\n) {4}readonly (\w+)\?: /g, (line, member: string) => {
      const comment = tables.members.get(table)?.find((one) => one.name === member)?.comment ?? '';
      return `    ${comment}${line.trimStart()}`;
    });
    return `${text.slice(0, start)}${own}${text.slice(end)}`;
  }, declaration);
}

/** An option as programs write it. */
function given(member: Member, tables: DeclaredTables): string {
  const { name, comment, when } = member;
  const value = member.value.replaceAll(PARTIALLY, (_all, type: string) => inPart(type, tables));
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
  const written = members.map((member) => `    ${given({ ...member, when: 'optional' }, tables)}\n`).join('');
  return `{\n${written.trimEnd().replaceAll(/^/gm, '    ')}\n    }`;
}
