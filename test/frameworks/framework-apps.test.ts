/** Runs in a process of its own: it waits for programs that it starts. */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { codeBlocks } from '../support/code-blocks.ts';
import { installFrameworks } from '../support/frameworks.ts';
import { readProjectFile } from '../support/source-files.ts';

/** The programs of docs/frameworks.md, by the file that each names in its first line. */
const PROGRAMS = new Map(
  codeBlocks(readProjectFile('docs/frameworks.md')).map((block) => [/^\/\/ (\S+)\n/.exec(block)?.[1] ?? '', block]),
);
const KEY = 'sk-only-for-development';
const installed = installFrameworks();
if (installed === undefined) writeSync(2, 'Left out, because the registry does not have them: frameworks.\n');

/** An app over programs of the page. */
interface App {
  /** Which of them. */
  readonly programs: readonly string[];
  /** What else an app of this framework has, by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** Command that builds it, as a path below `node_modules` and arguments. */
  readonly build?: readonly string[];
  /** Program that starts it. */
  readonly start: string;
}

const MODULE = `import 'reflect-metadata';
import { Module } from '@nestjs/common';
export class AppModule {}
Module({})(AppModule);
`;

const APPS: Readonly<Record<string, App>> = {
  'NestJS on Express': { programs: ['main.ts'], files: { 'app.module.ts': MODULE }, start: 'main.ts' },
  'NestJS on Fastify': { programs: ['main-fastify.ts'], files: { 'app.module.ts': MODULE }, start: 'main-fastify.ts' },
  'Koa behind a body parser': { programs: ['koa.ts'], start: 'koa.ts' },
  h3: { programs: ['h3.ts'], start: 'h3.ts' },
  Nitro: {
    programs: ['routes/v1/[...path].ts'],
    files: {
      'nitro.config.mjs': `export default { serverDir: './', compatibilityDate: '2026-01-01' };`,
    },
    build: ['nitro/dist/cli/index.mjs', 'build', '--builder', 'rollup'],
    start: '.output/server/index.mjs',
  },
  SvelteKit: {
    programs: ['src/routes/v1/[...path]/+server.ts'],
    files: {
      'vite.config.js': `import adapter from '@sveltejs/adapter-node';
import { sveltekit } from '@sveltejs/kit/vite';
import { defineConfig } from 'vite';
export default defineConfig({ plugins: [sveltekit({ adapter: adapter() })], logLevel: 'error' });`,
      'src/app.html': '<html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>',
    },
    build: ['vite/bin/vite.js', 'build'],
    start: 'build/index.js',
  },
  Astro: {
    programs: ['src/pages/v1/[...path].ts'],
    files: {
      'astro.config.mjs': `import node from '@astrojs/node';
import { defineConfig } from 'astro/config';
export default defineConfig({ output: 'server', adapter: node({ mode: 'standalone' }) });`,
    },
    build: ['astro/bin/astro.mjs', 'build'],
    start: 'dist/server/entry.mjs',
  },
  'React Router': {
    programs: ['app/v1.ts'],
    files: {
      'serve.ts': `import { createServer } from 'node:http';
import { nodeServer } from './node-server.ts';
import { createRequestHandler } from 'react-router';
import * as route from './app/v1.ts';
const build = {
  entry: { module: { default: () => new Response('') } },
  routes: { v1: { id: 'v1', path: 'v1/*', module: route } },
  assets: { entry: { imports: [], module: '' }, routes: {}, url: '', version: '1' },
  future: {}, ssr: true, isSpaMode: false, prerender: [], publicPath: '/', assetsBuildDirectory: '',
  basename: '/', routeDiscovery: { mode: 'initial' }, allowedActionOrigins: [],
};
nodeServer(createRequestHandler(build as never, 'production')).listen(Number(process.env.PORT));
`,
      'node-server.ts': `import { createServer } from 'node:http';
import { Readable } from 'node:stream';
export const nodeServer = (answer: (request: Request) => Promise<Response>) =>
  createServer(async (incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const body = method === 'GET' ? undefined : (Readable.toWeb(incoming) as ReadableStream);
    const init = { method, headers: headers as Record<string, string>, body, duplex: 'half' } as RequestInit;
    const response = await answer(new Request('http://localhost' + url, init));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body) Readable.fromWeb(response.body as never).pipe(outgoing);
    else outgoing.end();
  });
`,
    },
    start: 'serve.ts',
  },
};

