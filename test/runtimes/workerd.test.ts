/** Runs in a process of its own: it starts workerd. */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startUpstream, streamEvents, type Upstream } from '../support/upstream.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A Worker as its user would write it: the router is made at the top of the module, where nothing random may run. */
const workerWith = (baseURL: string): string => `
  import { createRouter, openaiCompatible, simulated } from 'signalbox';
  import { fetchRouter } from 'signalbox/fetch';
  const upstream = openaiCompatible({
    slug: 'upstream',
    baseURL: '${baseURL}',
    apiKey: 'sk-1',
    models: { 'upstream/one': { price: { prompt: 1, completion: 2 } } },
  });
  const router = createRouter({ providers: [simulated(), upstream], allowAnonymous: true });
  const handler = fetchRouter(router, { basePath: '/v1' });
  export default { fetch: (request) => handler(request) };
`;

const ASKED = { model: 'simulated/small', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20 };

describe('a Cloudflare Worker', () => {
  let worker: Miniflare;
  let upstream: Upstream;

  beforeAll(async () => {
    upstream = await startUpstream();
    const { outputFiles } = await build({
      stdin: { contents: workerWith(upstream.baseURL), resolveDir: root },
      bundle: true,
      write: false,
      format: 'esm',
      platform: 'neutral',
      mainFields: ['module', 'main'],
      conditions: ['workerd', 'worker', 'import'],
      external: ['node:*', 'defuddle/node', 'unpdf', 'gpt-tokenizer/*', '@pydantic/genai-prices'],
      // Paths of the sources are ours; what a user gets is the built package.
      tsconfigRaw: {},
      logLevel: 'silent',
    });
    const script = outputFiles[0]?.text ?? '';
    worker = new Miniflare({
      modules: [{ type: 'ESModule', path: 'worker.js', contents: script }],
      compatibilityDate: '2026-01-01',
    });
    await worker.ready;
  });

  afterAll(async () => {
    await worker.dispose();
    await upstream[Symbol.asyncDispose]();
  });

  const ask = (body: object, signal?: AbortSignal) =>
    worker.dispatchFetch('http://worker.example/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });

  it('answers', async () => {
    const response = await ask(ASKED);
    expect([response.status, await response.json()]).toMatchObject([
      200,
      { object: 'chat.completion', choices: [{ message: { role: 'assistant' } }] },
    ]);
  });

  it('streams', async () => {
    const response = await ask({ ...ASKED, stream: true });
    const text = await response.text();
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    expect(text).toContain('"chat.completion.chunk"');
    expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true);
  });

  const FROM_UPSTREAM = { ...ASKED, model: 'upstream/one' };

  it("asks a provider with the runtime's own fetch", async () => {
    const response = await ask(FROM_UPSTREAM);
    expect([response.status, await response.json()]).toMatchObject([
      200,
      { choices: [{ message: { content: 'Hello there' } }], provider: 'upstream' },
    ]);
    const stream = await ask({ ...FROM_UPSTREAM, stream: true });
    const text = await stream.text();
    expect(text).toContain('"content":"Hello "');
    expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true);
  });

  it('ends the call upstream when the client disconnects', async () => {
    let closed: (() => void) | undefined;
    const ended = new Promise<void>((resolve) => (closed = resolve));
    upstream.handler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of streamEvents('Hello there').slice(0, 2)) response.write(event);
      response.on('close', () => closed?.());
    };
    const abort = new AbortController();
    const stream = await ask({ ...FROM_UPSTREAM, stream: true }, abort.signal);
    await stream.body?.getReader().read();
    abort.abort();
    await ended;
  });

  it('says what is wrong with a request', async () => {
    const response = await ask({ ...ASKED, messages: [] });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 400 } });
  });

  it('refuses a batch that nothing would run, with what to do', async () => {
    const requests = [{ custom_id: 'one', body: { messages: ASKED.messages } }];
    const response = await worker.dispatchFetch('http://worker.example/v1/batches', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ endpoint: '/v1/chat/completions', model: ASKED.model, requests }),
    });
    expect([response.status, await response.json()]).toMatchObject([
      500,
      { error: { message: expect.stringContaining('batches: { worker: false }') as string } },
    ]);
  });
});
