import { createRouter, type Router, simulated } from 'signalbox';
import { inspector } from 'signalbox/inspector';
import { fakeEnvironment, type FakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { handle, type HttpReply } from '../../../src/entries/mount.ts';
import type { LiveUpdate } from '../../../src/http/inspector/wire.ts';
import { httpCall } from '../../support/http-call.ts';

interface Scene {
  readonly router: Router;
  readonly environment: FakeEnvironment;
  /** Opens the live stream of a page. */
  readonly watch: (query?: string, lastEventId?: string) => Promise<Watcher>;
  readonly ask: (model?: 'acme/one' | 'bad/one') => Promise<unknown>;
}

interface Watcher {
  /** The next update; undefined for a comment. */
  next(): Promise<{ readonly id: string; readonly update: LiveUpdate } | undefined>;
  close(): Promise<unknown>;
}

function scene(firstTokenMs = 0, tokensPerSecond = 0): Scene {
  const environment = fakeEnvironment();
  const models = { 'acme/one': { price: { prompt: 1, completion: 2 } } };
  const router: Router = createRouter({
    environment,
    providers: [
      simulated({
        slug: 'acme',
        models,
        environment,
        firstTokenMs,
        tokensPerSecond,
        answer: () => 'Yes, and so on and on and on. '.repeat(5),
      }),
      simulated({
        slug: 'bad',
        models: { 'bad/one': {} },
        environment,
        firstTokenMs: 0,
        failures: [{ kind: 'invalid_request' }],
      }),
    ],
    catalog: [],
    inspector: inspector(),
    ledger: { tags: ['feature'] },
  });
  return {
    router,
    environment,
    watch: async (query = '', lastEventId) => {
      const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
      const path = '/inspector/api/live';
      const reply = await handle(router, httpCall({ method: 'GET', path, query, headers }));
      return watcherOf(reply);
    },
    ask: (model = 'acme/one') =>
      router
        .chat({
          model,
          messages: [{ role: 'user', content: 'Is this a secret?' }],
          metadata: { feature: 'search', customer: 'private' },
        })
        .catch(() => {}),
  };
}

function watcherOf(reply: HttpReply | undefined): Watcher {
  if (reply?.type !== 'stream') throw new Error(`not a stream: ${JSON.stringify(reply)}`);
  const { frames } = reply;
  return {
    async next() {
      const { value } = await frames.next();
      const [, id, data] = /^id: (\S+)\ndata: (.*)\n\n$/.exec(value ?? '') ?? [];
      return id === undefined || data === undefined ? undefined : { id, update: JSON.parse(data) as LiveUpdate };
    },
    close: async () => frames.return?.(),
  };
}

describe('the live stream', () => {
  it('shows a request while it runs, and when it has ended with what it cost', async () => {
    // What is loaded on first use takes time of the real clock.
    await scene().ask();
    const { watch, ask, environment } = scene(1_000);
    const page = await watch();
    expect((await page.next())?.update).toMatchObject({ running: [], ended: [], totals: { requests: 0 } });
    const asked = ask();
    const running = page.next();
    await environment.advance(300);
    expect((await running)?.update).toMatchObject({
      running: [{ requested: 'acme/one', account: 'anonymous', attempts: [{ endpoint: 'acme#acme/one' }] }],
      running_total: 1,
    });
    await environment.advance(2_000);
    await asked;
    const ended = page.next();
    await environment.advance(300);
    const update = (await ended)?.update;
    expect(update?.ended).toHaveLength(1);
    expect(update?.ended[0]).toMatchObject({
      status: 200,
      provider: 'acme',
      tags: { feature: 'search' },
      attempts: [{ outcome: 'ok', start_ms: expect.any(Number), first_token_ms: expect.any(Number) }],
      cost_nano_usd: expect.any(Number),
    });
    expect(update?.ended[0]?.cost_nano_usd).toBeGreaterThan(0);
    expect(JSON.stringify(update)).not.toMatch(/secret|private/);
    await page.close();
  });

  it('shows what a request under way is doing: planned, waiting for its first token, streaming, tried again', async () => {
    const { router, watch, environment } = scene(1_000, 10);
    const page = await watch();
    await page.next();
    const attempts = async () => {
      const next = page.next();
      await environment.advance(300);
      return (await next)?.update.running[0]?.attempts;
    };
    const stream = router.stream({ model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] });
    const read = (async () => {
      for await (const _ of stream) continue;
    })();
    expect(await attempts()).toMatchObject([{ start_ms: expect.any(Number) }]);
    expect((await attempts())?.[0]?.first_token_ms).toBeUndefined();
    await environment.advance(600);
    const streaming = await attempts();
    expect(streaming?.[0]?.first_token_ms).toBeGreaterThanOrEqual(1_000);
    expect(streaming?.[0]?.end_ms).toBeUndefined();
    await environment.advance(20_000);
    await read;
    await page.close();
  });

  it('shows a request that was refused before it began', async () => {
    const { router, watch, environment } = scene();
    const page = await watch();
    await page.next();
    await router.chat({ model: 'acme/none', messages: [{ role: 'user', content: 'Hi' }] }).catch(() => {});
    const next = page.next();
    await environment.advance(300);
    const update = (await next)?.update;
    expect(update?.ended).toMatchObject([{ requested: 'acme/none', status: 400, attempts: [], cost_nano_usd: 0 }]);
    expect(update?.totals).toMatchObject({ requests: 1, failed: 1 });
    const record = await router.ledger?.one(update?.ended[0]?.id ?? '');
    expect(record).toMatchObject({ refused: true, requested: 'acme/none' });
    await page.close();
  });

  it('tells at most a few times a second, however busy the router is', async () => {
    const { watch, ask, environment } = scene();
    const page = await watch();
    await page.next();
    let updates = 0;
    const read = (async () => {
      for (let one = await page.next(); one !== undefined && updates < 100; one = await page.next()) updates += 1;
    })();
    for (let step = 0; step < 200; step += 1) {
      await ask();
      await environment.advance(10);
    }
    // Two seconds.
    expect(updates).toBeGreaterThan(3);
    expect(updates).toBeLessThan(9);
    await page.close();
    await environment.advance(20_000);
    await read;
  });

  it('shows some of very many, failures first, and says how many it leaves out', async () => {
    const { watch, ask, environment } = scene();
    const page = await watch();
    await page.next();
    await ask('bad/one');
    for (let sent = 0; sent < 99; sent += 1) await ask();
    const next = page.next();
    await environment.advance(300);
    const update = (await next)?.update;
    expect(update?.ended.length).toBeLessThan(30);
    expect(update?.ended.length).toBeGreaterThan(20);
    expect(update?.ended[0]?.error_type).toBeDefined();
    expect((update?.ended.length ?? 0) + (update?.left_out ?? 0)).toBe(100);
    expect(update?.totals).toMatchObject({ requests: 100, failed: 1 });
    await page.close();
  });

  it('filters before it samples', async () => {
    const { watch, ask, environment } = scene();
    const page = await watch('error=any');
    await page.next();
    for (let sent = 0; sent < 50; sent += 1) await ask();
    await ask('bad/one');
    const next = page.next();
    await environment.advance(300);
    const update = (await next)?.update;
    expect(update?.ended.map(({ requested }) => requested)).toEqual(['bad/one']);
    expect(update?.left_out).toBe(0);
    await page.close();
  });

  it('finds one request among hundreds for a page that filters, while another page looks at everything', async () => {
    const { router, watch, ask, environment } = scene();
    const everything = await watch();
    const page = await watch('tag=feature:rare');
    await page.next();
    const next = page.next();
    for (let sent = 0; sent < 300; sent += 1) await ask();
    const messages = [{ role: 'user' as const, content: 'Hi' }];
    await router.chat({ model: 'acme/one', messages, metadata: { feature: 'rare' } });
    await environment.advance(300);
    expect((await next)?.update).toMatchObject({ ended: [{ tags: { feature: 'rare' } }], left_out: 0 });
    await page.close();
    await everything.close();
  });

  it('goes on where a page left off', async () => {
    const { watch, ask, environment } = scene();
    const page = await watch();
    const first = await page.next();
    await page.close();
    await ask();
    await ask();
    await environment.advance(5_000);
    const again = await watch('', first?.id);
    expect((await again.next())?.update.ended).toHaveLength(2);
    await again.close();
    const elsewhere = await watch('', 'another.7');
    expect((await elsewhere.next())?.update.ended).toEqual([]);
    await elsewhere.close();
  });

  it('goes on when another configuration comes into force', async () => {
    const { router, watch, ask, environment } = scene();
    const page = await watch();
    await page.next();
    router.update({ providers: router.internals.config.providers, catalog: [] });
    await ask();
    const next = page.next();
    await environment.advance(300);
    expect((await next)?.update.ended).toHaveLength(1);
    await page.close();
    const another = await watch();
    expect((await another.next())?.update.totals.requests).toBe(1);
    await another.close();
  });

  it('keeps a quiet connection open with comments', async () => {
    const { watch, environment } = scene();
    const page = await watch();
    await page.next();
    const next = page.next();
    await environment.advance(12_000);
    expect(await next).toBeUndefined();
    await page.close();
  });

  it('listens to nothing when no page is open', async () => {
    const { router, watch, environment } = scene();
    const { events } = router.internals.services;
    expect(events.followers).toEqual([]);
    const page = await watch();
    expect(events.followers).toHaveLength(1);
    await page.close();
    await environment.advance(60_000);
    expect(events.followers).toEqual([]);
    expect(events.heard('attempt')).toBe(false);
    expect(environment.pendingTimers).toBe(0);
  });

  it('ends for a page that is closed while nothing happens', async () => {
    const { watch } = scene();
    const page = await watch();
    await page.next();
    const waiting = page.next();
    await page.close();
    expect(await waiting).toBeUndefined();
  });

  it('keeps a bounded number of requests for pages that do not read', async () => {
    const { watch, ask, environment } = scene();
    const page = await watch();
    await page.next();
    for (let sent = 0; sent < 4_500; sent += 1) await ask();
    const next = page.next();
    await environment.advance(300);
    const update = (await next)?.update;
    expect((update?.ended.length ?? 0) + (update?.left_out ?? 0)).toBe(4_500);
    await page.close();
  });

  it('counts what it does not follow of a busy router, and shows what fails of it', async () => {
    const { watch, ask, environment } = scene();
    const page = await watch();
    await page.next();
    for (let sent = 0; sent < 600; sent += 1) await ask();
    await ask('bad/one');
    const next = page.next();
    await environment.advance(300);
    const busy = (await next)?.update;
    expect(busy?.ended.at(-1)).toMatchObject({
      requested: 'bad/one',
      error_type: expect.any(String),
      // Nobody saw it begin.
      attempts: [{ endpoint: 'bad#bad/one', outcome: 'invalid_request', end_ms: expect.any(Number) }],
    });
    expect((busy?.ended.length ?? 0) + (busy?.left_out ?? 0)).toBe(601);
    expect(busy).toMatchObject({ running: [], running_total: 0, totals: { requests: 601, failed: 1 } });
    const after = page.next();
    await ask();
    await environment.advance(300);
    expect((await after)?.update).toMatchObject({ left_out: 0, ended: [{ requested: 'acme/one' }] });
    await page.close();
  });
});
