import { build } from 'esbuild';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';

/**
 * What a user loads, with all it depends on: bundled, minified, and compressed with Brotli, in kilobytes of a thousand
 * bytes. Fails when one is larger than its budget. Needs a build. Usage: npm run check:size
 */
const BUDGETS = [
  { what: 'everything the default entry exports', names: '*', kilobytes: 330 },
  { what: 'createRouter', names: '{ createRouter }', kilobytes: 290 },
  { what: 'verifyWebhook, for a receiver', names: '{ verifyWebhook }', kilobytes: 90 },
] as const;

const root = fileURLToPath(new URL('..', import.meta.url));
const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly peerDependencies: Readonly<Record<string, string>>;
};
/** Loaded on use only, by those who have installed them. */
const peers = Object.keys(manifest.peerDependencies).flatMap((name) => [name, `${name}/*`]);

async function sizeOf(names: string): Promise<{ readonly minified: number; readonly compressed: number }> {
  const { outputFiles } = await build({
    stdin: { contents: `export ${names} from './dist/index.js'`, resolveDir: root },
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['import'],
    external: peers,
    tsconfigRaw: {},
    logLevel: 'silent',
  });
  const [file] = outputFiles;
  const contents = file?.contents ?? new Uint8Array();
  return { minified: contents.length, compressed: brotliCompressSync(contents).length };
}

for (const { what, names, kilobytes } of BUDGETS) {
  const { minified, compressed } = await sizeOf(names);
  const fits = compressed <= kilobytes * 1000;
  const sizes = `${Math.round(minified / 1000)} kB, compressed ${Math.round(compressed / 1000)} of ${kilobytes} kB`;
  console.log(`${fits ? 'fits' : 'TOO LARGE'}  ${what}: ${sizes}`);
  if (!fits) process.exitCode = 1;
}
