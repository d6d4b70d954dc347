/** Runs in a process of its own: it starts workerd. */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stateStoreChecks } from '../../src/testing/state-store-checks.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs the shared checks inside of workerd, over the binding that a Worker has. */
const CHECKS = `
  import { durableObjectStore, StateObject } from './src/entries/durable-objects.ts';
  import { stateStoreChecks } from './src/testing/state-store-checks.ts';
  export { StateObject };
  export default {
    async fetch(request, env) {
      const name = new URL(request.url).searchParams.get('check');
      const warned = [];
      let stores = 0;
      const open = () => durableObjectStore({
        namespace: env.STATE,
        name: name + stores,
        timeoutMs: 10_000,
        warn: (message) => warned.push(message),
      });
      const harness = {
        create: () => ((stores += 1), open()),
        attach: open,
        pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      };
      try {
        await stateStoreChecks.find((check) => check.name === name).run(harness);
        return Response.json({ warned });
      } catch (error) {
        return Response.json({ warned, failed: String(error) });
      }
    },
  };
`;

/** A Worker as its user would write it, on the built package. */
const WORKER = `
  import { env } from 'cloudflare:workers';
  import { apiKeys, createRouter, simulated } from 'signalbox';
  import { durableObjectStore } from 'signalbox/durable-objects';
  import { fetchRouter } from 'signalbox/fetch';
  export { StateObject } from 'signalbox/durable-objects';
  const router = createRouter({
    providers: [simulated()],
    state: durableObjectStore({ namespace: env.STATE, timeoutMs: 10_000 }),
    authenticate: apiKeys([{ key: 'one-key-of-a-test-0001', id: 'ada' }]),
    rateLimits: { default: { requestsPerMinute: 2 } },
  });
  const handler = fetchRouter(router, { basePath: '/v1' });
  export default { fetch: (request) => handler(request) };
`;

async function bundled(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'import'],
    external: ['node:*', 'cloudflare:*', 'defuddle/node', 'unpdf', 'gpt-tokenizer/*', '@pydantic/genai-prices'],
    // Paths of the sources are ours; what a user gets is the built package.
    tsconfigRaw: {},
    logLevel: 'silent',
  });
  return outputFiles[0]?.text ?? '';
}

function start(script: string, persist?: string): Miniflare {
  return new Miniflare({
    modules: [{ type: 'ESModule', path: 'worker.js', contents: script }],
    compatibilityDate: '2026-01-01',
    durableObjects: { STATE: { className: 'StateObject', useSQLite: true } },
    ...(persist === undefined ? {} : { durableObjectsPersist: persist }),
  });
}

describe('state in a Durable Object', () => {
  let worker: Miniflare;

  beforeAll(async () => {
    worker = start(await bundled(CHECKS));
    await worker.ready;
  });

  afterAll(() => worker.dispose());

  // Nobody can freeze, or fail over, what the platform runs.
  it.each(stateStoreChecks.filter(({ needsFault }) => needsFault === undefined))('$name', async ({ name }) => {
    const response = await worker.dispatchFetch(`http://worker.example/?check=${encodeURIComponent(name)}`);
    // A warning would mean that the check was passed by the memory of the Worker.
    expect(await response.json()).toEqual({ warned: [] });
  });
});

describe('a router in a Worker with its state in a Durable Object', () => {
  it('holds an account to its limits, also when the Worker has begun anew', async () => {
    using folder = temporaryFolder();
    const script = await bundled(WORKER);
    const ask = async (worker: Miniflare) => {
      const response = await worker.dispatchFetch('http://worker.example/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer one-key-of-a-test-0001' },
        body: JSON.stringify({ model: 'simulated/small', messages: [{ role: 'user', content: 'Hello' }] }),
      });
      await response.text();
      return response.status;
    };
    const first = start(script, folder.path);
    expect([await ask(first), await ask(first)]).toEqual([200, 200]);
    await first.dispose();
    const second = start(script, folder.path);
    expect(await ask(second)).toBe(429);
    await second.dispose();
  });
});
