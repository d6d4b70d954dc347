import { describe, expect, it } from 'vitest';
import { createRouter, openaiCompatible } from '../../src/index.ts';
import { RouterError } from '../../src/protocol/router-error.ts';
import { reportedLimits } from '../../src/providers/limit-headers.ts';
import { answerWith, startUpstream } from '../support/upstream.ts';

const NOW = Date.UTC(2026, 10, 20, 12);

describe('headers about limits', () => {
  it.each<readonly [name: string, headers: Readonly<Record<string, string>>, expected: unknown]>([
    ['nothing', {}, undefined],
    [
      'requests and tokens as OpenAI says them',
      {
        'x-ratelimit-limit-requests': '60',
        'x-ratelimit-remaining-requests': '59',
        'x-ratelimit-reset-requests': '1s',
        'x-ratelimit-limit-tokens': '150000',
        'x-ratelimit-remaining-tokens': '149984',
        'x-ratelimit-reset-tokens': '6m0s',
      },
      {
        requests: { remaining: 59, limit: 60, resetMs: 1_000 },
        tokens: { remaining: 149_984, limit: 150_000, resetMs: 360_000 },
      },
    ],
    [
      'requests and tokens as Anthropic says them',
      {
        'anthropic-ratelimit-requests-limit': '50',
        'anthropic-ratelimit-requests-remaining': '0',
        'anthropic-ratelimit-requests-reset': '2026-11-20T12:00:12Z',
        'anthropic-ratelimit-input-tokens-remaining': '1000',
        'anthropic-ratelimit-input-tokens-reset': '2026-11-20T12:00:01Z',
      },
      {
        requests: { remaining: 0, limit: 50, resetMs: 12_000 },
        tokens: { remaining: 1_000, limit: undefined, resetMs: 1_000 },
      },
    ],
    ['a number without a time', { 'x-ratelimit-remaining-requests': '0' }, undefined],
    [
      'numbers that are none',
      {
        'x-ratelimit-remaining-requests': '-1',
        'x-ratelimit-reset-requests': '1s',
        'x-ratelimit-remaining-tokens': '1e3',
      },
      undefined,
    ],
  ])('are read: %s', (_, headers, expected) => {
    expect(reportedLimits({ header: (name) => headers[name] }, NOW)).toEqual(expected);
  });

  it('keep the next request away from an endpoint that has nothing left', async () => {
    await using used = await startUpstream((request, response, raw) => {
      response.setHeader('x-ratelimit-remaining-requests', '0');
      response.setHeader('x-ratelimit-reset-requests', '30s');
      answerWith('used')(request, response, raw);
    });
    await using other = await startUpstream(answerWith('other'));
    const price = (prompt: number): Record<'acme/one', object> => ({
      'acme/one': { price: { prompt, completion: prompt } },
    });
    const router = createRouter({
      providers: [
        openaiCompatible({ slug: 'used', baseURL: used.baseURL, apiKey: 'key-of-used', models: price(1) }),
        openaiCompatible({ slug: 'other', baseURL: other.baseURL, apiKey: 'key-of-other', models: price(10) }),
      ],
    });
    const body = { model: 'acme/one' as const, messages: [{ role: 'user' as const, content: 'Hello' }] };
    const answers = [await router.chat(body), await router.chat(body), await router.chat(body)];
    expect(answers.map(({ provider }) => provider)).toEqual(['used', 'other', 'other']);
    expect(used.requests).toHaveLength(1);
    const refused = await router.chat({ ...body, provider: { only: ['used'] } }).catch((error: unknown) => error);
    expect(RouterError.isInstance(refused) && refused.status).toBe(429);
    expect((refused as RouterError).retryAfterMs).toBeGreaterThan(20_000);
    expect(used.requests).toHaveLength(1);
    await router.close();
  });

  it('of a stream count as well', async () => {
    await using used = await startUpstream((request, response, raw) => {
      response.setHeader('x-ratelimit-remaining-tokens', '3');
      response.setHeader('x-ratelimit-reset-tokens', '20s');
      answerWith('used')(request, response, raw);
    });
    const router = createRouter({
      providers: [
        openaiCompatible({ slug: 'used', baseURL: used.baseURL, apiKey: 'key-of-used', models: { 'acme/one': {} } }),
      ],
    });
    const body = { model: 'acme/one' as const, messages: [{ role: 'user' as const, content: 'Hello '.repeat(50) }] };
    for await (const _ of router.stream(body));
    await expect(router.chat(body)).rejects.toMatchObject({ status: 429 });
    expect(used.requests).toHaveLength(1);
    await router.close();
  });
});
