import * as fc from 'fast-check';
import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChatStreamSource } from '../../src/runtime/chat/chat-stream.ts';
import { type Bench, LONG_MS, ask, askAndWait, benchOf } from '../support/driving.ts';
import { anyProviders } from '../support/fault-schedules.ts';
import { stormOfRuns } from '../support/properties.ts';
import type { StubOptions } from '../support/stub-provider.ts';
import type { AttemptEvent, ErrorEvent, ResultEvent } from '../../src/contracts/events.ts';

/** A router that writes down what it tells its listeners. */
function observed(stubs: Readonly<Record<string, StubOptions>>, seed = 1) {
  const attempts: AttemptEvent[] = [];
  const errors: ErrorEvent[] = [];
  const results: ResultEvent[] = [];
  const bench = benchOf(stubs, {
    seed,
    on: {
      attempt: (event) => void attempts.push(event),
      error: (event) => void errors.push(event),
      result: (event) => void results.push(event),
    },
  });
  return { bench, attempts, errors, results };
}

async function openStream(bench: Bench, echo = false, signal?: AbortSignal): Promise<ChatStreamSource> {
  const body = {
    model: 'acme/one',
    stream: true,
    messages: [{ role: 'user', content: 'Hi' }],
    debug: { echo_upstream_body: echo },
  };
  const opened = await bench.router.open(body, { signal });
  if (opened.type !== 'stream') throw new Error('a stream was asked for');
  return opened.stream;
}

/** Rejections that nobody handled while a test ran. */
let unhandled: unknown[] = [];
const listen = (reason: unknown): void => void unhandled.push(reason);

beforeEach(() => {
  unhandled = [];
  process.on('unhandledRejection', listen);
});

afterEach(async () => {
  await new Promise((resolve) => {
    setTimeout(resolve, 5);
  });
  process.off('unhandledRejection', listen);
  expect(unhandled).toEqual([]);
});

describe('a stream that is cancelled', () => {
  it('while it waits for the next piece is settled once', async () => {
    const { bench, attempts, errors } = observed({ p0: { behaves: { does: 'answer', pieces: 3, everyMs: 100 } } });
    const source = await openStream(bench);
    const first = source.next();
    await bench.environment.advance(150);
    await first;
    const second = source.next();
    await bench.environment.settle();
    source.cancel();
    source.cancel();
    await bench.environment.advance(LONG_MS);
    expect(await second).toBeUndefined();
    expect(attempts.map(({ failure }) => failure?.kind)).toEqual(['aborted']);
    expect(errors.map(({ status, committed }) => [status, committed])).toEqual([[499, true]]);
    expect(bench.stubs.calls[0]?.signal.aborted).toBe(true);
    expect(bench.environment.pendingTimers).toBe(0);
  });

  it('before its first piece is settled once', async () => {
    const { bench, attempts, errors } = observed({ p0: { behaves: { does: 'answer', afterMs: 500 } } });
    const source = await openStream(bench);
    const first = source.next();
    await bench.environment.advance(100);
    source.cancel();
    await expect(first).rejects.toThrow();
    expect(attempts.map(({ failure }) => failure?.kind)).toEqual(['aborted']);
    expect(errors.map(({ status, committed }) => [status, committed])).toEqual([[499, false]]);
    expect(bench.environment.pendingTimers).toBe(0);
  });

  it('after it ended changes nothing', async () => {
    const { bench, attempts, errors, results } = observed({ p0: { behaves: { does: 'answer', everyMs: 0 } } });
    const source = await openStream(bench);
    while ((await source.next()) !== undefined);
    source.cancel();
    expect(await source.next()).toBeUndefined();
    expect([attempts.length, errors.length, results.length]).toEqual([1, 0, 1]);
  });

  it('between a debug chunk and the next leaves nothing behind, whatever happens behind its back', async () => {
    const outcomes = new Set<string>();
    await fc.assert(
      fc.asyncProperty(anyProviders, fc.nat(3_000), fc.nat(1_000), async (stubs, atMs, seed) => {
        const { bench, attempts, errors, results } = observed(stubs, seed);
        const controller = new AbortController();
        const source = await openStream(bench, true, controller.signal);
        const first = source.next().then(
          (items) => items?.length ?? 0,
          () => 0,
        );
        await bench.environment.settle();
        await bench.environment.advance(atMs);
        source.cancel();
        await bench.environment.settle();
        expect(bench.environment.pendingTimers).toBe(0);
        expect(bench.stubs.open).toEqual([]);
        expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
        expect(await first).toBeGreaterThanOrEqual(0);
        await bench.environment.advance(LONG_MS);
        expect(attempts).toHaveLength(bench.stubs.calls.length);
        expect(errors.length + results.length).toBe(1);
        outcomes.add(String(errors[0]?.status));
      }),
      stormOfRuns(500),
    );
    expect(outcomes).toContain('499');
  });

  it('at any moment is settled once, and its connection is closed at once', async () => {
    const moment = fc.tuple(fc.nat(2_000), fc.nat(40));
    await fc.assert(
      fc.asyncProperty(anyProviders, moment, fc.boolean(), fc.nat(1_000), async (stubs, [atMs, turns], echo, seed) => {
        const { bench, attempts, errors, results } = observed(stubs, seed);
        const source = await openStream(bench, echo);
        const reading = (async () => {
          while ((await source.next()) !== undefined);
        })().catch(() => {});
        await bench.environment.advance(atMs);
        for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
        source.cancel();
        await bench.environment.settle();
        await reading;
        expect(bench.environment.pendingTimers).toBe(0);
        expect(bench.stubs.open).toEqual([]);
        expect(attempts).toHaveLength(bench.stubs.calls.length);
        expect(attempts.map(({ attempt }) => attempt)).toEqual(attempts.map((_, index) => index + 1));
        expect(errors.length + results.length).toBe(1);
      }),
      stormOfRuns(1_000),
    );
  });
});

