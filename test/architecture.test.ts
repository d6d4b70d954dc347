import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ENTRY_POINTS } from '../scripts/entry-points.ts';
import { declarationsIn } from '../scripts/figures/declarations.ts';
import { defaultPlugins } from '../src/plugins/defaults.ts';
import { arrowsOf, circlesOf, climbingArrows, roomOf } from './support/import-graph.ts';
import { codeOf, sourceFiles, statesItsPurpose } from './support/source-files.ts';
import { COMPILER, testOf, TESTED_BY } from './support/tested-by.ts';

/** The one file that may import each package. */
const PACKAGE_OWNERS: Readonly<Record<string, readonly string[]>> = {
  '@streamparser/json': ['src/http/json-stream.ts'],
  '@pydantic/genai-prices': ['src/runtime/catalog/genai-package.ts'],
  '@modelcontextprotocol/sdk/client/index.js': ['src/plugins/mcp/session.ts'],
  '@modelcontextprotocol/sdk/client/stdio.js': ['src/plugins/mcp/session.ts'],
  '@modelcontextprotocol/sdk/client/streamableHttp.js': ['src/plugins/mcp/session.ts'],
  '@modelcontextprotocol/sdk/types.js': ['src/plugins/mcp/session.ts'],
  'defuddle/node': ['src/plugins/services/pages/guarded-fetcher.ts'],
  '@ai-sdk/provider': ['src/router/ai-sdk-provider.ts'],
  'eventsource-parser': ['src/providers/sse.ts'],
  ioredis: ['src/storage/redis/redis-store.ts'],
  'gpt-tokenizer/encoding/cl100k_base': ['src/platform/gpt-tokenizer.ts'],
  'gpt-tokenizer/encoding/o200k_base': ['src/platform/gpt-tokenizer.ts'],
  'fastest-levenshtein': ['src/protocol/near-name.ts'],
  htmlparser2: ['src/plugins/services/pages/html-tokens.ts'],
  'ipaddr.js': ['src/net/outbound-url.ts'],
  jsonrepair: ['src/plugins/response-healing/heal.ts'],
  'lru-cache': ['src/storage/memory.ts'],
  'p-retry': ['src/platform/retry.ts'],
  '@opentelemetry/api': ['src/observe/opentelemetry/api.ts'],
  pg: ['src/storage/postgres/driver.ts'],
  'prom-client': ['src/observe/prometheus/prometheus.ts'],
  'pg-boss': ['src/queue/pg-boss/pg-boss-queue.ts'],
  '@remix-run/multipart-parser': ['src/http/file-operations.ts'],
  unpdf: ['src/plugins/services/pdf/extract-text.ts'],
  undici: ['src/net/undici.ts', 'src/net/guarded-connector.ts', 'src/net/proxy.ts'],
};

/** Files that only run on Node and are reached by the `node` condition or by doors of their own. */
const NODE_ONLY = [
  'src/net/undici.ts',
  'src/net/guarded-connector.ts',
  'src/net/proxy.ts',
  'src/net/content-decoding.ts',
  'src/runtime/catalog/lock-file.ts',
  'src/storage/sqlite/connection.ts',
  'src/cli/',
  'src/plugins/services/pdf/runner-node.ts',
  'src/plugins/services/pdf/worker.ts',
  'src/testing/fault-upstream/',
  'adapters/node-exchange.ts',
  'adapters/node.ts',
  'adapters/express.ts',
  'adapters/fastify.ts',
];

const FORBIDDEN_IN_CORE =
  /\b(?:async|await|Promise|PromiseLike|Date|fetch|setTimeout|setInterval|process|console|crypto)\b|performance\.now|Math\.random/;

const MOST_LINES = 420;

const MOST_PARAMETERS = 4;

/** Milliseconds that the compiler may take to read all sources on a busy machine. */
const COMPILER_MS = 300_000;

const files = sourceFiles('src', 'adapters');

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/[^\n]*/g, '');
}

/** What a file loads with itself: not types, and not what is imported on first use. */
function importsOf(path: string): readonly string[] {
  const file = files.find((one) => one.path === path);
  return (file?.imports ?? []).filter((one) => !one.typeOnly && !one.isDynamic).map((one) => one.target);
}

