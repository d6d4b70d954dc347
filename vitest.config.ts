import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { SERVERS } from './test/support/servers.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Tests of stores whose server is not on this machine are left out, and said to be. */
const missing = SERVERS.filter(({ find }) => find() === undefined);
if (missing.length > 0) {
  const names = missing.map(({ name }) => name).join(' and ');
  console.info(`Left out, because it is not installed here: tests of ${names}.`);
}

export default defineConfig({
  resolve: {
    alias: [
      { find: /^#transport$/, replacement: at('src/providers/transport/undici.ts') },
      { find: /^#pdf-runner$/, replacement: at('src/plugins/pdf/runner-node.ts') },
      { find: /^signalbox$/, replacement: at('src/index.ts') },
      { find: /^signalbox\/catalog$/, replacement: at('src/sources/index.ts') },
      { find: /^signalbox\/provider$/, replacement: at('src/providers/index.ts') },
      { find: /^signalbox\/testing$/, replacement: at('src/testing/index.ts') },
      { find: /^signalbox\/pg-boss$/, replacement: at('src/queue/pg-boss/index.ts') },
      { find: /^signalbox\/(opentelemetry|prometheus)$/, replacement: at('src/observe/$1/index.ts') },
      { find: /^signalbox\/(postgres|redis|sqlite)$/, replacement: at('src/storage/$1/index.ts') },
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
