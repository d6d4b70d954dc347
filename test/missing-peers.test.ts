import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENTRY_POINTS } from '../scripts/entry-points.ts';
import { readProjectFile } from './support/source-files.ts';

/** Optional packages that are not installed, on the package as it was built. */

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
/** Inside the project, so that `signalbox` means this package. */
const folder = join(root, 'coverage/missing-peers');

const { peerDependencies } = JSON.parse(readProjectFile('package.json')) as {
  readonly peerDependencies: Readonly<Record<string, string>>;
};
const peers = Object.keys(peerDependencies);

/** Makes a package look as if it was not installed, as Node says it. */
const HIDE = `
import { registerHooks, syncBuiltinESMExports } from 'node:module';
import threads from 'node:worker_threads';
const hidden = process.env.HIDDEN.split(' ');
registerHooks({
  resolve(specifier, context, next) {
    if (!hidden.some((name) => specifier === name || specifier.startsWith(name + '/'))) return next(specifier, context);
    const error = new Error("Cannot find package '" + specifier + "' imported from " + context.parentURL);
    error.code = 'ERR_MODULE_NOT_FOUND';
    throw error;
  },
});
// Threads have nothing of the program's environment.
const env = { HIDDEN: process.env.HIDDEN };
const execArgv = ['--import', import.meta.url];
threads.Worker = class extends threads.Worker {
  constructor(file, options) {
    super(file, { ...options, execArgv, env });
  }
};
syncBuiltinESMExports();
`;

const ROUTER =
  "import { createRouter, simulated } from 'signalbox';\nconst router = createRouter({ providers: [simulated()] });\n";
const PDF = `data:application/pdf;base64,${Buffer.from('%PDF-1.4\n').toString('base64')}`;

/** The shortest programs that use each of them. What they print has to name the command that installs it. */
const PROGRAMS: Readonly<Record<string, string>> = {
  '@modelcontextprotocol/sdk': `import { createRouter, simulated } from 'signalbox';
import { mcpTool } from 'signalbox/mcp';
const tool = mcpTool({ servers: { docs: { url: 'https://mcp.example.com/mcp' } } });
const router = createRouter({ providers: [simulated()], serverTools: [tool] });
const tools = [{ type: 'router:mcp', parameters: { server: 'docs' } }];
await router.chat({ model: 'simulated/small', messages: [{ role: 'user', content: 'Hello' }], tools });`,
  '@opentelemetry/api': `import { openTelemetry } from 'signalbox/opentelemetry';\n${ROUTER}await openTelemetry(router);`,
  '@pydantic/genai-prices': `import { genaiPrices } from 'signalbox/catalog';\nawait genaiPrices();`,
  'gpt-tokenizer': `import { gptTokens } from 'signalbox';\nawait gptTokens()();`,
  ioredis: `import { redisStore } from 'signalbox/redis';
const store = redisStore({ url: 'redis://127.0.0.1:1' });
await store.get('one');`,
  pg: `import { createRouter, simulated } from 'signalbox';
import { postgresStorage } from 'signalbox/postgres';
const storage = postgresStorage({ connectionString: 'postgres://127.0.0.1:1/one' });
await createRouter({ providers: [simulated()], batches: { storage } }).batches.list();`,
  'pg-boss': `import { createRouter, simulated } from 'signalbox';
import { pgBossQueue } from 'signalbox/pg-boss';
const queue = pgBossQueue({ connectionString: 'postgres://127.0.0.1:1/one' });
const router = createRouter({ providers: [simulated()], batches: { queue } });
await router.batches.start();`,
  'prom-client': `import { prometheus } from 'signalbox/prometheus';\n${ROUTER}await prometheus(router);`,
  unpdf: `${ROUTER}const file = { filename: 'one.pdf', file_data: '${PDF}' };
const plugins = [{ id: 'file-parser', pdf: { engine: 'pdf-text' } }];
await router.chat({ model: 'simulated/small', plugins, messages: [{ role: 'user', content: [{ type: 'file', file }] }] });`,
};

/** Packages without which something simpler does the same. */
const REPLACED = new Set(['defuddle', 'linkedom']);
/** Packages of which only types are used. */
const TYPES = new Set(['@ai-sdk/provider']);

async function output(program: string, hidden: readonly string[]): Promise<string> {
  const file = join(folder, `${hidden.join('-').replaceAll(/\W/g, '_')}.mjs`);
  writeFileSync(file, program);
  const args = ['--import', join(folder, 'hide.mjs'), file];
  const env = { ...process.env, HIDDEN: hidden.join(' '), NODE_COMPILE_CACHE: '' };
  const { stdout, stderr } = await run(process.execPath, args, { cwd: folder, env, timeout: 60_000 }).catch(
    (error: unknown) => error as { readonly stdout: string; readonly stderr: string },
  );
  return `${stdout}${stderr}`;
}

beforeAll(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'hide.mjs'), HIDE);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('an optional package that is not installed', () => {
  it('is missed by no entry point before it is used', async () => {
    const imports = ENTRY_POINTS.map(({ specifier }) => `await import('${specifier}');`).join('\n');
    expect(await output(`${imports}\nconsole.log('all');`, peers)).toBe('all\n');
  });

  it.each(peers.filter((name) => !REPLACED.has(name) && !TYPES.has(name)))(
    'is named with the command that installs it: %s',
    async (name) => {
      expect(await output(PROGRAMS[name] ?? '', [name])).toContain(`npm install ${name}`);
    },
  );
});
