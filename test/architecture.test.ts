import { describe, expect, it } from 'vitest';
import { defaultPlugins } from '../src/plugins/defaults.ts';
import { type Import, type SourceFile, codeOf, sourceFiles } from './support/source-files.ts';

/** Contracts that other layers program against; they stand beside their implementations. */
const CONTRACTS = [
  'src/contracts/provider.ts',
  'src/contracts/provider.ts',
  'src/contracts/native-batches.ts',
  'src/contracts/state-store.ts',
  'src/contracts/batch-store.ts',
  'src/contracts/task-queue.ts',
  'src/contracts/authenticate.ts',
  'src/contracts/rate-limiter.ts',
  'src/contracts/budget-keeper.ts',
  'src/contracts/response-cache.ts',
];

/** Options as data, which import nothing: every layer may read its own table. */
const TABLES = ['src/config/option.ts', 'src/config/tables'];

/** Which layers each layer may import. A layer is a folder, or a single file. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  'src/config/option.ts': [],
  'src/config/tables': ['src/config/option.ts'],
  'src/protocol': [...TABLES],
  'src/protocol/router-error.ts': ['src/protocol'],
  'src/catalog': ['src/protocol', ...TABLES],
  'src/core': ['src/protocol', 'src/catalog', 'src/protocol/router-error.ts', ...TABLES],
  'src/storage': ['src/protocol', 'src/core', 'src/protocol/router-error.ts', ...CONTRACTS],
  'src/queue': [
    'src/protocol',
    'src/core',
    'src/protocol/router-error.ts',
    'src/platform/environment.ts',
    'src/platform/wait.ts',
    'src/storage/postgres/failure.ts',
    'src/storage/storage-error.ts',
    ...CONTRACTS,
  ],
  'src/providers': [
    'src/protocol',
    'src/catalog',
    'src/core',
    'src/protocol/router-error.ts',
    'src/outbound',
    'src/platform/environment.ts',
    ...CONTRACTS,
  ],
  'src/plugins': [
    'src/protocol',
    'src/catalog',
    'src/core',
    'src/protocol/router-error.ts',
    'src/outbound',
    ...TABLES,
    'src/platform/base64.ts',
    'src/providers/data-url.ts',
    'src/platform/environment-variables.ts',
    'src/providers/transport',
    'src/platform/environment.ts',
    'src/platform/secret.ts',
    ...CONTRACTS,
  ],
  'src/outbound': [
    ...TABLES,
    'src/protocol',
    'src/core',
    'src/protocol/router-error.ts',
    'src/platform/environment.ts',
    'src/platform/wait.ts',
    'src/net/transport.ts',
    ...CONTRACTS,
  ],
  'src/runtime': [
    'src/protocol',
    'src/catalog',
    'src/core',
    'src/protocol/router-error.ts',
    'src/outbound',
    ...TABLES,
    ...CONTRACTS,
  ],
  'src/limits': [
    'src/protocol',
    'src/catalog',
    'src/core',
    'src/protocol/router-error.ts',
    'src/storage',
    ...CONTRACTS,
  ],
  'src/observe': ['src/runtime/chat/events.ts', 'src/core/trace-context.ts', 'src/protocol/chunk.ts'],
  'src/auth': ['src/protocol', 'src/core', 'src/protocol/router-error.ts', 'src/platform/hash.ts', ...CONTRACTS],
  'src/core/selection/explain.ts': ['src/protocol', 'src/catalog', 'src/core'],
  'src/router/model-names.ts': CONTRACTS,
  'src/configuration': ['src/protocol', 'src/core', 'src/protocol/router-error.ts'],
  'src/config': ['src/core', 'src/configuration', 'src/outbound', 'src/runtime', ...CONTRACTS],
  'src/config/router-config.ts': ['src/config', ...CONTRACTS],
  'src/config/config.ts': [
    'src/catalog',
    'src/core',
    'src/protocol/router-error.ts',
    'src/storage',
    'src/providers',
    'src/plugins',
    'src/runtime',
    'src/configuration',
    'src/config',
    'src/config/router-config.ts',
    'src/config/config-batches.ts',
    'src/config/config-limits.ts',
    ...CONTRACTS,
  ],
  'src/config/config-limits.ts': [
    'src/config',
    'src/core',
    'src/protocol/router-error.ts',
    'src/limits',
    'src/runtime',
    'src/storage',
    ...CONTRACTS,
  ],
  'src/config/config-batches.ts': [
    'src/config',
    'src/protocol/router-error.ts',
    'src/outbound',
    'src/queue',
    'src/runtime',
    'src/storage',
    ...CONTRACTS,
  ],
  'src/router/router.ts': [
    'src/protocol',
    'src/core',
    'src/config/config.ts',
    'src/core/selection/explain.ts',
    'src/runtime',
    ...CONTRACTS,
  ],
  'src/router': ['src/protocol', 'src/core', 'src/router/router.ts', 'src/core/selection/explain.ts', 'src/runtime'],
  'src/router/create-router.ts': ['src'],
  'src/router/build-services.ts': ['src'],
  'src/router/create-batches.ts': ['src'],
  'src/http': [
    'src/protocol',
    'src/catalog',
    'src/core',
    'src/protocol/router-error.ts',
    'src/auth',
    'src/runtime',
    'src/config/router-config.ts',
    'src/router/router.ts',
    'src/storage/storage-error.ts',
  ],
  'src/sources': ['src/protocol', 'src/catalog', 'src/protocol/router-error.ts', 'src/runtime/chat/known-models.ts'],
  'src/cli': ['src', 'adapters/node.ts'],
  'src/testing': ['src'],
  'src/public': ['src'],
  'src/index.ts': ['src/public'],
  adapters: ['src/index.ts', 'adapters'],
};

/** The one file that may import each package. */
const PACKAGE_OWNERS: Readonly<Record<string, readonly string[]>> = {
  '@streamparser/json': ['src/http/json-stream.ts'],
  '@pydantic/genai-prices': ['src/runtime/catalog/genai-package.ts'],
  'defuddle/node': ['src/plugins/pages/reader-worker.ts'],
  'eventsource-parser': ['src/providers/sse.ts'],
  ioredis: ['src/storage/redis/ioredis.ts'],
  'gpt-tokenizer/encoding/cl100k_base': ['src/plugins/context-compression/gpt-tokens.ts'],
  'gpt-tokenizer/encoding/o200k_base': ['src/plugins/context-compression/gpt-tokens.ts'],
  'fastest-levenshtein': ['src/protocol/near-name.ts'],
  'ipaddr.js': ['src/net/outbound-url.ts'],
  jsonrepair: ['src/plugins/response-healing/repair.ts'],
  'lru-cache': ['src/storage/memory.ts'],
  '@opentelemetry/api': ['src/observe/opentelemetry/api.ts'],
  pg: ['src/storage/postgres/failure.ts'],
  'prom-client': ['src/observe/prometheus/prom-client.ts'],
  'pg-boss': ['src/queue/pg-boss/boss.ts'],
  unpdf: ['src/plugins/pdf/extract-text.ts'],
  undici: ['src/net/undici.ts', 'src/net/undici-call.ts', 'src/net/undici-response.ts', 'src/net/guarded-connector.ts'],
};

