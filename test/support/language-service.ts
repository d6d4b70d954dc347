import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** A text in pieces, as the language service gives it. */
type Parts = readonly { readonly text: string }[];

/** What is used of TypeScript's language service. */
interface LanguageService {
  getQuickInfoAtPosition(
    file: string,
    position: number,
  ): {
    readonly displayParts?: Parts;
    readonly documentation?: Parts;
    readonly tags?: readonly { readonly name: string; readonly text?: Parts }[];
  };
  getCompletionsAtPosition(
    file: string,
    position: number,
    options: object,
  ): { readonly entries: readonly { readonly name: string }[] } | undefined;
  getSemanticDiagnostics(file: string): readonly { readonly messageText: unknown }[];
}

/** What is used of TypeScript. */
interface TypeScript {
  createLanguageService(host: object, documents: object): LanguageService;
  createDocumentRegistry(): object;
  getDefaultLibFilePath(options: object): string;
  readonly ScriptSnapshot: { fromString(text: string): object };
  readonly ModuleKind: { readonly NodeNext: number };
  readonly ScriptTarget: { readonly ES2023: number };
  readonly sys: Readonly<Record<string, unknown>> & { fileExists(path: string): boolean };
}

/** The compiler of API Extractor: TypeScript 7 has no language service that programs can ask. */
const typescript = createRequire(createRequire(import.meta.url).resolve('@microsoft/api-extractor'))(
  'typescript',
) as TypeScript;

/** What was read of the compiler's and the package's files: editors of the same process share it. */
const documents = typescript.createDocumentRegistry();

/** What an editor shows while a program is written. */
export interface Editor {
  /** The text over the first place where this is written: its comment, and its examples. */
  hover(written: string): string;
  /** What is offered behind the first place where this is written. */
  completions(written: string): readonly string[];
}

/** Opens a program in an editor. The file need not be there; imports are found from its place. */
export function openInEditor(file: string, text: string): Editor {
  const { sys, ScriptSnapshot, ModuleKind, ScriptTarget } = typescript;
  const options = {
    module: ModuleKind.NodeNext,
    target: ScriptTarget.ES2023,
    strict: true,
    exactOptionalPropertyTypes: true,
    types: ['node'],
    skipLibCheck: true,
    noEmit: true,
  };
  const service = typescript.createLanguageService(
    {
      ...sys,
      useCaseSensitiveFileNames: () => true,
      getScriptFileNames: () => [file],
      getScriptVersion: (path: string) => (path === file ? text : '1'),
      getScriptSnapshot(path: string) {
        if (path === file) return ScriptSnapshot.fromString(text);
        return sys.fileExists(path) ? ScriptSnapshot.fromString(readFileSync(path, 'utf8')) : undefined;
      },
      getCurrentDirectory: () => file.slice(0, file.lastIndexOf('/')),
      getCompilationSettings: () => options,
      getDefaultLibFileName: (settings: object) => typescript.getDefaultLibFilePath(settings),
      fileExists: (path: string) => path === file || sys.fileExists(path),
    },
    documents,
  );
  function placeOf(written: string): number {
    const place = text.indexOf(written);
    if (place === -1) throw new Error(`"${written}" is not in the program`);
    return place;
  }
  return {
    hover(written) {
      const { documentation = [], tags = [] } = service.getQuickInfoAtPosition(file, placeOf(written));
      const said = [documentation, ...tags.map(({ text: parts = [] }) => parts)];
      return said.map((parts) => parts.map((part) => part.text).join('')).join('\n');
    },
    completions(written) {
      const found = service.getCompletionsAtPosition(file, placeOf(written) + written.length, {});
      return found?.entries.map(({ name }) => name) ?? [];
    },
  };
}
