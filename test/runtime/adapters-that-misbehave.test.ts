import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Provider, ProviderCall } from '../../src/contracts/provider.ts';
import { createRouter } from '../../src/index.ts';
import { fakeEnvironment } from '../../src/testing/fake-environment.ts';
import { type Bench, LONG_MS, TIMEOUTS, ask, askAndWait, benchOf, statusOf, textOf } from '../support/driving.ts';
import type { Behaviour } from '../support/stub-provider.ts';
import type { PieceStream, ProviderReply } from '../../src/contracts/provider-reply.ts';
import { failure } from '../../src/contracts/failure.ts';
import type { AttemptEvent, WarningEvent } from '../../src/contracts/events.ts';

/** A router over one adapter written by hand. */
function benchWith(chat: Provider['chat']): Bench {
  const environment = fakeEnvironment();
  const provider: Provider = { slug: 'p0', name: 'P0', models: { 'acme/one': {} }, chat };
  const router = createRouter({ providers: [provider], environment, timeouts: TIMEOUTS, on: { warning: () => {} } });
  return { environment, router, stubs: { providers: [provider], calls: [], open: [] } };
}

/** A promise and the function that settles it. */
function later<Value>(): { readonly promise: Promise<Value>; readonly resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((settle) => (resolve = settle));
  return { promise, resolve };
}

function silentStream(onCancel: () => void): PieceStream {
  return { read: () => new Promise(() => {}), cancel: onCancel };
}

describe.each([false, true])('an adapter that breaks its contract (stream: %s)', (stream) => {
  const ways = [
    'throws',
    'rejects',
    'gives nothing',
    'gives nonsense',
    'has a stream that throws',
    'has a stream that rejects',
  ] as const;

  it.each(ways)('and %s is a failure like any other (U-69)', async (how) => {
    const bench = benchOf({ p0: { behaves: { does: 'misbehave', how } } });
    const outcome = await askAndWait(bench, { stream });
    expect(statusOf(outcome)).toBe(502);
    expect((outcome.error as Error).message).not.toContain('stub');
    expect(bench.environment.pendingTimers).toBe(0);
  });

  it.each(ways)('and %s lets the next provider answer', async (how) => {
    const bench = benchOf({ p0: { behaves: { does: 'misbehave', how } }, p1: { behaves: { does: 'answer' } } });
    const outcome = await askAndWait(bench, { stream, body: { provider: { order: ['p0'] } } });
    expect(statusOf(outcome)).toBe(200);
    expect(bench.stubs.calls.map(({ provider }) => provider)).toEqual(['p0', 'p1']);
  });

  it.each(ways)('and %s is told to the operator, with what was thrown, and to nobody else', async (how) => {
    const warnings: WarningEvent[] = [];
    const attempts: unknown[] = [];
    const on = {
      warning: (event: WarningEvent) => void warnings.push(event),
      attempt: (event: AttemptEvent) => void attempts.push(event.failure),
    };
    const outcome = await askAndWait(benchOf({ p0: { behaves: { does: 'misbehave', how } } }, { on }), { stream });
    expect(warnings.length).toBeGreaterThan(0);
    for (const { code, message, thrown } of warnings) {
      expect(code).toBe('provider_failed');
      expect(message).toMatch(/^The adapter of p0 threw (?:\w*Error at |a value of type string$)/);
      expect(thrown).toBeTruthy();
      expect(message).not.toContain(thrown instanceof Error ? thrown.message : thrown);
    }
    for (const failed of attempts) expect(failed).not.toHaveProperty('thrown');
    expect(JSON.stringify(outcome.error)).not.toContain('thrown');
  });

  it('and never settles is given up in time, and its slot is free (U-70)', async () => {
    const bench = benchOf({ p0: { behaves: { does: 'hang', deaf: true } } });
    const outcome = await askAndWait(bench, { stream });
    expect(statusOf(outcome)).toBe(524);
    expect(outcome.endedAt - outcome.startedAt).toBe(stream ? TIMEOUTS.firstTokenMs : TIMEOUTS.answerMs);
    expect(bench.stubs.open).toEqual([]);
    expect(bench.environment.pendingTimers).toBe(0);
  });

  it.each<readonly [string, ProviderReply]>([
    ['no choices (U-40)', { type: 'whole', result: { choices: [] } }],
    [
      'a choice that ended in an error (U-66)',
      {
        type: 'whole',
        result: {
          choices: [
            {
              index: 0,
              finish_reason: 'error',
              native_finish_reason: null,
              logprobs: null,
              message: { role: 'assistant', content: 'Half an', refusal: null, reasoning: null },
            },
          ],
        },
      },
    ],
    [
      'a failure of an unknown kind',
      { type: 'failed', failure: { kind: 'toString', message: 'x' } } as unknown as ProviderReply,
    ],
    ['a failure without a failure', { type: 'failed' } as unknown as ProviderReply],
    ['a stream that is none', { type: 'stream' } as unknown as ProviderReply],
  ])('and gives %s has not answered', async (_name, reply) => {
    const bench = benchWith(() => Promise.resolve(reply));
    expect(statusOf(await askAndWait(bench, { stream }))).toBe(502);
    expect(bench.environment.pendingTimers).toBe(0);
  });

  it('and answers after it was given up has its stream cancelled', async () => {
    const reply = later<ProviderReply>();
    let cancelled = 0;
    const bench = benchWith(() => reply.promise);
    expect(statusOf(await askAndWait(bench, { stream }))).toBe(524);
    reply.resolve({ type: 'stream', stream: silentStream(() => (cancelled += 1)) });
    await bench.environment.settle();
    expect(cancelled).toBe(1);
    expect(bench.environment.pendingTimers).toBe(0);
  });

  it('and reports progress after it was given up sets no timer off', async () => {
    let seen: ProviderCall | undefined;
    const bench = benchWith((call) => {
      seen = call;
      return new Promise(() => {});
    });
    expect(statusOf(await askAndWait(bench, { stream }))).toBe(524);
    seen?.progress.connecting();
    seen?.progress.connected();
    expect(bench.environment.pendingTimers).toBe(0);
    expect(seen === undefined ? undefined : getEventListeners(seen.signal, 'abort')).toEqual([]);
  });

  it('and throws when it is cancelled disturbs nobody', async () => {
    const bench = benchWith(() => {
      const reply: ProviderReply = {
        type: 'stream',
        stream: silentStream(() => {
          throw new Error('thrown by an adapter');
        }),
      };
      return Promise.resolve(reply);
    });
    expect(statusOf(await askAndWait(bench, { stream }))).toBe(524);
    expect(bench.environment.pendingTimers).toBe(0);
  });
});

