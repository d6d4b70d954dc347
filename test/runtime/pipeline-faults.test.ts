import { type Plugin, RouterError } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { type PluginBench, hello, pluginBench, standIn, streamed } from '../support/plugins.ts';

const SECRET = 'the prompt of somebody';

/** Throws in a getter. */
const trapped = {
  get type(): string {
    throw new Error(SECRET);
  },
};
const endless: Record<string, unknown> = {};
endless['itself'] = endless;

/** What a hook may do wrong, and the word for it in the warning. */
const faults: readonly (readonly [name: string, hook: () => unknown])[] = [
  [
    'throws',
    () => {
      throw new Error(SECRET);
    },
  ],
  ['rejects', () => Promise.reject(new TypeError(SECRET))],
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors
  ['rejects with a text', () => Promise.reject(SECRET)],
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors
  ['rejects with nothing', () => Promise.reject()],
  ['rejects with a frozen error', () => Promise.reject(Object.freeze(new Error(SECRET)))],
  ['gives nonsense', () => 7],
  ['gives null', () => null],
  ['gives a list', () => []],
  ['gives an object that throws when it is read', () => trapped],
  [
    'gives a proxy that throws',
    () =>
      new Proxy(
        {},
        {
          get() {
            throw new Error(SECRET);
          },
        },
      ),
  ],
  [
    'gives a thenable that throws',
    () => ({
      // oxlint-disable-next-line unicorn/no-thenable
      then: () => {
        throw new Error(SECRET);
      },
    }),
  ],
];

/** The same for hooks that give a change. */
const badChanges: readonly (readonly [name: string, change: unknown])[] = [
  ['messages that are none', { messages: 'Hello' }],
  ['no messages', { messages: [] }],
  ['a message without a role', { messages: [{ content: 'x' }] }],
  ['a cycle', { messages: [{ role: 'user', content: 'x', endless }] }],
  ['a function', { extra: { run: () => 1 } }],
  ['too much', { messages: [{ role: 'user', content: 'x'.repeat(8_100_000) }] }],
  ['a tool that is none', { tools: [{ type: 'function' }] }],
  ['too deep a nest', { extra: { deep: JSON.parse('['.repeat(100) + ']'.repeat(100)) as unknown } }],
];

const request = hello({ plugins: [{ id: 'bad' }] });
const asHook = (hook: () => unknown): never => hook as never;

async function asked(bench: PluginBench, stream: boolean): Promise<unknown> {
  if (!stream) return (await bench.router.chat(request)).choices[0]?.message.content;
  const { text, error } = await streamed(bench.router, request);
  if (error !== undefined) throw error;
  return text;
}

describe.each([
  ['onRequest', false],
  ['onRequest', true],
  ['onAttempt', false],
  ['onResult', false],
  ['onCandidates', true],
  ['onChunks', true],
] as const)('a plugin whose %s goes wrong (stream: %s)', (hook, stream) => {
  const suited = faults.filter(
    ([name]) =>
      hook === 'onRequest' || hook === 'onAttempt' || hook === 'onResult' || !/reject|thenable|list/.test(name),
  );

  it.each(suited)('%s: the request fails, and the caller does not learn why', async (_name, fault) => {
    const bench = pluginBench('Hi', { plugins: [{ id: 'bad', whenItThrows: 'fail', [hook]: asHook(fault) }] });
    const error: unknown = await asked(bench, stream).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 502, message: 'The plugin "bad" failed', metadata: { plugin: 'bad' } });
    expect(JSON.stringify((error as RouterError).routerMetadata)).not.toContain(SECRET);
    expect(bench.warnings).toHaveLength(1);
    expect(bench.warnings[0]).toMatchObject({ code: 'plugin_failed' });
    expect(bench.warnings[0]?.message).toMatch(
      new RegExp(`^The plugin "bad" threw .* in ${hook}; the request failed$`),
    );
    expect(bench.warnings[0]?.message).not.toContain(SECRET);
  });

  it.each(suited)('%s: the request goes on without it when that is its policy', async (_name, fault) => {
    const bench = pluginBench('Hi', { plugins: [{ id: 'bad', whenItThrows: 'skip', [hook]: asHook(fault) }] });
    expect(await asked(bench, stream)).toBe('Hi');
    expect(bench.warnings[0]?.message).toMatch(/; the request went on without it$/);
  });
});

