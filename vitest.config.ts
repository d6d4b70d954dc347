import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^#transport$/, replacement: at('src/providers/transport/undici.ts') },
      { find: /^signalbox$/, replacement: at('src/index.ts') },
      { find: /^signalbox\/catalog$/, replacement: at('src/sources/index.ts') },
      { find: /^signalbox\/provider$/, replacement: at('src/providers/index.ts') },
      { find: /^signalbox\/testing$/, replacement: at('src/testing/index.ts') },
      { find: /^signalbox\/(.*)$/, replacement: at('adapters/$1.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
  },
});