describe('an adapter that answers in the other form', () => {
  it.each([
    ['whole for a stream (U-43)', true, 'whole'],
    ['as a stream for a whole answer (U-44)', false, 'stream'],
  ] as const)('%s is understood', async (_name, stream, reply) => {
    const bench = benchOf({ p0: { behaves: { does: 'answer', reply, pieces: 3 } } });
    const outcome = await askAndWait(bench, { stream });
    expect(statusOf(outcome)).toBe(200);
    expect(textOf(outcome)).toBe('<p0#0><p0#0><p0#0>');
    if (stream) expect(outcome.chunks.at(-1)?.usage).toBeDefined();
    else expect(outcome.result?.choices[0]).toMatchObject({ finish_reason: 'stop' });
  });
});

describe('times', () => {
  const cases: readonly (readonly [string, Behaviour, boolean, number, number])[] = [
    ['first token', { does: 'answer', afterMs: 1_001 }, true, 524, TIMEOUTS.firstTokenMs],
    ['first token, just in time', { does: 'answer', afterMs: 999, everyMs: 0 }, true, 200, 999],
    ['whole answer', { does: 'answer', afterMs: 2_001, reply: 'whole' }, false, 524, TIMEOUTS.answerMs],
    ['whole answer, just in time', { does: 'answer', afterMs: 1_999, reply: 'whole' }, false, 200, 1_999],
    ['whole answer from a slow stream', { does: 'answer', pieces: 5, everyMs: 450 }, false, 524, TIMEOUTS.answerMs],
  ];
  it.each(cases)('%s: %o', async (_name, behaves, stream, status, tookMs) => {
    const outcome = await askAndWait(benchOf({ p0: { behaves } }), { stream });
    expect(statusOf(outcome)).toBe(status);
    expect(outcome.endedAt - outcome.startedAt).toBe(tookMs);
  });

  it('between two pieces of a stream break it off after its beginning (U-20)', async () => {
    const outcome = await askAndWait(benchOf({ p0: { behaves: { does: 'answer', pieces: 3, everyMs: 501 } } }), {
      stream: true,
    });
    expect(statusOf(outcome)).toBe(524);
    expect(textOf(outcome)).toBe('<p0#0>');
    expect(outcome.endedAt - outcome.startedAt).toBe(501 + TIMEOUTS.idleMs);
  });

  it('never break off a stream that is slow but alive (STR-12)', async () => {
    const outcome = await askAndWait(benchOf({ p0: { behaves: { does: 'answer', pieces: 100, everyMs: 499 } } }), {
      stream: true,
    });
    expect(statusOf(outcome)).toBe(200);
    expect(outcome.endedAt - outcome.startedAt).toBeGreaterThan(5 * TIMEOUTS.totalMs);
  });

  it('count comments for nothing before the first token (STR-11)', async () => {
    const bench = benchWith((call) => {
      const stream: PieceStream = {
        read: () =>
          new Promise((resolve) => {
            const timer = bench.environment.setTimer(() => resolve([]), 100);
            call.signal.addEventListener('abort', () => bench.environment.clearTimer(timer), { once: true });
          }),
        cancel() {},
      };
      return Promise.resolve({ type: 'stream', stream });
    });
    const outcome = await askAndWait(bench, { stream: true });
    expect(statusOf(outcome)).toBe(524);
    expect(outcome.endedAt - outcome.startedAt).toBe(TIMEOUTS.firstTokenMs);
    expect(bench.environment.pendingTimers).toBe(0);
  });

  it('of connecting run from when the adapter says so', async () => {
    const bench = benchWith((call) => {
      call.progress.connecting();
      return new Promise(() => {});
    });
    const outcome = await askAndWait(bench, { stream: true });
    expect(outcome.endedAt - outcome.startedAt).toBe(TIMEOUTS.connectMs);
    expect(statusOf(outcome)).toBe(524);
  });

  it('of the request end it with 408, whatever it was waiting for', async () => {
    const slow = { does: 'fail', kind: 'server', afterMs: 1_900 } as const;
    const bench = benchOf({
      p0: { behaves: slow },
      p1: { behaves: slow },
      p2: { behaves: slow },
      p3: { behaves: slow },
    });
    const outcome = await askAndWait(bench);
    expect(statusOf(outcome)).toBe(408);
    expect(outcome.endedAt - outcome.startedAt).toBe(TIMEOUTS.totalMs);
  });

  it('stand still while the caller does not read', async () => {
    const bench = benchOf({ p0: { behaves: { does: 'answer', pieces: 3, everyMs: 10 } } });
    const reading = (async () => {
      const seen: string[] = [];
      for await (const chunk of bench.router.stream({
        model: 'acme/one',
        messages: [{ role: 'user', content: 'Hi' }],
      })) {
        seen.push(chunk.choices[0]?.delta.content ?? '');
        await new Promise<void>((resolve) => bench.environment.setTimer(resolve, 10 * TIMEOUTS.idleMs));
      }
      return seen.join('');
    })();
    await bench.environment.advance(LONG_MS);
    expect(await reading).toBe('<p0#0><p0#0><p0#0>');
  });
});

