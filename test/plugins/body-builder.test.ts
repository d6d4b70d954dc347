import { createRouter, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { startUpstream } from '../support/upstream.ts';

async function build(content: string, stream = false) {
  await using upstream = await startUpstream();
  const router = createRouter({
    providers: [
      openaiCompatible({
        slug: 'acme',
        baseURL: upstream.baseURL,
        models: { 'acme/large': {}, 'acme/large-2': {}, 'acme/small': {} },
      }),
    ],
    models: { 'acme/small': { name: 'Small Wonder', aliases: ['tiny'] } },
    on: { warning: () => {} },
  });
  const request = { model: 'router/bodybuilder', messages: [{ role: 'user', content }] } as const;
  let text = '';
  if (stream) {
    for await (const { choices } of router.stream(request)) text += choices[0]?.delta.content ?? '';
  } else {
    const result = await router.chat(request, { metadata: true });
    expect(result).toMatchObject({
      model: 'router/bodybuilder',
      usage: { total_tokens: 0 },
      router_metadata: { strategy: 'bodybuilder' },
    });
    text = result.choices[0]?.message.content ?? '';
  }
  await router.close();
  expect(upstream.requests).toHaveLength(0);
  return JSON.parse(text) as unknown;
}

const body = (model: string, content: string) => ({ model, messages: [{ role: 'user', content }] });

describe('router/bodybuilder', () => {
  it.each([false, true])('answers with a body for each model that the prompt names (stream: %s)', async (stream) => {
    expect(await build('Ask acme/large and Small Wonder to explain tides.', stream)).toEqual({
      requests: [body('acme/large', 'explain tides.'), body('acme/small', 'explain tides.')],
    });
  });

  it('takes the longest of names within each other, and each model once', async () => {
    expect(await build('large-2, tiny, acme/large-2: Count to three')).toEqual({
      requests: [body('acme/large-2', 'Count to three'), body('acme/small', 'Count to three')],
    });
  });

  it('does not take parts of words for names', async () => {
    const prompt = 'How do enlarged things grow?';
    expect(await build(prompt)).toEqual({ requests: [body('router/auto', prompt)] });
  });
});
