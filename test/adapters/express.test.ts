import express, { type Express, type ErrorRequestHandler } from 'express';
import express4 from 'express4';
import { createServer } from 'node:http';
import { createRouter } from 'signalbox';
import { expressRouter } from 'signalbox/express';
import { describe, expect, it } from 'vitest';
import { gzipSync } from 'node:zlib';
import { fedProvider } from '../support/fed-provider.ts';
import { chatBody } from '../support/http-call.ts';
import { type Mounted, listen } from '../support/mounts.ts';

const router = createRouter({ providers: [fedProvider({ script: (call) => call.answer('Hi') })] });

async function ask(
  { baseURL }: Mounted,
  body: unknown = chatBody(),
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
  });
}

describe.each([
  ['Express 5', () => express()],
  ['Express 4', () => express4() as Express],
])('%s', (_name, make) => {
  it('has errors of its body parsers answered as errors of the router', async () => {
    const app = make();
    app.use(express.json({ limit: 1_000 }));
    app.use('/v1', expressRouter(router));
    await using mounted = await listen(createServer(app));
    const wrong: readonly (readonly [number, string, unknown, Record<string, string>])[] = [
      [400, 'The request body is not valid JSON, or is not complete', '{"model":', {}],
      [
        413,
        'The request body must not be larger than the 1000 bytes this server parses',
        chatBody({ user: 'x'.repeat(2_000) }),
        {},
      ],
      [
        415,
        'The request body is in an encoding that this server does not read',
        chatBody(),
        { 'content-encoding': 'compress' },
      ],
    ];
    for (const [status, message, body, headers] of wrong) {
      const response = await ask(mounted, body, headers);
      expect(response.status).toBe(status);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(await response.json()).toMatchObject({ error: { code: status, message } });
    }
    const messages = await fetch(`${mounted.baseURL}/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"model":',
    });
    expect(messages.status).toBe(400);
    expect(await messages.json()).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
  });

  it('has its other errors left to its own handlers', async () => {
    const app = make();
    app.use((_request, _response, next) => next(new Error('of the app')));
    app.use('/v1', expressRouter(router));
    const own: ErrorRequestHandler = (error: Error, _request, response, _next) => {
      response.status(418).send(`handled: ${error.message}`);
    };
    app.use(own);
    await using mounted = await listen(createServer(app));
    const response = await ask(mounted);
    expect(response.status).toBe(418);
    expect(await response.text()).toBe('handled: of the app');
  });

  it('gets the requests that are not for the router', async () => {
    const app = make();
    app.use('/v1', expressRouter(router));
    app.use('/v1', (request, response) => {
      response.send(`next: ${request.url}`);
    });
    await using mounted = await listen(createServer(app));
    expect(await (await fetch(`${mounted.baseURL}/nothing?x=1`)).text()).toBe('next: /nothing?x=1');
  });

  it('may mount it inside other routers and more than once', async () => {
    const app = make();
    const inner = express.Router();
    inner.use('/llm', expressRouter(router));
    app.use('/v1', inner);
    app.use('/v1', expressRouter(router));
    await using mounted = await listen(createServer(app));
    expect((await ask(mounted)).status).toBe(200);
    expect((await ask({ ...mounted, baseURL: `${mounted.baseURL}/llm` })).status).toBe(200);
  });

  it('may have undone the compression of a body that it hands on as bytes', async () => {
    const app = make();
    app.use(express.raw({ type: '*/*' }));
    app.use('/v1', expressRouter(router));
    await using mounted = await listen(createServer(app));
    const response = await ask(mounted, gzipSync(JSON.stringify(chatBody())), { 'content-encoding': 'gzip' });
    expect(response.status).toBe(200);
    expect((await ask(mounted, '{"model":')).status).toBe(400);
  });

  it('may set a body that no parser has read, and is not believed', async () => {
    const app = make();
    app.use((request, _response, next) => {
      request.body = { model: 'acme/nope', messages: [] };
      next();
    });
    app.use('/v1', expressRouter(router));
    await using mounted = await listen(createServer(app));
    expect((await ask(mounted)).status).toBe(200);
  });
});