describe('a stream that breaks', () => {
  it.each([
    ['connection', 502],
    ['server', 502],
    ['bad_response', 502],
    ['timeout', 524],
    ['overloaded', 503],
    ['rate_limited', 429],
    ['content_policy', 403],
    ['credentials', 502],
  ] as const)(
    'with "%s" after its beginning is told in the stream as %d, with what came before',
    async (kind, status) => {
      const bench = benchOf({
        p0: { behaves: { does: 'break', kind, pieces: 2 } },
        p1: { behaves: { does: 'answer' } },
      });
      const outcome = await askAndWait(bench, { stream: true, body: { provider: { order: ['p0'] } } });
      expect(statusOf(outcome)).toBe(status);
      expect(textOf(outcome)).toBe('<p0#0><p0#0>');
      expect(bench.stubs.calls).toHaveLength(1);
    },
  );

  it.each([true, false])('with nothing in it yet is taken over by the next provider (stream: %s)', async (stream) => {
    const bench = benchOf({ p0: { behaves: { does: 'truncate', pieces: 0 } }, p1: { behaves: { does: 'answer' } } });
    const outcome = await askAndWait(bench, { stream, body: { provider: { order: ['p0'] } } });
    expect(textOf(outcome)).toBe('<p1#1><p1#1>');
  });

  it('for a whole answer is taken over however much it had said', async () => {
    const bench = benchOf({
      p0: { behaves: { does: 'break', kind: 'connection', pieces: 50 } },
      p1: { behaves: { does: 'answer' } },
    });
    const outcome = await askAndWait(bench, { body: { provider: { order: ['p0'] } } });
    expect(textOf(outcome)).toBe('<p1#1><p1#1>');
  });

  it('keeps 529 as 529', async () => {
    const bench = benchWith(() =>
      Promise.resolve({
        type: 'stream',
        stream: {
          read: () =>
            Promise.resolve(['text', { type: 'failure', failure: failure('overloaded', 'busy', { status: 529 }) }]),
          cancel() {},
        },
      }),
    );
    expect(statusOf(await askAndWait(bench, { stream: true }))).toBe(529);
  });
});