const folders: string[] = [];
const running: ChildProcess[] = [];
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Puts the programs of an app where they find the packages. */
function place({ programs, files = {} }: Omit<App, 'start'>): string {
  // Beside the packages: some builds look for them on the real path only.
  const folder = mkdtempSync(join(installed ?? '', 'app-'));
  folders.push(folder);
  const shared = PROGRAMS.get('signalbox.ts') ?? '';
  const own = programs.map((name) => [name, PROGRAMS.get(name) ?? expect.unreachable(`no program ${name}`)] as const);
  const all = {
    'package.json': '{ "type": "module", "private": true }',
    'signalbox.ts': shared,
    'src/signalbox.ts': shared,
    ...files,
    ...Object.fromEntries(own),
  };
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  symlinkSync(join(installed ?? '', 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

async function run(app: App): Promise<string> {
  const folder = place(app);
  const { build: [program = '', ...args] = [] } = app;
  const env = { ...process.env, NODE_ENV: 'production', ASTRO_TELEMETRY_DISABLED: '1' };
  if (program !== '') {
    const options = { cwd: folder, env };
    await promisify(execFile)(process.execPath, [join(folder, 'node_modules', program), ...args], options);
  }
  const port = await freePort();
  const child = spawn(process.execPath, [join(folder, app.start)], {
    cwd: folder,
    env: { ...env, PORT: String(port), HOST: '127.0.0.1', BODY_SIZE_LIMIT: '32M' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  running.push(child);
  let said = '';
  child.stderr?.on('data', (text: Buffer) => (said += text.toString()));
  const baseURL = `http://127.0.0.1:${port}/v1`;
  const isUp = async (): Promise<unknown> => {
    if (child.exitCode !== null) expect.unreachable(`the app ended with ${child.exitCode}: ${said.slice(0, 2_000)}`);
    return fetch(`${baseURL}/models`, { headers: { authorization: `Bearer ${KEY}` } }).then(
      ({ status }) => status,
      () => 'not yet',
    );
  };
  await expect.poll(isUp, { timeout: 30_000, interval: 100 }).toBe(200);
  return baseURL;
}

function post(baseURL: string, body: unknown, path = '/chat/completions', key = KEY): Promise<Response> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(`${baseURL}${path}`, { method: 'POST', headers, body: text });
}

const isError = (code: number): unknown => expect.objectContaining({ error: expect.objectContaining({ code }) });

const CHAT = { model: 'simulated/small', messages: [{ role: 'user', content: 'Hello' }] };

describe.skipIf(installed === undefined).each(Object.entries(APPS))('the router in %s', (name, app) => {
  it('answers, streams and refuses as anywhere else', async () => {
    const baseURL = await run(app);
    const whole = await post(baseURL, CHAT);
    expect([whole.status, await whole.json()]).toEqual([200, expect.objectContaining({ object: 'chat.completion' })]);
    const large = { ...CHAT, messages: [{ role: 'user', content: 'word '.repeat(300_000) }] };
    expect((await post(baseURL, { ...large, model: 'simulated/none' })).status).toBe(400);
    const streamed = await post(baseURL, { ...CHAT, stream: true });
    expect(streamed.headers.get('content-type')).toContain('text/event-stream');
    const frames = (await streamed.text()).trimEnd().split('\n\n');
    expect(frames.length).toBeGreaterThan(3);
    expect(frames.at(-1)).toBe('data: [DONE]');
    const refused = await post(baseURL, CHAT, '/chat/completions', 'sk-wrong');
    expect([refused.status, await refused.json()]).toEqual([401, isError(401)]);
    // A body parser that comes first answers what it cannot parse.
    if (!name.startsWith('Koa')) {
      const bad = await post(baseURL, '{');
      expect([bad.status, await bad.json()]).toEqual([400, isError(400)]);
    }
    const lost = await post(baseURL, CHAT, '/nothing');
    // Nest answers paths that nobody serves in its own form.
    const own = name.startsWith('NestJS') ? expect.objectContaining({ statusCode: 404 }) : isError(404);
    expect([lost.status, await lost.json()]).toEqual([404, own]);
  });
});

describe.skipIf(installed === undefined)('the router in AWS Lambda', () => {
  const event = (body: object) => ({
    version: '2.0',
    rawPath: '/v1/chat/completions',
    rawQueryString: '',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
    requestContext: { domainName: 'x.lambda-url', http: { method: 'POST', path: '/v1/chat/completions' } },
    body: JSON.stringify(body),
    isBase64Encoded: false,
  });

  it('answers through Hono, and streams where the function may', async () => {
    const program = `${PROGRAMS.get('lambda.ts') ?? ''}
import { Writable } from 'node:stream';
const event = JSON.parse(process.argv[2] ?? '');
if (!process.env.STREAM) console.log(JSON.stringify(await (handler as any)(event, {})));
else {
  const pieces: string[] = [];
  const stream = new Writable({ write: (piece, _encoding, done) => (pieces.push(String(piece)), done()) });
  await (handler as any)(event, stream, {});
  console.log(JSON.stringify(pieces));
}`;
    const globals = `(globalThis as any).awslambda = {
  streamifyResponse: (run: unknown) => run,
  HttpResponseStream: { from: (stream: unknown) => stream },
};
await import('./lambda.ts');`;
    const folder = place({ programs: [], files: { 'lambda.ts': program, 'globals.ts': globals } });
    const call = async (body: object, env: Readonly<Record<string, string>>): Promise<unknown> => {
      const args = [join(folder, 'globals.ts'), JSON.stringify(event(body))];
      const options = { cwd: folder, env: { ...process.env, ...env }, encoding: 'utf8' } as const;
      const { stdout } = await promisify(execFile)(process.execPath, args, options);
      return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as unknown;
    };
    expect(await call(CHAT, {})).toMatchObject({ statusCode: 200, body: expect.stringContaining('chat.completion') });
    const pieces = (await call({ ...CHAT, stream: true }, { STREAM: '1' })) as readonly string[];
    expect(pieces.length).toBeGreaterThan(3);
    expect(pieces.join('')).toContain('data: [DONE]');
  });
});

describe.skipIf(installed === undefined)('useChat', () => {
  it('shows what streamText streams through the router', async () => {
    const talk = `import { Chat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';
import { POST } from './chat.ts';
const fetch = (url: string, init: RequestInit) => POST(new Request(new URL(url, 'http://app'), init));
const chat = new Chat({ transport: new DefaultChatTransport({ api: '/api/chat', fetch: fetch as never }) });
await chat.sendMessage({ text: 'Hello' });
console.log(JSON.stringify({ status: chat.status, error: String(chat.error), messages: chat.messages }));`;
    const folder = place({ programs: ['chat.ts'], files: { 'talk.ts': talk } });
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'talk.ts')], { cwd: folder });
    const said = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as {
      readonly status: string;
      readonly messages: readonly { readonly role: string; readonly parts: readonly { readonly text?: string }[] }[];
    };
    expect([said.status, said.messages.map(({ role }) => role)]).toEqual(['ready', ['user', 'assistant']]);
    expect(said.messages[1]?.parts.map(({ text }) => text ?? '').join('')).toMatch(/simulated/i);
  });
});

describe.skipIf(installed === undefined)('a development server that loads modules again', () => {
  it('keeps one router, with what changed in its options', async () => {
    const program = `import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'vite';
const vite = await createServer({ server: { middlewareMode: true, ws: false }, appType: 'custom', logLevel: 'silent' });
const load = async () => (await vite.ssrLoadModule('/signalbox.ts')).router;
const first = await load();
const before = first.configuration.version;
const text = readFileSync('signalbox.ts', 'utf8');
writeFileSync('signalbox.ts', text.replace('providers:', 'cacheMarks: false, providers:'));
const until = Date.now() + 20_000;
let after = first;
while (first.configuration.version === before && Date.now() < until) {
  await new Promise((resolve) => setTimeout(resolve, 100));
  after = await load();
}
console.log(JSON.stringify({ same: after === first, before, after: first.configuration.version }));
await first.close();
await vite.close();
`;
    const folder = place({ programs: [], files: { 'develop.ts': program } });
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'develop.ts')], { cwd: folder });
    expect(JSON.parse(stdout)).toEqual({ same: true, before: 1, after: 2 });
  });
});

