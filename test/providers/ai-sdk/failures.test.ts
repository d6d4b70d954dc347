import { createServer } from 'node:net';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { AttemptFailure } from 'signalbox';
import { refusingAddress } from 'signalbox/testing';
import { type AskingModel, type Part, askModel, handMade, helloParts } from '../../support/ai-sdk-models.ts';

const API_CALL = Symbol.for('vercel.ai.error.AI_APICallError');
const PROMPT = 'my secret prompt';

/** An error as the SDK makes it for an HTTP answer; made without the SDK, so that no copy of it matters. */
function apiCallError(members: object): Error {
  const error = new Error('Something went wrong');
  error.name = 'AI_APICallError';
  return Object.assign(error, {
    [API_CALL]: true,
    url: 'https://api.example/v1?key=k',
    requestBodyValues: { messages: [{ content: PROMPT }] },
    ...members,
  });
}

/** The failure of a model that throws this, which is the same in both forms. */
async function failureOf(thrown: unknown, asking: AskingModel = {}): Promise<AttemptFailure | undefined> {
  const model = handMade({ throws: thrown });
  const { failure } = await askModel(model, {}, asking);
  expect((await askModel(model, {}, { ...asking, stream: true })).failure).toEqual(failure);
  expect(JSON.stringify(failure)).not.toContain(PROMPT);
  return failure;
}

/** The failure inside a stream, and what was said before it. */
async function failureInside(error: unknown, before: readonly Part[] = []): Promise<AttemptFailure | undefined> {
  const finish = { type: 'finish', finishReason: { unified: 'error', raw: undefined }, usage: {} };
  const parts = [...before, { type: 'error', error }, finish];
  const { failure, pieces } = await askModel(handMade({ parts }), {}, { stream: true });
  expect(pieces.at(-1)).toMatchObject({ type: 'failure' });
  expect(pieces.filter((piece) => typeof piece !== 'string' && piece.type === 'failure')).toHaveLength(1);
  return failure;
}

describe('an error of the SDK for an HTTP answer', () => {
  it('is judged by its status, its headers and its body', async () => {
    const responseBody = JSON.stringify({ error: { message: 'Slow down', code: 'rate_limit_exceeded' } });
    const error = apiCallError({
      statusCode: 429,
      responseHeaders: { 'retry-after': '7' },
      responseBody,
      isRetryable: true,
    });
    expect(await failureOf(error)).toEqual({
      kind: 'rate_limited',
      message: 'Slow down',
      status: 429,
      retryAfterMs: 7_000,
      providerCode: 'rate_limit_exceeded',
      raw: responseBody,
    });
  });

  it('may know more of trying again than its status', async () => {
    const kinds = [
      [429, false, 'quota'],
      [429, true, 'rate_limited'],
      [429, undefined, 'rate_limited'],
      [400, true, 'conflict'],
      [400, false, 'invalid_request'],
      [503, false, 'overloaded'],
      [401, true, 'credentials'],
    ] as const;
    for (const [statusCode, isRetryable, kind] of kinds) {
      expect((await failureOf(apiCallError({ statusCode, isRetryable })))?.kind).toBe(kind);
    }
  });

  it('shows no key, neither one that looks like it nor one that was named', async () => {
    const responseBody = JSON.stringify({ message: 'Bad key sk-abcdefghijklmnop and plainword' });
    const failure = await failureOf(apiCallError({ statusCode: 401, responseBody }), { secrets: ['plainword'] });
    expect(failure?.message).toBe('Bad key [redacted] and [redacted]');
  });

  it('speaks the words of AWS too', async () => {
    const responseBody = JSON.stringify({ Message: 'Too many tokens a minute', __type: 'ThrottlingException' });
    expect(await failureOf(apiCallError({ statusCode: 429, responseBody }))).toMatchObject({
      kind: 'rate_limited',
      message: 'Too many tokens a minute',
      providerCode: 'ThrottlingException',
    });
  });

  it('with a good status is an error in disguise, a broken connection, or nonsense', async () => {
    const disguised = JSON.stringify({ error: { message: 'No capacity', code: 'overloaded' } });
    expect((await failureOf(apiCallError({ statusCode: 200, responseBody: disguised })))?.kind).toBe('overloaded');
    const reset = Object.assign(new TypeError('terminated'), { cause: { code: 'UND_ERR_SOCKET' } });
    expect((await failureOf(apiCallError({ statusCode: 200, cause: reset })))?.kind).toBe('connection');
    expect((await failureOf(apiCallError({ statusCode: 200, responseBody: '<html>' })))?.kind).toBe('bad_response');
  });

  it('without a status is a connection that failed', async () => {
    const kinds = [
      ['ECONNREFUSED', 'connection'],
      ['ENOTFOUND', 'unreachable'],
      ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
      ['CERT_HAS_EXPIRED', 'unreachable'],
    ] as const;
    for (const [code, kind] of kinds) {
      expect((await failureOf(apiCallError({ cause: { code }, isRetryable: true })))?.kind).toBe(kind);
    }
    expect((await failureOf(apiCallError({})))?.kind).toBe('connection');
  });
});