/** Files that only run on Node and are reached by the `node` condition or by doors of their own. */
const NODE_ONLY = [
  'src/net/undici.ts',
  'src/net/undici-call.ts',
  'src/net/undici-response.ts',
  'src/net/guarded-connector.ts',
  'src/net/content-decoding.ts',
  'src/runtime/catalog/lock-file.ts',
  'src/storage/sqlite/connection.ts',
  'src/cli/',
  'src/plugins/pdf/runner-node.ts',
  'src/plugins/pdf/worker.ts',
  'src/testing/fault-upstream/',
  'adapters/node-exchange.ts',
  'adapters/node.ts',
  'adapters/express.ts',
  'adapters/fastify.ts',
];

const FORBIDDEN_IN_CORE =
  /\b(?:async|await|Promise|Date|fetch|setTimeout|setInterval|process|console|crypto)\b|performance\.now|Math\.random/;

const MOST_LINES = 400;
const MEDIAN_LINES = 110;

const files = sourceFiles('src', 'adapters');

/** The most specific layer that a file belongs to. */
function layerOf(path: string): string | undefined {
  return Object.keys(LAYERS)
    .filter((layer) => path === layer || path.startsWith(`${layer}/`))
    .sort((left, right) => right.length - left.length)[0];
}

function isAllowed(file: SourceFile, { target }: Import): boolean {
  const layer = layerOf(file.path);
  if (layer === undefined) return false;
  if (target === layer || target.startsWith(`${layer}/`)) return true;
  return (LAYERS[layer] ?? []).some((allowed) => target === allowed || target.startsWith(`${allowed}/`));
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/[^\n]*/g, '');
}

