import {
  type AzureOptions,
  ConfigError,
  type NativeApiFormat,
  azure,
  cloudflare,
  createRouter,
  github,
  groq,
  ollama,
  openai,
  openaiCompatible,
  openrouter,
  providersFromEnvironment,
} from 'signalbox';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { startUpstream } from '../../support/upstream.ts';
import { VENDOR_PRESETS } from '../../../src/providers/openai-compatible/presets.ts';

afterEach(() => vi.unstubAllEnvs());

function problemsOf(make: () => unknown): readonly string[] {
  try {
    make();
  } catch (error) {
    if (ConfigError.isInstance(error)) return error.problems.map(({ path, problem }) => `${path} ${problem}`);
    throw error;
  }
  return [];
}

function withoutKeys(): void {
  for (const { apiKeyVariables } of Object.values(VENDOR_PRESETS)) {
    for (const name of apiKeyVariables) vi.stubEnv(name, undefined);
  }
  for (const name of ['ANTHROPIC_API_KEY', 'AWS_BEARER_TOKEN_BEDROCK']) vi.stubEnv(name, undefined);
}

describe('a vendor', () => {
  it('takes its key from the environment', () => {
    withoutKeys();
    expect(problemsOf(() => openai())).toEqual([
      'providers.openai.apiKey is missing: pass apiKey, or set OPENAI_API_KEY in the environment',
    ]);
    vi.stubEnv('OPENAI_API_KEY', '  ');
    expect(problemsOf(() => openai())).toHaveLength(1);
    vi.stubEnv('OPENAI_API_KEY', 'sk-1');
    expect(openai()).toMatchObject({ slug: 'openai', name: 'OpenAI', acceptsAnyModel: true });
  });

  it('without a key needs none', () => {
    withoutKeys();
    expect(ollama({ models: { 'meta/llama': {} } })).toMatchObject({ slug: 'ollama', acceptsAnyModel: false });
  });

  it('exists when its key does', () => {
    withoutKeys();
    expect(providersFromEnvironment()).toEqual([]);
    vi.stubEnv('GROQ_API_KEY', 'gsk_1');
    vi.stubEnv('TOGETHER_AI_API_KEY', 'tgp_1');
    expect(providersFromEnvironment().map(({ slug }) => slug)).toEqual(['groq', 'together']);
  });

  it.each(Object.entries(VENDOR_PRESETS))('%s has the address, slug and name that belong to it', (slug, preset) => {
    expect(preset.slug).toBe(slug);
    expect(preset.name).not.toBe('');
    expect(new URL(preset.baseURL).protocol).toBe(preset.apiKeyVariables.length > 0 ? 'https:' : 'http:');
    expect(preset.baseURL.endsWith('/')).toBe(false);
  });
});

describe('a vendor whose address holds a variable', () => {
  it('asks for it, and takes only what cannot lead elsewhere', async () => {
    withoutKeys();
    vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', undefined);
    const missing = [
      'providers.cloudflare.baseURL is missing: pass baseURL, or set CLOUDFLARE_ACCOUNT_ID in the environment',
    ];
    expect(problemsOf(() => cloudflare({ apiKey: 'k' }))).toEqual(missing);
    vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', 'evil/../../x');
    expect(problemsOf(() => cloudflare({ apiKey: 'k' }))).toEqual(missing);
    vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', '0123abc');
    expect(problemsOf(() => cloudflare({ apiKey: 'k' }))).toEqual([]);
    await using upstream = await startUpstream();
    const router = createRouter({ providers: [cloudflare({ apiKey: 'k', baseURL: upstream.baseURL })] });
    await router.chat({ model: 'cloudflare/@cf/meta/llama', messages: [{ role: 'user', content: 'Hi' }] });
    expect(upstream.requests[0]).toMatchObject({ path: '/v1/chat/completions', body: { model: '@cf/meta/llama' } });
    await router.close();
  });

  it('is not put into a router without providers before it is whole, nor by a key that others use, too', () => {
    withoutKeys();
    vi.stubEnv('DASHSCOPE_WORKSPACE_ID', undefined);
    vi.stubEnv('DASHSCOPE_API_KEY', 'sk-1');
    for (const name of ['GITHUB_TOKEN', 'HF_TOKEN', 'CLOUDFLARE_API_TOKEN']) vi.stubEnv(name, 'token');
    expect(providersFromEnvironment()).toEqual([]);
    expect(github()).toMatchObject({ slug: 'github', name: 'GitHub Models' });
    vi.stubEnv('DASHSCOPE_WORKSPACE_ID', 'ws-1');
    expect(providersFromEnvironment().map(({ slug }) => slug)).toEqual(['qwen']);
  });
});

