import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRouter, type Router, RouterError, simulated } from '../src/index.ts';
import { BATCH_FIELDS } from '../src/protocol/create-batch.ts';
import { DEFAULT_REQUEST_LIMITS } from '../src/protocol/limits.ts';
import { providerPreferencesSchema } from '../src/protocol/provider-preferences.ts';
import { codeBlocks, promisedOutput, runBlock, shownBelow } from './support/code-blocks.ts';
import { readProjectFile } from './support/source-files.ts';
import { membersOf } from './support/schema-values.ts';
import { FLOORS } from './support/import-graph.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Inside the project, so that `signalbox` in a block means this package. */
const folder = join(root, 'coverage/docs');
const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => name.replaceAll('\\', '/'));
/** What a page says that a block prints: in comments, or in a block below. */
function outputOf(page: string, block: string): readonly string[] {
  const promised = promisedOutput(block);
  return promised.length > 0 ? promised : shownBelow(readProjectFile(page), block);
}

/** Blocks that say what they print are whole programs; the others are fragments. */
const blocks = [...pages.map((page) => `docs/${page}`), 'llms.txt'].flatMap((page) =>
  codeBlocks(readProjectFile(page))
    .map((block, index) => [page, index + 1, block, outputOf(page, block)] as const)
    .filter(([, , , output]) => output.length > 0),
);

/** What `tsc --init` writes, and the types of Node. */
const STRICT = {
  module: 'nodenext',
  target: 'esnext',
  types: ['node'],
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  strict: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  moduleDetection: 'force',
  skipLibCheck: true,
  noEmit: true,
};

/** Names and packages that a fragment takes from its reader. */
const OF_THE_READER = /error TS(?:2304|2307|2552|2580|2593|18004):/;

/** What TypeScript says about the blocks of all pages, as a program with strict settings would hear it. */
function complaintsAbout(written: readonly (readonly [page: string, block: string])[]): readonly string[] {
  const place = join(folder, 'types');
  mkdirSync(place, { recursive: true });
  const isWhole = new Map<string, boolean>();
  for (const [index, [page, block]] of written.entries()) {
    const name = `${basename(page, '.md')}-${index}.ts`;
    isWhole.set(name, outputOf(page, block).length > 0);
    writeFileSync(join(place, name), block);
  }
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions: STRICT, include: ['*.ts'] }));
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  try {
    execFileSync(process.execPath, [compiler, '-p', place, '--pretty', 'false', '--singleThreaded'], {
      cwd: place,
      encoding: 'utf8',
    });
    return [];
  } catch (error) {
    const lines = String((error as { readonly stdout?: unknown }).stdout).split('\n');
    const said = lines.filter((line) => line.includes('): error TS'));
    return said.filter((line) => isWhole.get(line.split('(')[0] ?? '') === true || !OF_THE_READER.test(line));
  }
}

/** Pages to look things up in. */
const WITHOUT_EXAMPLE = new Set(['configuration.md', 'glossary.md', 'architecture.md', 'faq.md']);

/** Units that only measurements have here; other milliseconds are defaults. */
const MEASURED = /\d ?(?:µs|MB\/s)|kB compressed|95 % interval|\btook [\d.,]+ /;

