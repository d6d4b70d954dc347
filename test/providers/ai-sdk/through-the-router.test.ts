import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type AiSdkWarning, type FilePart, RouterError, createRouter, fromAiSdk, simulated } from 'signalbox';
import { UNKNOWN_HOST_URL } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { AI_SDK_PACKAGES, aiSdkHarness } from '../../support/ai-sdk-harness.ts';
import { askModel, handMade, helloParts, wholeOf } from '../../support/ai-sdk-models.ts';
import { MESSAGES_WIRE } from '../../support/ai-sdk-wires.ts';
import { type Upstream, startUpstream } from '../../support/upstream.ts';

const REQUEST = { model: 'acme/one', messages: [{ role: 'user', content: 'Hi' }] } as const;
const ANSWER = { text: ['Hel', 'lo'], usage: { promptTokens: 1_000_000, completionTokens: 500_000 } };

/** A server of Anthropic's wire. */
function claude(): Promise<Upstream> {
  return startUpstream(({ body }, response) => {
    const stream = body['stream'] === true;
    response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
    response.end(stream ? MESSAGES_WIRE.events(ANSWER) + MESSAGES_WIRE.ending(ANSWER) : MESSAGES_WIRE.whole(ANSWER));
  });
}

describe('a router over models of the AI SDK', () => {
  it('answers whole and streamed, and prices what was declared', async () => {
    await using upstream = await claude();
    const model = createAnthropic({ baseURL: upstream.baseURL, apiKey: 'k' })('claude-sonnet-4-5');
    const provider = fromAiSdk({
      slug: 'sdk',
      name: 'The SDK',
      models: { 'acme/one': { model, price: { prompt: 2, completion: 10 } } },
    });
    const router = createRouter({ providers: [provider] });
    const whole = await router.chat(REQUEST);
    expect(whole).toMatchObject({
      model: 'acme/one',
      provider: 'The SDK',
      choices: [{ finish_reason: 'stop', native_finish_reason: 'end_turn', message: { content: 'Hello' } }],
      usage: { prompt_tokens: 1_000_000, completion_tokens: 500_000, cost: 7 },
    });
    let text = '';
    let cost: number | undefined;
    for await (const chunk of router.stream(REQUEST)) {
      text += chunk.choices[0]?.delta.content ?? '';
      cost = chunk.usage?.cost ?? cost;
    }
    expect([text, cost]).toEqual(['Hello', 7]);
    expect(upstream.requests[0]?.body).toMatchObject({ model: 'claude-sonnet-4-5' });
    await router.close();
  });

  it('falls back from an error before the first content, however it came', async () => {
    const parts = [
      ...helloParts('v4').slice(0, 2),
      { type: 'error', error: { message: 'Overloaded', type: 'overloaded_error' } },
    ];
    for (const made of [{ parts, throws: undefined }, { throws: new Error('rejected') }]) {
      const broken = fromAiSdk(handMade(made), { slug: 'broken', id: 'acme/one' });
      const steady = simulated({ slug: 'steady', models: { 'acme/one': {} }, firstTokenMs: 0, tokensPerSecond: 0 });
      const router = createRouter({ providers: [broken, steady] });
      const providers = new Set<string | undefined>();
      const body = { ...REQUEST, provider: { order: ['broken', 'steady'] } };
      for await (const chunk of router.stream(body)) providers.add(chunk.provider);
      expect([...providers]).toEqual(['Simulated']);
      await router.close();
    }
  });

  it('tells an error after the first content inside the stream', async () => {
    const parts = [...helloParts('v4').slice(0, 3), { type: 'error', error: { message: 'Gone', type: 'api_error' } }];
    const router = createRouter({ providers: [fromAiSdk(handMade({ parts }), { slug: 'sdk', id: 'acme/one' })] });
    let text = '';
    const failed = (async () => {
      for await (const chunk of router.stream(REQUEST)) text += chunk.choices[0]?.delta.content ?? '';
    })();
    await expect(failed).rejects.toSatisfy((error) => RouterError.isInstance(error));
    expect(text).toBe('Hel');
    await router.close();
  });

  it('retries by itself, since models do not', async () => {
    let calls = 0;
    await using upstream = await startUpstream((_request, response) => {
      calls += 1;
      response.writeHead(calls === 1 ? 503 : 200, { 'content-type': 'application/json', 'retry-after': '0' });
      response.end(calls === 1 ? MESSAGES_WIRE.error('Busy', 503) : MESSAGES_WIRE.whole(ANSWER));
    });
    const model = createAnthropic({ baseURL: upstream.baseURL, apiKey: 'k' })('claude-sonnet-4-5');
    const router = createRouter({ providers: [fromAiSdk(model, { slug: 'sdk', id: 'acme/one' })] });
    const attempts: unknown[] = [];
    router.on('attempt', ({ failure }) => attempts.push(failure?.kind));
    expect((await router.chat(REQUEST)).choices[0]?.message.content).toBe('Hello');
    expect([calls, attempts]).toEqual([2, ['overloaded', undefined]]);
    await router.close();
  });

  it("never uses the operator's key for an account that brought its own", async () => {
    const model = handMade();
    expect((await askModel(model, {}, { apiKey: 'own' })).failure).toMatchObject({ kind: 'credentials' });
    expect(model.calls).toEqual([]);
    const keys: string[] = [];
    const own = handMade();
    const modelForKey = (key: string): typeof own => {
      keys.push(key);
      return own;
    };
    expect((await askModel(model, {}, { apiKey: 'own', modelForKey })).choice?.message.content).toBe('Hello');
    expect([keys, model.calls.length, own.calls.length]).toEqual([['own'], 0, 1]);
  });

  it('chooses among several endpoints of one model', async () => {
    const [eu, us] = [handMade({ modelId: 'same' }), handMade({ modelId: 'same' })];
    const models = {
      'acme/one': [
        { model: eu, region: 'eu' },
        { model: us, region: 'us' },
      ],
    } as const;
    const router = createRouter({ providers: [fromAiSdk({ slug: 'sdk', models })] });
    await router.chat({ ...REQUEST, provider: { only: ['sdk/us'] } });
    await router.chat({ ...REQUEST, provider: { only: ['sdk/eu'] } });
    await router.chat({ ...REQUEST, provider: { only: ['sdk/eu'] } });
    expect([eu.calls.length, us.calls.length]).toEqual([2, 1]);
    await router.close();
  });

  it('shows the call that was made to who debugs, without headers', async () => {
    const provider = fromAiSdk(handMade(), { slug: 'sdk', id: 'acme/one', headers: { 'x-key': 'secret' } });
    const router = createRouter({ providers: [provider] });
    const shown: unknown[] = [];
    for await (const chunk of router.stream({ ...REQUEST, temperature: 1, debug: { echo_upstream_body: true } })) {
      if (chunk.debug !== undefined) shown.push(chunk.debug.echo_upstream_body);
    }
    expect(shown).toMatchObject([
      { temperature: 1, prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] },
    ]);
    expect(JSON.stringify(shown)).not.toMatch(/secret|abortSignal/);
    await router.close();
  });
});

