import { defineConfig } from 'tsup';

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    catalog: 'src/sources/index.ts',
    cli: 'src/cli/main.ts',
    provider: 'src/providers/index.ts',
    testing: 'src/testing/index.ts',
    opentelemetry: 'src/observe/opentelemetry/index.ts',
    prometheus: 'src/observe/prometheus/index.ts',
    'pg-boss': 'src/queue/pg-boss/index.ts',
    postgres: 'src/storage/postgres/index.ts',
    redis: 'src/storage/redis/index.ts',
    sqlite: 'src/storage/sqlite/index.ts',
    node: 'adapters/node.ts',
    express: 'adapters/express.ts',
    fastify: 'adapters/fastify.ts',
    fetch: 'adapters/fetch.ts',
    next: 'adapters/next.ts',
    'transport-undici': 'src/providers/transport/undici.ts',
    'transport-fetch': 'src/providers/transport/fetch.ts',
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
