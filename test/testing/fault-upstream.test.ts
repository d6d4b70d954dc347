import { connect } from 'node:net';
import { FAULTS, blackHole, refusingAddress, startFaultUpstream } from 'signalbox/testing';
import { describe, expect, it, vi } from 'vitest';

function post(baseURL: string, body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-test' },
    body: JSON.stringify({ model: 'acme/one', ...body }),
    signal: signal ?? null,
  });
}

/** How a bare connection to an address comes out. */
function dial(baseURL: string, ms: number): Promise<string> {
  const { hostname, port } = new URL(baseURL);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) });
    const finish = (outcome: string): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(outcome);
    };
    const timer = setTimeout(() => finish('silence'), ms);
    socket.on('connect', () => finish('connected'));
    socket.on('error', (error: NodeJS.ErrnoException) => finish(error.code ?? error.message));
  });
}

describe('a fault upstream', () => {
  it('answers whole and streamed like a provider until it is told otherwise', async () => {
    await using upstream = await startFaultUpstream({ text: 'Hello there' });
    expect(await (await post(upstream.baseURL, {})).json()).toMatchObject({
      model: 'acme/one',
      choices: [{ message: { content: 'Hello there' }, finish_reason: 'stop' }],
    });
    const streamed = await post(upstream.baseURL, { stream: true });
    expect(streamed.headers.get('content-type')).toBe('text/event-stream');
    const text = await streamed.text();
    expect(text).toContain('"content":"Hello "');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('records every request and the connection it came on', async () => {
    await using upstream = await startFaultUpstream();
    await (await post(upstream.baseURL, { stream: false })).text();
    await (await post(upstream.baseURL, { stream: true })).text();
    expect(upstream.requests).toMatchObject([
      { number: 1, connection: 1, method: 'POST', path: '/v1/chat/completions', body: { stream: false } },
      { number: 2, headers: { authorization: 'Bearer sk-test' }, closedAfterMs: undefined },
    ]);
    expect(upstream.requests[1]?.connection).toBe(upstream.connections);
    upstream.forget();
    expect(upstream.requests).toEqual([]);
  });

  it('follows a script, and keeps to its last step', async () => {
    await using upstream = await startFaultUpstream();
    upstream.script(['U-37', 'ok', 'U-49-500']);
    const statuses: number[] = [];
    for (let round = 0; round < 4; round += 1) statuses.push((await post(upstream.baseURL, {})).status);
    expect(statuses).toEqual([429, 200, 500, 500]);
    expect(() => upstream.script([])).toThrow('A script must hold at least one fault');
  });

  it('takes a step for a connection that never gets as far as a request', async () => {
    await using upstream = await startFaultUpstream();
    upstream.script(['U-09', 'ok']);
    await expect(post(upstream.baseURL, {})).rejects.toThrow();
    expect((await post(upstream.baseURL, {})).status).toBe(200);
    expect(upstream.connections).toBe(2);
  });

  it('lets as much content come before a fault as it is told', async () => {
    await using upstream = await startFaultUpstream({ fault: 'U-24', afterChunks: 2 });
    const text = await (await post(upstream.baseURL, { stream: true })).text();
    expect(text).toContain('"content":"quick "');
    expect(text).not.toContain('brown');
  });

  it('plays faults of one’s own', async () => {
    await using upstream = await startFaultUpstream();
    upstream.use({
      does: 'is a teapot',
      play: (exchange) => exchange.reply(418, { error: { message: exchange.model } }),
    });
    const response = await post(upstream.baseURL, {});
    expect(response.status).toBe(418);
    expect(await response.json()).toEqual({ error: { message: 'acme/one' } });
  });

  it('notes when a client leaves early, and how many stay', async () => {
    await using upstream = await startFaultUpstream({ fault: 'U-20', afterChunks: 1 });
    const controller = new AbortController();
    const response = await post(upstream.baseURL, { stream: true }, controller.signal);
    expect(upstream.openConnections).toBe(1);
    expect(upstream.requests[0]?.closedAfterMs).toBeUndefined();
    controller.abort();
    await vi.waitFor(() => expect(upstream.openConnections).toBe(0), 20_000);
    expect(upstream.requests[0]?.closedAfterMs).toBeGreaterThan(0);
    await expect(response.text()).rejects.toThrow();
  });

  it('does not take its own reset for the client’s', async () => {
    await using upstream = await startFaultUpstream({ fault: 'U-10' });
    await expect(post(upstream.baseURL, {})).rejects.toThrow();
    await vi.waitFor(() => expect(upstream.openConnections).toBe(0), 20_000);
    expect(upstream.requests[0]?.closedAfterMs).toBeUndefined();
  });

  it('scales its waits', async () => {
    await using upstream = await startFaultUpstream({ fault: 'U-22', timeScale: 0.01 });
    const startedAt = performance.now();
    await (await post(upstream.baseURL, {})).text();
    // Unscaled, it takes more than a second.
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  it('is gone when it is disposed of, with all its connections', async () => {
    const upstream = await startFaultUpstream({ fault: 'U-20', afterChunks: 1 });
    const response = await post(upstream.baseURL, { stream: true });
    await upstream[Symbol.asyncDispose]();
    await expect(response.text()).rejects.toThrow();
    expect(await dial(upstream.baseURL, 1_000)).toBe('ECONNREFUSED');
  });

  it('describes each of its faults in one sentence', () => {
    for (const [id, { does }] of Object.entries(FAULTS)) {
      expect(id).toMatch(/^U-\d\d(?:-[a-z0-9-]+)?$/);
      expect(does).toMatch(/^[a-z][^\n]{10,}[^.\n]$/);
    }
  });
});

describe('dead addresses', () => {
  it('refuse every connection while they are held', async () => {
    await using address = await refusingAddress();
    expect(await dial(address.baseURL, 1_000)).toBe('ECONNREFUSED');
    expect(await dial(address.baseURL, 1_000)).toBe('ECONNREFUSED');
  });

  it('neither take nor refuse a connection when they are black holes', async () => {
    await using hole = await blackHole();
    expect(await dial(hole.baseURL, 300)).toBe('silence');
  });
});