describe('giving up', () => {
  it.each(Object.entries(AI_SDK_PACKAGES))(
    'reaches the socket of @ai-sdk/%s when the caller leaves',
    async (_name, one) => {
      await using harness = await aiSdkHarness(one);
      const router = createRouter({ providers: [harness.provider] });
      for (const waits of [true, false]) {
        harness.play(waits ? { type: 'silence' } : { type: 'unfinished', answer: { text: ['Half'] }, ending: 'hang' });
        const controller = new AbortController();
        const stream = router.stream(REQUEST, {
          signal: controller.signal,
        });
        const first = stream[Symbol.asyncIterator]().next();
        if (waits) {
          await expect.poll(() => harness.underWay).toBe(1);
          controller.abort();
          await expect(first).rejects.toThrow();
        } else {
          await first;
          controller.abort();
        }
        await expect.poll(() => harness.underWay).toBe(0);
        expect(harness.calls).toHaveLength(1);
      }
      await router.close();
    },
  );

  it('reaches the socket when a time is over', async () => {
    await using harness = await aiSdkHarness(AI_SDK_PACKAGES.anthropic);
    const router = createRouter({
      providers: [harness.provider],
      timeouts: { answerMs: 50, firstTokenMs: 50, idleMs: 50 },
    });
    harness.play({ type: 'silence' });
    await expect(router.chat(REQUEST)).rejects.toMatchObject({ status: 524 });
    await expect.poll(() => harness.underWay).toBe(0);
    await router.close();
  });

  it('leaves no listener on a signal that lives on', async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    const models = [
      handMade(),
      handMade({ throws: new Error('no') }),
      handMade({ parts: helloParts('v4').slice(0, 3) }),
    ];
    for (const model of models) {
      for (const stream of [false, true]) await askModel(model, {}, { signal, stream });
    }
    expect(listeners).toBe(0);
  });
});

