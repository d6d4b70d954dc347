import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import type { Codec } from '../../src/providers/codec.ts';
import { httpProvider } from '../../src/providers/http-provider.ts';
import type { OpenAiCompatibleOptions } from '../../src/providers/openai-compatible/options.ts';
import type { Provider } from '../../src/contracts/provider.ts';
import { serving } from '../support/requests.ts';
import { type Upstream, chunkEvent, failWith, sendJson, startUpstream } from '../support/upstream.ts';
import type { ProviderReply } from '../../src/contracts/provider-reply.ts';
import type { StreamPiece } from '../../src/contracts/stream-piece.ts';

const DONE = 'data: [DONE]\n\n';

function providerFor(upstream: Upstream, rest: Partial<OpenAiCompatibleOptions> = {}): Provider {
  return openaiCompatible({
    slug: 'up',
    baseURL: upstream.baseURL,
    apiKey: 'own-key-0123456789',
    models: { 'acme/one': {} },
    ...rest,
  });
}

/** Calls a provider and closes it. */
async function call(provider: Provider, options: { stream?: boolean; apiKey?: string } = {}): Promise<ProviderReply> {
  const request = serving({ up: {} }).request({ stream: options.stream ?? false });
  const [endpoint] = request.targets[0]?.endpoints ?? [];
  if (endpoint === undefined) throw new Error('no endpoint');
  const nothing = (): void => {};
  const progress = { connecting: nothing, connected: nothing, sending: nothing };
  return provider.chat({
    request,
    endpoint,
    apiKey: options.apiKey,
    signal: new AbortController().signal,
    progress,
  });
}

async function readAll(reply: ProviderReply): Promise<readonly StreamPiece[]> {
  if (reply.type !== 'stream') throw new Error(`not a stream but ${JSON.stringify(reply)}`);
  const pieces: StreamPiece[] = [];
  for (let read = await reply.stream.read(); read !== undefined; read = await reply.stream.read()) pieces.push(...read);
  return pieces;
}

function sendBody(response: ServerResponse, contentType: string, body: string): void {
  response.writeHead(200, { 'content-type': contentType });
  response.end(body);
}

const EVENTS = chunkEvent({ content: 'Hello' }) + chunkEvent({}, 'stop') + DONE;

describe('what is sent', () => {
  it('has the address, the query, the headers and the key of the configuration', async () => {
    await using upstream = await startUpstream();
    const provider = providerFor(upstream, {
      baseURL: `${upstream.baseURL}//`,
      query: 'api-version=2024-10-21',
      headers: { 'x-title': 'Tests' },
      keyHeader: 'api-key',
    });
    await call(provider);
    await provider.close?.();
    const [request] = upstream.requests;
    expect(request?.path).toBe('/v1/chat/completions?api-version=2024-10-21');
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'x-title': 'Tests',
      'api-key': 'own-key-0123456789',
      accept: 'application/json',
    });
    expect(request?.headers.authorization).toBeUndefined();
  });

  it('is told before it goes out, without any key', async () => {
    await using upstream = await startUpstream();
    const provider = providerFor(upstream);
    const request = serving({ up: {} }).request();
    const [endpoint] = request.targets[0]?.endpoints ?? [];
    if (endpoint === undefined) throw new Error('no endpoint');
    const told: unknown[] = [];
    await provider.chat({
      request,
      endpoint,
      signal: new AbortController().signal,
      progress: { connecting() {}, connected() {}, sending: (body) => told.push(body(), upstream.requests.length) },
    });
    await provider.close?.();
    expect(told).toEqual([upstream.requests[0]?.body, 0]);
    expect(JSON.stringify(told)).not.toContain('own-key');
  });
});

