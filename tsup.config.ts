import { defineConfig } from 'tsup';
import { documentationDefine } from './scripts/build/documentation.ts';
import { wholeLayers } from './scripts/build/layers.ts';
import { pureCalls } from './scripts/build/pure-calls.ts';
import { ENTRY_POINTS } from './scripts/entry-points.ts';

/** Bundles the package into `dist`. `npm run build` writes the types, too: TypeScript 7 has no API that `dts` could use. */
export default defineConfig({
  // One file for each entry point, and for what package.json names in `bin` and `imports`; by its name in `dist`.
  entry: {
    ...Object.fromEntries(ENTRY_POINTS.map(({ output, source }) => [output, source])),
    cli: 'src/cli/main.ts',
    'transport-undici': 'src/net/undici.ts',
    'transport-fetch': 'src/net/fetch.ts',
    'pdf-runner-node': 'src/plugins/services/pdf/runner-node.ts',
    'pdf-runner-inline': 'src/plugins/services/pdf/runner-inline.ts',
    'pdf-worker': 'src/plugins/services/pdf/worker.ts',
  },
  format: 'esm',
  // Neutral for everything shared: a `node:` import that slips into the default entry fails the build of
  // test/package.test.ts, which bundles it again for a runtime without Node.
  platform: 'neutral',
  // Packages are left out anyway. The prefix stays: `node:sqlite` has no other name.
  external: [/^(?:#|node:)/],
  removeNodeProtocol: false,
  clean: true,
  // Blanks are read by every start of every program. Names stay: people read them in stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
  esbuildOptions(options) {
    // Node prints the line of an uncaught error before its message. `test/package.test.ts` holds the limit.
    options.lineLimit = 100;
  },
  define: documentationDefine(),
  plugins: [pureCalls()],
  esbuildPlugins: [
    wholeLayers([
      // Needs nothing else, and packages import one name of it: a handler of webhooks, a plugin, a class of errors.
      ['src/entries/webhooks.ts', 'src/core/pipeline/define-plugin.ts', 'src/protocol/router-error.ts'],
      ['src/entries/catalog.ts'],
      ['adapters/fetch.ts'],
      ['src/minimal.ts'],
      // Loaded on first use below, and exported above: alone, it does not bring all of the main entry with it.
      ['src/storage/memory-storage.ts'],
      ['src/index.ts'],
    ]),
  ],
});
