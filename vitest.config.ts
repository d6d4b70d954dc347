import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { documentationAt, documentationDefine } from './scripts/build/documentation.ts';
import { ENTRY_POINTS } from './scripts/entry-points.ts';
import { SERVERS } from './test/support/servers.ts';

const root = fileURLToPath(new URL('.', import.meta.url));
const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Tests whose server is not on this machine are left out, and said to be. */
const missing = SERVERS.filter(({ find }) => find() === undefined);
if (missing.length > 0) {
  const names = missing.map(({ name }) => name).join(' and ');
  console.info(`Left out, because it is not installed here: tests of ${names}.`);
}

const TESTS = 'test/**/*.test.ts';
const LEFT_OUT = [...configDefaults.exclude, ...missing.map(({ tests }) => `test/**/*${tests}*.test.ts`)];

/** What a file begins with when it must not share a process with others; the rest of the sentence says why. */
const ALONE = '/** Runs in a process of its own: ';
const alone = globSync(TESTS, { cwd: root }).filter((path) => readFileSync(at(path), 'utf8').startsWith(ALONE));

/** What takes long whatever the file's size, which is all that a first run knows: begun last, it would run on alone. */
const LONG = /\/test\/(?:next|inspector\/browser-|examples|runtimes|scenarios|crash|docs\.test)/;

/** Long files first, so that no core is idle at the end; the order is otherwise Vitest's. */
class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification): number =>
      // Projects run one after the other.
      project.config.isolate ? 0 : LONG.test(moduleId) ? 1 : 2;
    return (await super.sort(files)).toSorted((left, right) => rank(left) - rank(right));
  }
}

// Programs that tests start, and the processes of the tests, compile the same modules again and again.
process.env['NODE_COMPILE_CACHE'] ??= at('node_modules/.cache/compiled');

export default defineConfig({
  // Any homepage, so that tests see what a published package says.
  define: {
    ...documentationDefine(),
    SIGNALBOX_DOCUMENTATION: JSON.stringify(documentationAt('https://signalbox.example')),
  },
  resolve: {
    alias: [
      { find: /^#transport$/, replacement: at('src/net/undici.ts') },
      { find: /^#pdf-runner$/, replacement: at('src/plugins/services/pdf/runner-node.ts') },
      { find: /^#inspector-page$/, replacement: at('dist/inspector/page.js') },
      ...ENTRY_POINTS.map(({ specifier, source }) => ({ find: new RegExp(`^${specifier}$`), replacement: at(source) })),
    ],
  },
  test: {
    // Long, because a machine that does ten other things takes ten times as long.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What tests that pass write to the console, such as warnings of routers without prices, hides the one that fails.
    silent: 'passed-only',
    pool: 'forks',
    maxWorkers: '100%',
    sequence: { sequencer: LongFilesFirst },
    setupFiles: ['test/support/environment-stays.ts'],
    // Long, so that a busy machine does not fail what would come true.
    expect: { poll: { timeout: 15_000 } },
    // A process and a fresh load of all modules for each file took more time than the tests in them.
    projects: [
      { extends: true, test: { name: 'shared', isolate: false, include: [TESTS], exclude: [...LEFT_OUT, ...alone] } },
      { extends: true, test: { name: 'alone', isolate: true, include: alone, exclude: LEFT_OUT } },
    ],
  },
});
