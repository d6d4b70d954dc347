/** Runs in a process of its own: it starts workerd. */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A Worker as its user would write it: the router is made at the top of the module, where nothing random may run. */
const WORKER = `
  import { createRouter } from 'signalbox';
  import { fetchRouter } from 'signalbox/fetch';
  const handler = fetchRouter(createRouter({ allowAnonymous: true }), { basePath: '/v1' });
  export default { fetch: (request) => handler(request) };
`;

const ASKED = { model: 'simulated/small', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20 };

describe('a Cloudflare Worker', () => {
  let worker: Miniflare;

  beforeAll(async () => {
    const { outputFiles } = await build({
      stdin: { contents: WORKER, resolveDir: root },
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
  }, 60_000);

  afterAll(() => worker.dispose());

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

  it('says what is wrong with a request', async () => {
    const response = await ask({ ...ASKED, messages: [] });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 400 } });
  });

  it('keeps batches in memory', async () => {
    const requests = [{ custom_id: 'one', body: { messages: ASKED.messages } }];
    const response = await worker.dispatchFetch('http://worker.example/v1/batches', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ endpoint: '/v1/chat/completions', model: ASKED.model, requests }),
    });
    expect([response.status, await response.json()]).toMatchObject([202, { object: 'batch' }]);
  });
});
