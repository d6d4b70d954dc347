import { createAdaptorServer } from '@hono/node-server';
import express from 'express';
import express4 from 'express4';
import fastify, { type FastifyServerOptions } from 'fastify';
import { type Server, createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { type Router, createRouter } from 'signalbox';
import { expressRouter } from 'signalbox/express';
import { fastifyRouter } from 'signalbox/fastify';
import { nextRouter } from 'signalbox/next';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { webResponse } from '../../adapters/web-exchange.ts';
import { fedProvider } from '../support/fed-provider.ts';
import { HOSTS } from '../support/hosts.ts';
import { chatBody } from '../support/http-call.ts';
import { type Mounted, listen } from '../support/mounts.ts';
import { connectRaw } from '../support/raw-http.ts';

function newRouter(batchBytes?: number): Router {
  return createRouter({
    providers: [fedProvider({ script: (fed) => fed.answer('Hi') })],
    allowAnonymous: true,
    batches: { limits: { bytes: batchBytes } },
    on: { warning: () => undefined },
  });
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe.each(['express behind express.json', 'express4 behind its json parser'])('%s', (name) => {
  it('answers a body that is not compressed as it says with our error', async () => {
    await using mount = (await HOSTS[name]?.(newRouter())) as Mounted;
    for (const body of [Buffer.from(JSON.stringify(chatBody())), gzipSync('{}'.repeat(5_000)).subarray(0, 30)]) {
      const response = await fetch(`${mount.baseURL}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        body,
      });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        error: { code: 400, metadata: { error_type: 'invalid_request' } },
      });
    }
  });
});

describe.each([
  ['Express 5', express],
  ['Express 4', express4],
])('a form that %s has parsed', (_name, make) => {
  it.each(['chat/completions', 'embeddings', 'batches', 'messages', 'responses'])('is a 415: %s', async (path) => {
    const app = make();
    app.use(make.urlencoded({ extended: true }));
    app.use('/v1', expressRouter(newRouter()));
    await using mount = await listen(createServer(app));
    const response = await fetch(`${mount.baseURL}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'model=acme/one&messages[0][role]=user&messages[0][content]=Hello',
    });
    expect(response.status).toBe(415);
  });
});

describe('a batch behind a parser of the host', () => {
  const item = (index: number): object => ({ custom_id: `${index}`, body: chatBody({ note: 'x'.repeat(500) }) });

  async function statusOf(requests: readonly object[], bytes: number): Promise<number> {
    const app = express();
    app.use(express.json({ limit: '40mb' }));
    app.use('/v1', expressRouter(newRouter(bytes)));
    await using mount = await listen(createServer(app));
    const body = gzipSync(JSON.stringify({ endpoint: '/v1/chat/completions', requests }));
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const response = await fetch(`${mount.baseURL}/batches`, { method: 'POST', headers, body });
    await response.text();
    return response.status;
  }

  it('is held to the limit on bytes, however few came', async () => {
    const requests = Array.from({ length: 40 }, (_, index) => item(index));
    expect(await statusOf(requests, 10_000)).toBe(413);
    expect(await statusOf(requests, 100_000)).toBe(202);
  });

  it('is held to the limits on what is in one request', async () => {
    const names = Object.fromEntries(Array.from({ length: 30_000 }, (_, index) => [`k${index}`, 1]));
    expect(await statusOf([{ custom_id: 'a', body: chatBody({ names }) }], 10_000_000)).toBe(400);
  });
});

describe('a method that a path does not take', () => {
  it.each(['PUT', 'PATCH', 'DELETE', 'GET', 'OPTIONS'])('is told what it takes by every host: %s', async (method) => {
    for (const [name, host] of Object.entries(HOSTS)) {
      await using mount = await host(newRouter());
      const response = await fetch(`${mount.baseURL}/chat/completions`, { method });
      expect([name, response.status, response.headers.get('allow')]).toEqual([name, 405, 'POST']);
    }
  });

  it.each([
    ['POST', 'models', 'GET, HEAD'],
    ['DELETE', 'models/acme/one/endpoints', 'GET, HEAD'],
    ['PUT', 'providers', 'GET, HEAD'],
    ['PATCH', 'embeddings', 'POST'],
    ['GET', 'messages', 'POST'],
    ['DELETE', 'messages/count_tokens', 'POST'],
    ['PUT', 'responses', 'POST'],
    ['DELETE', 'batches', 'POST, GET, HEAD'],
    ['POST', 'batches/batch_1', 'GET, HEAD, DELETE'],
    ['GET', 'batches/batch_1/cancel', 'POST'],
    ['HEAD', 'chat/completions', 'POST'],
    ['POST', 'openapi.json', 'GET, HEAD'],
  ])('is told so at every path: %s %s', async (method, path, allow) => {
    for (const [name, host] of Object.entries(HOSTS)) {
      await using mount = await host(newRouter());
      const response = await fetch(`${mount.baseURL}/${path}`, { method });
      expect([name, response.status, response.headers.get('allow')]).toEqual([name, 405, allow]);
      if (method === 'HEAD') continue;
      expect(await response.json()).toMatchObject({ error: { message: `This path takes ${allow} only` } });
    }
  });

  it('has a handler for Next', () => {
    expect(Object.keys(nextRouter(newRouter())).sort()).toEqual(['DELETE', 'GET', 'OPTIONS', 'PATCH', 'POST', 'PUT']);
  });
});

describe('an address that Fastify cannot decode', () => {
  async function get(path: string, options: FastifyServerOptions = {}): Promise<{ status: number; json: unknown }> {
    const app = fastify(options);
    await app.register(fastifyRouter, { router: newRouter(), prefix: '/v1' });
    await app.ready();
    await using mount = await listen(app.server);
    await using client = await connectRaw(mount);
    client.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
    await client.closed;
    const [head = '', body = ''] = client.text().split('\r\n\r\n');
    return { status: Number(head.slice(9, 12)), json: JSON.parse(body) as unknown };
  }

  it('is our error below the prefix, in the shape of the path', async () => {
    expect(await get('/v1/models/%zz')).toMatchObject({
      status: 400,
      json: { error: { code: 400, message: 'The path cannot be decoded' } },
    });
  });

  it('is what it was elsewhere', async () => {
    expect(await get('/host/%zz')).toMatchObject({ status: 400, json: { code: 'FST_ERR_BAD_URL', statusCode: 400 } });
    const frameworkErrors: NonNullable<FastifyServerOptions['frameworkErrors']> = (_error, _request, reply) =>
      void reply.raw.writeHead(418, { 'content-length': 12 }).end('{"own":true}');
    expect(await get('/host/%zz', { frameworkErrors })).toEqual({ status: 418, json: { own: true } });
    expect(await get('/v1/%zz', { frameworkErrors })).toMatchObject({ status: 400, json: { error: { code: 400 } } });
  });
});

describe('a client that does not read on, at a fetch host', () => {
  it('leaves no stack trace behind', async () => {
    const printed: unknown[] = [];
    vi.spyOn(console, 'error').mockImplementation((...all) => void printed.push(...all));
    const frames = (async function* (): AsyncGenerator<string, undefined, undefined> {
      for (;;) yield 'x'.repeat(1_000_000);
    })();
    const reply = {
      type: 'stream' as const,
      status: 200,
      headers: {},
      frames: Object.assign(frames, { ended: false }),
      stallMs: 50,
    };
    const server = createAdaptorServer({
      fetch: (request: Request) => webResponse(request, reply),
    }) as Server;
    await using mount = await listen(server);
    await using client = await connectRaw(mount);
    client.socket.pause();
    client.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await expect.poll(() => printed.length).toBeGreaterThan(0);
    for (const one of printed) expect(one instanceof Error ? one.stack : one).not.toMatch(/\n\s+at /);
  });
});
