import { type RouterConfig, type StreamPiece, apiKeys, createRouter, failure, handle } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { type FedCall, type FedProvider, GOOD_END, fedProvider } from '../support/fed-provider.ts';
import { type Answered, type CallInit, httpCall, send } from '../support/http-call.ts';
import { eventsIn, messageIn } from '../support/messages-stream.ts';

const KEY = 'key-of-ada-0123456789';

interface Asked {
  readonly answer: Answered;
  readonly provider: FedProvider;
}

async function ask(
  fields: Readonly<Record<string, unknown>> = {},
  {
    script = (call: FedCall): void => call.answer('Hi'),
    ...init
  }: CallInit & { script?: (call: FedCall) => void } = {},
  config: Partial<RouterConfig> = {},
): Promise<Asked> {
  const provider = fedProvider({ script });
  const router = createRouter({
    fallback: { triesPerEndpoint: 1 },
    on: { warning: () => {} },
    ...config,
    providers: [provider],
  });
  const body = { model: 'acme/one', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }], ...fields };
  return { answer: await send(router, { path: '/messages', body, ...init }), provider };
}

function failing(...details: Parameters<typeof failure>): { script: (call: FedCall) => void } {
  return { script: (call) => call.fail(failure(...details)) };
}

describe('POST /messages', () => {
  it('answers with a message, and with ids in the headers that its clients read', async () => {
    const { answer } = await ask();
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({
      type: 'message',
      role: 'assistant',
      model: 'acme/one',
      content: [{ type: 'text', text: 'Hi' }],
      stop_reason: 'end_turn',
    });
    expect(answer.headers['request-id']).toMatch(/^req_\w{24}$/);
    expect(answer.headers['request-id']).toBe(answer.headers['x-request-id']);
    expect(answer.headers['x-generation-id']).toBe(answer.json['id']);
  });

  it('answers with events', async () => {
    const { answer } = await ask({ stream: true }, { script: (call) => call.push('Hel', 'lo', ...GOOD_END) });
    expect(answer.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(messageIn(eventsIn(answer.text))).toMatchObject({
      content: [{ type: 'text', text: 'Hello' }],
      usage: { input_tokens: 8, output_tokens: 2 },
    });
  });

  it('makes no empty frame of what it holds back', async () => {
    const native = (type: string): StreamPiece => ({ type: 'native', event: type, data: JSON.stringify({ type }) });
    const provider = fedProvider();
    const router = createRouter({ providers: [{ ...provider, apiFormats: ['messages'] }] });
    const body = { model: 'acme/one', max_tokens: 9, stream: true, messages: [{ role: 'user', content: 'x' }] };
    const opening = handle(router, httpCall({ path: '/messages', body }));
    while (provider.calls.length === 0) await new Promise(setImmediate);
    const [call] = provider.calls;
    call?.push(native('message_start'), 'Hi');
    const reply = await opening;
    const frames: string[] = [];
    const reading = (async () => {
      if (reply?.type === 'stream') for await (const frame of reply.frames) frames.push(frame);
    })();
    for (const piece of [native('message_delta'), native('message_stop'), ...GOOD_END]) {
      await new Promise(setImmediate);
      call?.push(piece);
    }
    await reading;
    expect(frames).toHaveLength(2);
    expect(frames).not.toContain('');
  });

  it('tells in the stream that it broke, as its clients know it', async () => {
    const script = (call: FedCall): void =>
      call.push('Hel', { type: 'failure', failure: failure('overloaded', 'Too busy', { status: 529 }) });
    const { answer } = await ask({ stream: true }, { script });
    expect(answer.status).toBe(200);
    expect(eventsIn(answer.text).at(-1)).toMatchObject({
      type: 'error',
      error: { type: 'overloaded_error', message: 'Upstream error from FED' },
      request_id: answer.headers['request-id'],
    });
  });

  it('asks the provider for what was asked', async () => {
    const { provider } = await ask({ system: 'Be brief.', max_tokens: 7, metadata: { user_id: 'ada', team: 'ops' } });
    expect(provider.calls[0]?.call.request).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ],
      parameters: { max_completion_tokens: 7 },
      metadata: { team: 'ops' },
      native: { apiFormat: 'messages', body: { system: 'Be brief.', metadata: { user_id: 'ada' } } },
    });
  });

  it.each([
    ['in the body', { session_id: 'tram' }, {}],
    ['in the header', {}, { 'x-session-id': 'tram' }],
  ])('takes a session %s', async (_where, fields, headers: Record<string, string>) => {
    const { provider } = await ask(fields, { headers });
    expect(provider.calls[0]?.call.request.session.id).toBe('tram');
  });

  it('falls back to other models as chat does', async () => {
    const models = { 'acme/one': {}, 'acme/two': {} };
    const provider = fedProvider({
      models,
      script: (call) =>
        call.call.endpoint.model === 'acme/one' ? call.fail(failure('server', 'Broken')) : call.answer('Hi'),
    });
    const router = createRouter({ providers: [provider], fallback: { triesPerEndpoint: 1 } });
    const body = {
      model: 'acme/one',
      fallbacks: [{ model: 'acme/two' }],
      max_tokens: 9,
      messages: [{ role: 'user', content: 'x' }],
    };
    const answer = await send(router, { path: '/messages', body, headers: { 'x-router-metadata': 'enabled' } });
    expect(answer.json).toMatchObject({
      model: 'acme/two',
      router_metadata: { requested: 'acme/one', attempt: 2 },
    });
  });

  it('spells the metadata as they were asked for, whole and in a stream', async () => {
    const headers = { 'x-openrouter-metadata': 'enabled' };
    const { answer } = await ask({}, { headers });
    expect(answer.json).toHaveProperty('openrouter_metadata.requested', 'acme/one');
    const { answer: streamed } = await ask(
      { stream: true },
      { headers, script: (call) => call.push('Hi', ...GOOD_END) },
    );
    expect(eventsIn(streamed.text).at(-2)).toHaveProperty('openrouter_metadata.requested', 'acme/one');
  });
});