describe('warnings', () => {
  const ignored = { type: 'unsupported', feature: 'seed', details: 'no seeds' };
  const earlier = { type: 'unsupported-setting', setting: 'seed', details: 'no seeds' };

  it.each([
    ['v4', ignored],
    ['v3', ignored],
    ['v2', earlier],
  ] as const)(
    'of version %s are told to who listens, and are failures for who requires it',
    async (version, warning) => {
      const parts = [{ type: 'stream-start', warnings: [warning] }, ...helloParts(version).slice(1)];
      const model = handMade({ version, parts, answer: { ...wholeOf(version), warnings: [warning] } });
      for (const stream of [false, true]) {
        const told: AiSdkWarning[] = [];
        const asking = { stream, onWarning: (one: AiSdkWarning) => told.push(one) };
        expect((await askModel(model, { seed: 7 }, asking)).choice?.message.content).toBe('Hello');
        expect(told).toEqual([
          { provider: 'sdk', model: 'acme/one', type: 'unsupported', feature: 'seed', message: 'no seeds' },
        ]);
        const required = { seed: 7, provider: { require_parameters: true } };
        expect((await askModel(model, required, { stream })).failure).toMatchObject({
          kind: 'unsupported_parameter',
          message: 'The model does not take the parameter seed',
        });
        const unrelated = { temperature: 1, provider: { require_parameters: true } };
        expect((await askModel(model, unrelated, { stream })).failure).toBeUndefined();
      }
    },
  );

  it('may be anything, and whoever listens may throw', async () => {
    const warnings = [null, 7, {}, { type: 'other', message: 'hm' }, { type: 'unsupported-tool', tool: {} }];
    const onWarning = (): never => {
      throw new Error('listener');
    };
    const model = handMade({ answer: { ...wholeOf('v4'), warnings } });
    expect((await askModel(model, {}, { onWarning })).choice?.message.content).toBe('Hello');
  });

  it('of a real package make another endpoint answer when all parameters are required', async () => {
    await using upstream = await claude();
    const model = createAnthropic({ baseURL: upstream.baseURL, apiKey: 'k' })('claude-sonnet-4-5');
    const asked = { seed: 7, provider: { require_parameters: true } };
    expect((await askModel(model, asked)).failure?.message).toMatch(/seed/);
    expect((await askModel(model, { seed: 7 })).failure).toBeUndefined();
  });
});

describe('an address that a model would not fetch', () => {
  it('never makes the SDK dial it', async () => {
    await using upstream = await claude();
    const model = createAnthropic({ baseURL: upstream.baseURL, apiKey: 'k' })('claude-sonnet-4-5');
    const file: FilePart = { type: 'file', file: { file_data: `${UNKNOWN_HOST_URL}/a.csv`, filename: 'a.csv' } };
    const { failure } = await askModel(model, { messages: [{ role: 'user', content: [file] }] }, { download: false });
    expect(failure?.kind).toBe('unsupported_parameter');
    expect(upstream.requests).toEqual([]);
  });
});

describe('sampling on the wire of a real package', () => {
  it('is what the caller asked for', async () => {
    await using upstream = await startUpstream();
    const own = createOpenAICompatible({ name: 'own-server', baseURL: upstream.baseURL, apiKey: 'k' });
    const warnings: AiSdkWarning[] = [];
    const body = {
      temperature: 0.5,
      seed: 7,
      stop: ['END'],
      max_tokens: 9,
      logit_bias: { 5: 1 },
      min_p: 0.1,
      verbosity: 'low',
      reasoning: { effort: 'high' },
      chat_template: 'a',
    };
    const asking = { onWarning: (warning: AiSdkWarning) => warnings.push(warning), headers: { 'x-team': 'signals' } };
    expect((await askModel(own('one'), body, asking)).failure).toBeUndefined();
    expect(upstream.requests[0]?.body).toMatchObject({
      model: 'one',
      temperature: 0.5,
      seed: 7,
      stop: ['END'],
      max_tokens: 9,
      logit_bias: { 5: 1 },
      min_p: 0.1,
      verbosity: 'low',
      reasoning_effort: 'high',
      chat_template: 'a',
      user: 'user_check',
    });
    expect(upstream.requests[0]?.headers).toMatchObject({ 'x-team': 'signals', authorization: 'Bearer k' });
    expect(warnings).toEqual([]);
  });
});