describe('an error that the SDK makes by itself', () => {
  it.each([
    ['AI_EmptyResponseBodyError', 'bad_response'],
    ['AI_InvalidResponseDataError', 'bad_response'],
    ['AI_JSONParseError', 'bad_response'],
    ['AI_TypeValidationError', 'bad_response'],
    ['AI_NoContentGeneratedError', 'bad_response'],
    ['AI_LoadAPIKeyError', 'credentials'],
    ['AI_LoadSettingError', 'credentials'],
    ['AI_NoSuchModelError', 'model_not_found'],
    ['AI_UnsupportedFunctionalityError', 'unsupported_parameter'],
    ['AI_InvalidArgumentError', 'unsupported_parameter'],
    ['AI_InvalidPromptError', 'unsupported_parameter'],
    ['TimeoutError', 'timeout'],
    ['AbortError', 'connection'],
    ['SomeOtherError', 'adapter'],
  ])('%s is %s', async (name, kind) => {
    const quiet = !/Unsupported|InvalidArgument/.test(name);
    const error = Object.assign(new Error(quiet ? `about ${PROMPT}` : 'not here'), { name });
    const failure = await failureOf(error);
    expect(failure?.kind).toBe(kind);
    if (!quiet) expect(failure?.message).toBe('not here');
  });

  it('may hold an error of the provider that the SDK did not recognise', async () => {
    const value = { error: { message: 'No money left', code: 'insufficient_quota' } };
    const error = Object.assign(new Error('x'), { name: 'AI_TypeValidationError', value });
    expect(await failureOf(error)).toMatchObject({ kind: 'quota', message: 'No money left' });
  });

  it('may be anything at all', async () => {
    for (const thrown of ['text', 7, null, undefined, {}, new DOMException('x', 'DataCloneError')]) {
      const model = handMade();
      const odd = {
        ...model,
        doGenerate: () => Promise.reject(thrown),
        doStream(): never {
          throw thrown as Error;
        },
      };
      for (const stream of [false, true]) expect((await askModel(odd, {}, { stream })).failure?.kind).toBe('adapter');
    }
  });

  it('is a call that was given up once its signal says so', async () => {
    const controller = new AbortController();
    const model = handMade();
    const odd = {
      ...model,
      doGenerate: () => {
        controller.abort();
        return Promise.reject(new TypeError('whatever'));
      },
    };
    expect((await askModel(odd, {}, { signal: controller.signal })).failure?.kind).toBe('aborted');
  });
});

