import * as commonJs from '@rollup/plugin-commonjs';
import { nodeResolve } from '@rollup/plugin-node-resolve';
import { build as esbuild } from 'esbuild';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Plugin, rollup } from 'rollup';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { webpack } from 'webpack';
import { pdfWith } from '../support/pdf.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/**
 * One program with everything that a bundler could stumble over, bundled without flags: in a project that has none of
 * the optional packages, and in one that has those which the program uses.
 */

const root = fileURLToPath(new URL('../..', import.meta.url));

const PROGRAM = `
import { createServer } from 'node:http';
import { createRouter, openaiCompatible } from 'signalbox';
import { nodeRouter } from 'signalbox/node';

async function main() {
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const message = { role: 'assistant', content: 'Hello' };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    response.end(JSON.stringify({ id: 'x', choices: [{ index: 0, message, finish_reason: 'stop' }], usage }));
  });
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const baseURL = 'http://127.0.0.1:' + server.address().port + '/v1';
const models = { 'acme/one': { price: { prompt: 1, completion: 1 }, inputModalities: ['text'] } };
const router = createRouter({ providers: [openaiCompatible({ slug: 'up', baseURL, apiKey: 'k', models })], allowAnonymous: true });
const file = { filename: 'a.pdf', file_data: 'data:application/pdf;base64,' + process.argv[2] };
const said = (content) => ({ model: 'acme/one', messages: [{ role: 'user', content }] });
const text = { type: 'text', text: 'Hi' };
console.log((await router.chat(said('Hi'))).choices[0].message.content);
console.log((await router.countTokens(said('Hi there'))).input_tokens > 0);
const mounted = createServer(nodeRouter(router, { basePath: '/v1' }));
await new Promise((resolve) => mounted.listen(0, '127.0.0.1', resolve));
const address = 'http://127.0.0.1:' + mounted.address().port;
console.log((await fetch(address + '/v1/models')).status);
const answer = await router.chat(said([text, { type: 'file', file }])).catch((error) => error);
console.log(answer.message ?? answer.choices[0].message.annotations?.[0].file.content[0].text);
await router.close();
mounted.close();
server.close();
}
main();
`;

const folders = { without: temporaryFolder(), with: temporaryFolder() };
const PDF = Buffer.from(pdfWith(['Words on a page'])).toString('base64');

/** Puts the built package and links to others where a program finds them. */
function install(place: string, names: readonly string[]): void {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: object };
  for (const name of [...Object.keys(dependencies), ...names]) {
    const target = join(place, 'node_modules', name);
    mkdirSync(dirname(target), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), target);
  }
  const own = join(place, 'node_modules/signalbox');
  cpSync(join(root, 'dist'), join(own, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(own, 'package.json'));
  writeFileSync(join(place, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(place, 'program.js'), PROGRAM);
}

async function bundledByEsbuild(place: string, format: 'esm' | 'cjs'): Promise<string> {
  const outfile = join(place, format === 'esm' ? 'esbuild.mjs' : 'esbuild.cjs');
  const entryPoints = [join(place, 'program.js')];
  await esbuild({ entryPoints, bundle: true, platform: 'node', format, outfile, logLevel: 'error' });
  return outfile;
}

/** Bundles `program.js` of a folder for Node, without flags; gives the file. */
const BUNDLERS: Readonly<Record<string, (place: string) => Promise<string>>> = {
  'esbuild as ESM': (place) => bundledByEsbuild(place, 'esm'),
  'esbuild as CommonJS': (place) => bundledByEsbuild(place, 'cjs'),
  bun(place) {
    const outfile = join(place, 'bun.mjs');
    const args = ['build', join(place, 'program.js'), '--target=node', '--outfile', outfile];
    execFileSync(join(root, 'node_modules/.bin/bun'), args, { cwd: place, stdio: ['ignore', 'ignore', 'pipe'] });
    return Promise.resolve(outfile);
  },
  async rollup(place) {
    const file = join(place, 'rollup', 'program.mjs');
    const onwarn = (): void => {};
    const bundle = await rollup({
      input: join(place, 'program.js'),
      plugins: [nodeResolve({ exportConditions: ['node'] }), (commonJs.default as unknown as () => Plugin)()],
      onwarn,
    });
    await bundle.write({
      dir: dirname(file),
      entryFileNames: 'program.mjs',
      chunkFileNames: '[name].mjs',
      format: 'esm',
    });
    return file;
  },
  async webpack(place) {
    const output = { path: join(place, 'webpack'), filename: 'program.mjs', chunkFilename: '[name].mjs' };
    await new Promise<void>((resolve, reject) => {
      webpack(
        {
          mode: 'production',
          target: 'node22',
          entry: join(place, 'program.js'),
          output: { ...output, module: true, library: { type: 'module' } },
          experiments: { outputModule: true },
          optimization: { minimize: false },
        },
        (error, stats) => {
          if (error === null && stats?.hasErrors() !== true) resolve();
          else reject(error ?? new Error(stats?.toString({ all: false, errors: true })));
        },
      );
    });
    return join(output.path, output.filename);
  },
};

beforeAll(() => {
  if (!existsSync(join(root, 'dist/index.js'))) execFileSync('npm', ['run', 'build'], { cwd: root });
  install(folders.without.path, []);
  install(folders.with.path, ['unpdf', 'gpt-tokenizer']);
}, 120_000);

afterAll(() => {
  for (const folder of Object.values(folders)) folder[Symbol.dispose]();
});

describe.each(Object.keys(BUNDLERS))('a program bundled by %s', (name) => {
  it.each([
    ['without', /^Hello\ntrue\n200\n.*npm install unpdf/],
    ['with', /^Hello\ntrue\n200\n.*Words on a page/],
  ] as const)(
    'answers, and reads a PDF, %s optional packages',
    async (which, printed) => {
      const file = await BUNDLERS[name]?.(folders[which].path);
      const ran = spawnSync(process.execPath, [file ?? '', PDF], { cwd: folders[which].path, encoding: 'utf8' });
      expect({ status: ran.status, stderr: ran.stderr.slice(0, 1_000), stdout: ran.stdout }).toMatchObject({
        status: 0,
      });
      expect(ran.stdout).toMatch(printed);
    },
    60_000,
  );
});
