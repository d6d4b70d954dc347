import { createAdaptorServer } from '@hono/node-server';
import express from 'express';
import express4 from 'express4';
import fastify from 'fastify';
import { Hono } from 'hono';
import { type Server, createServer } from 'node:http';
import type { Http2Server, ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Router } from 'signalbox';
import { expressRouter } from 'signalbox/express';
import { fastifyRouter } from 'signalbox/fastify';
import { fetchRouter } from 'signalbox/fetch';
import { nextRouter } from 'signalbox/next';
import { nodeRouter } from 'signalbox/node';

/** A server on loopback that mounts a router. */
export interface Mounted extends AsyncDisposable {
  /** Base address, ending in `/v1`. */
  readonly baseURL: string;
}

/** Ways to mount a router, by name. Next is mounted as its handlers are called by Next; see test/next for the real one. */
export const MOUNTS: Readonly<Record<string, (router: Router) => Promise<Mounted>>> = {
  node: (router) => listen(createServer(nodeRouter(router, { basePath: '/v1' }))),
  express: (router) => {
    const app = express();
    app.use('/v1', expressRouter(router));
    return listen(createServer(app));
  },
  'express behind express.json': (router) => {
    const app = express();
    app.use(express.json({ limit: '40mb' }));
    app.use('/v1', expressRouter(router));
    return listen(createServer(app));
  },
  express4: (router) => {
    const app = express4();
    app.use('/v1', expressRouter(router));
    return listen(createServer(app));
  },
  fastify: async (router) => {
    const app = fastify();
    await app.register(fastifyRouter, { router, prefix: '/v1' });
    await app.ready();
    return listen(app.server);
  },
  'fetch on Hono': (router) => {
    const app = new Hono();
    const handler = fetchRouter(router, { basePath: '/v1', remoteAddress: () => '127.0.0.1' });
    app.all('/v1/*', (context) => handler(context.req.raw));
    return listen(createAdaptorServer({ fetch: app.fetch }) as Server);
  },
  'next handlers': (router) => {
    const handlers = nextRouter(router, { basePath: '/v1' });
    const fetch = (request: Request): Promise<Response> => handlers[request.method as keyof typeof handlers](request);
    return listen(createAdaptorServer({ fetch }) as Server);
  },
};

/** Puts a server of HTTP/2 without encryption on a free port of loopback. */
export async function listenHttp2(server: Http2Server): Promise<Mounted> {
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => sessions.add(session.on('close', () => sessions.delete(session))));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Puts a server on a free port of loopback. */
export async function listen(server: Server): Promise<Mounted> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