describe('an error inside a stream', () => {
  const marked = (members: object): object =>
    Object.defineProperty({ ...members }, Symbol.for('vercel.ai.providerStreamError'), { value: true });

  it('is the one that the provider told, whatever its form, and the last thing said', async () => {
    const errors: readonly (readonly [unknown, string])[] = [
      [{ message: 'Busy', type: 'overloaded_error' }, 'overloaded'],
      [{ error: { message: 'Busy', code: 'rate_limit_exceeded' } }, 'rate_limited'],
      ['Busy', 'server'],
      [marked({ message: 'Busy', type: 'UNAVAILABLE', statusCode: 503, isRetryable: true }), 'overloaded'],
      [marked({ message: 'Busy', statusCode: 429, isRetryable: false }), 'quota'],
      [apiCallError({ statusCode: 529, responseBody: '{"error":{"message":"Busy"}}' }), 'overloaded'],
    ];
    for (const [error, kind] of errors) {
      for (const before of [[], helloParts('v4').slice(0, 4)]) {
        expect(await failureInside(error, before)).toMatchObject({ kind, message: 'Busy' });
      }
    }
  });

  it('keeps what the provider said of when to come back', async () => {
    const data = {
      code: 429,
      message: 'Quota',
      status: 'RESOURCE_EXHAUSTED',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '27s' }],
    };
    const error = marked({ message: 'Quota', type: 'RESOURCE_EXHAUSTED', code: 429, statusCode: 429, data });
    expect(await failureInside(error)).toMatchObject({ kind: 'rate_limited', retryAfterMs: 27_000 });
  });

  it('may be a stream that breaks', async () => {
    const reset = Object.assign(new TypeError('terminated'), { cause: { code: 'ECONNRESET' } });
    const { failure, pieces } = await askModel(
      handMade({ parts: [...helloParts('v4').slice(0, 3), reset] }),
      {},
      { stream: true },
    );
    expect(failure?.kind).toBe('connection');
    expect(pieces).toContain('Hel');
  });
});

describe('a real package of the SDK', () => {
  afterEach(() => vi.unstubAllEnvs());

  const body = { messages: [{ role: 'user', content: PROMPT }] };

  it('tells that nobody listens', async () => {
    await using dead = await refusingAddress();
    const model = createOpenAICompatible({ name: 'own', baseURL: dead.baseURL, apiKey: 'k' })('one');
    for (const stream of [false, true]) {
      expect((await askModel(model, body, { stream })).failure).toMatchObject({ kind: 'connection' });
    }
  });

  it('tells that there is no such host', async () => {
    const model = createAnthropic({ baseURL: 'http://no-such-host.invalid/v1', apiKey: 'k' })('claude-sonnet-4-5');
    const { failure } = await askModel(model, body);
    expect(['unreachable', 'connection']).toContain(failure?.kind);
    expect(JSON.stringify(failure)).not.toContain(PROMPT);
  });

  it('tells that the other side hung up before it answered', async () => {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const model = createAnthropic({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'k' })('claude-sonnet-4-5');
    expect((await askModel(model, body)).failure?.kind).toBe('connection');
    await new Promise((resolve) => server.close(resolve));
  });

  it('tells that it has no key', async () => {
    vi.stubEnv('ANTHROPIC_API_KEY', undefined);
    const model = createAnthropic({ baseURL: 'http://127.0.0.1:9/v1' })('claude-sonnet-4-5');
    expect((await askModel(model, body)).failure).toMatchObject({ kind: 'credentials' });
  });

  it('tells that it cannot say a part of the prompt, and where options are wrong', async () => {
    const model = createAnthropic({ baseURL: 'http://127.0.0.1:9/v1', apiKey: 'k' })('claude-sonnet-4-5');
    const sound = { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }] };
    const { failure } = await askModel(model, { messages: [sound] });
    expect(failure).toMatchObject({ kind: 'unsupported_parameter', message: expect.stringContaining('audio/wav') });
    const wrong = await askModel(model, { ...body, sendReasoning: 'yes' });
    expect(wrong.failure?.kind).toBe('unsupported_parameter');
  });
});
