import type { ChatRequest } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { type Offered, routingBench } from '../../support/model-routers.ts';

const FREE: Readonly<Record<string, Offered>> = {
  'acme/plain': { usd: 0, parameters: ['temperature'], inputModalities: ['text'] },
  'acme/caller': { usd: 0, parameters: ['tools', 'tool_choice'], inputModalities: ['text'] },
  'acme/writer': { usd: 0, parameters: ['response_format', 'structured_outputs'], inputModalities: ['text'] },
  'acme/viewer': { usd: 0, parameters: ['temperature'], inputModalities: ['text', 'image'] },
  'acme/dear': { usd: 5 },
};

async function tried(more: Partial<ChatRequest>): Promise<readonly string[]> {
  const messages: ChatRequest['messages'] = [{ role: 'user', content: 'Hello' }];
  const { steps } = await routingBench(FREE).router.explain({ model: 'router/free', messages, ...more });
  return steps.map(({ model }) => model).toSorted();
}

const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } } as const;

describe('router/free', () => {
  it.each([
    ['nothing', {}, ['acme/caller', 'acme/plain', 'acme/viewer', 'acme/writer']],
    [
      'tools',
      { tools: [{ type: 'function' as const, function: { name: 'f', parameters: { type: 'object' } } }] },
      ['acme/caller'],
    ],
    ['an image', { messages: [{ role: 'user' as const, content: [image] }] }, ['acme/viewer']],
    [
      'a schema',
      {
        response_format: {
          type: 'json_schema' as const,
          json_schema: { name: 'n', schema: { type: 'object' }, strict: true },
        },
      },
      ['acme/writer'],
    ],
  ])('takes free models that support a request with %s', async (_what, more, expected) => {
    expect(await tried(more)).toEqual(expected);
  });
});
