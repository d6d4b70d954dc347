import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { build } from 'vite';

/**
 * Makes one page of this folder, with its script and its style inside, and writes it as a module that every runtime can
 * load: `dist/inspector/page.js`. The policy that is sent with it names the hashes of exactly these two, so that nothing
 * else runs in the page, whatever gets into it.
 * Usage: node inspector/build.ts
 */
const here = fileURLToPath(new URL('.', import.meta.url));
const target = new URL('../dist/inspector/', import.meta.url);

const built = await build({
  root: here,
  configFile: false,
  logLevel: 'error',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  define: { 'process.env.NODE_ENV': '"production"' },
  build: {
    write: false,
    target: 'es2022',
    cssCodeSplit: false,
    modulePreload: false,
    rolldownOptions: { input: fileURLToPath(new URL('src/main.tsx', import.meta.url)) },
  },
});
const outputs = [built].flat().flatMap((one) => ('output' in one ? one.output : []));

function only(ending: string): string {
  const found = outputs.filter(({ fileName }) => fileName.endsWith(ending));
  const [file] = found;
  if (file === undefined || found.length > 1)
    throw new Error(`The page needs one file of ${ending}, not ${found.length}.`);
  return file.type === 'chunk' ? file.code : String(file.source);
}

/** What would end the element that the text stands in. In a script, it can only be part of a text or a pattern. */
const script = only('.js')
  .trim()
  .replaceAll('</script', String.raw`<\/script`)
  .replaceAll('<!--', String.raw`<\!--`);
const style = only('.css').trim();
if (style.includes('</style')) throw new Error('The style would end too early.');

const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const page = readFileSync(new URL('index.html', import.meta.url), 'utf8')
  .replace(/<!--[\s\S]*?-->/g, '')
  .replace(/\n\s*/g, '\n')
  .replace(/<style>[\s\S]*?<\/style>/, () => `<style>${style}</style>`)
  .replace(/(<script type="module">)[\s\S]*?<\/script>/, (_all, tag: string) => `${tag}${script}</script>`);

const policy = [
  "default-src 'none'",
  `script-src ${hash(script)}`,
  `style-src ${hash(style)}`,
  "connect-src 'self'",
  // The empty icon, so that browsers ask nobody for one.
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

mkdirSync(target, { recursive: true });
/** The page in lines that an editor and a stack trace can show. */
const pieces = page.match(/[^]{1,400}/g) ?? [];
writeFileSync(
  new URL('page.js', target),
  `export const page = [\n${pieces.map((piece) => `${JSON.stringify(piece)},\n`).join('')}].join('');\nexport const policy = ${JSON.stringify(policy)};\n`,
);
const kilobytes = brotliCompressSync(page).length / 1_000;
console.log(`dist/inspector/page.js: ${(page.length / 1_000).toFixed(1)} kB, ${kilobytes.toFixed(1)} kB compressed`);
