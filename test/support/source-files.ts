import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A source file of the project. */
export interface SourceFile {
  /** Path from the project's root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

/** An import of a source file. */
export interface Import {
  /** Path from the project's root for our own files, the bare specifier for packages. */
  readonly target: string;
  readonly isPackage: boolean;
  readonly typeOnly: boolean;
  /** Loaded when it is used, by `import()`. */
  readonly isDynamic: boolean;
}

const IMPORT = /^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'|import\('([^']+)'\)/gm;

/** All TypeScript files below the given folders. */
export function sourceFiles(...folders: readonly string[]): readonly SourceFile[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
      .map((name) => readSource(join(ROOT, folder, name))),
  );
}

/** A file of the project as text. */
export function readProjectFile(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function readSource(file: string): SourceFile {
  const text = readFileSync(file, 'utf8');
  const path = relative(ROOT, file).replaceAll('\\', '/');
  const imports = [...text.matchAll(IMPORT)].map((match) => {
    const specifier = match[2] ?? match[3] ?? '';
    const isPackage = !specifier.startsWith('.');
    return {
      target: isPackage ? specifier : posix.join(dirname(path), specifier),
      isPackage,
      typeOnly: match[1] !== undefined,
      isDynamic: match[3] !== undefined,
    };
  });
  return { path, text, imports };
}

/** Source without comments and strings, for looking at words of code. */
export function codeOf(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\/\/[^\n]*/g, '')
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g, "''");
}

/** What comes before the first statement that is no import: the program's first line, comments on lines, imports. */
const BEFORE_CODE = /^(?:#!.*\n)?(?:\s*(?:import\b[^;]*;|\/\/[^\n]*\n))*\s*/;
const OPENING = /^\/\*\*[\s\S]*?\*\/\n/;
const EXPORT =
  /^export\s+(?:(?:declare|abstract|async)\s+)*(?:function\*?|class|const|let|interface|type|enum)\s+(\w+)/;

/**
 * True for a file that opens with what it is for: a comment of its own, before or behind its imports, or the comment of
 * the export that it is named after or that is its only one. A comment about anything else says nothing of the file.
 */
export function statesItsPurpose({ path, text }: Pick<SourceFile, 'path' | 'text'>): boolean {
  const program = text.replace(/^#!.*\n/, '');
  if (/^\/\*\*[\s\S]*?\*\/\n\s*(?:\n|import\b)/.test(program)) return true;
  const code = text.replace(BEFORE_CODE, '');
  const [opening] = OPENING.exec(code) ?? [];
  if (opening === undefined) return false;
  const behind = code.slice(opening.length);
  if (/^(?:\n|export (?:\*|\{|type \{))/.test(behind)) return true;
  const [, name] = EXPORT.exec(behind) ?? [];
  if (name === undefined) return false;
  const exported = [...text.matchAll(new RegExp(EXPORT, 'gm'))];
  const file = posix
    .basename(path)
    .replace(/(?:\.d)?\.ts$/, '')
    .replaceAll('-', '');
  return exported.length === 1 || name.replaceAll('_', '').toLowerCase() === file.toLowerCase();
}
