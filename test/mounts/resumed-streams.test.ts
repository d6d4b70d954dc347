import { createRouter, memoryStore, type Router } from 'signalbox';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type FedCall, fedProvider, GOOD_END } from '../support/fed-provider.ts';
import { chatBody } from '../support/http-call.ts';
import { MOUNTS, type Mounted } from '../support/mounts.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

describe.each(Object.entries(MOUNTS))('%s', (_name, mount) => {
  const store = memoryStore();
  const provider = fedProvider();

  /** An instance behind this mount. */
  async function start(): Promise<[Mounted, Router]> {
    const router = createRouter({
      providers: [provider],
      streams: { store, leaveAfterMs: 60_000 },
      allowAnonymous: true,
      catalog: [],
    });
    const mounted = await mount(router);
    closing.push(
      () => mounted[Symbol.asyncDispose](),
      () => router.close(),
    );
    return [mounted, router];
  }

  /** Begins a stream; gives its id, what was read of it, and the provider's side. */
  async function begin({ baseURL }: Mounted): Promise<{ id: string; read: string; fed: FedCall; leave: () => void }> {
    const before = provider.calls.length;
    const client = new AbortController();
    const answering = fetch(`${baseURL}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(chatBody({ stream: true })),
      signal: client.signal,
    });
    const fed = await vi.waitUntil(() => provider.calls[before], 20_000);
    fed.push('Grüße 👋');
    const response = await answering;
    const reader = response.body?.getReader();
    const decoder = new TextDecoder();
    let read = '';
    while (!read.includes('👋')) read += decoder.decode((await reader?.read())?.value, { stream: true });
    return { id: response.headers.get('x-generation-id') ?? '', read, fed, leave: () => client.abort() };
  }

  it('gives the rest of a stream to a client that left, at another instance', async () => {
    const [[one, router], [two]] = [await start(), await start()];
    const { id, read, fed, leave } = await begin(one);
    leave();
    const resumed = await fetch(`${two.baseURL}/streams/${id}?from=${Buffer.byteLength(read)}`);
    expect(resumed.status).toBe(200);
    expect(resumed.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    fed.push(' und mehr', ...GOOD_END);
    fed.end();
    const rest = await resumed.text();
    expect(rest).toContain(' und mehr');
    expect(rest.endsWith('data: [DONE]\n\n')).toBe(true);
    const all = await (await fetch(`${one.baseURL}/streams/${id}`)).text();
    expect(all).toBe(read + rest);
    const done = await fetch(`${one.baseURL}/streams/${id}?from=${Buffer.byteLength(all)}`);
    expect(done.status).toBe(204);
    await expect.poll(() => router.internals.admission.inside).toBe(0);
  });

  it('stops a stream that nobody reads any more', async () => {
    const [one, router] = await start();
    const { id, fed, leave } = await begin(one);
    leave();
    const stopped = await fetch(`${one.baseURL}/streams/${id}`, { method: 'DELETE' });
    expect(await stopped.json()).toEqual({ id, object: 'stream', status: 'stopping' });
    expect(fed.cancelled).toBe(true);
    expect(await (await fetch(`${one.baseURL}/streams/${id}`)).text()).toContain('stopped by a request to delete it');
    await expect.poll(() => router.internals.admission.inside).toBe(0);
  });

  it('frees the place of a reader that leaves', async () => {
    const [one, router] = await start();
    const { id, fed, read, leave } = await begin(one);
    const reader = new AbortController();
    const resumed = await fetch(`${one.baseURL}/streams/${id}`, { signal: reader.signal });
    const first = await resumed.body?.getReader().read();
    expect(read.startsWith(new TextDecoder().decode(first?.value).slice(0, 50))).toBe(true);
    expect(router.internals.admission.inside).toBe(2);
    reader.abort();
    await expect.poll(() => router.internals.admission.inside).toBe(1);
    fed.push(...GOOD_END);
    fed.end();
    leave();
    await expect.poll(() => router.internals.admission.inside).toBe(0);
  });
});
