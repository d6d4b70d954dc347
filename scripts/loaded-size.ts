import { build, type Plugin } from 'esbuild';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const { peerDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly peerDependencies: Readonly<Record<string, string>>;
};

/** Keeps what is loaded on first use out of a bundle. */
const LEAVE_IMPORTS_ON_USE: Plugin = {
  name: 'leave-imports-on-use',
  setup(bundle) {
    bundle.onResolve({ filter: /^/ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    );
  },
};

/** What a program loads before its first line runs, in bytes. */
interface LoadedSize {
  readonly minified: number;
  /** With Brotli. */
  readonly compressed: number;
}

/**
 * What names of an entry point cost with all that they depend on: bundled for Node as a user's bundler does, through the
 * package's name and its `exports`, with unused code dropped. Modules that are imported on first use, and packages that
 * users install beside this one, do not count. Needs a build.
 *
 * @param names - An export clause such as `{ createRouter }`, or `*`.
 * @param split - Whether the bundler splits its output. Without, it leaves imports on first use as they are, as if they
 *   were never reached. Default true; esbuild splits by what any of the resulting files uses, so a name that uses next to
 *   nothing is charged with what the files that it never loads share.
 */
export async function loadedSize(specifier: string, names: string, split = true): Promise<LoadedSize> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: `export ${names} from '${specifier}'`, resolveDir: ROOT },
    absWorkingDir: ROOT,
    bundle: true,
    splitting: split,
    write: false,
    metafile: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    outdir: 'bundled',
    external: Object.keys(peerDependencies).flatMap((name) => [name, `${name}/*`]),
    // Not the project's own `paths`: they lead to the sources.
    tsconfigRaw: {},
    plugins: split ? [] : [LEAVE_IMPORTS_ON_USE],
    logLevel: 'error',
  });
  const entry = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === '<stdin>')?.[0];
  const loaded = new Set(entry === undefined ? [] : [entry]);
  for (const path of loaded) {
    for (const { kind, path: next } of metafile.outputs[path]?.imports ?? []) {
      if (kind === 'import-statement' && next in metafile.outputs) loaded.add(next);
    }
  }
  const files = outputFiles.filter(({ path }) => [...loaded].some((one) => path.replaceAll('\\', '/').endsWith(one)));
  if (files.length !== loaded.size) throw new Error(`The bundle of ${specifier} has files that were not found.`);
  const contents = Buffer.concat(files.map((file) => file.contents));
  return { minified: contents.length, compressed: brotliCompressSync(contents).length };
}