/** All files that are loaded with the given ones. */
function reachedFrom(paths: readonly string[]): ReadonlySet<string> {
  const reached = new Set(paths);
  for (const path of reached) for (const target of importsOf(path)) if (target.endsWith('.ts')) reached.add(target);
  return reached;
}

/** Tests of what was built, which import no source. */
const RUN_WHAT_IS_BUILT = new Set(['test/package.test.ts', 'test/public-api.test.ts']);

/** For each test, all files that it imports, at once and on first use. */
function filesReachedBy(tests: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> {
  const entries = new Map(ENTRY_POINTS.map(({ specifier, source }) => [specifier, source]));
  const known = new Map([...files, ...sourceFiles('test')].map((file) => [file.path, file]));
  return new Map(
    tests.map((test) => {
      const reached = new Set([test]);
      for (const path of reached) {
        for (const { target, typeOnly } of known.get(path)?.imports ?? []) {
          const next = entries.get(target) ?? IMPORTED_AS[target] ?? target;
          if (!typeOnly && known.has(next)) reached.add(next);
        }
      }
      return [test, reached];
    }),
  );
}

/** What tests load under the names of package.json that depend on the platform. */
const IMPORTED_AS: Readonly<Record<string, string>> = {
  '#transport': 'src/net/undici.ts',
  '#pdf-runner': 'src/plugins/services/pdf/runner-node.ts',
};

describe('the house', () => {
  it('has a room for every file', () => {
    expect(files.filter((file) => roomOf(file.path) === undefined).map((file) => file.path)).toEqual([]);
  });

  it('imports downwards only, types and what is loaded on use included', () => {
    const arrows = arrowsOf(files);
    // If no import was seen, the next expectation would hold for the wrong reason.
    expect(arrows.length).toBeGreaterThan(2_000);
    expect(climbingArrows(arrows).map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  it('has no circle of files', () => {
    expect(circlesOf(arrowsOf(files))).toEqual([]);
  });

  it('finds arrows that climb, and circles', () => {
    const up = { from: 'src/core/a.ts', to: 'src/runtime/b.ts' };
    const down = { from: 'src/runtime/b.ts', to: 'src/core/a.ts' };
    const beside = { from: 'src/core/a.ts', to: 'src/net/c.ts' };
    expect(climbingArrows([up, down, beside])).toEqual([up, beside]);
    expect(circlesOf([up, down, beside])).toEqual([[up.from, down.from]]);
    expect(circlesOf([down, beside])).toEqual([]);
  });

  it('imports zod where the OpenAPI document is written only, and as a namespace', () => {
    const importers = files.filter((file) => file.imports.some((one) => one.target === 'zod'));
    const places = /^src\/http\/openapi\//;
    expect(importers.filter((file) => !places.test(file.path)).map((file) => file.path)).toEqual([]);
    expect(importers.filter((file) => /import \{[^}]*\} from 'zod'/.test(file.text)).map((file) => file.path)).toEqual(
      [],
    );
  });

  it('loads zod neither with the package nor with an adapter', () => {
    const doors = ['src/index.ts', ...files.filter((file) => file.path.startsWith('adapters/')).map((one) => one.path)];
    const reached = reachedFrom(doors);
    // If the walk saw nothing, the next expectation would hold for the wrong reason.
    expect(reached.size).toBeGreaterThan(100);
    expect([...reached].filter((path) => importsOf(path).includes('zod'))).toEqual([]);
    expect(reachedFrom(['src/http/openapi/text.ts'])).toContain('src/http/openapi/zod-of.ts');
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

  // V8 takes `this.x = () => …` for a function that lives long and makes it among old objects. One that is made for a
  // request keeps all of the request out of the young generation then, which is most of what the collector costs.
  // A constant that is stored in a second statement is made young.
  it('stores no function literal in a member on the way of a request', () => {
    const literal = /^\s*[\w.#!?[\]]+\.#?\w+ (\?\?)?= (async )?(function\b|(\([^=]*\)|\w+)(: [^=]+)? =>)/m;
    const layers = [
      'core',
      'runtime',
      'http',
      'router',
      'net',
      'platform',
      'protocol',
      'schema',
      'providers',
      'plugins/services/pages',
    ];
    const found = files
      .filter(({ path }) => path.startsWith('adapters/') || layers.some((layer) => path.startsWith(`src/${layer}/`)))
      .flatMap(({ path, text }) => {
        const line = literal.exec(codeOf(text));
        return line === null ? [] : [`${path}: ${line[0].trim()}`];
      });
    expect(found).toEqual([]);
  });

  it('touches Node only where Node is meant', () => {
    const importers = files
      .filter((file) => file.imports.some((one) => one.target.startsWith('node:') && !one.typeOnly))
      .map((file) => file.path);
    expect(
      importers.filter((path) => !NODE_ONLY.some((allowed) => path.startsWith(allowed))),
      'files that import Node; one behind an entry point of its own goes into NODE_ONLY',
    ).toEqual([]);
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

  it('opens each file with what it is for', () => {
    expect(files.filter((file) => !statesItsPurpose(file)).map((file) => file.path)).toEqual([]);
  });

  it('takes a comment about something in a file for none about the file', () => {
    const states = (text: string): boolean => statesItsPurpose({ path: 'src/core/next-move.ts', text });
    const two = 'export function nextMove() {}\nexport const LIMIT = 1;\n';
    expect(states(`/** Decides what is next. */\nimport { a } from './a.ts';\n\n${two}`)).toBe(true);
    expect(states(`import { a } from './a.ts';\n\n/** Decides what is next. */\n\n${two}`)).toBe(true);
    expect(states(`import { a } from './a.ts';\n\n/** Decides what is next. */\n${two}`)).toBe(true);
    expect(states(`/** The limit. */\nexport const LIMIT = 1;\n`)).toBe(true);
    expect(states(`/** The limit. */\nexport const LIMIT = 1;\n/** Decides. */\nexport function nextMove() {}\n`)).toBe(
      false,
    );
    expect(states(`/** Milliseconds. */\nconst LIMIT = 1;\n${two}`)).toBe(false);
    expect(states(`${two}/** Decides what is next. */\n`)).toBe(false);
  });

  it('has a test for every file, at the mirrored path or in the list', () => {
    expect(files.filter((file) => testOf(file) === undefined).map((file) => file.path)).toEqual([]);
  });

  it('lists a test only where there is none at the mirrored path, and one that reaches the file', () => {
    const listed = Object.keys(TESTED_BY);
    expect(listed.length).toBeGreaterThan(400);
    const sources = new Map(files.map((file) => [file.path, file]));
    const stale = listed.filter((path) => {
      const file = sources.get(path);
      return file === undefined || testOf(file) !== TESTED_BY[path] || testOf(file) === COMPILER;
    });
    expect(stale, 'these are gone, or have a test of their own').toEqual([]);
    const root = fileURLToPath(new URL('..', import.meta.url));
    expect(Object.values(TESTED_BY).filter((test) => !existsSync(root + test))).toEqual([]);
    const reached = filesReachedBy(
      [...new Set(Object.values(TESTED_BY))].filter((test) => !RUN_WHAT_IS_BUILT.has(test)),
    );
    const wrong = listed.filter((path) => {
      const test = TESTED_BY[path] ?? '';
      return reached.get(test)?.has(path) === false;
    });
    expect(wrong, 'the listed test does not import these').toEqual([]);
  });

  it(
    'exports functions of at most four parameters, none of which is true or false by its position',
    () => {
      const { functions } = declarationsIn(files.map(({ path }) => path));
      expect(functions.length).toBeGreaterThan(4_000);
      const wide = functions
        .filter(
          ({ isExported, parameters, booleans }) => isExported && (parameters > MOST_PARAMETERS || booleans.length > 0),
        )
        .map(({ place, name }) => `${place.replace(/:\d+$/, '')} ${name}`);
      expect(wide).toEqual([]);
    },
    COMPILER_MS,
  );

  it('keeps files small', () => {
    const lengths = files.map((file) => ({ path: file.path, lines: file.text.split('\n').length }));
    const long = lengths.filter((one) => one.lines > MOST_LINES);
    expect(long).toEqual([]);
  });

  it('exports by name only and has no catch-all folders', () => {
    expect(files.filter((file) => /^export default/m.test(file.text)).map((file) => file.path)).toEqual([]);
    expect(
      files.filter((file) => /\/(?:utils?|helpers|common|misc)(?:\/|\.ts)/.test(file.path)).map((file) => file.path),
    ).toEqual([]);
  });
});