describe('a caller who leaves just when the answer is there', () => {
  it.each([true, false])(
    'at any step between answer and hand-over leaves nothing behind (stream: %s)',
    async (stream) => {
      const seen = new Set<string | undefined>();
      for (const reply of ['whole', 'stream'] as const) {
        for (let turns = 0; turns < 60; turns += 1) {
          const { bench, attempts, errors, results } = observed({
            p0: { behaves: { does: 'answer', everyMs: 0, reply } },
          });
          const controller = new AbortController();
          const running = ask(bench, { stream, signal: controller.signal });
          // Nothing here needs time, so that each of these steps is one of the answer's.
          for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
          controller.abort(new Error('the caller left'));
          await bench.environment.settle();
          seen.add(running.outcome?.status);
          expect(bench.environment.pendingTimers).toBe(0);
          expect(bench.stubs.open).toEqual([]);
          expect(attempts).toHaveLength(bench.stubs.calls.length);
          expect(errors.length + results.length).toBe(1);
          expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
        }
      }
      expect(seen).toContain('aborted');
    },
  );

  it('through its stream, at any such step, leaves nothing behind either', async () => {
    const seen = new Set<string | undefined>();
    for (const reply of ['whole', 'stream'] as const) {
      for (let turns = 0; turns < 60; turns += 1) {
        const { bench, attempts, errors, results } = observed({
          p0: { behaves: { does: 'answer', everyMs: 0, reply } },
        });
        const source = await openStream(bench);
        const first = source.next().catch(() => undefined);
        for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
        source.cancel();
        await first;
        await bench.environment.settle();
        seen.add(attempts[0]?.failure?.kind);
        expect(await source.next()).toBeUndefined();
        expect(bench.environment.pendingTimers).toBe(0);
        expect(bench.stubs.open).toEqual([]);
        expect(attempts).toHaveLength(1);
        expect(errors.length + results.length).toBe(1);
      }
    }
    expect(seen).toContain('aborted');
  });

  it.each([true, false])('frees a probe of a half-open breaker (stream: %s)', async (stream) => {
    for (let turns = 0; turns < 40; turns += 1) {
      let answering = false;
      const bench = benchOf(
        { p0: { behaves: () => (answering ? { does: 'answer', everyMs: 0 } : { does: 'fail', kind: 'server' }) } },
        { fallback: { triesPerEndpoint: 1 } },
      );
      for (let count = 0; count < 2; count += 1) {
        ask(bench);
        await bench.environment.settle();
      }
      await bench.environment.advance(3_100);
      answering = true;
      const controller = new AbortController();
      ask(bench, { stream, signal: controller.signal });
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      controller.abort(new Error('the caller left'));
      await bench.environment.settle();
      const next = ask(bench);
      await bench.environment.settle();
      expect(next.outcome?.status).toBe('ok');
    }
  });

  it('before anything was sent is never counted as an attempt', async () => {
    const { bench, attempts } = observed({ p0: { behaves: { does: 'answer' } } });
    for (const stream of [true, false]) {
      const outcome = await askAndWait(bench, { stream, signal: AbortSignal.abort(new Error('gone')) });
      expect(outcome.status).toBe('aborted');
      expect((outcome.error as Error).message).toBe('gone');
    }
    expect(attempts).toEqual([]);
    expect(bench.stubs.calls).toEqual([]);
  });

  it('during the wait before a repetition is let go at once', async () => {
    const { bench } = observed({ p0: { behaves: { does: 'fail', kind: 'rate_limited', retryAfterMs: 1_500 } } });
    const controller = new AbortController();
    const running = ask(bench, { signal: controller.signal });
    await bench.environment.advance(500);
    expect(bench.environment.pendingTimers).toBe(1);
    controller.abort(new Error('the caller left'));
    await bench.environment.settle();
    expect(running.outcome?.status).toBe('aborted');
    expect(bench.environment.pendingTimers).toBe(0);
    expect(bench.stubs.calls).toHaveLength(1);
  });
});

describe('a listener', () => {
  it.each<readonly [string, () => void]>([
    [
      'throws',
      () => {
        throw new Error('thrown by a listener');
      },
    ],
    ['rejects', async () => Promise.reject(new Error('rejected by a listener'))],
  ])('that %s breaks no request', async (_name, listener) => {
    const bench = benchOf(
      { p0: { behaves: [{ does: 'fail', kind: 'server' }, { does: 'answer' }] } },
      { on: { attempt: listener, result: listener, error: listener, warning: listener } },
    );
    expect((await askAndWait(bench)).status).toBe('ok');
    expect((await askAndWait(bench, { stream: true })).status).toBe('ok');
  });
});
