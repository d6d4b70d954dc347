import { createServer, type ServerResponse } from 'node:http';
import { createRouter } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { describe, expect, it } from 'vitest';
import { type FedCall, fedProvider } from '../support/fed-provider.ts';
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
    for (const [path, message] of [
      ['', 'Nothing is served at GET /; the router is at /v1'],
      ['v1', 'Nothing is served at GET /v1; the router is at /v1'],
      ['v1/nothing', 'Nothing is served at GET /v1/nothing; the router is at /v1'],
      ['v1x/models', 'Nothing is served at GET /v1x/models; the router is at /v1: did you mean /v1/models?'],
      ['models', 'Nothing is served at GET /models; the router is at /v1: did you mean /v1/models?'],
      ['v1/v1/models?a=b', 'Nothing is served at GET /v1/v1/models; the router is at /v1: did you mean /v1/models?'],
      [
        'v1/chat/completion',
        'Nothing is served at GET /v1/chat/completion; the router is at /v1: did you mean /v1/chat/completions?',
      ],
      ['v1/images/generations', 'Nothing is served at GET /v1/images/generations: this router does not serve images'],
    ] as const) {
      const response = await fetch(`${rootOf(server.baseURL)}${path}`);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: 404, message } });
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

describe('a stream', () => {
  const script = (call: FedCall): void => {
    call.push('Grüße');
    setImmediate(() => {
      call.push(' 🚦', { type: 'finish', index: 0, reason: 'stop', native: 'stop' });
      call.end();
    });
  };
  const telling = createRouter({ providers: [fedProvider({ script })], allowAnonymous: true });
  const head = (version: string): string => {
    const body = JSON.stringify(chatBody({ stream: true }));
    const length = Buffer.byteLength(body);
    return `POST /v1/chat/completions HTTP/${version}\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body}`;
  };

  it('is written in chunks that are as long in bytes as they say, and the connection can be used again', async () => {
    await using server = await listen(createServer(nodeRouter(telling)));
    await using client = await connectRaw(server);
    client.write(head('1.1'));
    expect(await client.until('\r\n0\r\n\r\n')).toBe(true);
    const bytes = Buffer.from(client.text().slice(client.text().indexOf('\r\n\r\n') + 4));
    expect(client.text()).toContain('Transfer-Encoding: chunked');
    expect(dechunked(bytes)).toMatch(/Grüße[^]* 🚦[^]*data: \[DONE\]\n\n$/);
    client.write(head('1.1'));
    expect(await client.until(/0\r\n\r\nHTTP\/1.1 200[^]*\r\n0\r\n\r\n$/)).toBe(true);
  });

  it('has no chunks for a client that does not know them', async () => {
    await using server = await listen(createServer(nodeRouter(telling)));
    await using client = await connectRaw(server);
    client.write(head('1.0'));
    expect(await client.until(/\r\n\r\ndata: [^]*Grüße[^]*data: \[DONE\]\n\n$/)).toBe(true);
  });

  it('is handed as it is to a host that writes in its own way', async () => {
    const handler = nodeRouter(telling);
    const written: string[] = [];
    await using server = await listen(
      createServer((request, response) => {
        const write = response.write.bind(response) as (text: string, encoding: BufferEncoding) => boolean;
        const end = response.end.bind(response) as (text: string, encoding: BufferEncoding) => ServerResponse;
        Object.assign(response, {
          write: (text: string, encoding: BufferEncoding) => {
            written.push(text);
            return write(text, encoding);
          },
          end: (text: string, encoding: BufferEncoding) => {
            written.push(text);
            return end(text, encoding);
          },
        });
        handler(request, response);
      }),
    );
    const response = await fetch(`${server.baseURL}/chat/completions`, {
      ...asking,
      body: JSON.stringify(chatBody({ stream: true })),
    });
    const text = await response.text();
    expect(text).toContain('Grüße');
    expect(written.join('')).toBe(text);
  });
});

/** A body without its framing. */
function dechunked(bytes: Buffer): string {
  const parts: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const length = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    expect(bytes.toString('latin1', lineEnd + 2 + length, lineEnd + 4 + length)).toBe('\r\n');
    if (length === 0) return Buffer.concat(parts).toString();
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 4 + length;
  }
}