/** What prints a figure: a script, a test, or a run of Node itself. */
const COMMAND = /`npm run [\w:-]+|\btest\/[\w/-]+\.test\.ts|node --cpu-prof/;

/** The one default that is no number: it follows from the heap. */
const PLACES = 'one for each 128 kB of heap, 1,000 to 10,000';

/** What the headings of a page are called in addresses. */
function anchorsOf(file: string): readonly string[] {
  const text = readProjectFile(file).replaceAll(/```[\s\S]*?```/g, '');
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

beforeAll(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the documentation', () => {
  it.each(pages)('links only to what is there: %s', (page) => {
    const links = [...readProjectFile(`docs/${page}`).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(
      (match) => match[1] ?? '',
    );
    const local = links.filter((link) => !link.includes('://'));
    expect(local.filter((link) => !existsSync(join(root, 'docs', dirname(page), link)))).toEqual([]);
  });

  it.each(pages)('leads to headings that are there: %s', (page) => {
    const links = [...readProjectFile(`docs/${page}`).matchAll(/\]\(([^)#\s]*)#([^)\s]+)\)/g)]
      .map(([, target = '', anchor = '']) => ({ file: target === '' ? page : join(dirname(page), target), anchor }))
      .filter(({ file }) => file.endsWith('.md') && !file.includes('://'));
    const lost = links.filter(({ file, anchor }) => !anchorsOf(join('docs', file)).includes(anchor));
    expect(lost).toEqual([]);
  });

  it('has a heading for every place that errors about missing endpoints lead to', () => {
    const [, union = ''] = /type AvailabilityCode =([^;]*);/.exec(readProjectFile('src/protocol/error.ts')) ?? [];
    const sources = ['core/selection/no-route', 'core/fallback/final-error', 'core/normalize/targets'];
    const text = sources.map((source) => readProjectFile(`src/${source}.ts`)).join('\n');
    const codes = [...union.matchAll(/'\w+'/g)].map(([code]) => code).filter((code) => text.includes(code));
    const headings = [...readProjectFile('docs/fallback-and-errors.md').matchAll(/^### `(\w+)`$/gm)].map(
      (match) => `'${match[1]}'`,
    );
    expect(codes.length).toBeGreaterThan(5);
    expect(headings.toSorted()).toEqual(codes.toSorted());
  });

  it('explains every preference, and every reason for which an endpoint is left out', () => {
    const page = readProjectFile('docs/routing.md');
    const [, union = ''] =
      /type ExclusionReason =([^;]*);/.exec(readProjectFile('src/contracts/exclusion-reason.ts')) ?? [];
    const reasons = [...union.matchAll(/'([\w:]+)'/g)].map((match) => match[1] ?? '');
    const names = [...membersOf(providerPreferencesSchema), ...reasons];
    expect(names.length).toBeGreaterThan(30);
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it('explains every field of a new batch', () => {
    const page = readProjectFile('docs/batches.md');
    expect(BATCH_FIELDS.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it('tells the limits of requests as they are', () => {
    const page = readProjectFile('docs/security.md');
    const rows = Object.entries({ ...DEFAULT_REQUEST_LIMITS, concurrentRequests: PLACES }).map(
      ([name, value]) => `| \`${name}\` | ${value.toLocaleString('en-US')} |`,
    );
    expect(rows.filter((row) => !page.includes(row))).toEqual([]);
  });

  it('lists what tests share, file by file', () => {
    const named = [...readProjectFile('test/support/README.md').matchAll(/`([\w.-]+)`/g)].map((match) => match[1]);
    const files = readdirSync(new URL('support', import.meta.url)).filter((name) => name.endsWith('.ts'));
    expect(new Set(named)).toEqual(new Set(files.map((name) => name.slice(0, -'.ts'.length))));
  });

  it('has every room of the house on its plan', () => {
    const layers = FLOORS.flat();
    const rows = readProjectFile('docs/architecture.md')
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .join('\n');
    expect(layers.length).toBeGreaterThan(15);
    expect(layers.filter((layer) => !rows.includes(`\`${layer}\``))).toEqual([]);
  });

  it('is listed for language models, page by page', () => {
    const index = readProjectFile('llms.txt');
    const links = [...index.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
    expect(links.filter((link) => !existsSync(join(root, link)))).toEqual([]);
    // Decisions are listed in an index of their own.
    const decisions = readProjectFile('docs/decisions/README.md');
    const isListed = (page: string): boolean =>
      links.includes(`docs/${page}`) || (page.startsWith('decisions/') && decisions.includes(`](${basename(page)})`));
    expect(pages.filter((page) => !isListed(page))).toEqual([]);
    expect(index.length).toBeLessThan(6_500);
    const { exports } = JSON.parse(readProjectFile('package.json')) as { exports: object };
    const entries = Object.keys(exports).filter((name) => name !== '.' && name !== './package.json');
    expect(entries.filter((name) => !index.includes(`${name.slice(1)}\``))).toEqual([]);
  });

  it('has blocks that are right under strict types', { timeout: 60_000 }, () => {
    const written = ['README.md', 'llms.txt', ...pages.map((page) => `docs/${page}`)].flatMap((page) =>
      codeBlocks(readProjectFile(page)).map((block) => [page, block] as const),
    );
    expect(written.length).toBeGreaterThan(50);
    expect(complaintsAbout(written)).toEqual([]);
  });

  it.each(pages.filter((page) => !page.includes('/') && !WITHOUT_EXAMPLE.has(page)))(
    'opens with what a page is for, and with an example: %s',
    (page) => {
      const [, , purpose = '', ...rest] = readProjectFile(`docs/${page}`).split('\n');
      expect(purpose).toMatch(/^(?:This page|Short answers) .+[.:]/);
      // The example comes before the rules, and before a reader has to scroll.
      expect(rest.slice(0, 30).some((line) => line.startsWith('```'))).toBe(true);
    },
  );

  it('names the command behind every figure', () => {
    const ownPages = pages.filter((page) => !page.includes('/'));
    const sections = ['README.md', ...ownPages.map((page) => `docs/${page}`)].flatMap((page) =>
      readProjectFile(page)
        .split(/^(?=##? )/m)
        .map((section) => ({ page, section })),
    );
    const measured = sections.filter(({ section }) => MEASURED.test(section));
    expect(measured.length).toBeGreaterThan(3);
    const unnamed = measured.filter(({ section }) => !COMMAND.test(section));
    expect(unnamed.map(({ page, section }) => `${page}: ${section.split('\n')[0]}`)).toEqual([]);
  });

  it('names commands that are there', () => {
    const { scripts } = JSON.parse(readProjectFile('package.json')) as { scripts: Readonly<Record<string, string>> };
    const all = ['README.md', 'llms.txt', 'CONTRIBUTING.md', ...pages.map((page) => `docs/${page}`)];
    const named = all.flatMap((page) =>
      [...readProjectFile(page).matchAll(/`npm run ([\w:-]+)/g)].map(([, name]) => name),
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name = '') => scripts[name] === undefined)).toEqual([]);
  });

  it('is where errors about missing endpoints lead to', async () => {
    const asked = [
      { model: 'acme/none' },
      { model: 'acme/one', provider: { only: ['nobody'] } },
      { model: 'acme/one', provider: { max_price: { prompt: 0 } } },
      { model: 'acme/one', provider: { zdr: true } },
      { model: 'acme/one', tools: [{ type: 'function', function: { name: 'one' } }] },
      { model: 'acme/one' },
    ] as const;
    const links = new Set<string>();
    for (const docsUrl of [undefined, 'https://docs.example.com/fallback-and-errors.html']) {
      const provider = simulated({ models: { 'acme/one': {} }, failures: [{ kind: 'model_not_found' }] });
      const router = createRouter({ providers: [provider], docsUrl, selection: { unknownCapability: 'exclude' } });
      for (const request of asked) {
        const messages = [{ role: 'user', content: 'Hello' }] as const;
        const failed = await (router as Router).chat({ ...request, messages }).catch((error: unknown) => error);
        const link = RouterError.isInstance(failed) ? failed.availability?.docs_url : undefined;
        if (link !== undefined) links.add(link);
      }
    }
    const homepage = 'https://signalbox.example/';
    const own = [...links].filter((link) => link.startsWith(homepage));
    expect(own.length).toBeGreaterThan(2);
    expect([...links].filter((link) => !link.startsWith('https://'))).toEqual([]);
    for (const link of own) {
      const [file = '', anchor = ''] = link.slice(homepage.length).split('#');
      expect(existsSync(join(root, file))).toBe(true);
      expect(anchorsOf(file)).toContain(anchor);
      expect(links).toContain(`https://docs.example.com/fallback-and-errors.html#${anchor}`);
    }
  });

  it('has an example of each kind of thing that users bring', () => {
    const all = blocks.map(([, , block]) => block).join('\n');
    for (const name of ['definePlugin', 'defineServerTool']) expect(all).toContain(name);
  });

  it.each(blocks)(
    '%s, block %i prints what it says it prints',
    async (page, index, block, output) => {
      const { stdout, stderr } = await runBlock(block, join(folder, `${basename(page)}-${index}.ts`));
      expect([stdout.trim().split('\n'), stderr]).toEqual([output, '']);
    },
    20_000,
  );
});
