import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vitepress';
import { withMarkdownPictures, withoutComments } from './docs-site/page-text.ts';
import { apiPage, type ApiItem, apiTaskPages, exportedNames } from './docs-site/api-page.ts';

/**
 * Builds `docs/` as a site with search in `site/html`, which any file server can serve. The README is its first page; the API
 * reference is made of the comments of the exports. A dead link fails it. Needs a build. Usage: npm run docs
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const site = join(root, 'site');
/** Pages as VitePress reads them: a copy, so that nothing generated is ever in `docs/`. */
const pages = join(site, 'pages');
const models = join(site, 'models');

rmSync(site, { recursive: true, force: true });
cpSync(join(root, 'docs'), pages, { recursive: true, filter: (path) => !path.endsWith('.vitepress') });

const readme = readFileSync(join(root, 'README.md'), 'utf8');
writeFileSync(join(pages, 'index.md'), readme);
for (const name of readdirSync(pages, { recursive: true, encoding: 'utf8' }).filter((one) => one.endsWith('.md'))) {
  const file = join(pages, name);
  const text = withMarkdownPictures(withoutComments(readFileSync(file, 'utf8')));
  writeFileSync(file, name === 'index.md' ? fromDocs(text) : text);
}

execFileSync(process.execPath, [join(root, 'scripts/api-report.ts'), '--models', models], { stdio: 'inherit' });
mkdirSync(join(pages, 'api'));
const entries = readdirSync(models).toSorted((one, other) => {
  const isMain = (name: string): number => Number(name !== 'signalbox');
  return isMain(one) - isMain(other) || one.localeCompare(other);
});
const list: string[] = [];
for (const name of entries) {
  const model = JSON.parse(readFileSync(join(models, name, 'signalbox.api.json'), 'utf8')) as ApiItem;
  const specifier = specifierOf(name);
  const tasks = apiTaskPages(specifier, model);
  if (tasks.length === 0) {
    writeFileSync(join(pages, 'api', `${name}.md`), apiPage(specifier, model));
    list.push(`| [\`${specifier}\`](${name}.md) | ${listed(exportedNames(model))} |`);
    continue;
  }
  mkdirSync(join(pages, 'api', name));
  for (const { name: page, text } of tasks) writeFileSync(join(pages, 'api', name, `${page}.md`), text);
  const rows = tasks.map(({ task, name: page, names }) => `| [${task}](${page}.md) | ${listed(names, Infinity)} |`);
  const intro = 'One page for each task, with its functions and types.';
  const head = ['| Task | Functions and classes |', '|---|---|'];
  writeFileSync(
    join(pages, 'api', name, 'index.md'),
    `# ${specifier}\n\n${[intro, '', ...head, ...rows].join('\n')}\n`,
  );
  const links = tasks.map(({ task, name: page }) => `[${task}](${name}/${page}.md)`);
  list.push(`| [\`${specifier}\`](${name}/index.md) | ${links.join(', ')} |`);
}
const head = 'One page for each entry point of the package, and for each task where an entry point has many exports.';
const table = ['| Import | Functions and classes |', '|---|---|', ...list].join('\n');
writeFileSync(join(pages, 'api/index.md'), `# API reference\n\n${head}\n\n${table}\n`);

await build(join(root, 'docs'));
for (const temporary of [pages, models]) rmSync(temporary, { recursive: true, force: true });

/** Some names, and how many more there are. */
function listed(names: readonly string[], most = 12): string {
  const shown = names.slice(0, most).map((name) => `\`${name}\``);
  return names.length > most ? `${shown.join(', ')} and ${names.length - most} more` : shown.join(', ');
}

function specifierOf(name: string): string {
  return name === 'signalbox' ? name : `signalbox/${name}`;
}

/** Links of the README, as they are from within `docs/`. */
function fromDocs(text: string): string {
  return text.replaceAll(/\]\((?!\w+:)([^)#]+)/g, (_, path: string) =>
    path.startsWith('docs/') ? `](./${path.slice('docs/'.length)}` : `](../${path}`,
  );
}