describe('a plugin that goes wrong', () => {
  it.each(badChanges)('by changing a request to %s is refused its change', async (_name, change) => {
    const bad: Plugin = {
      id: 'bad',
      whenItThrows: 'skip',
      onRequest: () => ({ type: 'continue', change: change as never }),
    };
    const bench = pluginBench(({ messages }) => `heard ${messages.length}`, { plugins: [bad] });
    const answer = await bench.router.chat(request, { metadata: true });
    expect(answer.choices[0]?.message.content).toBe('heard 1');
    expect(answer.router_metadata?.pipeline).toEqual([
      {
        type: 'plugin',
        name: 'bad',
        summary: 'skipped: threw TypeError in onRequest',
        data: { hook: 'onRequest', reason: 'error', skipped: true },
      },
    ]);
    const failing = pluginBench('Hi', { plugins: [{ ...bad, whenItThrows: 'fail' }] });
    await expect(failing.router.chat(request)).rejects.toMatchObject({ status: 502 });
  });

  it.each(['fail', 'skip'] as const)(
    'by never settling has its time, and then the policy is "%s"',
    async (whenItThrows) => {
      let signal: AbortSignal | undefined;
      const bench = pluginBench('Hi', {
        plugins: [
          {
            id: 'bad',
            whenItThrows,
            failStatus: 503,
            onRequest(_request, _options, context) {
              ({ signal } = context);
              return new Promise(() => {});
            },
          },
        ],
      });
      const asking = bench.router.chat(request, { metadata: true }).catch((error: unknown) => error);
      await bench.environment.advance(9_999);
      expect(signal?.aborted).toBe(false);
      await bench.environment.advance(1);
      expect(signal?.aborted).toBe(true);
      if (whenItThrows === 'skip') {
        expect(await asking).toMatchObject({
          choices: [{ message: { content: 'Hi' } }],
          router_metadata: {
            pipeline: [{ summary: 'skipped: took too long in onRequest', data: { reason: 'timeout' } }],
          },
        });
      } else expect(await asking).toMatchObject({ status: 503, message: 'The plugin "bad" took too long' });
      expect(bench.warnings[0]?.message).toContain('took too long in onRequest');
      expect(bench.environment.pendingTimers).toBe(0);
    },
  );

  it('has the time that it asks for itself, or that the router gives to all', async () => {
    const slow = (timeoutMs: number | undefined): Plugin => ({
      id: 'bad',
      whenItThrows: 'fail',
      timeoutMs,
      onRequest: () => new Promise(() => {}),
    });
    for (const [own, common, expected] of [
      [50, 5_000, 50],
      [undefined, 300, 300],
    ] as const) {
      const bench = pluginBench('Hi', { plugins: [slow(own)], timeouts: { pluginMs: common } });
      let over = false;
      const asking = bench.router.chat(request).catch(() => (over = true));
      await bench.environment.advance(expected - 1);
      expect(over).toBe(false);
      await bench.environment.advance(1);
      expect(over).toBe(true);
      await asking;
    }
  });

  it('cannot hold back a caller who leaves, whatever it does', async () => {
    const bench = pluginBench('Hi', {
      plugins: [{ id: 'bad', whenItThrows: 'skip', onRequest: () => new Promise(() => {}) }],
    });
    const statuses: number[] = [];
    bench.router.on('error', ({ status }) => void statuses.push(status));
    const leaving = new AbortController();
    const whole = bench.router.chat(request, { signal: leaving.signal });
    const next = bench.router.stream(request, { signal: leaving.signal })[Symbol.asyncIterator]().next();
    await bench.environment.settle();
    leaving.abort(new Error('gone'));
    await expect(whole).rejects.toThrow('gone');
    await expect(next).rejects.toThrow('gone');
    expect(statuses).toEqual([499, 499]);
    expect(bench.environment.pendingTimers).toBe(0);
    expect(bench.warnings).toEqual([]);
  });

  it('cannot change what it was given, nor what the caller passed in', async () => {
    const body = { ...request, messages: [{ role: 'user' as const, content: 'Hello' }], metadata: { team: 'a' } };
    const tries: (() => void)[] = [];
    const bench = pluginBench(({ messages }) => JSON.stringify(messages[0]?.content), {
      plugins: [
        {
          id: 'bad',
          whenItThrows: 'fail',
          onRequest(given) {
            const open = given as unknown as {
              messages: { content: string }[];
              targets: unknown[];
              metadata: Record<string, string>;
            };
            tries.push(
              () => open.messages.push({ content: 'more' }),
              () => Object.assign(open.messages[0] ?? {}, { content: 'changed' }),
              () => Object.assign(open, { messages: [] }),
              () => Object.assign(open.metadata, { team: 'b' }),
              () => open.targets.splice(0),
            );
            for (const attempt of tries) expect(attempt).toThrow(TypeError);
            return { type: 'continue' };
          },
          onResult(result) {
            expect(() => Object.assign(result.choices[0]?.message ?? {}, { content: 'x' })).toThrow(TypeError);
            return result;
          },
        },
      ],
    });
    expect((await bench.router.chat(body)).choices[0]?.message.content).toBe('"Hello"');
    expect(tries).toHaveLength(5);
    // The caller's own objects are still the caller's to change.
    body.messages[0] = { role: 'user', content: 'Later' };
    body.metadata.team = 'c';
    expect(Object.isFrozen(body.messages)).toBe(false);
  });

  it('is named when it keeps the process busy', async () => {
    const { environment } = pluginBench('');
    let now = environment.now();
    const bench = pluginBench('Hi', {
      environment: { ...environment, now: () => now },
      plugins: [
        {
          id: 'bad',
          whenItThrows: 'fail',
          onRequest() {
            now += 500;
            return { type: 'continue' };
          },
        },
      ],
    });
    await bench.router.chat(request);
    expect(bench.warnings).toEqual([
      { code: 'plugin_slow', message: 'The plugin "bad" kept this process busy for 500 ms in onRequest' },
    ]);
  });

  it('is not named when something else kept the process from running', async () => {
    const { environment } = pluginBench('');
    let now = environment.now();
    let used = 0;
    const onRequest = (): { readonly type: 'continue' } => {
      now += 500;
      used += 20;
      return { type: 'continue' };
    };
    const bench = pluginBench('Hi', {
      environment: { ...environment, now: () => now, cpuTime: () => used },
      plugins: [{ id: 'bad', whenItThrows: 'fail', onRequest }],
    });
    await bench.router.chat(request);
    expect(bench.warnings).toEqual([]);
  });

  it('after it was skipped, takes no further part in the request', async () => {
    const bad: Plugin = {
      id: 'bad',
      whenItThrows: 'skip',
      onRequest: () => Promise.reject(new Error('no')),
      onResult: () => expect.fail('ran'),
      onChunks: () => expect.fail('ran'),
      onAttempt: () => expect.fail('ran'),
    };
    const bench = pluginBench('Hi', { plugins: [bad] });
    expect(await asked(bench, false)).toBe('Hi');
    expect(await asked(bench, true)).toBe('Hi');
  });

  it('has no effect any more once its hook is over', async () => {
    let later: (() => Promise<unknown>) | undefined;
    const bench = pluginBench('Hi', {
      plugins: [
        {
          id: 'bad',
          whenItThrows: 'fail',
          onRequest(_request, _options, context) {
            later = async () => {
              context.stage({ summary: 'late' });
              context.used({ cost: 100 });
              return context.call(hello());
            };
            return { type: 'continue' };
          },
          async onResult(result) {
            await later?.().catch(() => undefined);
            return result;
          },
        },
      ],
    });
    const answer = await bench.router.chat(request, { metadata: true });
    expect(answer.router_metadata).not.toHaveProperty('pipeline');
    expect(answer.usage?.cost).toBeLessThan(1);
  });

  it('passes an error of ours on when it may fail the request', async () => {
    const error = new RouterError({
      status: 429,
      errorType: 'rate_limit_exceeded',
      message: 'Slow down',
      retryAfterMs: 5_000,
    });
    const bench = pluginBench('Hi', { plugins: [{ ...standIn('bad'), onRequest: () => Promise.reject(error) }] });
    await expect(bench.router.chat(request)).rejects.toMatchObject({
      status: 429,
      message: 'Slow down',
      retryAfterMs: 5_000,
      generationId: expect.stringMatching(/^gen-/) as string,
    });
  });
});