describe('the dialects that a provider speaks itself', () => {
  it('are those of the vendor at its own address, and none at any other', () => {
    withoutKeys();
    vi.stubEnv('OPENAI_BASE_URL', undefined);
    expect(openai({ apiKey: 'k' }).apiFormats).toEqual(['responses']);
    expect(openrouter({ apiKey: 'k' }).apiFormats).toEqual(['responses']);
    expect(groq({ apiKey: 'k' }).apiFormats).toEqual([]);
    expect(openai({ apiKey: 'k', baseURL: 'http://127.0.0.1:1/v1' }).apiFormats).toEqual([]);
    vi.stubEnv('OPENAI_BASE_URL', 'http://127.0.0.1:1/v1');
    expect(openai({ apiKey: 'k' }).apiFormats).toEqual([]);
  });

  it('are those that are said', () => {
    expect(openai({ apiKey: 'k', nativeApiFormats: [] }).apiFormats).toEqual([]);
    const there = { baseURL: 'http://127.0.0.1:1/v1', nativeApiFormats: ['responses'] as const };
    expect(openai({ apiKey: 'k', ...there }).apiFormats).toEqual(['responses']);
    expect(openaiCompatible({ slug: 'up', ...there }).apiFormats).toEqual(['responses']);
    const unknown = ['chat'] as unknown as NativeApiFormat[];
    expect(problemsOf(() => openaiCompatible({ slug: 'up', ...there, nativeApiFormats: unknown }))).toEqual([
      'providers.up.nativeApiFormats must be a list of "responses"',
    ]);
  });
});

describe('azure', () => {
  it.each(['', 'a.b', 'evil.example/x', 'a#', 'a?b', '-a', 'a b', 'ä', 'a@b'])(
    'refuses %j for the name of a resource',
    (resource) => {
      expect(problemsOf(() => azure({ resource, apiKey: 'k', models: {} }))).toEqual([
        'providers.azure.resource must be letters, digits and dashes',
      ]);
    },
  );

  it('takes another address in place of the name: a Foundry resource, another cloud, API Management', async () => {
    await using upstream = await startUpstream();
    const ask = async (options: Partial<AzureOptions>) => {
      const router = createRouter({ providers: [azure({ baseURL: `${upstream.baseURL}/openai/v1`, ...options })] });
      await router.chat({ model: 'azure/my-deployment', messages: [{ role: 'user', content: 'Hi' }] });
      await router.close();
      const { path, body, headers } = upstream.requests.at(-1) ?? {};
      const { authorization, 'api-key': key } = headers ?? {};
      return [path, body?.['model'], authorization ?? key];
    };
    const path = '/v1/openai/v1/chat/completions';
    expect(await ask({ apiKey: 'k' })).toEqual([path, 'my-deployment', 'k']);
    expect(await ask({ apiKey: () => 'token' })).toEqual([path, 'my-deployment', 'Bearer token']);
    expect(await ask({ keys: ['k', () => 'token'] })).toEqual([
      path,
      'my-deployment',
      expect.stringMatching(/^Bearer/),
    ]);
    expect(await ask({ apiKey: () => 'k', authorization: 'api-key' })).toEqual([path, 'my-deployment', 'k']);
  });

  it.each([{}, { resource: 'mine', baseURL: 'https://mine.services.ai.azure.com/openai/v1' }])(
    'needs a name or an address, and not both: %j',
    (options) => {
      expect(problemsOf(() => azure({ ...options, apiKey: 'k' }))).toEqual([
        'providers.azure.resource or baseURL must be given, and not both',
      ]);
    },
  );

  it('needs a key', () => {
    vi.stubEnv('AZURE_OPENAI_API_KEY', undefined);
    expect(problemsOf(() => azure({ resource: 'mine', models: {} }))).toEqual([
      'providers.azure.apiKey is missing: pass apiKey, or set AZURE_OPENAI_API_KEY in the environment',
    ]);
  });
});

describe('a provider of the chat completions wire', () => {
  it.each([
    ['a slug with capitals', { slug: 'Groq' }, 'providers.Groq.slug must be lower-case letters, digits and dashes'],
    ['no address', { baseURL: 'not an address' }, 'providers.x.baseURL must be an http(s) address'],
    ['an address of another kind', { baseURL: 'file:///etc/passwd' }, 'providers.x.baseURL must be an http(s) address'],
    [
      'an address with a query',
      { baseURL: 'https://x.test/?a=1' },
      'providers.x.baseURL must have no query, fragment or user name',
    ],
    [
      'an address with a fragment',
      { baseURL: 'https://x.test/#a' },
      'providers.x.baseURL must have no query, fragment or user name',
    ],
    [
      'an address with a user',
      { baseURL: 'https://me@x.test/' },
      'providers.x.baseURL must have no query, fragment or user name',
    ],
    [
      'a key of two lines',
      { apiKey: 'a\nb' },
      'providers.x.apiKey must be one line of visible characters, without spaces',
    ],
    ['an empty key', { apiKey: '' }, 'providers.x.apiKey must be one line of visible characters, without spaces'],
  ])('is refused with %s', (_name, options, problem) => {
    expect(problemsOf(() => openaiCompatible({ slug: 'x', baseURL: 'https://x.test/v1', ...options }))).toEqual([
      problem,
    ]);
  });
});