describe('what an endpoint must speak Messages for', () => {
  it('is told when none does', async () => {
    const { answer, provider } = await ask({ tools: [{ type: 'bash_20250124', name: 'bash' }] });
    expect(answer.status).toBe(400);
    expect(answer.error).toMatchObject({
      type: 'invalid_request_error',
      message: 'tools[0].type can only be sent to a provider that supports this API natively, and none serves acme/one',
    });
    expect(provider.calls).toHaveLength(0);
  });

  it('goes there, and the answer comes back in its own words', async () => {
    const fed = fedProvider({
      script: (call) =>
        call.answer('Hi', {
          native: {
            id: 'msg_1',
            type: 'message',
            role: 'assistant',
            content: [{ type: 'hologram' }],
            stop_reason: 'end_turn',
            stop_sequence: null,
            usage: { input_tokens: 1, output_tokens: 1 },
          },
        }),
    });
    const router = createRouter({ providers: [fedProvider({ slug: 'other' }), { ...fed, apiFormats: ['messages'] }] });
    const body = {
      model: 'acme/one',
      max_tokens: 9,
      container: 'c_1',
      provider: { order: ['other'] },
      messages: [{ role: 'user', content: 'x' }],
    };
    const answer = await send(router, { path: '/messages', body });
    expect(answer.json).toMatchObject({ id: 'msg_1', model: 'acme/one', content: [{ type: 'hologram' }] });
    expect(fed.calls[0]?.call.request.native?.body).toEqual({
      model: 'acme/one',
      max_tokens: 9,
      container: 'c_1',
      messages: body.messages,
    });
  });
});

describe('an error of POST /messages', () => {
  it('has the envelope of its wire', async () => {
    const { answer } = await ask({ max_tokens: undefined });
    expect(answer.status).toBe(400);
    expect(answer.json).toEqual({
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'max_tokens is required and must be a number.',
        error_type: 'invalid_request',
        metadata: { error_type: 'invalid_request', path: 'max_tokens' },
      },
      request_id: answer.headers['request-id'],
    });
  });

  it.each([
    [failing('rate_limited', 'Slow down', { status: 429, retryAfterMs: 7_000 }), 429, 'rate_limit_error'],
    [failing('overloaded', 'Too busy', { status: 503 }), 529, 'overloaded_error'],
    [failing('timeout', 'Too slow'), 504, 'timeout_error'],
    [failing('server', 'Broken', { status: 500 }), 502, 'api_error'],
    [failing('credentials', 'Bad key', { status: 401 }), 502, 'api_error'],
    [failing('context_length', 'Too long', { status: 400 }), 400, 'invalid_request_error'],
  ])('of a provider has the status and the type that its clients know (%#)', async (init, status, type) => {
    const { answer } = await ask({}, init);
    expect(answer.status).toBe(status);
    expect(answer.json).toMatchObject({ type: 'error', error: { type } });
  });

  it('tells clients that keep conversations on the server how to go on without that', async () => {
    const { answer } = await ask({ thread: { type: 'continue', previous_message_id: 'msg_1' } });
    expect(answer.status).toBe(400);
    expect(answer.error).toMatchObject({ details: { error_code: 'thread_unsupported_request' } });
  });

  it('keeps the time after which to try again', async () => {
    const { answer } = await ask({}, failing('rate_limited', 'Slow down', { status: 429, retryAfterMs: 7_000 }));
    expect(answer.headers['retry-after']).toBe('7');
  });

  it('is the same for an unknown model, and for text that is no JSON', async () => {
    const { answer: unknown } = await ask({ model: 'acme/none' });
    expect(unknown.json).toMatchObject({ type: 'error', error: { availability: { code: 'model_not_found' } } });
    const { answer: broken } = await ask({}, { body: '{' });
    expect(broken.status).toBe(400);
    expect(broken.json).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
  });
});

describe('a caller of POST /messages', () => {
  const config = { authenticate: apiKeys([{ key: KEY, id: 'ada' }]) };

  it.each([{ 'x-api-key': KEY }, { authorization: `Bearer ${KEY}` }])('is known by %j', async (headers) => {
    const { provider } = await ask({}, { headers: headers }, config);
    expect(provider.calls[0]?.call.request.account.id).toBe('ada');
  });

  it('who is unknown is told so in the envelope of the wire', async () => {
    const { answer } = await ask({}, { headers: { 'x-api-key': 'wrong' } }, config);
    expect(answer.status).toBe(401);
    expect(answer.json).toMatchObject({
      type: 'error',
      error: { type: 'authentication_error' },
      request_id: answer.headers['request-id'],
    });
  });
});
