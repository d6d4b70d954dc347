import { readFileSync } from 'node:fs';

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
}

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as Manifest;

/** An entry point of the package. */
interface EntryPoint {
  /** As users import it, such as `signalbox/node`. */
  readonly specifier: string;
  /** Its source file, from the project's root. */
  readonly source: string;
  /** What its file in `dist` is called, without the ending. */
  readonly output: string;
}

/**
 * Entry points of package.json that are modules. What has to know them, such as the build, the tests and the scripts,
 * reads them here: a new one is written in package.json alone.
 */
export const ENTRY_POINTS: readonly EntryPoint[] = Object.entries(manifest.exports).flatMap(([path, target]) =>
  typeof target === 'string'
    ? []
    : [
        {
          specifier: `${manifest.name}${path.slice(1)}`,
          source: target.types.replace('./dist/types/', '').replace(/\.d\.ts$/, '.ts'),
          output: target.default.replace('./dist/', '').replace(/\.js$/, ''),
        },
      ],
);
