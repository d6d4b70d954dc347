import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_REQUEST_LIMITS } from '../src/protocol/limits.ts';
import { providerPreferencesSchema } from '../src/protocol/provider-preferences.ts';
import { codeBlocks, promisedOutput, runBlock } from './support/code-blocks.ts';
import { readProjectFile } from './support/source-files.ts';
import { membersOf } from './support/schema-values.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Inside the project, so that `signalbox` in a block means this package. */
const folder = join(root, 'coverage/docs');
const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => name.replaceAll('\\', '/'));
/** Blocks that say what they print are whole programs; the others are fragments. */
const blocks = [...pages.map((page) => `docs/${page}`), 'llms.txt'].flatMap((page) =>
  codeBlocks(readProjectFile(page))
    .map((block, index) => [page, index + 1, block] as const)
    .filter(([, , block]) => promisedOutput(block).length > 0),
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
    isWhole.set(name, promisedOutput(block).length > 0);
    writeFileSync(join(place, name), block);
  }
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions: STRICT, include: ['*.ts'] }));
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  try {
    execFileSync(process.execPath, [compiler, '-p', place, '--pretty', 'false'], { cwd: place, encoding: 'utf8' });
    return [];
  } catch (error) {
    const lines = String((error as { readonly stdout?: unknown }).stdout).split('\n');
    const said = lines.filter((line) => line.includes('): error TS'));
    return said.filter((line) => isWhole.get(line.split('(')[0] ?? '') === true || !OF_THE_READER.test(line));
  }
}

/** The one default that is no number: it follows from the heap. */
const PLACES = 'one for each 128 kB of heap, 1,000 to 10,000';

/** Layers of single files that say nothing about how the house is built. */
const UNPLANNED = new Set(['src/core/selection/explain.ts', 'src/router/model-names.ts', 'src/index.ts']);

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
      /type ExclusionReason =([^;]*);/.exec(readProjectFile('src/core/selection/route-plan.ts')) ?? [];
    const reasons = [...union.matchAll(/'([\w:]+)'/g)].map((match) => match[1] ?? '');
    const names = [...membersOf(providerPreferencesSchema), ...reasons];
    expect(names.length).toBeGreaterThan(30);
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it('tells the limits of requests as they are', () => {
    const page = readProjectFile('docs/security.md');
    const rows = Object.entries({ ...DEFAULT_REQUEST_LIMITS, concurrentRequests: PLACES }).map(
      ([name, value]) => `| \`${name}\` | ${value.toLocaleString('en-US')} |`,
    );
    expect(rows.filter((row) => !page.includes(row))).toEqual([]);
  });

  it('has every layer of the house on its plan', () => {
    const [, table = ''] =
      /const LAYERS[^{]*= \{([\s\S]*?)\n\};/.exec(readProjectFile('test/architecture.test.ts')) ?? [];
    const layers = [...table.matchAll(/^  '?([\w./-]+)'?:/gm)].map((match) => match[1] ?? '');
    const rows = readProjectFile('docs/architecture.md')
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .join('\n');
    const named = layers.filter((layer) => !UNPLANNED.has(layer));
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((layer) => !rows.includes(`\`${layer}\``))).toEqual([]);
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
    expect(index.length).toBeLessThan(6_000);
  });

  it('has blocks that are right under strict types', { timeout: 60_000 }, () => {
    const written = ['README.md', 'llms.txt', ...pages.map((page) => `docs/${page}`)].flatMap((page) =>
      codeBlocks(readProjectFile(page)).map((block) => [page, block] as const),
    );
    expect(written.length).toBeGreaterThan(50);
    expect(complaintsAbout(written)).toEqual([]);
  });

  it('has an example of each kind of thing that users bring', () => {
    const all = blocks.map(([, , block]) => block).join('\n');
    for (const name of ['definePlugin', 'defineServerTool']) expect(all).toContain(name);
  });

  it.each(blocks)(
    '%s, block %i prints what it says it prints',
    async (page, index, block) => {
      const { stdout, stderr } = await runBlock(block, join(folder, `${basename(page)}-${index}.ts`));
      expect([stdout.trim().split('\n'), stderr]).toEqual([promisedOutput(block), '']);
    },
    20_000,
  );
});
