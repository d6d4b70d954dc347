import { ConfigError, RouterError, anthropic, createRouter, openaiCompatible } from 'signalbox';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { buildCatalog } from '../../../src/catalog/catalog.ts';
import { normalizeChatRequest } from '../../../src/core/normalize/normalize.ts';
import type { JsonObject } from '../../../src/protocol/json.ts';
import type { Provider } from '../../../src/contracts/provider.ts';
import { anthropicFixture, messageEvent } from '../../support/anthropic.ts';
import { startFaultCell } from '../../support/fault-cell.ts';
import { type UpstreamHandler, answerWith, sendJson, startUpstream } from '../../support/upstream.ts';
import { OWN_KEY } from '../../support/wire.ts';
import type { ProviderReply } from '../../../src/contracts/provider-reply.ts';
import type { StreamPiece } from '../../../src/contracts/stream-piece.ts';

afterEach(() => vi.unstubAllEnvs());

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-opus-4-7',
  content: [{ type: 'text', text: 'Hello.' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 3, cache_creation_input_tokens: 100, cache_read_input_tokens: 1_000, output_tokens: 2 },
};
const HI = { role: 'user', content: 'Hi' } as const;
const whole: UpstreamHandler = (_request, response) => sendJson(response, 200, MESSAGE);
const MODEL = 'anthropic/claude-opus-4.7';

function streaming(body: string | Uint8Array): UpstreamHandler {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(body);
  };
}

function problemsOf(make: () => unknown): readonly string[] {
  try {
    make();
  } catch (error) {
    if (ConfigError.isInstance(error)) return error.problems.map(({ path, problem }) => `${path} ${problem}`);
    throw error;
  }
  return [];
}

