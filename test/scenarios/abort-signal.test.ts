import { getEventListeners } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { type Choice, type PieceStream, type Provider, type StreamPiece, createRouter } from 'signalbox';
import { fetchRouter } from 'signalbox/fetch';
import { nodeRouter } from 'signalbox/node';
import { describe, expect, it } from 'vitest';
import { ALONE, BACKED, type FaultCell, startFaultCell } from '../support/fault-cell.ts';
import { openClient, socketOf } from '../support/leaving-client.ts';
import { MOUNTS, listen } from '../support/mounts.ts';
import { checkNothingStays, startWatched } from '../support/watched-cell.ts';
import { until } from '../support/until.ts';

describe('a client that closes its side only (AB-02)', () => {
  it('gets its answer from a Node server that is told to go on', async () => {
    await using cell = await startFaultCell({ upstream: { fault: 'U-22', timeScale: 0.3 } });
    const server = createServer(nodeRouter(cell.router, { basePath: '/v1' }));
    Object.assign(server, { httpAllowHalfOpen: true });
    await using mounted = await listen(server);
    const text = await askHalfClosed(mounted.baseURL);
    expect(text).toContain('dog');
    expect(text).toContain('data: [DONE]');
  });

  it.each(Object.keys(MOUNTS))(
    'is gone for a server that ends the other side as well, as Node does (%s)',
    async (mount) => {
      await using cell = await startWatched(mount, { upstream: { fault: 'U-20', afterChunks: 2 } });
      await askHalfClosed(cell.mounted.baseURL);
      await until(() => cell.faulty.openConnections === 0);
      await checkNothingStays(cell);
    },
  );
});

describe('a signal', () => {
  it('that is aborted already keeps anything from being sent (AB-04)', async () => {
    await using cell = await startFaultCell();
    const reason = new Error('Never mind');
    const signal = AbortSignal.abort(reason);
    const request = { model: ALONE, messages: [{ role: 'user' as const, content: 'Hi' }] };
    await expect(cell.router.chat(request, { signal })).rejects.toBe(reason);
    await expect(drain(cell.router.stream(request, { signal }))).rejects.toBe(reason);
    for (const stream of [false, true]) {
      await (await cellFetch(cell)(webRequest({ ...request, stream }, AbortSignal.abort()))).text();
    }
    expect(cell.faulty.connections).toBe(0);
    expect(cell.router.internals.admission.inside).toBe(0);
  });

  it('whose response was closed before the router saw the request keeps anything from being sent (AB-04)', async () => {
    await using cell = await startFaultCell();
    const handle = nodeRouter(cell.router, { basePath: '/v1' });
    let handled = false;
    const server = createServer((request, response) => {
      response.once('close', () => {
        handle(request, response);
        handled = true;
      });
    });
    await using mounted = await listen(server);
    using client = openClient(mounted);
    const socket = await socketOf(client.request);
    if (socket.connecting) await new Promise((resolve) => socket.once('connect', resolve));
    setTimeout(() => client.leave(), 20);
    await until(() => handled);
    await until(() => cell.router.internals.admission.inside === 0);
    expect(cell.faulty.connections).toBe(0);
  });

  it('may be aborted twice, and with the stream left as well (AB-05)', async () => {
    await using cell = await startWatched('node', { upstream: { fault: 'U-20', afterChunks: 2 } });
    const controller = new AbortController();
    const request = { model: BACKED, messages: [{ role: 'user' as const, content: 'Hi' }], provider: ORDER };
    const chunks = cell.router.stream(request, { signal: controller.signal })[Symbol.asyncIterator]();
    await chunks.next();
    controller.abort();
    controller.abort();
    await chunks.return?.();
    await chunks.return?.();
    await until(() => cell.faulty.openConnections === 0);
    expect(cell.errors).toEqual([expect.objectContaining({ status: 499 })]);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    await checkNothingStays(cell);
  });

  it('and a cancelled Web stream reach the same clean-up, once (AB-05, AB-08)', async () => {
    await using cell = await startWatched('node', { upstream: { fault: 'U-20', afterChunks: 2 } });
    const controller = new AbortController();
    const request = { model: BACKED, messages: [{ role: 'user', content: 'Hi' }], provider: ORDER, stream: true };
    const response = await cellFetch(cell)(webRequest(request, controller.signal));
    expect(response.status).toBe(200);
    const reader = response.body?.getReader();
    await reader?.read();
    controller.abort();
    await reader?.cancel();
    await reader?.cancel();
    await until(() => cell.faulty.openConnections === 0);
    expect(cell.errors).toEqual([expect.objectContaining({ status: 499 })]);
    await checkNothingStays(cell);
  });

  it('shared by 10,000 requests has no listeners left and raises no warning (AB-07)', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    const router = createRouter({ providers: [echo()] });
    const { signal } = new AbortController();
    const request = { model: 'acme/echo' as const, messages: [{ role: 'user' as const, content: 'Hi' }] };
    for (let round = 0; round < 100; round += 1) {
      const answers = Array.from({ length: 50 }, () => router.chat(request, { signal }));
      const streams = Array.from({ length: 50 }, () => drain(router.stream(request, { signal })));
      await Promise.all([...answers, ...streams]);
    }
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', onWarning);
    expect(warnings.filter(({ name }) => name === 'MaxListenersExceededWarning')).toEqual([]);
    await router.close();
  });
});

const ORDER = { order: ['faulty', 'healthy'] };

function cellFetch({ router }: FaultCell): (request: Request) => Promise<Response> {
  return fetchRouter(router, { remoteAddress: () => '127.0.0.1' });
}

function webRequest(body: object, signal: AbortSignal): Request {
  return new Request('http://router.test/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
}

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

/** Sends a request for a stream and the end of everything it has to say, and reads what comes back. */
function askHalfClosed(baseURL: string): Promise<string> {
  const { hostname, port } = new URL(baseURL);
  const body = JSON.stringify({
    model: BACKED,
    messages: [{ role: 'user', content: 'Hi' }],
    provider: ORDER,
    stream: true,
  });
  const head = ['POST /v1/chat/completions HTTP/1.1', 'host: router.test', 'content-type: application/json'];
  return new Promise((resolve) => {
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString())).on('error', () => {});
    socket.on('end', () => socket.destroy()).on('close', () => resolve(text));
    socket.write(`${head.join('\r\n')}\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`);
    // The server must have begun to answer: before that, the end would be that of an unfinished request.
    socket.once('data', () => socket.end());
  });
}

/** A provider that answers at once, without any connection. */
function echo(): Provider<'acme/echo'> {
  return {
    slug: 'echo',
    name: 'Echo',
    models: { 'acme/echo': {} },
    chat: ({ request }) =>
      Promise.resolve(
        request.stream
          ? { type: 'stream', stream: wordsOf(['Hello ', 'there']) }
          : { type: 'whole', result: { choices: [choiceOf('Hello there')], usage: undefined } },
      ),
  };
}

function choiceOf(content: string): Choice {
  return {
    index: 0,
    finish_reason: 'stop',
    native_finish_reason: 'stop',
    logprobs: null,
    message: { role: 'assistant', content, refusal: null, reasoning: null },
  };
}

function wordsOf(words: readonly string[]): PieceStream {
  const left: (readonly StreamPiece[] | undefined)[] = [
    ...words.map((word) => [word]),
    [{ type: 'finish', index: 0, reason: 'stop', native: 'stop' }, { type: 'end' }],
    undefined,
  ];
  return { read: () => Promise.resolve(left.shift()), cancel: () => {} };
}
