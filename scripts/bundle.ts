import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { layers } from './build/layers.ts';
import { pureCalls } from './build/pure-calls.ts';
import { ENTRY_POINTS } from './entry-points.ts';

/** Bundles the package into `dist`. Usage: npm run build, which also writes the types. */
const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** One file for each entry point, and for what package.json names in `bin` and `imports`; by its name in `dist`. */
const ENTRIES = {
  ...Object.fromEntries(ENTRY_POINTS.map(({ output, source }) => [output, source])),
  cli: 'src/cli/main.ts',
  'transport-undici': 'src/net/undici.ts',
  'transport-fetch': 'src/net/fetch.ts',
  'pdf-runner-node': 'src/plugins/pdf/runner-node.ts',
  'pdf-runner-inline': 'src/plugins/pdf/runner-inline.ts',
  'pdf-worker': 'src/plugins/pdf/worker.ts',
};

/**
 * What nearly every program loads together is in one file each, and not in one file for every set of entry points that
 * share it: finding and reading a hundred small files costs Node more than what is in them.
 */
const LAYERS = layers([
  'src/entries/webhooks.ts',
  'src/entries/catalog.ts',
  'adapters/fetch.ts',
  'src/minimal.ts',
  // Loaded on first use below, and exported above: alone, it does not bring all of the main entry with it.
  'src/storage/memory-storage.ts',
  'src/index.ts',
]);

await build({
  cwd: ROOT,
  input: ENTRIES,
  // Neutral for everything shared: a `node:` import that slips into the default entry fails the build of
  // test/package.test.ts, which bundles it again for a runtime without Node.
  platform: 'neutral',
  logLevel: 'warn',
  // How long plugins take is no warning: whoever starts from a clone would read it first.
  checks: { bundlerTimings: false },
  external: [/^[^./]/],
  // The project's `paths` lead to the sources; names of packages stay names.
  tsconfig: false,
  plugins: [pureCalls()],
  experimental: { nativeMagicString: true },
  output: {
    dir: 'dist',
    format: 'esm',
    sourcemap: true,
    cleanDir: true,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    // Blanks are read by every start of every program. Names stay: people read them in stack traces.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
    codeSplitting: {
      groups: LAYERS.map(({ name, has }, index) => ({ name, test: has, priority: LAYERS.length - index })),
    },
  },
});
