/** Runs in a process of its own: it waits for programs that it starts. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type RunningBrowser, startBrowser } from '../support/browser.ts';
import { installFrameworks } from '../support/frameworks.ts';
import { readProjectFile } from '../support/source-files.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const example = 'examples/ai-sdk-chat';
const next = join(root, 'node_modules/next/dist/bin/next');
/** Packages of the example that this project has; the others come with the frameworks. */
const OF_THE_PROJECT = ['next', 'react', 'react-dom', 'typescript', '@types/node', '@types/react'];

const installed = installFrameworks();
if (installed === undefined) writeSync(2, 'Left out, because the registry does not have it: the chat in Next.js.\n');

let app = '';
let server: ChildProcess | undefined;
let browser: RunningBrowser | undefined;
let address = '';

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

/** Puts a package where the app finds it. */
function link(name: string, from: string): void {
  const place = join(app, 'node_modules', name);
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(from, place);
}

/** Puts the example where its own packages are found, as after its own `npm install`. */
function installApp(packages: string): void {
  app = mkdtempSync(join(tmpdir(), 'signalbox-chat-'));
  for (const name of ['app', 'lib', 'package.json', 'tsconfig.json']) {
    cpSync(join(root, example, name), join(app, name), { recursive: true });
  }
  // The packages are links, which lead out of the app. No bytes are saved and no maps made, which changes nothing.
  const quick = "turbopack: { root: '/' }, experimental: { turbopackMinify: false, turbopackSourceMaps: false },";
  const config = readProjectFile(`${example}/next.config.ts`).replace('= {', `= {\n  ${quick}`);
  writeFileSync(join(app, 'next.config.ts'), config);
  for (const name of OF_THE_PROJECT) link(name, join(root, 'node_modules', name));
  for (const name of ['ai', '@ai-sdk/react']) link(name, join(packages, name));
  const { dependencies } = JSON.parse(readProjectFile('package.json')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  for (const name of Object.keys(dependencies)) link(name, join(root, 'node_modules', name));
  const place = join(app, 'node_modules/signalbox');
  cpSync(join(root, 'dist'), join(place, 'dist'), { recursive: true, filter: (path) => !path.endsWith('.map') });
  cpSync(join(root, 'package.json'), join(place, 'package.json'));
}

describe.skipIf(installed === undefined)('the chat of examples/ai-sdk-chat', () => {
  beforeAll(async () => {
    installApp(join(installed ?? '', 'node_modules'));
    const port = await freePort();
    const env = {
      ...process.env,
      NODE_ENV: 'production' as const,
      NEXT_TELEMETRY_DISABLED: '1',
      TOKENS_PER_SECOND: '10',
    };
    await promisify(execFile)(process.execPath, [next, 'build', '--turbopack'], { cwd: app, env });
    server = spawn(process.execPath, [next, 'start', '-p', String(port), '-H', '127.0.0.1'], {
      cwd: app,
      env,
      stdio: 'ignore',
    });
    address = `http://127.0.0.1:${port}`;
    const isUp = (): Promise<boolean> =>
      fetch(address).then(
        ({ ok }) => ok,
        () => false,
      );
    await vi.waitUntil(isUp, { timeout: 30_000, interval: 100 });
    browser = await startBrowser();
  }, 240_000);
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    server?.kill('SIGKILL');
    if (app !== '' && readdirSync(app).length > 0) rmSync(app, { recursive: true, force: true });
  });

  const answer = (page: Page): Promise<string> =>
    page.locator('[data-role=assistant]').last().innerText({ timeout: 20_000 });

  it('shows all of an answer whose page is loaded again in the middle of it', { timeout: 90_000 }, async () => {
    await using opened = await (browser ?? expect.unreachable('no browser')).open();
    const { page } = opened;
    await page.goto(address);
    const input = page.getByLabel('Message');
    await input.fill('Tell me a long story about trains.');
    await page.getByRole('button', { name: 'Send' }).click();
    // Some of it is there, and more is to come.
    await expect.poll(() => answer(page), { timeout: 20_000 }).toMatch(/assistant: (\S+ ){6}/);
    const before = await answer(page);
    await page.reload();
    await expect.poll(() => answer(page), { timeout: 20_000 }).toContain(before);
    const after = await answer(page);
    expect(await page.locator('output').innerText()).toBe('streaming');
    await expect.poll(() => page.locator('output').innerText(), { timeout: 60_000 }).toBe('ready');
    const whole = await answer(page);
    expect(whole.startsWith(after)).toBe(true);
    expect(whole.length).toBeGreaterThan(after.length);
    // The same as what the program has kept of the conversation.
    await page.reload();
    expect(await answer(page)).toBe(whole);
    expect(await page.locator('[data-role]').count()).toBe(2);
    expect(opened.complaints).toEqual([]);
  });
});
