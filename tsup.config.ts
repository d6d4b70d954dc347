import { defineConfig } from 'tsup';

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    catalog: 'src/entries/catalog.ts',
    cli: 'src/cli/main.ts',
    provider: 'src/entries/provider.ts',
    testing: 'src/entries/testing.ts',
    opentelemetry: 'src/entries/opentelemetry.ts',
    prometheus: 'src/entries/prometheus.ts',
    'pg-boss': 'src/entries/pg-boss.ts',
    postgres: 'src/entries/postgres.ts',
    redis: 'src/entries/redis.ts',
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
  },
  format: 'esm',
  target: 'node20',
  // Neutral for everything shared: a `node:` import that slips into the default entry fails the build of
  // test/package.test.ts, which bundles it again for a runtime without Node.
  platform: 'neutral',
  external: ['#transport', '#pdf-runner', /^node:/],
  splitting: true,
  treeshake: true,
  clean: true,
  dts: false,
  sourcemap: true,
});
