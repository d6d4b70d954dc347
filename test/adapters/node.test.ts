import { createServer } from 'node:http';
import { createRouter } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { describe, expect, it } from 'vitest';
import { fedProvider } from '../support/fed-provider.ts';
import { chatBody } from '../support/http-call.ts';
import { listen } from '../support/mounts.ts';
import { connectRaw } from '../support/raw-http.ts';

const router = createRouter({ providers: [fedProvider({ script: (call) => call.answer('Hi') })] });

function rootOf(baseURL: string): string {
  return new URL('/', baseURL).href;
}

const asking = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(chatBody()),
} as const;

describe('a router as the whole of a Node server', () => {
  it('answers what is not below its path with an error of its own', async () => {
    await using server = await listen(createServer(nodeRouter(router)));
    for (const path of ['', 'nothing', 'v1', 'v1/', 'v1/nothing', 'v1x/models']) {
      const response = await fetch(`${rootOf(server.baseURL)}${path}`);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: 404, message: 'There is nothing at this path' } });
    }
  });

  it.each([
    ['/v1', '/v1/chat/completions'],
    ['/v1/', '/v1/chat/completions'],
    ['/api/v1', '/api/v1/chat/completions'],
    ['', '/chat/completions'],
    ['/', '/chat/completions'],
  ])('stands under the path that it is given: %s', async (basePath, path) => {
    await using server = await listen(createServer(nodeRouter(router, { basePath })));
    const response = await fetch(new URL(path, server.baseURL), asking);
    expect(response.status).toBe(200);
    await response.text();
  });
});

describe('a router beside other handlers', () => {
  it('lets them have what is not its own', async () => {
    const handler = nodeRouter(router);
    await using server = await listen(
      createServer((request, response) => handler(request, response, () => response.end('next'))),
    );
    expect(await (await fetch(`${server.baseURL}/nothing`)).text()).toBe('next');
    expect(await (await fetch(`${rootOf(server.baseURL)}page`)).text()).toBe('next');
    expect((await fetch(`${server.baseURL}/models`)).status).toBe(200);
  });

  it('says nothing more when another handler has answered meanwhile', async () => {
    const handler = nodeRouter(router);
    const server = createServer((request, response) => {
      handler(request, response);
      response.writeHead(503).end('too late');
    });
    await using listening = await listen(server);
    for (const stream of [false, true]) {
      const response = await fetch(`${listening.baseURL}/chat/completions`, {
        ...asking,
        body: JSON.stringify(chatBody({ stream })),
      });
      expect(response.status).toBe(503);
      expect(await response.text()).toBe('too late');
    }
    expect(router.internals.admission.inside).toBe(0);
  });
});

describe('an answer without a body', () => {
  it('has no length either', async () => {
    const open = createRouter({ providers: [fedProvider()], cors: { origins: '*' } });
    await using server = await listen(createServer(nodeRouter(open)));
    await using client = await connectRaw(server);
    const ask =
      'OPTIONS /v1/chat/completions HTTP/1.1\r\nhost: x\r\norigin: https://a.example\r\n' +
      'access-control-request-method: POST\r\n\r\n';
    client.write(ask);
    expect(await client.until('access-control-max-age')).toBe(true);
    client.write(ask);
    expect(await client.until(/204 No Content[^]*204 No Content[^]*\r\n\r\n$/)).toBe(true);
    expect(client.text()).not.toContain('content-length');
  });

  it('to HEAD tells the length that the body would have', async () => {
    await using server = await listen(createServer(nodeRouter(router)));
    const got = await fetch(`${server.baseURL}/models`);
    const head = await fetch(`${server.baseURL}/models`, { method: 'HEAD' });
    expect(head.headers.get('content-length')).toBe(String((await got.text()).length));
  });
});
