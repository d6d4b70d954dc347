import { createRouter, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { MOUNTS } from '../support/mounts.ts';
import { startUpstream } from '../support/upstream.ts';

describe.each(Object.entries(MOUNTS))('%s', (_name, mount) => {
  it('answers whole and streamed over a real socket', async () => {
    await using upstream = await startUpstream();
    const provider = openaiCompatible({
      slug: 'up',
      name: 'Up',
      baseURL: upstream.baseURL,
      models: { 'acme/one': {} },
    });
    const router = createRouter({ providers: [provider], allowAnonymous: true });
    await using mounted = await mount(router);
    const ask = (stream: boolean): Promise<Response> =>
      fetch(`${mounted.baseURL}/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }], stream }),
      });
    const whole = await ask(false);
    expect(whole.status).toBe(200);
    expect(await whole.json()).toMatchObject({ provider: 'Up', choices: [{ message: { content: 'Hello there' } }] });
    const streamed = await ask(true);
    expect(streamed.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const text = await streamed.text();
    expect(text).toContain('"content":"Hello "');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    const missing = await fetch(`${mounted.baseURL}/nothing`);
    expect(missing.status).toBe(404);
    await router.close();
  });
});