/** A project with these files, in which the packages are found. */
function project(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(installed ?? '', 'project-'));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  symlinkSync(join(installed ?? '', 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** Runs a program of a package; gives its exit code and what it said. */
function runProgram(
  folder: string,
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(installed ?? '', 'node_modules', program), ...args],
    {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, NODE_OPTIONS: '', ...env },
    },
  );
  return { status, said: `${stdout}${stderr}` };
}

const JEST_TEST = `test('answers', async () => {
  const router = createRouter({ providers: [simulated({ firstTokenMs: 0, tokensPerSecond: Infinity })] });
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  const answer = await router.chat({ model: 'simulated/small', messages });
  expect(answer.choices[0]?.message.content).toMatch(/./);
  await router.close();
});
`;
const WITH_MODULES = { NODE_OPTIONS: '--experimental-vm-modules' };

describe.skipIf(installed === undefined)('in a CommonJS project, Jest', () => {
  it('requires the package with the option that the page names, and says so without it', () => {
    const text = `const { createRouter, simulated } = require('signalbox');\n${JEST_TEST.replace(' as const', '')}`;
    const folder = project({ 'package.json': '{ "jest": {} }', 'one.test.js': text });
    expect(runProgram(folder, 'jest/bin/jest.js', [], WITH_MODULES)).toMatchObject({ status: 0 });
    const without = runProgram(folder, 'jest/bin/jest.js', []);
    expect([without.status, without.said]).toEqual([1, expect.stringContaining('Must use import to load ES Module')]);
  });

  it('runs tests that ts-jest compiles to CommonJS', () => {
    const folder = project({
      'package.json': '{ "jest": { "preset": "ts-jest" } }',
      'tsconfig.json': JSON.stringify({
        compilerOptions: { module: 'nodenext', target: 'es2022', strict: true, skipLibCheck: true, types: ['jest'] },
      }),
      'one.test.ts': `import { createRouter, simulated } from 'signalbox';\n${JEST_TEST}`,
    });
    const { status, said } = runProgram(folder, 'jest/bin/jest.js', [], WITH_MODULES);
    expect([status, said]).toEqual([0, expect.stringContaining('1 passed')]);
  });
});

