import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { SERVERS } from './test/support/servers.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Tests whose server is not on this machine are left out, and said to be. */
const missing = SERVERS.filter(({ find }) => find() === undefined);
if (missing.length > 0) {
  const names = missing.map(({ name }) => name).join(' and ');
  console.info(`Left out, because it is not installed here: tests of ${names}.`);
}

export default defineConfig({
  resolve: {
    alias: [
      { find: /^#transport$/, replacement: at('src/net/undici.ts') },
      { find: /^#pdf-runner$/, replacement: at('src/plugins/pdf/runner-node.ts') },
      { find: /^signalbox$/, replacement: at('src/index.ts') },
      {
        find: /^signalbox\/(catalog|opentelemetry|pg-boss|postgres|prometheus|provider|redis|sqlite|testing)$/,
        replacement: at('src/entries/$1.ts'),
      },
      { find: /^signalbox\/(.*)$/, replacement: at('adapters/$1.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...missing.map(({ tests }) => `test/**/*${tests}*.test.ts`)],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Long, so that a busy machine does not fail what would come true.
    expect: { poll: { timeout: 15_000 } },
  },
});
