import {
  type BedrockOptions,
  bedrock,
  ConfigError,
  createRouter,
  providersFromEnvironment,
  type Router,
} from 'signalbox';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { MOUNTS } from '../../support/mounts.ts';
import { messagesProvider } from '../../support/messages-upstream.ts';
import { responsesProvider } from '../../support/responses-upstream.ts';
import { tokenIssuer } from '../../support/token-issuer.ts';
import { answerWith, failWith, sendJson, startUpstream } from '../../support/upstream.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

const MODELS = {
  'anthropic/claude': { upstreamModel: 'eu.anthropic.claude-sonnet-5' },
  'anthropic/profile': { upstreamModel: 'arn:aws:bedrock:eu-central-1:1:application-inference-profile/abc' },
  'openai/open': { upstreamModel: 'openai.gpt-oss-120b-1:0' },
  'openai/closed': { upstreamModel: 'openai.gpt-5.4' },
} as const;

/** Plays `bedrock-runtime`: each model at its own path, with the refusals of AWS elsewhere, and no old token anywhere. */
async function startBedrock(chatPath = '/openai/v1') {
  const issuer = tokenIssuer(() => Date.now() + 43_200_000);
  const upstream = await startUpstream();
  const expired = failWith(403, { Message: 'Bearer Token has expired' });
  upstream.handler = issuer.guard((request, response, raw) => {
    const { path, body, headers } = request;
    const model = String(body['model']);
    const isClaude = /anthropic\.|application-inference-profile/.test(model);
    const refuse = (): void =>
      sendJson(response, 400, {
        error: { code: 'validation_error', message: `model ${model} isn't supported on this route` },
      });
    if (path === '/anthropic/v1/messages') {
      if (!isClaude) return refuse();
      if (headers['anthropic-version'] !== '2023-06-01') {
        return sendJson(response, 400, {
          type: 'error',
          error: { type: 'invalid_request_error', message: 'anthropic-version: header is required' },
        });
      }
      return messagesProvider(request, response, raw);
    }
    if (path === '/anthropic/v1/messages/count_tokens') return sendJson(response, 200, { input_tokens: 42 });
    if (path === `${chatPath}/responses` && model === 'openai.gpt-5.4')
      return responsesProvider(request, response, raw);
    if (path !== `${chatPath}/chat/completions` || isClaude || model === 'openai.gpt-5.4') return refuse();
    return answerWith('From chat completions')(request, response, raw);
  }, expired);
  const origin = upstream.baseURL.replace(/\/v1$/, '');
  return { upstream, issuer, origin };
}

async function said(router: Router, model: string, stream: boolean): Promise<string | null | undefined> {
  const request = { model, messages: [{ role: 'user' as const, content: 'Hi' }], max_tokens: 100 };
  if (!stream) return (await router.chat(request)).choices[0]?.message.content;
  let text = '';
  for await (const chunk of router.stream(request)) text += chunk.choices[0]?.delta.content ?? '';
  return text;
}