describe('what comes back', () => {
  it.each([
    'text/event-stream',
    'text/event-stream; charset=utf-8',
    'application/json',
    'text/plain',
    'application/octet-stream',
    '',
  ])('is read as a stream when one was asked for, under the type %j', async (contentType) => {
    await using upstream = await startUpstream((_request, response) => sendBody(response, contentType, EVENTS));
    const provider = providerFor(upstream);
    const pieces = await readAll(await call(provider, { stream: true }));
    await provider.close?.();
    expect(pieces.slice(1)).toEqual([
      'Hello',
      { type: 'finish', index: 0, reason: 'stop', native: 'stop' },
      { type: 'end' },
    ]);
  });

  it('may be a stream although a whole answer was asked for', async () => {
    await using upstream = await startUpstream((_request, response) => sendBody(response, 'Text/Event-Stream', EVENTS));
    const provider = providerFor(upstream);
    expect(await readAll(await call(provider))).toContain('Hello');
    await provider.close?.();
  });

  it.each([202, 203, 204, 205, 206, 226])('is no answer with the status %i', async (status) => {
    await using upstream = await startUpstream((_request, response) => {
      response.writeHead(status);
      response.end();
    });
    const provider = providerFor(upstream);
    for (const stream of [false, true]) {
      expect(await call(provider, { stream })).toEqual({
        type: 'failed',
        failure: { kind: 'bad_response', status, message: `The provider answered ${status} without an answer in it` },
      });
    }
    await provider.close?.();
  });

  it('is an answer with the status 201', async () => {
    await using upstream = await startUpstream((_request, response) =>
      sendJson(response, 201, { choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }] }),
    );
    const provider = providerFor(upstream);
    expect(await call(provider)).toMatchObject({ type: 'whole' });
    await provider.close?.();
  });

  it('is not read beyond its beginning when it is an error', async () => {
    await using upstream = await startUpstream((_request, response) => {
      response.writeHead(500, { 'content-type': 'text/plain' });
      const timer = setInterval(() => response.write('oops '.repeat(2_000)), 1);
      response.on('close', () => clearInterval(timer));
    });
    const provider = providerFor(upstream);
    expect(await call(provider)).toMatchObject({ type: 'failed', failure: { kind: 'server', status: 500 } });
    await provider.close?.();
  });

  it('keeps its status when the body of the error breaks off', async () => {
    await using upstream = await startUpstream((_request, response) => {
      response.writeHead(429, { 'content-type': 'application/json', 'content-length': '500', 'retry-after': '3' });
      response.write('{"error":{"message":"Slow', () => setTimeout(() => response.destroy(), 10));
    });
    const provider = providerFor(upstream);
    expect(await call(provider)).toMatchObject({
      type: 'failed',
      failure: { kind: 'rate_limited', status: 429, retryAfterMs: 3_000 },
    });
    await provider.close?.();
  });

  it('shows no header of ours that holds a key', async () => {
    const secrets = {
      'x-gateway-key': 'gateway-key-4711',
      authorization: 'Custom zyxwvuts-4712',
      cookie: 'session=abcdefgh-4713',
    };
    await using upstream = await startUpstream((request, response, raw) =>
      failWith(500, { error: { message: Object.values(request.headers).join(' ') } })(request, response, raw),
    );
    const provider = providerFor(upstream, { headers: { ...secrets, 'x-title': 'My tests' } });
    const reply = await call(provider);
    await provider.close?.();
    const text = JSON.stringify(reply);
    expect(text).toContain('My tests');
    for (const number of ['4711', '4712', '4713']) expect(text).not.toContain(number);
  });
});

describe('a connection', () => {
  it('is used again for the next call, whole or streamed, also when a stream ends a moment after its end mark', async () => {
    const ports = new Set<number | undefined>();
    let sent: Promise<unknown> = Promise.resolve();
    await using upstream = await startUpstream((request, response, raw) => {
      ports.add(raw.socket.remotePort);
      sent = once(response, 'finish');
      if (request.body['stream'] !== true) return sendJson(response, 200, { choices: [{ message: { content: 'x' } }] });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(EVENTS);
      setTimeout(() => response.end(), 10);
    });
    const provider = providerFor(upstream);
    for (let turn = 0; turn < 6; turn += 1) {
      const reply = await call(provider, { stream: turn % 2 === 0 });
      if (reply.type === 'stream') {
        await reply.stream.read();
        reply.stream.cancel();
      }
      // All of it is on its way, and comes in while others have their turns.
      await sent;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    expect(upstream.requests).toHaveLength(6);
    expect(ports.size).toBe(1);
    await provider.close?.();
  });
});

describe('an adapter that fails', () => {
  const request = serving({ up: {} }).request();
  const broken = (codec: Partial<Codec>): Provider =>
    httpProvider({
      slug: 'up',
      name: 'Up',
      codec: {
        path: () => '/chat',
        encode: () => ({}),
        decodeResult: () => {
          throw new Error('secret');
        },
        streamDecoder: () => {
          throw new Error('secret');
        },
        ...codec,
      },
      baseURL: 'http://127.0.0.1:9/v1',
    });

  it.each<readonly [name: string, codec: Partial<Codec>]>([
    [
      'throws while it writes',
      {
        encode: () => {
          throw new Error('secret');
        },
      },
    ],
    ['writes what is no JSON', { encode: () => ({ big: 1n }) }],
    [
      'writes what has no end',
      {
        encode: () => {
          const body: Record<string, unknown> = {};
          body['body'] = body;
          return body;
        },
      },
    ],
    [
      'gives no address',
      {
        path: () => {
          throw new Error('secret');
        },
      },
    ],
  ])('is a failure, not an exception: %s', async (_name, codec) => {
    const provider = broken(codec);
    const [endpoint] = request.targets[0]?.endpoints ?? [];
    if (endpoint === undefined) throw new Error('no endpoint');
    const nothing = (): void => {};
    const reply = await provider.chat({
      request,
      endpoint,
      signal: new AbortController().signal,
      progress: { connecting: nothing, connected: nothing, sending: nothing },
    });
    await provider.close?.();
    expect(reply).toEqual({
      type: 'failed',
      failure: { kind: 'adapter', message: 'The request could not be made', thrown: expect.any(Error) as Error },
    });
  });
});