describe('a whole answer and a stream of it', () => {
  const texts = ['Hello', 'x'.repeat(99), '日本語のテキスト', 'a "quoted" line\nand another\t\u0001', '🙂🙂', '', '\\'];
  it.each(texts)('cost the same, also where the provider counted nothing: %j', async (text) => {
    const models = { 'acme/one': { price: { prompt: 3, completion: 11 } } };
    const usages: unknown[] = [];
    for (const type of ['whole', 'stream'] as const) {
      for (const stream of [false, true]) {
        const bench = benchWith(() => Promise.resolve(type === 'whole' ? wholeReply(text) : streamedReply(text)));
        const priced = createRouter({
          providers: bench.stubs.providers.map((one) => ({ ...one, models })),
          environment: bench.environment,
          on: { warning: () => {} },
        });
        const outcome = await askAndWait({ ...bench, router: priced }, { stream });
        usages.push(outcome.result?.usage ?? outcome.chunks.at(-1)?.usage);
      }
    }
    expect(usages[0]).toMatchObject({ estimated: true, cost: expect.any(Number) as number });
    expect(usages).toEqual(usages.map(() => usages[0]));
  });

  function wholeReply(text: string): ProviderReply {
    return {
      type: 'whole',
      result: {
        choices: [
          {
            index: 0,
            finish_reason: 'tool_calls',
            native_finish_reason: null,
            logprobs: null,
            message: {
              role: 'assistant',
              content: text,
              refusal: null,
              reasoning: 'Hm',
              tool_calls: [
                { id: 'call_1', index: 0, type: 'function', function: { name: 'look_up', arguments: '{"a":1}' } },
              ],
            },
          },
        ],
      },
    };
  }

  function streamedReply(text: string): ProviderReply {
    const left = [
      [{ type: 'delta', index: 0, delta: { reasoning: 'Hm' } }] as const,
      Array.from(text, (letter) => JSON.stringify(letter).slice(1, -1)),
      [
        {
          type: 'delta',
          index: 0,
          delta: { tool_calls: [{ index: 0, id: 'call_1', function: { name: 'look_up', arguments: '{"a"' } }] },
        },
        { type: 'delta', index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] } },
        { type: 'finish', index: 0, reason: 'tool_calls', native: null },
        { type: 'end' },
      ] as const,
    ];
    return { type: 'stream', stream: { read: () => Promise.resolve(left.shift()), cancel() {} } };
  }
});

describe('a request that nobody reads', () => {
  it('is not made before its stream is read', async () => {
    const bench = benchOf({ p0: { behaves: { does: 'answer' } } });
    const opened = await bench.router.open(
      { model: 'acme/one', stream: true, messages: [{ role: 'user', content: 'Hi' }] },
      {},
    );
    await bench.environment.settle();
    expect(bench.stubs.calls).toEqual([]);
    if (opened.type !== 'stream') throw new Error('a stream was asked for');
    opened.stream.cancel();
    expect(await opened.stream.next()).toBeUndefined();
    expect(bench.stubs.calls).toEqual([]);
    expect(ask(bench).outcome).toBeUndefined();
    await bench.environment.advance(LONG_MS);
  });
});