/** Every entry point that can be read without the package it is for. */
const ENTRIES = Object.keys((JSON.parse(readProjectFile('package.json')) as { readonly exports: object }).exports)
  .filter((entry) => !entry.endsWith('.json') && entry !== './opentelemetry' && entry !== './prometheus')
  .map((entry) => entry.replace('.', 'signalbox'));
const EVERYTHING = ENTRIES.map((entry, index) => `import * as m${index} from '${entry}';\nvoid m${index};\n`).join('');
const OPTIONS = {
  target: 'es2022',
  lib: ['es2022', 'esnext.disposable', 'dom'],
  strict: true,
  noEmit: true,
  types: [] as string[],
};

describe.skipIf(installed === undefined)('TypeScript', () => {
  it.each(['typescript-5.4', 'typescript-5.6', 'typescript-5.9', 'typescript'])(
    'reads the declarations of every entry point: %s',
    (name) => {
      const folder = project({
        'package.json': '{ "type": "module" }',
        'main.ts': EVERYTHING,
        'tsconfig.json': JSON.stringify({
          compilerOptions: { ...OPTIONS, module: 'nodenext', skipLibCheck: false },
          files: ['main.ts'],
        }),
      });
      const { said } = runProgram(folder, `${name}/bin/tsc`, ['--pretty', 'false']);
      const own = said.split('\n').filter((line) => /node_modules\/signalbox|^main/.test(line));
      // What they say of Node and of optional packages, which are not here.
      const wrong = own.filter((line) => !/TS(?:2307|2503|2580|2591|2304.*'Buffer'|7016)/.test(line));
      expect(wrong).toEqual([]);
    },
  );

  it.each([
    ['typescript-5.9', 'node16', 1],
    ['typescript-5.9', 'node20', 0],
    ['typescript-5.9', 'nodenext', 0],
    ['typescript-5.4', 'preserve', 0],
  ] as const)('%s in a CommonJS project takes module: %s as the page says', (name, module, failures) => {
    const resolution = module === 'preserve' ? { moduleResolution: 'bundler' } : {};
    const folder = project({
      'package.json': '{}',
      'main.ts': `import { createRouter } from 'signalbox';\nvoid createRouter;\n`,
      'tsconfig.json': JSON.stringify({
        compilerOptions: { ...OPTIONS, ...resolution, module, skipLibCheck: true },
        files: ['main.ts'],
      }),
    });
    const { said } = runProgram(folder, `${name}/bin/tsc`, ['--pretty', 'false']);
    expect(said.match(/error TS1479/g) ?? []).toHaveLength(failures);
    if (failures === 0) expect(said).toBe('');
  });
});

