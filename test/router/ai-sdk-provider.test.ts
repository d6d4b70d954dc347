import {
  APICallError,
  type LanguageModel,
  embedMany,
  generateText,
  jsonSchema,
  NoSuchModelError,
  Output,
  stepCountIs,
  streamText,
  tool,
  UnsupportedFunctionalityError,
  wrapLanguageModel,
} from 'ai';
import { createRouter, openaiCompatible } from 'signalbox';
import { aiSdkProvider } from 'signalbox/ai-sdk';
import { describe, expect, it } from 'vitest';
import { type Reply, withDeltas } from '../support/delta-upstream.ts';
import { startUpstream } from '../support/upstream.ts';

const VERSIONS = ['v2', 'v3', 'v4'] as const;

describe('the router as a provider of the AI SDK', () => {
  it.each(VERSIONS)('generates and streams text (%s)', async (specification) => {
    await withDeltas(
      (body) => (body['stream'] === true ? [{ content: 'Hel' }, { content: 'lo' }] : [{ content: 'Hello' }]),
      async (router, upstream) => {
        const model = aiSdkProvider(router, { specification })('acme/one') as LanguageModel;
        const whole = await generateText({
          model,
          instructions: 'Be brief.',
          prompt: 'Hi',
          temperature: 0.5,
          maxOutputTokens: 20,
          providerOptions: { signalbox: { session_id: 's1' } },
        });
        expect(whole.text).toBe('Hello');
        expect(whole.finishReason).toBe('stop');
        expect(whole.usage).toMatchObject({ inputTokens: 12, outputTokens: 5, totalTokens: 17 });
        expect(whole.usage.inputTokenDetails.cacheReadTokens).toBe(4);
        const about = whole.providerMetadata?.['signalbox'];
        expect(about).toMatchObject({ model: 'acme/one', provider: 'acme', cost: expect.closeTo(0.022, 5) });
        expect(about?.['routerMetadata']).toMatchObject({ strategy: 'direct' });
        expect(whole.response.modelId).toBe('acme/one');
        expect(upstream.requests[0]?.body).toMatchObject({
          temperature: 0.5,
          messages: [
            { role: 'system', content: 'Be brief.' },
            { role: 'user', content: 'Hi' },
          ],
        });
        const streamed = streamText({ model, prompt: 'Hi' });
        const seen: string[] = [];
        for await (const text of streamed.textStream) seen.push(text);
        expect(seen).toEqual(['Hel', 'lo']);
        expect(await streamed.usage).toMatchObject({ inputTokens: 12, outputTokens: 5 });
        expect((await streamed.providerMetadata)?.['signalbox']).toMatchObject({ cost: expect.closeTo(0.022, 5) });
      },
    );
  });

  it.each(VERSIONS)('runs tools of the program in several steps, whole and streamed (%s)', async (specification) => {
    const call = {
      index: 0,
      id: 'call_1',
      type: 'function',
      function: { name: 'weather', arguments: '{"city":"Ulm"}' },
    };
    const reply: Reply = ({ messages, stream }) => {
      const last = (messages as readonly { readonly role: string }[]).at(-1);
      if (last?.role === 'tool') return [{ content: 'Sunny.' }];
      if (stream !== true) return [{ content: 'Let me look.' }, { tool_calls: [call] }];
      const begun = { ...call, function: { name: 'weather', arguments: '' } };
      const [first, second] = ['{"city":', '"Ulm"}'].map((text) => ({ index: 0, function: { arguments: text } }));
      return [{ content: 'Let me look.' }, { tool_calls: [begun] }, { tool_calls: [first] }, { tool_calls: [second] }];
    };
    await withDeltas(reply, async (router, upstream) => {
      const model = aiSdkProvider(router, { specification })('acme/one') as LanguageModel;
      const inputSchema = jsonSchema<{ city: string }>({
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
      });
      const tools = { weather: tool({ inputSchema, execute: ({ city }) => ({ city, sky: 'clear' }) }) };
      const options = { model, tools, stopWhen: stepCountIs(3), prompt: 'How is the weather in Ulm?' };
      expect((await generateText(options)).text).toBe('Sunny.');
      const streamed = streamText(options);
      const kinds: string[] = [];
      for await (const { type } of streamed.fullStream) kinds.push(type);
      expect(kinds).toEqual(
        expect.arrayContaining(['tool-input-start', 'tool-input-delta', 'tool-input-end', 'tool-call', 'tool-result']),
      );
      expect(await streamed.text).toBe('Sunny.');
      for (const { body } of [upstream.requests[1], upstream.requests[3]].map((one) => one ?? { body: {} })) {
        expect(body).toMatchObject({
          messages: [
            { role: 'user' },
            { role: 'assistant', content: 'Let me look.', tool_calls: [{ id: 'call_1', function: call.function }] },
            { role: 'tool', tool_call_id: 'call_1', content: '{"city":"Ulm","sky":"clear"}' },
          ],
        });
      }
    });
  });

  it('carries reasoning with its signature there and back', async () => {
    const detail = { type: 'reasoning.text', text: 'Hmm', signature: 'sig', index: 0, format: 'anthropic-claude-v1' };
    const reply: Reply = ({ stream }) =>
      stream === true
        ? [
            { reasoning_details: [{ ...detail, text: 'H', signature: undefined }] },
            { reasoning_details: [{ ...detail, text: 'mm' }] },
            { content: 'Yes' },
          ]
        : [{ content: 'Yes', reasoning_details: [detail] }];
    await withDeltas(reply, async (router) => {
      const model = aiSdkProvider(router)('acme/one');
      const whole = await generateText({ model, prompt: 'Hi' });
      const streamed = streamText({ model, prompt: 'Hi' });
      await streamed.consumeStream();
      for (const messages of [whole.response.messages, (await streamed.response).messages]) {
        const asked = await model.doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] });
        expect(asked.content[0]).toMatchObject({ type: 'reasoning', text: 'Hmm' });
        const [message] = messages;
        expect(message).toMatchObject({
          role: 'assistant',
          content: [
            {
              type: 'reasoning',
              text: 'Hmm',
              providerOptions: { signalbox: { reasoningDetails: [{ text: 'Hmm', signature: 'sig' }] } },
            },
            { type: 'text', text: 'Yes' },
          ],
        });
      }
    });
  });

  it('gives objects by a schema, and sends the schema', async () => {
    await withDeltas(
      () => [{ content: '{"n":3}' }],
      async (router, upstream) => {
        const schema = jsonSchema<{ n: number }>({
          type: 'object',
          properties: { n: { type: 'number' } },
          required: ['n'],
        });
        const { output } = await generateText({
          model: aiSdkProvider(router)('acme/one'),
          output: Output.object({ schema }),
          prompt: 'A number',
        });
        expect(output).toEqual({ n: 3 });
        expect(upstream.requests[0]?.body).toMatchObject({ response_format: { type: 'json_schema' } });
      },
    );
  });

  it('shows images, and refuses references to the files of others before anything is sent', async () => {
    await withDeltas(
      () => [{ content: 'A cat' }],
      async (router, upstream) => {
        const model = aiSdkProvider(router)('acme/one');
        const image =
          'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
        await generateText({
          model,
          messages: [{ role: 'user', content: [{ type: 'file', mediaType: 'image', data: image }] }],
        });
        expect(upstream.requests[0]?.body['messages']).toMatchObject([
          { content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } }] },
        ]);
        const reference = { type: 'reference', reference: { openai: 'file-1' } } as const;
        const asked = model.doGenerate({
          prompt: [{ role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: reference }] }],
        });
        const error: unknown = await Promise.resolve(asked).catch((reason: unknown) => reason);
        expect(UnsupportedFunctionalityError.isInstance(error)).toBe(true);
        expect(upstream.requests).toHaveLength(1);
      },
    );
  });

  it('throws the errors of the SDK, with the status of the router and whether a repetition can help', async () => {
    await withDeltas(
      () => 401,
      async (router) => {
        const model = aiSdkProvider(router)('acme/one');
        for (const asked of [model, aiSdkProvider(router)('acme/unknown')]) {
          const error: unknown = await generateText({ model: asked, prompt: 'A secret', maxRetries: 0 }).catch(
            (reason: unknown) => reason,
          );
          if (!APICallError.isInstance(error)) throw error;
          expect(error.statusCode).toBeGreaterThanOrEqual(400);
          expect(error.isRetryable).toBe(false);
          expect(JSON.stringify(error)).not.toContain('A secret');
        }
      },
    );
    await withDeltas(
      () => 429,
      async (router) => {
        const model = aiSdkProvider(router)('acme/one');
        const error: unknown = await generateText({ model, prompt: 'Hi', maxRetries: 0 }).catch(
          (reason: unknown) => reason,
        );
        if (!APICallError.isInstance(error)) throw error;
        expect([error.statusCode, error.isRetryable]).toEqual([429, true]);
        expect(Number(error.responseHeaders?.['retry-after-ms'])).toBeGreaterThan(5_000);
      },
    );
  });

  it('ends the call upstream when the program stops reading', async () => {
    let leave = (): void => {};
    const left = new Promise<void>((resolve) => (leave = resolve));
    await using upstream = await startUpstream((_, response, raw) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const choices = [{ index: 0, delta: { content: 'Hel' }, finish_reason: null }];
      response.write(`data: ${JSON.stringify({ id: 'c', choices })}\n\n`);
      raw.on('close', leave);
    });
    const models = { 'acme/one': {} };
    const router = createRouter({ providers: [openaiCompatible({ slug: 'acme', baseURL: upstream.baseURL, models })] });
    const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }];
    const { stream } = await aiSdkProvider(router)('acme/one').doStream({ prompt });
    const reader = stream.getReader();
    expect((await reader.read()).value).toMatchObject({ type: 'stream-start' });
    await reader.cancel();
    await left;
    const stop = new AbortController();
    const second = await aiSdkProvider(router)('acme/one').doStream({ prompt, abortSignal: stop.signal });
    stop.abort(new Error('enough'));
    const parts: unknown[] = [];
    for await (const part of second.stream) parts.push(part);
    expect(parts).toEqual(expect.arrayContaining([{ type: 'error', error: new Error('enough') }]));
    await router.close();
  });

  it('works with middleware, and has no models that only make images', async () => {
    await withDeltas(
      () => [{ content: 'Hello' }],
      async (router) => {
        const provider = aiSdkProvider(router);
        const model = wrapLanguageModel({
          model: provider.languageModel('acme/one'),
          middleware: {
            specificationVersion: 'v4',
            wrapGenerate: async ({ doGenerate }) => {
              const result = await doGenerate();
              return { ...result, content: [{ type: 'text', text: 'Wrapped' }] };
            },
          },
        });
        expect((await generateText({ model, prompt: 'Hi' })).text).toBe('Wrapped');
        const failed = ((): unknown => {
          try {
            return provider.imageModel('acme/one');
          } catch (error) {
            return error;
          }
        })();
        expect(NoSuchModelError.isInstance(failed)).toBe(true);
      },
    );
  });

  it('embeds many texts', async () => {
    const router = createRouter();
    const model = aiSdkProvider(router).embeddingModel('simulated/embedding');
    const { embeddings, usage } = await embedMany({ model, values: ['one', 'two', 'three'] });
    expect(embeddings.map((vector) => vector.length > 0)).toEqual([true, true, true]);
    expect(usage.tokens).toBeGreaterThan(0);
    await router.close();
  });
});
