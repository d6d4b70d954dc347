import { createRouter } from 'signalbox';
import { request } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type FedProvider, GOOD_END, fedProvider } from '../support/fed-provider.ts';
import { chatBody } from '../support/http-call.ts';
import { MOUNTS, type Mounted } from '../support/mounts.ts';
import { type NginxServer, startNginx } from '../support/nginx.ts';

/** What may stand in a `location` of nginx besides `proxy_pass`. */
const SETTINGS: Readonly<Record<string, string>> = {
  plain: '',
  'public-host': 'proxy_http_version 1.1; proxy_set_header Host $host;',
  'usual-headers': 'proxy_http_version 1.1; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;',
  'real-ip': 'proxy_http_version 1.1; proxy_set_header X-Real-IP $remote_addr;',
  // Looks in every way like a program on this machine.
  hidden: 'proxy_http_version 1.1; proxy_set_header Connection "";',
};

let provider: FedProvider;
let mounts: readonly Mounted[];
let nginx: NginxServer;

const MOUNTED = ['node', 'express', 'fastify', 'fetch on Hono'];

async function start(): Promise<void> {
  provider = fedProvider({
    script: (fed) => (fed.call.request.stream ? fed.push('Hi', ...GOOD_END) : fed.answer('Hi')),
  });
  const router = createRouter({ providers: [provider], on: { warning: () => undefined } });
  mounts = await Promise.all(MOUNTED.map((name) => MOUNTS[name]?.(router) as Promise<Mounted>));
  const locations = mounts.flatMap(({ baseURL }, index) =>
    Object.entries(SETTINGS).map(
      ([name, settings]) => `location /${name}/${index}/ { proxy_pass ${baseURL}/; proxy_buffering off; ${settings} }`,
    ),
  );
  nginx = await startNginx(locations.join('\n'));
}

async function stop(): Promise<void> {
  await nginx[Symbol.asyncDispose]();
  for (const mount of mounts) await mount[Symbol.asyncDispose]();
}

/** Unlike fetch, this lets a caller name a host. */
async function statusOf(base: string, method: 'GET' | 'POST' = 'POST'): Promise<number> {
  const path = method === 'POST' ? 'chat/completions' : 'batches';
  const { statusCode, body } = await request(`${base}/${path}`, {
    method,
    headers: { 'content-type': 'application/json', host: 'api.example.com' },
    body: method === 'POST' ? JSON.stringify(chatBody()) : null,
  });
  await body.dump();
  return statusCode;
}

const cases = MOUNTED.flatMap((mount, index) =>
  ['plain', 'public-host', 'usual-headers', 'real-ip'].map((setting) => ({ mount, index, setting })),
);

describe('a router without authentication behind nginx on the same machine', () => {
  beforeAll(start);
  afterAll(stop);

  it.each(cases)('answers nobody: $setting, mounted as $mount', async ({ index, setting }) => {
    expect(await statusOf(`${nginx.url}/${setting}/${index}`)).toBe(401);
    expect(await statusOf(`${nginx.url}/${setting}/${index}`, 'GET')).toBe(401);
  });

  it.each(MOUNTED.map((mount, index) => ({ mount, index })))(
    'answers who comes without nginx: mounted as $mount',
    async ({ index }) => {
      const { baseURL = '' } = mounts[index] ?? {};
      const response = await fetch(`${baseURL}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(chatBody()),
      });
      expect(response.status).toBe(200);
    },
  );
});

describe('a proxy that hides that it is one', () => {
  afterEach(async () => {
    vi.unstubAllEnvs();
    await stop();
  });

  it('cannot be told from a caller on this machine, so in production nobody is answered', async () => {
    vi.stubEnv('NODE_ENV', 'development');
    await start();
    expect(await statusOf(`${nginx.url}/hidden/0`)).toBe(200);
    await stop();
    vi.stubEnv('NODE_ENV', 'production');
    await start();
    expect(await statusOf(`${nginx.url}/hidden/0`)).toBe(401);
  });
});
