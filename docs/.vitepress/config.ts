import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type MarkdownRenderer } from 'vitepress';

const DOCS = fileURLToPath(new URL('..', import.meta.url));
const ROOT = join(DOCS, '..');

/** Lines of code, and tables, are longer than the theme's column for prose; of a picture, the one of the theme is shown. */
const STYLES = `:root { --vp-code-font-size: .8em; --vp-sidebar-width: 240px }
.VPDoc.has-aside .content-container { max-width: 780px !important }
.VPDoc.has-aside .aside { max-width: 240px }
.vp-doc table { font-size: .9em; line-height: 1.5 }
.vp-doc th, .vp-doc td { padding: 6px 12px }
.vp-doc td { vertical-align: top; overflow-wrap: break-word }
.vp-doc td:last-child:nth-child(-n+4):not(:first-child), .vp-doc td:nth-child(2):nth-last-child(4) { min-width: 15em }
.vp-doc td:first-child code { white-space: nowrap }
.dark .only-light, html:not(.dark) .only-dark { display: none }`;

/** Pages by task, in the order of a reader. Each page must be here: `npm run docs` fails otherwise. */
const TASKS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Get started': {
    'getting-started': 'Getting started',
    frameworks: 'Frameworks',
    providers: 'Providers',
    'ai-sdk': 'With the AI SDK',
    recipes: 'Recipes',
    migration: 'Coming from another router',
  },
  'Choose and answer': {
    routing: 'Routing',
    'fallback-and-errors': 'Fallback and errors',
    streaming: 'Streaming',
    'resuming-streams': 'Resuming streams',
    'prompt-caches': 'Prompt caches',
    batches: 'Batches',
    'batches-from-the-ai-sdk': 'Batches from the AI SDK',
    'limits-and-budgets': 'Limits and budgets',
  },
  Extend: {
    plugins: 'Plugins',
    'writing-plugins': 'Writing plugins',
    'server-tools': 'Server tools',
    testing: 'Testing',
  },
  'See and operate': {
    inspector: 'Inspector',
    'ledger-and-replay': 'Ledger and replay',
    observability: 'Observability',
    operating: 'Operating',
    deployment: 'Deployment',
    'storage-and-scaling': 'Storage and scaling',
    security: 'Security',
  },
  'Look up': {
    configuration: 'Every option',
    'http-api': 'HTTP API',
    'command-line': 'Command line',
    'api/index': 'API reference',
    troubleshooting: 'Troubleshooting',
    faq: 'FAQ',
    glossary: 'Glossary',
  },
  Understand: {
    architecture: 'Architecture',
    'decisions/README': 'Decisions',
    measurements: 'Measurements',
    'simulated-worlds': 'Simulated worlds',
  },
};

const pages = readdirSync(DOCS)
  .filter((name) => name.endsWith('.md'))
  .map((name) => name.slice(0, -3));
const listed = new Set(Object.values(TASKS).flatMap((group) => Object.keys(group)));
const unlisted = pages.filter((page) => !listed.has(page));
if (unlisted.length > 0) throw new Error(`Not in the navigation of docs/.vitepress/config.ts: ${unlisted.join(', ')}`);

const sidebar = Object.entries(TASKS).map(([text, group]) => ({
  text,
  items: Object.entries(group)
    .filter(([page]) => page === 'api/index' || existsSync(join(DOCS, `${page}.md`)))
    .map(([page, title]) => ({ text: title, link: `/${page.replace(/index$/, '')}` })),
}));

/**
 * Links to files beside `docs/` lead somewhere on GitHub and in the package, and nowhere on the site: there, their text
 * is left without a link. A file that is not there fails the build.
 */
function withoutLinksToSources(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push('links-to-sources', (state) => {
    const { relativePath = '' } = state.env as { readonly relativePath?: string };
    for (const { children } of state.tokens) {
      let isInside = false;
      for (const token of children ?? []) {
        if (token.type === 'link_open') {
          const [path = ''] = (token.attrGet('href') ?? '').split('#');
          const file = join(DOCS, dirname(relativePath), decodeURI(path));
          isInside = /^\.{1,2}\//.test(path) && !file.startsWith(DOCS);
          if (isInside && !existsSync(file)) throw new Error(`${relativePath} links to ${path}, which is not there.`);
          if (isInside) Object.assign(token, { tag: 'span', attrs: [['title', file.slice(ROOT.length + 1)]] });
        } else if (token.type === 'link_close' && isInside) {
          token.tag = 'span';
          isInside = false;
        }
      }
    }
  });
}

// oxlint-disable-next-line import/no-default-export -- VitePress wants it so.
export default defineConfig({
  title: 'Signalbox',
  description: 'A model router that runs inside your TypeScript server',
  // A copy of docs/ with the README and the API reference: see scripts/docs-site.ts.
  srcDir: join(ROOT, 'site/pages'),
  outDir: join(ROOT, 'site/html'),
  cacheDir: join(ROOT, 'site/.cache'),
  head: [['style', {}, STYLES]],
  // Dead links fail the build, as they do by default.
  ignoreDeadLinks: false,
  // Text such as <tool> is text, here as on a terminal.
  markdown: { html: false, config: withoutLinksToSources },
  // The search index is one file, and is loaded at the first search.
  vite: { logLevel: 'warn', build: { chunkSizeWarningLimit: 4_000 } },
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Start', link: '/getting-started' },
      { text: 'Every option', link: '/configuration' },
      { text: 'API', link: '/api/' },
      { text: 'Troubleshooting', link: '/troubleshooting' },
    ],
    sidebar,
    outline: [2, 3],
  },
});