describe('anthropic', () => {
  it('takes its key and its address from the environment', async () => {
    vi.stubEnv('ANTHROPIC_API_KEY', undefined);
    expect(problemsOf(() => anthropic())).toEqual([
      'providers.anthropic.apiKey is missing: pass apiKey, or set ANTHROPIC_API_KEY in the environment',
    ]);
    await using upstream = await startUpstream(whole);
    vi.stubEnv('ANTHROPIC_API_KEY', 'sk-ant-env');
    for (const address of [upstream.baseURL, upstream.baseURL.replace(/\/v1$/, ''), `${upstream.baseURL}/`]) {
      vi.stubEnv('ANTHROPIC_BASE_URL', address);
      const router = createRouter({ providers: [anthropic()] });
      await router.chat({ model: MODEL, messages: [HI] });
      await router.close();
    }
    expect(upstream.requests.map(({ path }) => path)).toEqual(Array(3).fill('/v1/messages'));
    expect(upstream.requests[0]?.headers).toMatchObject({ 'x-api-key': 'sk-ant-env' });
  });

  it('refuses what cannot be right', () => {
    expect(problemsOf(() => anthropic({ slug: 'No', apiKey: 'a b', baseURL: 'ftp://x' }))).toHaveLength(3);
  });

  it('sends its version, its key and the betas that are wanted, and prices what comes back', async () => {
    await using upstream = await startUpstream(whole);
    const price = { prompt: 5, completion: 25, cacheRead: 0.5, cacheWrite: 6.25 };
    const provider = anthropic({
      apiKey: OWN_KEY,
      baseURL: upstream.baseURL,
      betas: ['one-2026-01-01'],
      headers: { 'X-Team': 'points' },
      models: { 'anthropic/claude-opus-4.7': { price } },
    });
    const router = createRouter({ providers: [provider] });
    const file = { type: 'file', file: { file_id: 'file_011' } } as const;
    const result = await router.chat(
      { model: MODEL, messages: [{ role: 'user', content: [file] }] },
      { anthropicBeta: 'two-2026-01-01, bad name\n,one-2026-01-01' },
    );
    await router.close();
    const { headers = {}, body = {} } = upstream.requests[0] ?? {};
    expect(headers).toMatchObject({
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'one-2026-01-01,two-2026-01-01,files-api-2025-04-14',
      'x-api-key': OWN_KEY,
      'x-team': 'points',
    });
    expect(headers).not.toHaveProperty('authorization');
    expect(body).toMatchObject({ model: 'claude-opus-4-7' });
    expect(result.usage).toMatchObject({ prompt_tokens: 1_103, completion_tokens: 2 });
    expect(result.usage?.cost).toBeCloseTo((3 * 5 + 1_000 * 0.5 + 100 * 6.25 + 2 * 25) / 1e6, 12);
  });

  it('passes the betas of a caller on that come in a header', async () => {
    await using cell = await startFaultCell({ upstream: { wire: 'anthropic' } });
    const response = await fetch(`${cell.mounted.baseURL}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-anthropic-beta': 'context-1m-2025-08-07' },
      body: JSON.stringify({ model: 'acme/alone', messages: [HI] }),
    });
    expect(response.status).toBe(200);
    expect(cell.faulty.requests[0]?.headers).toMatchObject({ 'anthropic-beta': 'context-1m-2025-08-07' });
  });

  it('lets another version be configured', async () => {
    await using upstream = await startUpstream(whole);
    const headers = { 'Anthropic-Version': '2026-10-21' };
    const router = createRouter({ providers: [anthropic({ apiKey: OWN_KEY, baseURL: upstream.baseURL, headers })] });
    await router.chat({ model: MODEL, messages: [HI] });
    await router.close();
    expect(upstream.requests[0]?.headers['anthropic-version']).toBe('2026-10-21');
  });

  it('gives a long answer whole although it asks for a stream', async () => {
    await using upstream = await startUpstream(streaming(anthropicFixture('tools.sse')));
    const router = createRouter({ providers: [anthropic({ apiKey: OWN_KEY, baseURL: upstream.baseURL })] });
    const result = await router.chat({ model: MODEL, messages: [HI], max_tokens: 60_000 });
    await router.close();
    expect(upstream.requests[0]?.body).toMatchObject({ stream: true });
    expect(result).toMatchObject({
      usage: { prompt_tokens: 25, completion_tokens: 89 },
      choices: [{ finish_reason: 'tool_calls', message: { content: 'Looking.' } }],
    });
  });

  it('keeps thinking through a tool loop, byte for byte', async () => {
    await using upstream = await startUpstream(streaming(anthropicFixture('thinking.sse')));
    const router = createRouter({ providers: [anthropic({ apiKey: OWN_KEY, baseURL: upstream.baseURL })] });
    const first = await router.chat({ model: MODEL, messages: [HI] });
    const message = first.choices[0]?.message;
    if (message === undefined) throw new Error('no message');
    const result = { role: 'tool', tool_call_id: 'toolu_01D', content: 'set' } as const;
    await router.chat({ model: MODEL, messages: [HI, message, result] });
    await router.close();
    const messages = upstream.requests[1]?.body['messages'] as readonly { readonly content: unknown }[] | undefined;
    expect(messages?.[1]?.content).toEqual([
      { type: 'thinking', thinking: 'Which line is free?', signature: 'EqQBCkYIBxgC+/==' },
      { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix/LafPsn4a' },
      { type: 'text', text: 'Line two' },
      { type: 'thinking', thinking: '', signature: 'c2Vjb25k' },
      { type: 'tool_use', id: 'toolu_01D', name: 'set_points', input: { line: 2 } },
    ]);
  });

  it('leaves what it cannot say to another provider, and says why where there is none', async () => {
    await using upstream = await startUpstream(whole);
    await using other = await startUpstream(answerWith('Heard it.'));
    const models = { 'acme/one': {} };
    const claude = anthropic({ apiKey: OWN_KEY, baseURL: upstream.baseURL, models });
    const audio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } } as const;
    const request = { model: 'acme/one', messages: [{ role: 'user', content: [audio] }] } as const;
    const alone = createRouter({ providers: [claude] });
    const error: unknown = await alone.chat(request).catch((thrown: unknown) => thrown);
    expect(RouterError.isInstance(error) && [error.status, error.message]).toEqual([
      400,
      expect.stringContaining('messages[0].content[0] is audio, which this provider does not take'),
    ]);
    const second = openaiCompatible({ slug: 'other', baseURL: other.baseURL, models });
    const both = createRouter({ providers: [claude, second] });
    const answered = await both.chat({ ...request, provider: { order: ['anthropic', 'other'] } });
    expect(answered.choices[0]?.message.content).toBe('Heard it.');
    expect(upstream.requests).toEqual([]);
    await Promise.all([alone.close(), both.close()]);
  });
});

describe('a caller who speaks the Messages API', () => {
  const body = {
    model: 'anthropic/claude-opus-4.7',
    max_tokens: 10,
    messages: [HI],
    container: { skills: ['pptx'] },
    metadata: { user_id: 'raw-user', other: 1 },
  };

  /** Asks as the router does for a body that came to `POST /messages`. */
  async function askNatively(provider: Provider, native: JsonObject, stream: boolean): Promise<ProviderReply> {
    const checked = normalizeChatRequest(
      { model: MODEL, messages: [HI], stream },
      {
        id: 'gen-1-native',
        created: 1,
        account: { id: 'a' },
        endUser: 'user_standin',
        wantsMetadata: false,
        native: { apiFormat: 'messages', body: native },
      },
      { catalog: buildCatalog([provider]), policy: {}, presets: {}, routerModels: new Set(), docsUrl: '' },
    );
    const endpoint = checked.ok ? checked.value.targets[0]?.endpoints[0] : undefined;
    if (!checked.ok || endpoint === undefined) throw new Error('not normalised');
    expect(endpoint.apiFormats).toEqual(['messages']);
    const progress = { connecting: ignore, connected: ignore, sending: ignore };
    const { signal } = new AbortController();
    return provider.chat({ request: checked.value, endpoint, signal, progress });
  }

  it('has the body sent as it is, but for model, stream and user, and gets the answer as it is', async () => {
    await using upstream = await startUpstream(whole);
    const provider = anthropic({ apiKey: OWN_KEY, baseURL: upstream.baseURL });
    const reply = await askNatively(provider, body, false);
    expect(upstream.requests[0]?.body).toEqual({
      ...body,
      model: 'claude-opus-4-7',
      stream: false,
      metadata: { user_id: 'user_standin', other: 1 },
    });
    expect(reply).toMatchObject({
      type: 'whole',
      result: { native: MESSAGE, choices: [{ message: { content: 'Hello.' } }] },
    });
    await provider.close?.();
  });

  it('gets events as they are, beside what the router reads from them', async () => {
    const events = new TextDecoder().decode(anthropicFixture('search.sse'));
    await using upstream = await startUpstream(streaming(events));
    const provider = anthropic({ apiKey: OWN_KEY, baseURL: upstream.baseURL });
    const reply = await askNatively(provider, body, true);
    if (reply.type !== 'stream') throw new Error('no stream');
    const pieces: StreamPiece[] = [];
    for (let read = await reply.stream.read(); read !== undefined; read = await reply.stream.read())
      pieces.push(...read);
    const passed = pieces.flatMap((piece) =>
      typeof piece !== 'string' && piece.type === 'native'
        ? [messageEvent(JSON.parse(piece.data) as { type: string })]
        : [],
    );
    expect(passed.join('')).toBe(events);
    expect(pieces.filter((piece) => typeof piece === 'string')).toEqual(['Two ', 'lines 🚦 run']);
    await provider.close?.();
  });
});

function ignore(): void {}
