import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { layers } from './build/layers.ts';
import { pureCalls } from './build/pure-calls.ts';

/** Bundles the package into `dist`. Usage: npm run build, which also writes the types. */
const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** One file per entry point, by its name in `dist`. */
const ENTRIES = {
  index: 'src/index.ts',
  minimal: 'src/minimal.ts',
  plugins: 'src/entries/plugins.ts',
  providers: 'src/entries/providers.ts',
  webhooks: 'src/entries/webhooks.ts',
  catalog: 'src/entries/catalog.ts',
  cli: 'src/cli/main.ts',
  provider: 'src/entries/provider.ts',
  testing: 'src/entries/testing.ts',
  'durable-objects': 'src/entries/durable-objects.ts',
  inspector: 'src/entries/inspector.ts',
  opentelemetry: 'src/entries/opentelemetry.ts',
  prometheus: 'src/entries/prometheus.ts',
  'pg-boss': 'src/entries/pg-boss.ts',
  postgres: 'src/entries/postgres.ts',
  redis: 'src/entries/redis.ts',
  mcp: 'src/entries/mcp.ts',
  replay: 'src/entries/replay.ts',
  sqlite: 'src/entries/sqlite.ts',
  node: 'adapters/node.ts',
  express: 'adapters/express.ts',
  fastify: 'adapters/fastify.ts',
  fetch: 'adapters/fetch.ts',
  next: 'adapters/next.ts',
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
  ENTRIES.webhooks,
  ENTRIES.catalog,
  ENTRIES.fetch,
  ENTRIES.minimal,
  // Loaded on first use below, and exported above: alone, it does not bring all of the main entry with it.
  'src/storage/memory-storage.ts',
  ENTRIES.index,
]);

await build({
  cwd: ROOT,
  input: ENTRIES,
  // Neutral for everything shared: a `node:` import that slips into the default entry fails the build of
  // test/package.test.ts, which bundles it again for a runtime without Node.
  platform: 'neutral',
  logLevel: 'warn',
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
