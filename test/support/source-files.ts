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
