/** A server with a queue of its own: calls whose time limit is over while it answers others. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { createRouter } from '../../../src/index.ts';
import { openaiCompatible } from '../../../src/entries/providers.ts';
import { ask, type Bench, benchOf, statusOf } from '../../support/driving.ts';
import { runs } from '../../support/properties.ts';
import type { Behaviour } from '../../support/stub-provider.ts';

const LIMIT_MS = 2_000;
const timeouts = { firstTokenMs: LIMIT_MS, answerMs: LIMIT_MS, totalMs: 60_000 };
const MODEL = 'acme/one';
const price = { prompt: 1, completion: 1 };

/** Calls that begin at once at a server with so many slots: each waits for those before it. */
const queued =
  (slots: number, serviceMs: number) =>
  (call: number): Behaviour => ({ does: 'answer', afterMs: (Math.floor(call / slots) + 1) * serviceMs, everyMs: 0 });

async function stateOf({ router }: Bench, tag = 'local') {
  const { steps } = await router.explain({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }] });
  const step = steps.find((one) => one.tag === tag);
  return { health: step?.decision?.health, coolingDown: step?.coolingDown };
}

describe('a busy server', () => {
  it('answers whatever it can within twice the time limit, and what it cannot is no failure of it', async () => {
    const drawn = fc.record({
      slots: fc.integer({ min: 1, max: 4 }),
      serviceMs: fc.integer({ min: 50, max: 1_500 }),
      calls: fc.integer({ min: 2, max: 40 }),
      stream: fc.boolean(),
      isGuarded: fc.boolean(),
      isPaced: fc.boolean(),
      isPriced: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(drawn, async ({ slots, serviceMs, calls, stream, isGuarded, isPaced, isPriced }) => {
        const bench = benchOf(
          { local: { models: { [MODEL]: isPriced ? { price } : {} }, behaves: queued(slots, serviceMs) } },
          {
            timeouts,
            ...(isGuarded ? {} : { hedge: false, hangDetection: false }),
            ...(isPaced ? {} : { pacer: false }),
          },
        );
        const asked = Array.from({ length: calls }, () => ask(bench, { stream }));
        await bench.environment.advance(30_000);
        const statuses = [];
        for (const { settled } of asked) statuses.push(statusOf(await settled));
        const inTime = Math.min(calls, slots * Math.ceil(2 * (LIMIT_MS / serviceMs) - 1));
        expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(inTime);
        expect(statuses.filter((status) => status !== 200 && status !== 524)).toEqual([]);
        expect(await stateOf(bench)).toEqual({ health: 1, coolingDown: false });
      }),
      runs(60),
    );
  });

  it('is no failure where no other endpoint is left for the call', async () => {
    const models = { [MODEL]: { price } };
    const bench = benchOf(
      {
        local: { models, behaves: queued(1, 250) },
        down: { models, behaves: () => ({ does: 'fail', kind: 'invalid_request', status: 400 }) },
      },
      { timeouts, fallback: { maxAttempts: 1 } },
    );
    const body = { provider: { order: ['local', 'down'] } };
    const asked = Array.from({ length: 15 }, () => ask(bench, { stream: true, body }));
    await bench.environment.advance(10_000);
    for (const { settled } of asked) expect(statusOf(await settled)).toBe(200);
    expect(await stateOf(bench)).toEqual({ health: 1, coolingDown: false });
  });

  it('that hangs after a few answers fails all the same', async () => {
    const behaves = (call: number): Behaviour => (call < 3 ? queued(1, 300)(call) : { does: 'hang' });
    const bench = benchOf({ local: { models: { [MODEL]: { price } }, behaves } }, { timeouts });
    const asked = Array.from({ length: 12 }, () => ask(bench, { stream: true }));
    await bench.environment.advance(10_000);
    for (const { settled } of asked) await settled;
    expect((await stateOf(bench)).health).toBeLessThan(1);
  });
});

/** A server over sockets that computes one answer at a time, as llama.cpp with one slot does. */
function oneSlot(serviceMs: number) {
  let freeAt = 0;
  const answer = (stream: boolean, isEmbedding: boolean): string => {
    if (isEmbedding) {
      return JSON.stringify({
        data: [{ index: 0, embedding: [0.5, 0.25] }],
        usage: { prompt_tokens: 1, total_tokens: 1 },
      });
    }
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const message = { role: 'assistant', content: 'Hello' };
    if (!stream) return JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage });
    const chunk = { choices: [{ index: 0, delta: message, finish_reason: 'stop' }], usage };
    return `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
  };
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { stream = false } = JSON.parse(Buffer.concat(parts).toString()) as { stream?: boolean };
    freeAt = Math.max(freeAt, performance.now()) + serviceMs;
    setTimeout(() => {
      response.setHeader('content-type', stream ? 'text/event-stream' : 'application/json');
      response.end(answer(stream, request.url?.endsWith('/embeddings') === true));
    }, freeAt - performance.now());
  };
  return createServer((request, response) => void receive(request, response));
}

describe('a busy server over sockets', () => {
  const closing: (() => void)[] = [];
  afterEach(() => closing.splice(0).forEach((close) => close()));

  it.each(['stream', 'chat', 'embed'] as const)('answers all of a burst: %s', async (how) => {
    const server = oneSlot(350);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(
      () => server.closeAllConnections(),
      () => server.close(),
    );
    const { port } = server.address() as AddressInfo;
    const provider = openaiCompatible({
      slug: 'local',
      baseURL: `http://127.0.0.1:${port}/v1`,
      models: { [MODEL]: {}, 'acme/embed': { outputModalities: ['embeddings'] } },
    });
    const limits = { firstTokenMs: 3_000, answerMs: 3_000, totalMs: 30_000 };
    const router = createRouter({ providers: [provider], timeouts: limits });
    const call = async (): Promise<void> => {
      if (how === 'embed') return void (await router.embed({ model: 'acme/embed', input: 'Hello' }));
      const body = { model: MODEL, messages: [{ role: 'user', content: 'Hello' }] } as const;
      if (how === 'chat') return void (await router.chat(body));
      for await (const _ of await router.stream(body));
    };
    const ends = await Promise.allSettled(Array.from({ length: 13 }, call));
    expect(ends.filter(({ status }) => status === 'rejected')).toEqual([]);
    await router.close();
  });
});