describe('the house', () => {
  it('has a layer for every file', () => {
    expect(files.filter((file) => layerOf(file.path) === undefined).map((file) => file.path)).toEqual([]);
  });

  it('imports only what the layer of a file allows', () => {
    const broken = files.flatMap((file) =>
      file.imports
        .filter((one) => !one.isPackage && !isAllowed(file, one))
        .map((one) => `${file.path} imports ${one.target}`),
    );
    expect(broken).toEqual([]);
  });

  it('imports zod in protocol only, and as a namespace', () => {
    const importers = files.filter((file) => file.imports.some((one) => one.target === 'zod'));
    expect(importers.filter((file) => !file.path.startsWith('src/protocol/')).map((file) => file.path)).toEqual([]);
    expect(importers.filter((file) => /import \{[^}]*\} from 'zod'/.test(file.text)).map((file) => file.path)).toEqual(
      [],
    );
  });

  it('imports each other package in the file that owns it', () => {
    const strangers = files.flatMap((file) =>
      file.imports
        .filter(
          (one) =>
            one.isPackage && one.target !== 'zod' && !one.target.startsWith('node:') && !one.target.startsWith('#'),
        )
        .filter((one) => PACKAGE_OWNERS[one.target]?.includes(file.path) !== true)
        .map((one) => `${file.path} imports ${one.target}`),
    );
    expect(strangers).toEqual([]);
  });

  it('touches Node only where Node is meant', () => {
    const importers = files
      .filter((file) => file.imports.some((one) => one.target.startsWith('node:') && !one.typeOnly))
      .map((file) => file.path);
    expect(importers.filter((path) => !NODE_ONLY.some((allowed) => path.startsWith(allowed)))).toEqual([]);
  });

  it('keeps the core and the catalog pure and synchronous', () => {
    const impure = files
      .filter((file) => file.path.startsWith('src/core/') || file.path.startsWith('src/catalog/'))
      .flatMap((file) => {
        const found = FORBIDDEN_IN_CORE.exec(codeOf(file.text));
        return found === null ? [] : [`${file.path} says "${found[0]}"`];
      });
    expect(impure).toEqual([]);
  });

  it('names no plugin in the core', () => {
    const ids = [...defaultPlugins().map(({ id }) => id), ...defaultPlugins().flatMap(({ models = [] }) => models)];
    // A field of the Responses API has this name, too.
    const named = new RegExp(`'(?:${ids.filter((id) => id !== 'moderation').join('|')})'`);
    const found = files
      .filter((file) => file.path.startsWith('src/core/'))
      .flatMap((file) => (named.test(withoutComments(file.text)) ? [file.path] : []));
    expect(found).toEqual([]);
  });

  it('has no import cycles within the core', () => {
    const core = new Map(
      files.filter((file) => /^src\/(?:core|catalog|protocol)\//.test(file.path)).map((file) => [file.path, file]),
    );
    const cycles: string[] = [];
    const visit = (path: string, trail: readonly string[]): void => {
      if (trail.includes(path)) {
        cycles.push([...trail.slice(trail.indexOf(path)), path].join(' -> '));
        return;
      }
      for (const one of core.get(path)?.imports ?? []) {
        if (!one.typeOnly && core.has(one.target)) visit(one.target, [...trail, path]);
      }
    };
    for (const path of core.keys()) visit(path, []);
    expect(cycles).toEqual([]);
  });

  it('keeps files small', () => {
    const lengths = files.map((file) => ({ path: file.path, lines: file.text.split('\n').length }));
    const long = lengths.filter((one) => one.lines > MOST_LINES);
    expect(long).toEqual([]);
    const sorted = lengths.map((one) => one.lines).sort((left, right) => left - right);
    expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThan(MEDIAN_LINES);
  });

  it('exports by name only and has no catch-all folders', () => {
    expect(files.filter((file) => /^export default/m.test(file.text)).map((file) => file.path)).toEqual([]);
    expect(
      files.filter((file) => /\/(?:utils?|helpers|common|misc)(?:\/|\.ts)/.test(file.path)).map((file) => file.path),
    ).toEqual([]);
  });
});
