import { EventEmitter } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { type HttpReply, createRouter } from 'signalbox';
import { fetchRouter } from 'signalbox/fetch';
import { nextRouter } from 'signalbox/next';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { webResponse } from '../../adapters/web-exchange.ts';
import { GOOD_END, fedProvider } from '../support/fed-provider.ts';
import { chatBody } from '../support/http-call.ts';

const provider = fedProvider({
  script: (fed) => {
    if (fed.call.request.extra['hold'] === true) return;
    if (fed.call.request.stream) fed.push('Hi', ...GOOD_END);
    else fed.answer('Hi');
  },
});
const router = createRouter({ providers: [provider], allowAnonymous: true });

function post(fields: Record<string, unknown> = {}, init: RequestInit = {}, host = 'host'): Request {
  return new Request(`http://${host}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(chatBody(fields)),
    ...init,
  });
}

afterEach(() => {
  vi.useRealTimers();
});

describe('a fetch handler', () => {
  const handler = fetchRouter(router);

  it('answers whole and streamed', async () => {
    expect(await (await handler(post())).json()).toMatchObject({ choices: [{ message: { content: 'Hi' } }] });
    const text = await (await handler(post({ stream: true }))).text();
    expect(text).toContain('"content":"Hi"');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it.each(['http://host/', 'http://host/v1', 'http://host/v1x/models', 'http://host/models', 'http://host/v1/nothing'])(
    'answers what is not below its path with a 404: %s',
    async (url) => {
      const response = await handler(new Request(url));
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: 404 } });
    },
  );

  it.each([
    [undefined, 'http://host/v1/models'],
    ['/api/', 'http://host/api/models'],
    ['', 'http://host/models'],
    ['/', 'http://host/models'],
  ])('stands under the path that it is given: %s', async (basePath, url) => {
    expect((await fetchRouter(router, { basePath })(new Request(url))).status).toBe(200);
  });

  it('answers nobody without authentication unless the runtime tells where they are', async () => {
    const closed = createRouter({ providers: [provider] });
    const local = (): Request => post({}, {}, 'localhost:3000');
    expect((await fetchRouter(closed)(local())).status).toBe(401);
    expect((await fetchRouter(closed, { remoteAddress: () => '127.0.0.1' })(local())).status).toBe(200);
    expect((await fetchRouter(closed, { remoteAddress: () => '127.0.0.1' })(post())).status).toBe(401);
    expect((await fetchRouter(closed, { remoteAddress: () => '10.0.0.1' })(local())).status).toBe(401);
  });

  it('stops the provider when the response is cancelled', async () => {
    const response = await handler(post({ stream: true, hold: true }, { signal: new AbortController().signal }));
    const held = provider.calls.at(-1);
    await response.body?.cancel();
    expect(held?.cancelled).toBe(true);
  });

  it('stops the provider when the request is aborted', async () => {
    const controller = new AbortController();
    const answer = handler(post({ hold: true }, { signal: controller.signal }));
    await vi.waitFor(() => expect(provider.calls.at(-1)?.call.request.extra['hold']).toBe(true), 20_000);
    const held = provider.calls.at(-1);
    controller.abort();
    await answer;
    expect(held?.cancelled).toBe(true);
  });

  /** A request as srvx gives it: its signal is aborted as soon as the body is read, as in srvx 0.8 and so in Nitro 3.0.0. */
  function hosted(fields: Record<string, unknown>, nodeResponse: object): Request {
    const controller = new AbortController();
    const request = post(fields, { signal: controller.signal });
    const arrayBuffer = async (): Promise<ArrayBuffer> => {
      const bytes = await request.clone().arrayBuffer();
      controller.abort();
      return bytes;
    };
    return Object.assign(request, { arrayBuffer, runtime: { node: { res: nodeResponse } } });
  }

  it.each([false, true])(
    'answers where the host aborts the signal once the body is read, streaming: %s',
    async (stream) => {
      const response = await handler(
        hosted({ stream }, Object.assign(new EventEmitter(), { writableFinished: false })),
      );
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Hi')]);
    },
  );

  it.each([
    ['HTTP/1', { writableFinished: false, writableEnded: false }],
    ['HTTP/2', { writableFinished: true, writableEnded: false, stream: { rstCode: 8 } }],
  ])("stops the provider when Node's own response is cut off: %s", async (_, state) => {
    const nodeResponse = Object.assign(new EventEmitter(), state);
    const answer = handler(hosted({ hold: true, stream: true }, nodeResponse));
    await vi.waitFor(() => expect(provider.calls.at(-1)?.cancelled).toBe(false), 20_000);
    const held = provider.calls.at(-1);
    nodeResponse.emit('close');
    await answer;
    expect(held?.cancelled).toBe(true);
  });

  it('says so when the signal of a request is aborted although its client waits', async () => {
    const response = await handler(post({}, { signal: AbortSignal.abort() }));
    expect(await response.json()).toMatchObject({
      error: { code: 500, message: expect.stringContaining('aborted its signal') },
    });
  });

  it('pulls nothing that nobody reads', async () => {
    let pulled = 0;
    const response = webResponse(
      new Request('http://host'),
      streamOf(() => `frame ${(pulled += 1)}\n`),
    );
    await setImmediate();
    expect(pulled).toBe(0);
    const reader = response.body?.getReader();
    await reader?.read();
    await setImmediate();
    expect(pulled).toBe(1);
    await reader?.cancel();
  });

  it('gives up a client that reads no further for too long', async () => {
    vi.useFakeTimers();
    const ended = vi.fn<() => void>();
    const response = webResponse(
      new Request('http://host'),
      streamOf(() => 'frame\n', ended),
    );
    const reader = response.body?.getReader();
    await reader?.read();
    await vi.advanceTimersByTimeAsync(999);
    expect(ended).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toHaveBeenCalledOnce();
    await expect(reader?.read()).rejects.toThrow('The client does not read on');
  });

  it('does not count the time in which there is nothing to read', async () => {
    vi.useFakeTimers();
    let wake = (): void => undefined;
    const ended = vi.fn<() => void>();
    const slow = async function* (): AsyncGenerator<string, undefined, undefined> {
      try {
        yield 'one\n';
        await new Promise<void>((resolve) => (wake = resolve));
        yield 'two\n';
      } finally {
        ended();
      }
      return undefined;
    };
    const reply = {
      type: 'stream',
      status: 200,
      headers: {},
      frames: Object.assign(slow(), { ended: false }),
      stallMs: 1_000,
    } as const;
    const reader = webResponse(new Request('http://host'), reply).body?.getReader();
    await reader?.read();
    const second = reader?.read();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(ended).not.toHaveBeenCalled();
    wake();
    expect(new TextDecoder().decode((await second)?.value)).toBe('two\n');
  });
});

function streamOf(next: () => string, ended: () => void = () => undefined): HttpReply {
  const frames = {
    ended: false,
    next: () => Promise.resolve({ done: false as const, value: next() }),
    return: () => {
      ended();
      return Promise.resolve({ done: true as const, value: undefined });
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  return { type: 'stream', status: 200, headers: {}, frames, stallMs: 1_000 };
}

describe('the handlers of a Next route', () => {
  it('are those of every method that the router knows', async () => {
    const { GET, POST, DELETE, OPTIONS } = nextRouter(router, { basePath: '/v1' });
    expect((await POST(post())).status).toBe(200);
    expect((await GET(new Request('http://host/v1/models'))).status).toBe(200);
    expect((await GET(new Request('http://host/v1/models', { method: 'HEAD' }))).body).toBeNull();
    expect((await DELETE(new Request('http://host/v1/models', { method: 'DELETE' }))).status).toBe(405);
    expect((await OPTIONS(new Request('http://host/v1/models', { method: 'OPTIONS' }))).status).toBe(405);
  });

  it('answer browsers that ask before they call', async () => {
    const open = createRouter({ providers: [provider], allowAnonymous: true, cors: { origins: '*' } });
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'POST' };
    const { OPTIONS } = nextRouter(open, { basePath: '/v1' });
    const response = await OPTIONS(new Request('http://host/v1/chat/completions', { method: 'OPTIONS', headers }));
    expect(response.status).toBe(204);
    expect(response.body).toBeNull();
    expect(response.headers.get('access-control-allow-methods')).toBe('POST');
  });

  it('stand under /api/v1 unless told otherwise', async () => {
    const { GET } = nextRouter(router);
    expect((await GET(new Request('http://host/api/v1/models'))).status).toBe(200);
  });
});