describe('a model of Bedrock', () => {
  it.each([false, true])(
    'is called by the API that it has, streaming %j, with short-term keys that end',
    async (stream) => {
      vi.useFakeTimers({ toFake: ['Date'] });
      const { upstream, issuer, origin } = await startBedrock();
      const provider = bedrock({ region: 'eu-central-1', baseURL: origin, apiKey: issuer.give, models: MODELS });
      const router = createRouter({ providers: [provider] });
      const answers: Record<string, unknown> = {};
      for (const model of Object.keys(MODELS)) answers[model] = await said(router, model, stream);
      expect(answers).toEqual({
        'anthropic/claude': 'The one at the junction.',
        'anthropic/profile': 'The one at the junction.',
        'openai/open': 'From chat completions',
        'openai/closed': expect.stringMatching(/\w/) as string,
      });
      issuer.revoke();
      expect(await said(router, 'openai/open', stream)).toBe('From chat completions');
      vi.setSystemTime(Date.now() + 43_200_000);
      issuer.revoke();
      expect(await said(router, 'anthropic/claude', stream)).toBe('The one at the junction.');
      expect(issuer.issued).toHaveLength(3);
      const sent = upstream.requests.map(({ path, headers }) => [path, headers.authorization, headers['x-api-key']]);
      expect(sent.slice(0, 4)).toEqual(
        ['/anthropic/v1/messages', '/anthropic/v1/messages', '/openai/v1/chat/completions', '/openai/v1/responses'].map(
          (path) => [path, 'Bearer token-of-the-house-1', undefined],
        ),
      );
      await router.close();
      await upstream[Symbol.asyncDispose]();
    },
  );

  it('gets a native body of Messages where it is one of Anthropic, and a translated one elsewhere', async () => {
    const { upstream, issuer, origin } = await startBedrock();
    const router = createRouter({
      providers: [bedrock({ region: 'eu-central-1', baseURL: origin, apiKey: issuer.give, models: MODELS })],
      allowAnonymous: true,
    });
    const mounted = await MOUNTS['node']?.(router);
    const ask = async (model: string, more: object = {}) => {
      const response = await fetch(`${mounted?.baseURL}/messages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model, max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }], ...more }),
      });
      return [response.status, JSON.stringify(await response.json())] as const;
    };
    const [status, native] = await ask('anthropic/claude', { top_k: 3 });
    expect([status, native.includes('encrypted_content')]).toEqual([200, true]);
    expect(upstream.requests.at(-1)?.body).toMatchObject({ model: 'eu.anthropic.claude-sonnet-5', top_k: 3 });
    const [, translated] = await ask('openai/open');
    expect(translated).toContain('From chat completions');
    const count = await router.countTokens({ model: 'anthropic/claude', messages: [{ role: 'user', content: 'Hi' }] });
    expect(count).toMatchObject({ input_tokens: 42 });
    await mounted?.[Symbol.asyncDispose]();
    await router.close();
    await upstream[Symbol.asyncDispose]();
  });

  it('at the other endpoint has the paths of that', async () => {
    const { upstream, issuer, origin } = await startBedrock('/v1');
    const provider = bedrock({ endpoint: 'mantle', baseURL: origin, apiKey: issuer.give, models: MODELS });
    const router = createRouter({ providers: [provider] });
    expect(await said(router, 'openai/open', false)).toBe('From chat completions');
    expect(await said(router, 'anthropic/claude', false)).toBe('The one at the junction.');
    await router.close();
    await upstream[Symbol.asyncDispose]();
  });
});

describe('options of bedrock', () => {
  function problemsOf(options: BedrockOptions): readonly string[] {
    try {
      bedrock(options);
    } catch (error) {
      if (ConfigError.isInstance(error)) return error.problems.map(({ path, problem }) => `${path} ${problem}`);
      throw error;
    }
    return [];
  }

  function withoutVariables(): void {
    for (const name of ['AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_BEARER_TOKEN_BEDROCK']) vi.stubEnv(name, undefined);
  }

  it('come from the environment, and are asked for where they are nowhere', () => {
    withoutVariables();
    expect(problemsOf({})).toEqual([
      'providers.bedrock.apiKey is missing: pass apiKey, or set AWS_BEARER_TOKEN_BEDROCK in the environment',
      'providers.bedrock.region is missing: pass region, or set AWS_REGION in the environment',
    ]);
    vi.stubEnv('AWS_BEARER_TOKEN_BEDROCK', 'bedrock-api-key-1');
    vi.stubEnv('AWS_REGION', 'us-west-2');
    expect(problemsOf({})).toEqual([]);
    // The AWS SDK uses the same variable.
    expect(providersFromEnvironment().map(({ slug }) => slug)).not.toContain('bedrock');
  });

  it.each(['eu', 'evil.example/x', 'eu-central-1.evil.example', 'EU-central-1', 'eu-central-1#'])(
    'refuse %j for a region, which could change the address',
    (region) => {
      expect(problemsOf({ region, apiKey: 'k' })).toEqual([
        'providers.bedrock.region must be a region of AWS, such as "eu-central-1"',
      ]);
    },
  );

  it('refuse batches of its own, which are in storage buckets', () => {
    expect(problemsOf({ region: 'us-gov-west-1', apiKey: 'k', nativeBatches: true })).toEqual([
      'providers.bedrock.nativeBatches cannot be true for Bedrock, which takes batches from storage buckets only; leave it out',
    ]);
  });
});
