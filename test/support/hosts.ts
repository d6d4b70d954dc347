import { createAdaptorServer } from '@hono/node-server';
import express, { type Express, type RequestHandler } from 'express';
import express4 from 'express4';
import fastify, { type FastifyInstance } from 'fastify';
import { Hono } from 'hono';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { createServer as createHttp2Server, type Http2Server } from 'node:http2';
import type { Router } from 'signalbox';
import { expressRouter } from 'signalbox/express';
import { fastifyRouter } from 'signalbox/fastify';
import { fetchRouter } from 'signalbox/fetch';
import { nextRouter } from 'signalbox/next';
import { nodeRouter } from 'signalbox/node';
import { HOST_HEADER } from 'signalbox/testing';
import { type Mounted, listen, listenHttp2 } from './mounts.ts';

const { name: MARK, value: MARKED } = HOST_HEADER;

/** Hosts with routes, parsers and headers of their own, that mount a router under `/v1` beside them. */
export const HOSTS: Readonly<Record<string, (router: Router) => Promise<Mounted>>> = {
  node: (router) => listen(createServer(nodeHost(router))),
  express: (router) => listen(createServer(expressHost(express(), router))),
  'express behind express.json': (router) => listen(createServer(expressHost(express(), router, express.json()))),
  'express behind express.raw': (router) =>
    listen(createServer(expressHost(express(), router, express.raw({ type: '*/*', limit: '10mb' })))),
  'express behind express.text': (router) =>
    listen(createServer(expressHost(express(), router, express.text({ type: '*/*', limit: '10mb' })))),
  express4: (router) => listen(createServer(expressHost(express4() as Express, router))),
  'express4 behind its json parser': (router) =>
    listen(
      createServer(expressHost(express4() as Express, router, express4.json({ limit: '10mb' }) as RequestHandler)),
    ),
  fastify: async (router) => {
    const app = fastify();
    await fastifyHost(app, router);
    return listen(app.server);
  },
  'fetch on Hono': (router) => listen(createAdaptorServer({ fetch: honoHost(router).fetch }) as Server),
  'next handlers': (router) => {
    const handlers = nextRouter(router, { basePath: '/v1' });
    const fetch = async (request: Request): Promise<Response> => {
      const response = await routeLikeNext(handlers, request);
      response.headers.set(MARK, MARKED);
      return response;
    };
    return listen(createAdaptorServer({ fetch }) as Server);
  },
};

/** The same for hosts that serve HTTP/2. Express, and Next, have none of their own. */
export const HTTP2_HOSTS: Readonly<Record<string, (router: Router) => Promise<Mounted>>> = {
  node: (router) => listenHttp2(createHttp2Server(nodeHost(router))),
  fastify: async (router) => {
    const app = fastify({ http2: true });
    await fastifyHost(app, router);
    return listenHttp2(app.server);
  },
  'fetch on Hono': (router) =>
    listenHttp2(createAdaptorServer({ fetch: honoHost(router).fetch, createServer: createHttp2Server }) as Http2Server),
};

function nodeHost(router: Router): ReturnType<typeof nodeRouter> {
  const signalbox = nodeRouter(router, { basePath: '/v1/' });
  return (request, response) => {
    response.setHeader(MARK, MARKED);
    signalbox(request, response, () => void answerByHand(request as IncomingMessage, response as ServerResponse));
  };
}

async function fastifyHost(app: FastifyInstance | FastifyInstance<Http2Server>, router: Router): Promise<void> {
  const host = app as FastifyInstance;
  host.addHook('onRequest', (_request, reply, done) => {
    reply.header(MARK, MARKED);
    done();
  });
  host.get('/host', () => 'host');
  host.post('/host', (request) => request.body);
  await host.register(fastifyRouter, { router, prefix: '/v1' });
  await host.ready();
}

function honoHost(router: Router): Hono {
  const app = new Hono();
  const signalbox = fetchRouter(router, { basePath: '/v1' });
  app.use(async (context, next) => {
    await next();
    context.res.headers.set(MARK, MARKED);
  });
  app.get('/host', (context) => context.text('host'));
  app.post('/host', async (context) => context.json(await context.req.json()));
  app.all('/v1/*', (context) => signalbox(context.req.raw));
  return app;
}

function expressHost(app: Express, router: Router, parser?: RequestHandler): Express {
  app.use((_request, response, next) => {
    response.setHeader(MARK, MARKED);
    next();
  });
  app.get('/host', (_request, response) => {
    response.send('host');
  });
  app.post('/host', express.json(), (request, response) => {
    response.json(request.body);
  });
  if (parser !== undefined) app.use(parser);
  app.use('/v1', expressRouter(router));
  return app;
}

async function answerByHand(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url !== '/host') return void response.writeHead(404).end();
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  response.end(request.method === 'POST' ? Buffer.concat(chunks) : 'host');
}

/** Next finds the file by the path and the handler by the method, and answers HEAD through GET. */
async function routeLikeNext(handlers: ReturnType<typeof nextRouter>, request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === '/host') return new Response(request.method === 'POST' ? await request.text() : 'host');
  if (!pathname.startsWith('/v1/')) return new Response('Not found', { status: 404 });
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const handler = Object.entries(handlers).find(([name]) => name === method)?.[1];
  return handler === undefined ? new Response(null, { status: 405 }) : handler(request);
}
