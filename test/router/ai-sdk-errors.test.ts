import { APICallError, embed, generateText, streamText } from 'ai';
import { createRouter, openaiCompatible } from 'signalbox';
import { aiSdkProvider } from 'signalbox/ai-sdk';
import { describe, expect, it } from 'vitest';
import { withDeltas } from '../support/delta-upstream.ts';
import { startUpstream } from '../support/upstream.ts';

const PROMPT = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'A secret' }] }];
const VERSIONS = ['v2', 'v3', 'v4'] as const;

/** What a call rejects with. */
function reasonOf(call: unknown): Promise<unknown> {
  return Promise.resolve(call).then(
    () => expect.unreachable('should have failed'),
    (error: unknown) => error,
  );
}

function apiError(error: unknown): APICallError {
  if (!APICallError.isInstance(error)) throw error;
  return error;
}

describe('errors of the router as those of the AI SDK', () => {
  it.each([
    [400, 400, false],
    [401, 502, false],
    [402, 502, false],
    [408, 524, true],
    [429, 429, true],
    [500, 502, true],
    [502, 502, true],
    [503, 503, true],
  ])('an endpoint that refuses with %i makes %i, retryable: %s', async (refusal, statusCode, isRetryable) => {
    for (const specification of VERSIONS) {
      for (const operation of ['doGenerate', 'doStream'] as const) {
        // A router of its own for each: an endpoint that fails often is not called.
        await withDeltas(
          () => refusal,
          async (router) => {
            const model = aiSdkProvider(router, { specification })('acme/one');
            const error = apiError(await reasonOf(model[operation]({ prompt: PROMPT })));
            expect([error.statusCode, error.isRetryable]).toEqual([statusCode, isRetryable]);
            expect(JSON.stringify(error)).not.toContain('A secret');
            expect(JSON.parse(error.responseBody ?? '')).toMatchObject({ error: { code: statusCode } });
          },
        );
      }
    }
  });

  it('names the time of a rate limit in both headers that programs read', async () => {
    await withDeltas(
      () => 429,
      async (router) => {
        const { responseHeaders } = apiError(
          await reasonOf(aiSdkProvider(router)('acme/one').doGenerate({ prompt: PROMPT })),
        );
        const { 'retry-after-ms': exact, 'retry-after': seconds } = responseHeaders ?? {};
        expect(Number(exact)).toBeGreaterThan(5_000);
        expect(seconds).toBe(String(Math.ceil(Number(exact) / 1_000)));
      },
    );
  });

  it('has the statuses of the router itself: 402 of a budget, 408 of its own deadline', async () => {
    await using upstream = await startUpstream(() => {});
    const models = { 'acme/one': { price: { prompt: 1_000, completion: 2_000 } } };
    const router = createRouter({
      providers: [openaiCompatible({ slug: 'acme', baseURL: upstream.baseURL, models })],
      timeouts: { firstTokenMs: 50, answerMs: 50, totalMs: 50 },
    });
    const poor = { account: { id: 'poor', budget: { limitUsd: 0 } } };
    const broke = apiError(
      await reasonOf(aiSdkProvider(router, { call: poor })('acme/one').doGenerate({ prompt: PROMPT })),
    );
    expect([broke.statusCode, broke.isRetryable]).toEqual([402, false]);
    expect(upstream.requests).toHaveLength(0);
    const late = apiError(await reasonOf(aiSdkProvider(router)('acme/one').doGenerate({ prompt: PROMPT })));
    expect([late.statusCode, late.isRetryable]).toEqual([408, true]);
    await router.close();
  });

  it('refuses wrong fields under `providerOptions.signalbox` before anything is sent', async () => {
    await withDeltas(
      () => [{ content: 'Hi' }],
      async (router, upstream) => {
        const model = aiSdkProvider(router)('acme/one');
        const providerOptions = { signalbox: { provider: { sort: 'cheapness' } } };
        const error = apiError(await reasonOf(generateText({ model, prompt: 'Hi', providerOptions })));
        expect([error.statusCode, error.isRetryable]).toEqual([400, false]);
        expect(error.message).toContain('provider.sort');
        expect(upstream.requests).toHaveLength(0);
      },
    );
  });

  it('names the operation that failed', async () => {
    const router = createRouter();
    const model = aiSdkProvider(router).embeddingModel('acme/unknown');
    const error = apiError(await reasonOf(embed({ model, value: 'Hi' })));
    expect([error.url, error.statusCode, error.isRetryable]).toEqual(['signalbox:embeddings', 400, false]);
    await router.close();
  });

  it('ends a stream that breaks with an error of the SDK, after what was sent', async () => {
    await using upstream = await startUpstream((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const choices = [{ index: 0, delta: { content: 'Hel' }, finish_reason: null }];
      response.write(`data: ${JSON.stringify({ id: 'c', choices })}\n\n`);
      setTimeout(() => response.destroy(), 20);
    });
    const models = { 'acme/one': {} };
    const router = createRouter({ providers: [openaiCompatible({ slug: 'acme', baseURL: upstream.baseURL, models })] });
    const failed: unknown[] = [];
    const streamed = streamText({
      model: aiSdkProvider(router)('acme/one'),
      prompt: 'Hi',
      onError: ({ error }) => void failed.push(error),
    });
    const kinds: string[] = [];
    for await (const { type } of streamed.fullStream) kinds.push(type);
    expect(kinds).toEqual(expect.arrayContaining(['text-delta', 'error']));
    expect(apiError(failed[0]).statusCode).toBe(502);
    expect([await streamed.text, await streamed.finishReason]).toEqual(['Hel', 'error']);
    expect((await streamed.providerMetadata)?.['signalbox']).toMatchObject({
      model: 'acme/one',
      routerMetadata: { attempts: [{ provider: 'acme', status: 502 }] },
    });
    await router.close();
  });

  it('rejects with the abort itself, before and during a call, and is not repeated', async () => {
    await using upstream = await startUpstream(() => {});
    const models = { 'acme/one': {}, 'acme/embed': { outputModalities: ['embeddings' as const] } };
    const router = createRouter({ providers: [openaiCompatible({ slug: 'acme', baseURL: upstream.baseURL, models })] });
    const provider = aiSdkProvider(router);
    const model = provider('acme/one');
    const calls = [
      (abortSignal: AbortSignal) => generateText({ model, prompt: 'Hi', abortSignal }),
      (abortSignal: AbortSignal) => model.doStream({ prompt: PROMPT, abortSignal }),
      (abortSignal: AbortSignal) => embed({ model: provider.embeddingModel('acme/embed'), value: 'Hi', abortSignal }),
    ];
    for (const call of calls) {
      expect(await reasonOf(call(AbortSignal.abort()))).toMatchObject({ name: 'AbortError' });
      const before = upstream.requests.length;
      const stop = new AbortController();
      const failed = reasonOf(call(stop.signal));
      await expect.poll(() => upstream.requests.length).toBe(before + 1);
      stop.abort();
      expect(await failed).toMatchObject({ name: 'AbortError' });
      await expect.poll(() => upstream.connections).toBe(0);
      expect(upstream.requests).toHaveLength(before + 1);
    }
    await router.close();
  });

  it('ends a stream of the SDK as aborted', async () => {
    await using upstream = await startUpstream((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const choices = [{ index: 0, delta: { content: 'Hel' }, finish_reason: null }];
      response.write(`data: ${JSON.stringify({ id: 'c', choices })}\n\n`);
    });
    const models = { 'acme/one': {} };
    const router = createRouter({ providers: [openaiCompatible({ slug: 'acme', baseURL: upstream.baseURL, models })] });
    const stop = new AbortController();
    const failed: unknown[] = [];
    const { fullStream } = streamText({
      model: aiSdkProvider(router)('acme/one'),
      prompt: 'Hi',
      abortSignal: stop.signal,
      onError: ({ error }) => void failed.push(error),
    });
    const kinds: string[] = [];
    for await (const { type } of fullStream) {
      kinds.push(type);
      if (type === 'text-delta') stop.abort();
    }
    expect(kinds.at(-1)).toBe('abort');
    expect(failed).toEqual([]);
    await expect.poll(() => upstream.connections).toBe(0);
    await router.close();
  });
});
