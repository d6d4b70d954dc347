import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readProjectFile } from '../support/source-files.ts';
import { STORY, scriptedProvider } from '../support/scripted-upstream.ts';
import { STORMS_ARE_FULL } from '../support/storms.ts';
import { type Upstream, startUpstream } from '../support/upstream.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const app = mkdtempSync(join(tmpdir(), 'signalbox-next-'));
const next = join(root, 'node_modules/next/dist/bin/next');
/** Packages of the example besides this one. */
const OF_THE_EXAMPLE = ['next', 'react', 'react-dom', 'typescript', '@types/node', '@types/react'];

let upstream: Upstream;
let server: ChildProcess;
let baseURL = '';
let client: OpenAI;

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

/**
 * Puts the example where only its own packages are found, as after its own `npm install`: in this project, Next would
 * find and bundle the packages that users install when they need them, which takes longer than everything else.
 */
function installApp(): void {
  const { dependencies } = JSON.parse(readProjectFile('package.json')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  cpSync(join(root, 'examples/next-app/app'), join(app, 'app'), { recursive: true });
  cpSync(join(root, 'examples/next-app/tsconfig.json'), join(app, 'tsconfig.json'));
  cpSync(join(root, 'examples/next-app/package.json'), join(app, 'package.json'));
  // The packages are links, which lead out of the app. And without storms, no bytes are saved and no maps made, which
  // takes a sixth of the work and changes nothing of what the program does.
  const quick = STORMS_ARE_FULL ? '' : 'experimental: { turbopackMinify: false, turbopackSourceMaps: false },';
  const config = readProjectFile('examples/next-app/next.config.ts').replace(
    '= {',
    `= {\n  turbopack: { root: '/' }, ${quick}`,
  );
  writeFileSync(join(app, 'next.config.ts'), config);
  for (const name of [...OF_THE_EXAMPLE, ...Object.keys(dependencies)]) {
    const place = join(app, 'node_modules', name);
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), place);
  }
  // The same on the edge runtime, which has nothing of Node.
  const edge = join(app, 'app/edge/v1/[...path]');
  mkdirSync(edge, { recursive: true });
  writeFileSync(
    join(edge, 'route.ts'),
    `import { createRouter, openaiCompatible } from 'signalbox';
import { nextRouter } from 'signalbox/next';

export const runtime = 'edge';
const baseURL = process.env.OPENAI_BASE_URL ?? 'http://127.0.0.1:1/v1';
const provider = openaiCompatible({ slug: 'up', baseURL, apiKey: 'k', models: { 'openai/any': {} } });
const router = createRouter({ providers: [provider], allowAnonymous: true });
export const { GET, POST } = nextRouter(router, { basePath: '/edge/v1' });
`,
  );
  const place = join(app, 'node_modules/signalbox');
  // Maps are not published.
  cpSync(join(root, 'dist'), join(place, 'dist'), { recursive: true, filter: (path) => !path.endsWith('.map') });
  cpSync(join(root, 'package.json'), join(place, 'package.json'));
}

beforeAll(async () => {
  if (!existsSync(join(root, 'dist/next.js'))) await promisify(execFile)('npm', ['run', 'build'], { cwd: root });
  installApp();
  upstream = await startUpstream(scriptedProvider);
  const port = await freePort();
  // Without secrets, as a build on another machine has none. They are there when the app starts.
  const kept = Object.entries(process.env).filter(([name]) => !/_(?:API_)?KEY$|_BASE_URL$/.test(name));
  const bare = { ...Object.fromEntries(kept), NODE_ENV: 'production' as const, NEXT_TELEMETRY_DISABLED: '1' };
  await promisify(execFile)(process.execPath, [next, 'build'], { cwd: app, env: bare });
  const env = { ...bare, OPENAI_API_KEY: 'sk-for-the-upstream-of-the-test', OPENAI_BASE_URL: upstream.baseURL };
  server = spawn(process.execPath, [next, 'start', '--port', String(port), '--hostname', '127.0.0.1'], {
    cwd: app,
    env,
  });
  await new Promise<void>((resolve, reject) => {
    server.stdout?.on('data', (text: Buffer) => text.includes('Ready') && resolve());
    server.on('exit', (code) => reject(new Error(`next start ended with ${code}`)));
  });
  baseURL = `http://127.0.0.1:${port}/api/v1`;
  client = new OpenAI({ baseURL, apiKey: 'any', maxRetries: 0 });
}, 240_000);

