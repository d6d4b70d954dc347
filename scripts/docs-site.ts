import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vitepress';
import { apiPage, type ApiItem, exportedNames } from './docs-site/api-page.ts';

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
  const text = withMarkdownPictures(readFileSync(file, 'utf8'));
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
  writeFileSync(join(pages, 'api', `${name}.md`), apiPage(specifierOf(name), model));
  list.push(`| [\`${specifierOf(name)}\`](${name}.md) | ${listed(exportedNames(model))} |`);
}
const head = 'One page for each entry point of the package, with its functions and types.';
const table = ['| Import | Functions and classes |', '|---|---|', ...list].join('\n');
writeFileSync(join(pages, 'api/index.md'), `# API reference\n\n${head}\n\n${table}\n`);

await build(join(root, 'docs'));
for (const temporary of [pages, models]) rmSync(temporary, { recursive: true, force: true });

/** Some names, and how many more there are. */
function listed(names: readonly string[]): string {
  const most = 12;
  const shown = names.slice(0, most).map((name) => `\`${name}\``);
  return names.length > most ? `${shown.join(', ')} and ${names.length - most} more` : shown.join(', ');
}

function specifierOf(name: string): string {
  return name === 'signalbox' ? name : `signalbox/${name}`;
}

/** Pictures for light and dark, which GitHub reads as HTML, in their light form. */
function withMarkdownPictures(text: string): string {
  return text.replaceAll(/<picture>[\s\S]*?<\/picture>/g, (picture) => {
    const [, alt = ''] = /<img[^>]*\balt="([^"]*)"/.exec(picture) ?? [];
    const [, source = ''] = /<img[^>]*\bsrc="([^"]*)"/.exec(picture) ?? [];
    return `![${alt}](${source})`;
  });
}

/** Links of the README, as they are from within `docs/`. */
function fromDocs(text: string): string {
  return text.replaceAll(/\]\((?!\w+:)([^)#]+)/g, (_, path: string) =>
    path.startsWith('docs/') ? `](./${path.slice('docs/'.length)}` : `](../${path}`,
  );
}