/** A server with a provider over HTTP, which calls itself and prints what comes. */
const BUNDLED = `import { createServer, type Server } from 'node:http';
import { createRouter, openaiCompatible, simulated } from 'signalbox';
import { nodeRouter } from 'signalbox/node';

const listening = (server: Server): Promise<string> =>
  new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(\`http://127.0.0.1:\${(server.address() as { port: number }).port}/v1\`));
  });

async function main(): Promise<void> {
  const upstream = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const choices = [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }];
      response.end(JSON.stringify({ id: 'x', choices, usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }));
    });
  });
  const models = { 'acme/one': { price: { prompt: 1, completion: 1 } } };
  const provider = openaiCompatible({ slug: 'up', baseURL: await listening(upstream), apiKey: 'k', models });
  const router = createRouter({ providers: [provider, simulated({ firstTokenMs: 0 })], allowAnonymous: true });
  const server = createServer(nodeRouter(router, { basePath: '/v1' }));
  const url = (await listening(server)) + '/chat/completions';
  const post = (body: object): Promise<Response> =>
    fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const messages = [{ role: 'user', content: 'Hi' }];
  console.log(JSON.parse(await (await post({ model: 'acme/one', messages })).text()).choices[0].message.content);
  console.log((await (await post({ model: 'simulated/small', messages, stream: true })).text()).endsWith('data: [DONE]\\n\\n'));
  await router.close();
  for (const one of [server, upstream]) one.close().closeAllConnections();
}
void main();
`;

const BUNDLERS: Readonly<
  Record<
    string,
    { readonly files: Readonly<Record<string, string>>; readonly build: readonly string[]; readonly made: string }
  >
> = {
  'Vite for a server': {
    files: {
      'vite.config.mjs': `export default { build: { ssr: 'app.ts' }, ssr: { noExternal: true }, logLevel: 'error' };`,
    },
    build: ['vite/bin/vite.js', 'build'],
    made: 'dist/app.js',
  },
  Rspack: {
    files: {
      'rspack.config.mjs': `export default {
  target: 'node', mode: 'production', entry: './app.ts', output: { filename: 'app.cjs' },
  resolve: { extensions: ['.ts', '.js'] },
  module: { rules: [{ test: /\\.ts$/, loader: 'builtin:swc-loader', type: 'javascript/auto',
    options: { jsc: { parser: { syntax: 'typescript' } } } }] },
};`,
    },
    build: ['@rspack/cli/bin/rspack.js', 'build'],
    made: 'dist/app.cjs',
  },
  'Parcel, with the package left out, as the page on troubleshooting says': {
    files: {
      'package.json': JSON.stringify({
        type: 'module',
        source: 'app.ts',
        main: 'dist/app.js',
        dependencies: { signalbox: '*' },
        targets: {
          main: { context: 'node', outputFormat: 'esmodule', includeNodeModules: { signalbox: false } },
        },
      }),
    },
    build: ['parcel/lib/bin.js', 'build', '--no-cache'],
    made: 'dist/app.js',
  },
};

describe.skipIf(installed === undefined)('a program bundled by', () => {
  it.each(Object.entries(BUNDLERS))(
    '%s answers and streams',
    (_name, { files, build: [program = '', ...args], made }) => {
      const folder = project({ 'package.json': '{ "type": "module" }', 'app.ts': BUNDLED, ...files });
      const built = runProgram(folder, program, args);
      expect([built.status, built.said.slice(-2_000)]).toEqual([0, expect.any(String)]);
      const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, made)], { encoding: 'utf8' });
      expect([status, stdout, stderr.slice(0, 1_000)]).toEqual([0, 'Hello\ntrue\n', expect.any(String)]);
    },
  );
});
