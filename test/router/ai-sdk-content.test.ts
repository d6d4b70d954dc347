import { generateText, jsonSchema, type LanguageModel, stepCountIs, streamText, tool } from 'ai';
import { anthropic, createRouter } from 'signalbox';
import { aiSdkProvider } from 'signalbox/ai-sdk';
import { describe, expect, it } from 'vitest';
import { type Reply, withDeltas } from '../support/delta-upstream.ts';
import { messagesProvider } from '../support/messages-upstream.ts';
import { startUpstream } from '../support/upstream.ts';

const VERSIONS = ['v2', 'v3', 'v4'] as const;
const BYTES = new Uint8Array([0x25, 0x50, 0x44, 0x46, 0x2d, 0x31]);
const SOUND = new Uint8Array([0x52, 0x49, 0x46, 0x46, 0, 0, 0, 0, 0x57, 0x41, 0x56, 0x45]);

describe('content of the AI SDK through the router', () => {
  it.each(VERSIONS)('sends files by address and by bytes (%s)', async (specification) => {
    await withDeltas(
      () => [{ content: 'Seen' }],
      async (router, upstream) => {
        await generateText({
          model: aiSdkProvider(router, { specification })('acme/one') as LanguageModel,
          messages: [
            {
              role: 'user',
              content: [
                { type: 'file', mediaType: 'image/png', data: new URL('https://images.example/cat.png') },
                { type: 'file', mediaType: 'application/pdf', data: BYTES, filename: 'a.pdf' },
                { type: 'file', mediaType: 'audio/wav', data: SOUND },
              ],
            },
          ],
          providerOptions: { signalbox: { plugins: [{ id: 'file-parser', pdf: { engine: 'native' } }] } },
        });
        expect(upstream.requests[0]?.body['messages']).toMatchObject([
          {
            content: [
              { type: 'image_url', image_url: { url: 'https://images.example/cat.png' } },
              { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0x' } },
              { type: 'input_audio', input_audio: { data: 'UklGRgAAAABXQVZF', format: 'wav' } },
            ],
          },
        ]);
      },
    );
  });

  it.each(VERSIONS)('gives signatures of reasoning back to the provider that made them (%s)', async (specification) => {
    await using upstream = await startUpstream(messagesProvider);
    const router = createRouter({
      providers: [anthropic({ baseURL: upstream.baseURL, apiKey: 'k', models: { 'acme/one': {} } })],
    });
    const model = aiSdkProvider(router, { specification })('acme/one') as LanguageModel;
    const tools = { get_weather: tool({ inputSchema: jsonSchema<object>({ type: 'object' }), execute: () => 'dry' }) };
    const options = { model, tools, stopWhen: stepCountIs(2), prompt: 'Which box?' };
    await generateText(options);
    await streamText(options).consumeStream();
    expect(upstream.requests).toHaveLength(4);
    for (const index of [1, 3]) {
      expect(upstream.requests[index]?.body['messages']).toMatchObject([
        { role: 'user' },
        {
          role: 'assistant',
          content: expect.arrayContaining([
            { type: 'thinking', thinking: 'Which box?', signature: 'EqQBCgIYAhIM+/=' },
            { type: 'redacted_thinking', data: 'EmwKAhgBEgy=' },
            expect.objectContaining({ type: 'tool_use', name: 'get_weather' }),
          ]),
        },
        { role: 'user', content: [{ type: 'tool_result', content: 'dry' }] },
      ]);
    }
    await router.close();
  });

  describe('tools that the router runs', () => {
    const callsFirst: Reply = ({ messages, tools }) => {
      const last = (messages as readonly { readonly role: string }[]).at(-1);
      if (last?.role === 'tool') return [{ content: 'Noon.' }];
      const { name } = (tools as [{ readonly function: { readonly name: string } }])[0].function;
      return [{ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: '{}' } }] }];
    };
    const serverTool = (id: `signalbox.${string}`, args: Record<string, unknown> = {}) =>
      tool({
        type: 'provider',
        isProviderExecuted: true,
        id,
        args,
        inputSchema: jsonSchema<object>({ type: 'object' }),
        outputSchema: jsonSchema({}),
      });

    it.each(VERSIONS)('are calls and results by the name that the program gave them (%s)', async (specification) => {
      await withDeltas(callsFirst, async (router, upstream) => {
        const model = aiSdkProvider(router, { specification })('acme/one') as LanguageModel;
        const options = {
          model,
          tools: { clock: serverTool('signalbox.datetime', { timezone: 'UTC' }) },
          toolChoice: { type: 'tool', toolName: 'clock' },
          prompt: 'What time is it?',
          maxRetries: 0,
        } as const;
        const whole = await generateText(options);
        const streamed = streamText(options);
        await streamed.consumeStream();
        for (const { text, content } of [whole, { text: await streamed.text, content: await streamed.content }]) {
          expect(text).toBe('Noon.');
          expect(content).toMatchObject([
            { type: 'tool-call', toolCallId: 'call_1', toolName: 'clock', input: {}, providerExecuted: true },
            { type: 'tool-result', toolCallId: 'call_1', toolName: 'clock', output: { timezone: 'UTC' } },
            { type: 'text', text: 'Noon.' },
          ]);
          expect(content.some((part) => 'dynamic' in part && part.dynamic === true)).toBe(false);
        }
        expect(upstream.requests).toHaveLength(4);
        for (const index of [0, 2]) {
          const choice = { type: 'function', function: { name: 'datetime' } };
          expect(upstream.requests[index]?.body['tool_choice']).toEqual(choice);
        }
        const next = [...(await streamed.response).messages, { role: 'user' as const, content: 'And now?' }];
        await generateText({ model, tools: options.tools, messages: [{ role: 'user', content: 'Hi' }, ...next] });
        expect(upstream.requests[4]?.body['messages']).toMatchObject([
          { role: 'user' },
          { role: 'assistant', tool_calls: [{ id: 'call_1', function: { name: 'datetime' } }] },
          { role: 'tool', tool_call_id: 'call_1' },
          { role: 'assistant', content: 'Noon.' },
          { role: 'user', content: 'And now?' },
        ]);
      });
    });

    it('are found where a name of theirs is taken or made of their options', async () => {
      await withDeltas(
        ({ messages, tools }) => {
          if ((messages as readonly { readonly role: string }[]).at(-1)?.role === 'tool') return [{ content: 'Done.' }];
          const names = (tools as { readonly function: { readonly name: string } }[]).map((one) => one.function.name);
          const called = names.filter((name) => name !== 'datetime');
          return [
            {
              tool_calls: called.map((name, index) => ({
                index,
                id: `call_${index}`,
                type: 'function',
                function: { name, arguments: '{}' },
              })),
            },
          ];
        },
        async (router) => {
          const { content } = await generateText({
            model: aiSdkProvider(router)('acme/one'),
            tools: {
              datetime: tool({ inputSchema: jsonSchema<object>({ type: 'object' }) }),
              clock: serverTool('signalbox.datetime'),
              reviewer: serverTool('signalbox.advisor', { name: 'strict' }),
              critic: serverTool('signalbox.advisor', { name: 'kind' }),
            },
            prompt: 'Hi',
          });
          expect(content.flatMap((part) => (part.type === 'tool-call' ? [part.toolName] : []))).toEqual([
            'clock',
            'reviewer',
            'critic',
          ]);
          // An advisor without a prompt says what is wrong: that is no result.
          expect(content.flatMap((part) => (part.type === 'tool-error' ? [part.toolName] : []))).toEqual([
            'reviewer',
            'critic',
          ]);
        },
      );
    });
  });

  it.each(VERSIONS)('cites sources, streamed and not (%s)', async (specification) => {
    const url_citation = { url: 'https://a.example/', title: 'A', start_index: 0, end_index: 2 };
    await withDeltas(
      () => [{ content: 'So.' }, { annotations: [{ type: 'url_citation', url_citation }] }],
      async (router) => {
        const model = aiSdkProvider(router, { specification })('acme/one') as LanguageModel;
        const source = { type: 'source', sourceType: 'url', url: 'https://a.example/', title: 'A' };
        expect((await generateText({ model, prompt: 'Hi' })).sources).toMatchObject([source]);
        expect(await streamText({ model, prompt: 'Hi' }).sources).toMatchObject([source]);
      },
    );
  });

  it.each(VERSIONS)('warns of tools that only another provider can run (%s)', async (specification) => {
    await withDeltas(
      () => [{ content: 'Hi' }],
      async (router, upstream) => {
        const model = aiSdkProvider(router, { specification })('acme/one') as LanguageModel;
        const foreign = tool({
          type: 'provider',
          isProviderExecuted: true,
          id: 'openai.code_interpreter',
          args: {},
          inputSchema: jsonSchema<object>({ type: 'object' }),
          outputSchema: jsonSchema({}),
        });
        const options = { model, tools: { foreign }, prompt: 'Hi' };
        for (const warnings of [(await generateText(options)).warnings, await streamText(options).warnings]) {
          expect(JSON.stringify(warnings)).toContain('tool openai.code_interpreter');
        }
        expect(upstream.requests[0]?.body).not.toHaveProperty('tools');
      },
    );
  });

  it('warns of what was changed for the endpoint that answered, streamed and not', async () => {
    await using upstream = await startUpstream(messagesProvider);
    const router = createRouter({
      providers: [anthropic({ baseURL: upstream.baseURL, apiKey: 'k', models: { 'acme/one': {} } })],
    });
    const options = { model: aiSdkProvider(router)('acme/one'), prompt: 'Hi', seed: 7 };
    const expected = [{ type: 'other', message: expect.stringMatching(/^seed was left out/) }];
    expect((await generateText(options)).warnings).toEqual(expected);
    expect(await streamText(options).warnings).toEqual(expected);
    // A stream that shows the body for its provider before an answer waits for one all the same.
    const debug = { echo_upstream_body: true };
    expect(await streamText({ ...options, providerOptions: { signalbox: { debug } } }).warnings).toEqual(expected);
    await router.close();
  });

  it('requests the beta features of Anthropic that the headers of a call name', async () => {
    await using upstream = await startUpstream(messagesProvider);
    const router = createRouter({
      providers: [anthropic({ baseURL: upstream.baseURL, apiKey: 'k', models: { 'acme/one': {} } })],
    });
    const model = aiSdkProvider(router, { call: { anthropicBeta: 'files-api-2025-04-14' } })('acme/one');
    const headers = { 'anthropic-beta': 'context-1m-2025-08-07' };
    await generateText({ model, prompt: 'Hi', headers });
    await streamText({ model, prompt: 'Hi', headers }).consumeStream();
    await generateText({ model, prompt: 'Hi' });
    expect(upstream.requests.map((request) => request.headers['anthropic-beta'])).toEqual([
      'context-1m-2025-08-07',
      'context-1m-2025-08-07',
      'files-api-2025-04-14',
    ]);
    await router.close();
  });

  it('sends the chunks of the router beside its parts, where the program wants them', async () => {
    await withDeltas(
      () => [{ content: 'Hel' }, { content: 'lo' }],
      async (router) => {
        const model = aiSdkProvider(router)('acme/one');
        const rawOf = async (includeRawChunks: boolean): Promise<unknown[]> => {
          const raw: unknown[] = [];
          for await (const part of streamText({ model, prompt: 'Hi', includeRawChunks }).fullStream) {
            if (part.type === 'raw') raw.push(part.rawValue);
          }
          return raw;
        };
        expect(await rawOf(true)).toEqual(
          expect.arrayContaining([expect.objectContaining({ object: 'chat.completion.chunk' })]),
        );
        expect(await rawOf(false)).toEqual([]);
      },
    );
  });
});
