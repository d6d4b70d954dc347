import { type Router, type RouterConfig, createRouter, openaiCompatible } from 'signalbox';
import { UPSTREAM } from './harness.ts';

/** The router under test: everything switched on, one healthy endpoint and a second one behind it. */
export function benchRouter(
  more: Pick<RouterConfig, 'authenticate' | 'rateLimits' | 'streams' | 'fallback'> = {},
): Router {
  const models = {
    'bench/model': {
      upstreamModel: 'upstream-model',
      price: { prompt: 1, completion: 2 },
      contextLength: 1_000_000,
      parameters: ['temperature', 'max_tokens', 'tools', 'tool_choice', 'stop', 'seed'],
      inputModalities: ['text', 'image'],
    },
  } as const;
  const make = (slug: string) => openaiCompatible({ slug, baseURL: `${UPSTREAM}/v1`, apiKey: 'key', models });
  return createRouter({ providers: [make('first'), make('second')], ...more });
}
