import { ConfigError, type GoogleOptions, createRouter, google, providersFromEnvironment } from 'signalbox';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { modelPath } from '../../../src/providers/google/wire.ts';
import { VENDOR_PRESETS } from '../../../src/providers/openai-compatible/presets.ts';
import {
  type ReceivedRequest,
  type Upstream,
  type UpstreamHandler,
  sendJson,
  startUpstream,
} from '../../support/upstream.ts';

const ANSWER = { candidates: [{ content: { parts: [{ text: 'Hello' }], role: 'model' }, finishReason: 'STOP' }] };
const MODELS = { 'google/gemini-3-flash': {} } as const;

const answer: UpstreamHandler = ({ path }, response) => {
  if (!path.includes('alt=sse')) return sendJson(response, 200, ANSWER);
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-gemini-service-tier': 'standard' });
  response.end(`data: ${JSON.stringify(ANSWER)}\r\n\r\n`);
};

let upstream: Upstream;
beforeEach(async () => {
  upstream = await startUpstream(answer);
  for (const name of Object.values(VENDOR_PRESETS).flatMap((preset) => preset.apiKeyVariables)) vi.stubEnv(name, '');
  vi.stubEnv('GEMINI_API_KEY', '').stubEnv('GOOGLE_API_KEY', '');
});
afterEach(async () => {
  await upstream[Symbol.asyncDispose]();
  vi.unstubAllEnvs();
});

/** Asks through a router and gives what the server received. */
async function received(
  options: GoogleOptions,
  stream = false,
  model = 'google/gemini-3-flash',
): Promise<ReceivedRequest> {
  const provider = google({ baseURL: upstream.baseURL, apiKey: 'key-1', ...options });
  const router = createRouter({ providers: [provider], fallback: { triesPerEndpoint: 1 } });
  const request = { model, messages: [{ role: 'user' as const, content: 'Hi' }] };
  try {
    if (stream) for await (const _ of router.stream(request));
    else await router.chat(request);
  } finally {
    await router.close();
  }
  const [first] = upstream.requests;
  if (first === undefined) throw new Error('nothing was sent');
  return first;
}

describe('embeddings', () => {
  it('are asked for on the wire of Gemini, one call for all inputs', async () => {
    await upstream[Symbol.asyncDispose]();
    upstream = await startUpstream((_, response) =>
      sendJson(response, 200, { embeddings: [{ values: [0.5, 0.25] }, { values: [1, 0] }] }),
    );
    const models = { 'google/gemini-embedding-001': { outputModalities: ['embeddings'] } } as const;
    const router = createRouter({ providers: [google({ baseURL: upstream.baseURL, apiKey: 'key-1', models })] });
    const { data } = await router.embed({ model: 'google/gemini-embedding-001', input: ['One', 'Two'] });
    expect(data.map(({ embedding }) => embedding)).toEqual([
      [0.5, 0.25],
      [1, 0],
    ]);
    expect(upstream.requests.map(({ path }) => path)).toEqual(['/v1/models/gemini-embedding-001:batchEmbedContents']);
    await router.close();
  });
});

describe('the address of a call', () => {
  it('names model and method, and the key stands in a header and never in the address', async () => {
    const { path, headers } = await received({});
    expect(path).toBe('/v1/models/gemini-3-flash:generateContent');
    expect(headers['x-goog-api-key']).toBe('key-1');
    expect(headers['authorization']).toBeUndefined();
  });

  it('asks for server-sent events when the answer is to be streamed', async () => {
    expect((await received({}, true)).path).toBe('/v1/models/gemini-3-flash:streamGenerateContent?alt=sse');
  });

  it.each([
    ['gemini-3-flash', 'models/gemini-3-flash'],
    ['google/gemini-3-flash', 'models/gemini-3-flash'],
    ['models/gemini-3-flash', 'models/gemini-3-flash'],
    ['tunedModels/mine-1', 'tunedModels/mine-1'],
    ['../operations/x', 'models/..%2Foperations%2Fx'],
    ['a/../../b', 'models/a%2F..%2F..%2Fb'],
    ['a//b', 'models/a%2F%2Fb'],
    ['x?key=1#y', 'models/x%3Fkey%3D1%23y'],
    ['x:countTokens', 'models/x%3AcountTokens'],
  ])('leads nowhere else, whatever the name of the model: %s', (name, path) => {
    expect(modelPath(name)).toBe(path);
  });

  it('is that of Vertex AI where the base address is', async () => {
    const baseURL = upstream.baseURL.replace('/v1', '/v1/projects/p/locations/eu/publishers/google');
    const models = { 'google/gemini-3-flash': { upstreamModel: 'gemini-3-flash' } } as const;
    const { path, headers, body } = await received({ slug: 'vertex', baseURL, models, authorization: 'bearer' });
    expect(path).toBe('/v1/projects/p/locations/eu/publishers/google/models/gemini-3-flash:generateContent');
    expect(headers['authorization']).toBe('Bearer key-1');
    expect(headers['x-goog-api-key']).toBeUndefined();
    expect(body).toEqual({ contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] });
  });
});

