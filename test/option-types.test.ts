import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentedTypes } from '../scripts/build/option-types.ts';
import { defaultPlugins } from '../src/index.ts';
import { readProjectFile, sourceFiles } from './support/source-files.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'coverage/option-types');

/** Interfaces over tables, as the sources have them. */
const interfaces = sourceFiles('src/options', 'src/config').flatMap(({ path, text }) =>
  [
    ...text.matchAll(/^export interface (\w+)[^{]*?\b(OptionsOf|ResolvedOf|FilledOf)<\s*typeof ([A-Z_]+)\s*>([^{]*)/gm),
  ].map(([, name = '', kind = '', table = '', rest = '']) => ({
    path,
    name,
    kind,
    table,
    isPart: /'|Reshaped/.test(rest),
  })),
);
/** Rules of the router leave members out and write them anew; two others are not published. */
const equal = interfaces.filter(({ isPart }) => !isPart);

/** Proves two types identical, with what may be left out and what is read-only. */
const SAME = `
type Identical<One, Other> =
  (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false;
type Plain<Type> = { [Name in keyof Type]: Type[Name] };
/** An interface may have more than its table, from other interfaces. */
type FromTable<Written, Table> = Plain<Pick<Written, keyof Table & keyof Written>>;
type Same<Written, Table> = Identical<FromTable<Written, Table>, Plain<Table>>;
`;

function proof(): string {
  const lines = equal.map(({ path, name, kind, table }, index) => {
    const file = JSON.stringify(`../../dist/types/${path}`);
    // Its providers are of the type of the call that makes the router.
    const isSame = `Same<import(${file}).${name}, Table.${kind}<typeof import(${file}).${table}>>`;
    return `export const ${name}_${index}: ${isSame} = true;`;
  });
  return `import type * as Table from '../../dist/types/src/options/option.ts';\n${SAME}\n${lines.join('\n')}\n`;
}

beforeAll(() => {
  if (!existsSync(join(root, 'dist/types'))) throw new Error('npm run build comes first');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the published types of options', () => {
  it('are exactly those of their tables', { timeout: 60_000 }, () => {
    expect(equal.length).toBeGreaterThan(30);
    writeFileSync(join(folder, 'proof.ts'), proof());
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      module: 'nodenext',
      target: 'esnext',
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      types: ['node'],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['proof.ts'] }));
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    let said = '';
    try {
      execFileSync(process.execPath, [compiler, '-p', folder, '--pretty', 'false', '--singleThreaded'], {
        encoding: 'utf8',
      });
    } catch (error) {
      said = String((error as { readonly stdout?: unknown }).stdout);
    }
    expect(said).toBe('');
  });

  it('have every option written out with its comment', () => {
    for (const { path, name } of equal) {
      const file = join(root, 'dist/types', path.replace(/\.ts$/, '.d.ts'));
      const [declared = ''] =
        new RegExp(`^export interface ${name}\\b[\\s\\S]*?^\\}`, 'm').exec(readFileSync(file, 'utf8')) ?? [];
      const members = declared.match(/^ {4}readonly \w+\??: /gm) ?? [];
      expect(declared, name).not.toMatch(/(?:OptionsOf|ResolvedOf|FilledOf|Partially)</);
      expect(members.length, name).toBeGreaterThan(0);
      expect(declared.match(/^ {4}\/\*\*/gm)?.length, name).toBe(members.length);
    }
  });

  it('have every listener with its comment, and no other', () => {
    const text = readProjectFile('dist/types/src/contracts/events.d.ts');
    const membersOf = (name: string): readonly string[] => {
      const [declared = ''] = new RegExp(`^export interface ${name} \\{[\\s\\S]*?^\\}`, 'm').exec(text) ?? [];
      return [...declared.matchAll(/^ {4}readonly (\w+)\??: /gm)].map(([, member = '']) => member);
    };
    expect(membersOf('RouterListeners').length).toBeGreaterThan(10);
    expect(membersOf('RouterListeners').toSorted()).toEqual(membersOf('RouterEvents').toSorted());
  });

  it('are written from what the compiler declares, whatever an option is', () => {
    const declared = `export declare const INNER: {
    /** A time. Default 5. */
    ms: import("./option.ts").Option<number, "default", number>;
};
export interface Inner extends ResolvedOf<typeof INNER> {
}
export declare const OUTER: {
    /** A name. */
    name: Option<string, "required", string>;
    /** Inside. */
    inner: Option<boolean | import("./option.ts").Partially<Inner>, "optional", boolean | Inner>;
};
export interface Outer extends Base, OptionsOf<typeof OUTER> {
}
`;
    const written = documentedTypes(new Map([['options.d.ts', declared]])).get('options.d.ts');
    expect(written).toContain('export interface Inner {\n    /** A time. Default 5. */\n    readonly ms: number;\n}');
    expect(written).toContain(`export interface Outer extends Base {
    /** A name. */
    readonly name: string;
    /** Inside. */
    readonly inner?: boolean | {
        /** A time. Default 5. */
        readonly ms?: number | undefined;
    } | undefined;
}`);
  });
});

describe('names that editors complete', () => {
  const unionOf = (type: string): readonly string[] => {
    const [, union = ''] = new RegExp(`type ${type} =([^;]*);`).exec(readProjectFile('src/options/names.ts')) ?? [];
    return [...union.matchAll(/'([\w-]+)'/g)].map(([, name = '']) => name).toSorted();
  };

  it('are those of the plugins that come with the router', () => {
    const ids = [...defaultPlugins().map(({ id }) => id), 'guardrails'];
    expect(unionOf('BuiltInPlugin')).toEqual(ids.toSorted());
  });

  it('are those of the providers that come with the package', () => {
    const [, table = ''] = /^## Vendors\n([\s\S]*?)^## /m.exec(readProjectFile('docs/providers.md')) ?? [];
    const slugs = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, slug = '']) => slug);
    expect(unionOf('BuiltInProvider')).toEqual(slugs.toSorted());
  });
});