afterAll(async () => {
  server?.removeAllListeners('exit');
  server?.kill();
  await upstream?.[Symbol.asyncDispose]();
  rmSync(app, { recursive: true, force: true });
});

const messages = [{ role: 'user' as const, content: 'Tell me a story' }];

describe('a Next.js app, built without secrets and started with them', () => {
  it('answers the openai package, whole and streamed', async () => {
    const whole = await client.chat.completions.create({ model: 'openai/any', messages });
    expect(whole.choices[0]?.message.content).toBe(STORY);
    let text = '';
    for await (const chunk of await client.chat.completions.create({ model: 'openai/any', messages, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? '';
    }
    expect(text).toBe(STORY);
  });

  it('answers on the edge runtime', async () => {
    const onEdge = new OpenAI({ baseURL: baseURL.replace('/api/v1', '/edge/v1'), apiKey: 'any', maxRetries: 0 });
    const whole = await onEdge.chat.completions.create({ model: 'openai/any', messages });
    expect(whole.choices[0]?.message.content).toBe(STORY);
    let text = '';
    for await (const chunk of await onEdge.chat.completions.create({ model: 'openai/any', messages, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? '';
    }
    expect(text).toBe(STORY);
  });

  it('answers without any key, from the simulated provider', async () => {
    const answer = await client.chat.completions.create({ model: 'simulated/small', messages });
    expect(answer.choices[0]?.message.content).toMatch(/simulated/i);
  });

  it('sends the events of a stream one by one, also to a client that takes compressed answers', async () => {
    const response = await fetch(`${baseURL}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip' },
      body: JSON.stringify({ model: 'openai/any', messages: [{ role: 'user', content: 'slow' }], stream: true }),
    });
    const reader = response.body?.getReader();
    const arrivals: number[] = [];
    while (arrivals.length < 10 && (await reader?.read())?.done === false) arrivals.push(performance.now());
    await reader?.cancel();
    const [first = 0] = arrivals;
    expect((arrivals.at(-1) ?? 0) - first).toBeGreaterThan(50);
  });

  it('ends the call upstream when the client leaves in the middle of a stream', async () => {
    const slow = [{ role: 'user' as const, content: 'slow' }];
    const stream = await client.chat.completions.create({ model: 'openai/any', messages: slow, stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    await expect.poll(() => upstream.connections).toBe(0);
  });

  it('answers a bad request with JSON, and an unknown path with 404', async () => {
    const bad = await fetch(`${baseURL}/chat/completions`, {
      method: 'POST',
      body: '{',
      headers: { 'content-type': 'application/json' },
    });
    expect(bad.status).toBe(400);
    expect(await bad.json()).toMatchObject({ error: { code: 400 } });
    const lost = await fetch(`${baseURL}/nothing`);
    expect(lost.status).toBe(404);
    expect(lost.headers.get('content-type')).toBe('application/json');
  });

  it('tells which method a path takes', async () => {
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']) {
      const { status, headers } = await fetch(`${baseURL}/chat/completions`, { method });
      expect([method, status, headers.get('allow')]).toEqual([method, 405, 'POST']);
    }
  });

  it('still serves its own pages', async () => {
    const page = await fetch(baseURL.replace('/api/v1', '/'));
    expect(await page.text()).toContain('Signalbox in Next.js');
  });
});
