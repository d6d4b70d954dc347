import { createAdaptorServer } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { type Server, createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { type Router, createRouter } from 'signalbox';
import { expressRouter } from 'signalbox/express';
import { fastifyRouter } from 'signalbox/fastify';
import { fetchRouter } from 'signalbox/fetch';
import { nextRouter } from 'signalbox/next';
import { nodeRouter } from 'signalbox/node';
import { describe, expect, it } from 'vitest';
import { fedProvider } from '../support/fed-provider.ts';
import { chatBody } from '../support/http-call.ts';
import { type Mounted, listen } from '../support/mounts.ts';

/** Hosts that read every body before the router can, and keep what they have read. */
const READING_HOSTS: Readonly<Record<string, (router: Router) => Promise<Mounted>>> = {
  node: (router) => {
    const signalbox = nodeRouter(router);
    return listen(createServer((request, response) => void text(request).then(() => signalbox(request, response))));
  },
  'node, while it reads': (router) => {
    const signalbox = nodeRouter(router);
    return listen(
      createServer((request, response) => request.once('data', () => signalbox(request.pause(), response))),
    );
  },
  express: (router) => {
    const app = express();
    app.use((request, _response, next) => void text(request).then(() => next()));
    app.use('/v1', expressRouter(router));
    return listen(createServer(app));
  },
  fastify: async (router) => {
    const app = fastify();
    app.addHook('preHandler', async ({ raw }) => void (await text(raw)));
    await app.register(fastifyRouter, { router, prefix: '/v1' });
    await app.ready();
    return listen(app.server);
  },
  'fetch on Hono': (router) => {
    const app = new Hono();
    const signalbox = fetchRouter(router, { basePath: '/v1' });
    app.use(async ({ req }, next) => {
      await req.raw.text();
      await next();
    });
    app.all('/v1/*', ({ req }) => signalbox(req.raw));
    return listen(createAdaptorServer({ fetch: app.fetch }) as Server);
  },
  'next handlers': (router) => {
    const { POST } = nextRouter(router, { basePath: '/v1' });
    const fetch = async (request: Request): Promise<Response> => {
      await request.text();
      return POST(request);
    };
    return listen(createAdaptorServer({ fetch }) as Server);
  },
};

const JSON_TYPE = 'application/json';

const BODIES: readonly (readonly [path: string, body: string, type: string])[] = [
  ['/chat/completions', JSON.stringify(chatBody()), JSON_TYPE],
  ['/chat/completions', JSON.stringify(chatBody({ stream: true })), JSON_TYPE],
  ['/messages', JSON.stringify(chatBody({ max_tokens: 9 })), JSON_TYPE],
  ['/responses', JSON.stringify({ model: 'acme/one', input: 'Hi' }), JSON_TYPE],
  ['/batches', JSON.stringify({ requests: [] }), JSON_TYPE],
  [
    '/files',
    '--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b--\r\n',
    'multipart/form-data; boundary=b',
  ],
];

describe.each(Object.entries(READING_HOSTS))('%s', (_name, mount) => {
  it('that has read a body is named as the one to change, and not the caller', async () => {
    const router = createRouter({
      providers: [fedProvider({ script: (fed) => fed.answer('Hi') })],
      allowAnonymous: true,
      on: { warning: () => undefined },
    });
    await using mounted = await mount(router);
    for (const [path, body, type] of BODIES) {
      const response = await fetch(`${mounted.baseURL}${path}`, {
        method: 'POST',
        headers: { 'content-type': type },
        body,
      });
      expect([path, response.status, await response.text()]).toEqual([
        path,
        500,
        expect.stringContaining('The host has read the request body before the router'),
      ]);
    }
    await router.close();
  });
});
