import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Output, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { type Router, createRouter, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { MOUNTS } from '../support/mounts.ts';
import { STORY, scriptedProvider } from '../support/scripted-upstream.ts';
import { startUpstream } from '../support/upstream.ts';

async function open(mount: (typeof MOUNTS)[string]) {
  const upstream = await startUpstream(scriptedProvider);
  const router: Router = createRouter({
    providers: [openaiCompatible({ slug: 'up', baseURL: upstream.baseURL, models: { 'acme/one': {} } })],
    allowAnonymous: true,
  });
  const mounted = await mount(router);
  const provider = createOpenAICompatible({
    name: 'signalbox',
    baseURL: mounted.baseURL,
    apiKey: 'any',
    supportsStructuredOutputs: true,
  });
  return {
    model: provider('acme/one'),
    upstream,
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

const tools = {
  get_weather: tool({
    description: 'The weather in a city',
    inputSchema: jsonSchema<{ city: string }>({
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    }),
    execute: ({ city }) => Promise.resolve(`18 degrees in ${city}`),
  }),
};

describe.each(Object.entries(MOUNTS))('the AI SDK over %s', (_name, mount) => {
  it('generates and streams text', async () => {
    await using scene = await open(mount);
    const whole = await generateText({ model: scene.model, prompt: 'Tell me a story', maxRetries: 0 });
    expect(whole.text).toBe(STORY);
    expect(whole.usage).toMatchObject({ inputTokens: 21, outputTokens: 13 });
    const streamed = streamText({ model: scene.model, prompt: 'Tell me a story', maxRetries: 0 });
    let text = '';
    for await (const piece of streamed.textStream) text += piece;
    expect(text).toBe(STORY);
    expect(await streamed.finishReason).toBe('stop');
    expect(await streamed.usage).toMatchObject({ inputTokens: 21, outputTokens: 13 });
  });

  it('runs a tool loop, whole and streamed', async () => {
    await using scene = await open(mount);
    const options = { model: scene.model, prompt: 'Weather in Paris?', tools, stopWhen: stepCountIs(3), maxRetries: 0 };
    const whole = await generateText(options);
    expect(whole.text).toBe(STORY);
    expect(whole.steps).toHaveLength(2);
    const streamed = streamText(options);
    expect(await streamed.text).toBe(STORY);
    const steps = await streamed.steps;
    expect(steps[0]?.toolResults[0]?.output).toBe('18 degrees in Paris');
  });

  it('generates an object by a schema', async () => {
    await using scene = await open(mount);
    const schema = jsonSchema<{ name: string; age: number }>({
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer' } },
      required: ['name', 'age'],
    });
    const { output } = await generateText({
      model: scene.model,
      prompt: 'Who?',
      output: Output.object({ schema }),
      maxRetries: 0,
    });
    expect(output).toEqual({ name: 'Ada', age: 36 });
    expect(scene.upstream.requests[0]?.body['response_format']).toMatchObject({ type: 'json_schema' });
  });

  it('reaches the provider when it aborts', async () => {
    await using scene = await open(mount);
    const controller = new AbortController();
    const streamed = streamText({ model: scene.model, prompt: 'slow', abortSignal: controller.signal, maxRetries: 0 });
    for await (const piece of streamed.textStream) {
      if (piece !== '') break;
    }
    controller.abort();
    for (let turn = 0; turn < 500 && scene.upstream.connections > 0; turn += 1) {
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    expect(scene.upstream.connections).toBe(0);
  });
});