describe('a transform that goes wrong', () => {
  const words = (broken: (text: string | null | undefined) => boolean): Plugin => ({
    id: 'bad',
    whenItThrows: 'skip',
    onChunks: () => ({
      start: '',
      // Holds everything back that came since the last blank.
      step(held: unknown, chunk) {
        const { content } = chunk.delta;
        if (broken(content)) throw new Error('no');
        const text = `${String(held)}${content ?? ''}`;
        const at = text.lastIndexOf(' ') + 1;
        return at === 0
          ? [text, []]
          : [text.slice(at), [{ ...chunk, delta: { content: text.slice(0, at).toUpperCase() } }]];
      },
      end: (held: unknown) => [{ type: 'delta', index: 0, delta: { content: String(held).toUpperCase() } }],
    }),
  });

  it('in the middle of a stream lets the rest through as it came, and loses nothing', async () => {
    const text = 'one two three four five six seven';
    for (const trigger of ['one', 'three', 'seven']) {
      const bench = pluginBench(text, { plugins: [words((content) => content?.includes(trigger) === true)] });
      const heard = await streamed(bench.router, request);
      expect(heard.error).toBeUndefined();
      expect(heard.text.toLowerCase()).toBe(text);
      expect(heard.text.endsWith('seven')).toBe(true);
    }
    const fine = await streamed(pluginBench(text, { plugins: [words(() => false)] }).router, request);
    expect(fine.text).toBe(text.toUpperCase());
  });

  it('after content went out breaks the stream when it may fail the request', async () => {
    const bench = pluginBench('one two three four', {
      plugins: [{ ...words((content) => content?.includes('three') === true), whenItThrows: 'fail' }],
    });
    const events: unknown[] = [];
    bench.router.on('error', ({ status, committed }) => void events.push({ status, committed }));
    const heard = await streamed(bench.router, request);
    expect(heard.text).toMatch(/^ONE /);
    expect(heard.error).toMatchObject({ status: 502, message: 'The plugin "bad" failed' });
    expect(events).toEqual([{ status: 502, committed: true }]);
    expect(bench.environment.pendingTimers).toBe(0);
  });
});