describe('the key', () => {
  it('may be a token that is fetched for each call', async () => {
    const apiKey = vi.fn(() => Promise.resolve('ya29.fresh'));
    const { headers } = await received({ authorization: 'bearer', apiKey });
    expect(headers['authorization']).toBe('Bearer ya29.fresh');
    expect(apiKey).toHaveBeenCalledOnce();
  });

  it.each([
    ['throws', () => Promise.reject(new Error('secret-of-the-program'))],
    ['gives nothing', () => ''],
    ['gives what no header may hold', () => 'a\nb'],
  ])('is missing when its function %s, and nobody learns why', async (_name, apiKey) => {
    const asked = received({ authorization: 'bearer', apiKey });
    await expect(asked).rejects.toMatchObject({ status: 502 });
    await expect(asked).rejects.not.toThrow(/secret/);
    expect(upstream.requests).toEqual([]);
  });

  it('is looked for in the environment', () => {
    expect(providersFromEnvironment()).toEqual([]);
    expect(() => google()).toThrow(/providers\.google\.apiKey is missing: .*GEMINI_API_KEY or GOOGLE_API_KEY/);
    vi.stubEnv('GOOGLE_API_KEY', 'AIza-1');
    expect(google()).toMatchObject({ slug: 'google', name: 'Google', acceptsAnyModel: true });
    expect(providersFromEnvironment().map(({ slug }) => slug)).toEqual(['google']);
    expect(createRouter().internals.config.providers.map(({ slug }) => slug)).toEqual(['google']);
    expect(() => google({ authorization: 'bearer' })).toThrow(/pass an access token/);
  });

  it('and everything else that cannot be right is told at once', () => {
    expect(() => google({ slug: 'Goo gle', baseURL: 'ftp://x', apiKey: 'a b' })).toThrow(ConfigError);
    expect(() => google({ slug: 'Goo gle', baseURL: 'ftp://x', apiKey: 'a b' })).toThrow(/slug.*baseURL.*apiKey/s);
  });
});

describe('a router with Google', () => {
  it('tells a caller whose image Google does not fetch what would be right, and asks another provider first', async () => {
    const models = { 'acme/one': { upstreamModel: 'gemini-2.0-flash' } } as const;
    const old = google({ slug: 'old', baseURL: upstream.baseURL, apiKey: 'key-1', models });
    const newer = google({
      slug: 'newer',
      baseURL: upstream.baseURL,
      apiKey: 'key-2',
      models: { 'acme/one': { upstreamModel: 'gemini-3-flash' } },
    });
    const image_url = { url: 'https://example.com/a.png' };
    const request = {
      model: 'acme/one' as const,
      messages: [{ role: 'user' as const, content: [{ type: 'image_url' as const, image_url }] }],
      provider: { order: ['old', 'newer'] },
    };
    const alone = createRouter({ providers: [old] });
    const problem = /messages\[0\]\.content\[0\]\.image_url\.url must be a data URL/;
    await expect(alone.chat(request)).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(problem) as string,
    });
    expect(upstream.requests).toEqual([]);
    const both = createRouter({ providers: [old, newer] });
    expect((await both.chat(request)).provider).toBe('Google');
    expect(upstream.requests.map(({ headers }) => headers['x-goog-api-key'])).toEqual(['key-2']);
    await Promise.all([alone.close(), both.close()]);
  });

  it('reports the tier that Google served, under the name that everybody has for it', async () => {
    const provider = google({ baseURL: upstream.baseURL, apiKey: 'key-1', models: MODELS });
    const router = createRouter({ providers: [provider] });
    const tiers: unknown[] = [];
    const request = { model: 'google/gemini-3-flash', messages: [{ role: 'user' as const, content: 'Hi' }] } as const;
    for await (const chunk of router.stream({ ...request, messages: [...request.messages] }))
      tiers.push(chunk.service_tier);
    expect(tiers.at(-1)).toBe('default');
    await router.close();
  });
});
