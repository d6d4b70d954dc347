import { type Router, createRouter, openaiCompatible } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { RouterError } from '../../src/protocol/router-error.ts';
import { type Upstream, type UpstreamHandler, answerWith, failWith, startUpstream } from '../support/upstream.ts';

interface Bench extends AsyncDisposable {
  readonly upstream: Upstream;
  readonly router: Router;
  /** Asks once; gives the text of the answer or the error. */
  readonly ask: (text?: string) => Promise<string | RouterError>;
  readonly pass: (milliseconds: number) => Promise<void>;
}

const MODELS = { 'acme/one': {} };

async function startBench(models: object = MODELS): Promise<Bench> {
  const upstream = await startUpstream();
  const environment = fakeEnvironment({});
  const router = createRouter({
    providers: [
      openaiCompatible({ slug: 'acme', baseURL: upstream.baseURL, apiKey: 'sk-1', models: models as typeof MODELS }),
    ],
    fallback: { triesPerEndpoint: 1 },
    environment,
    on: { warning: () => {} },
  });
  return {
    upstream,
    router,
    async ask(text = 'Hello') {
      try {
        const result = await router.chat({ model: 'acme/one', messages: [{ role: 'user', content: text }] });
        return String(result.choices[0]?.message.content);
      } catch (error) {
        if (RouterError.isInstance(error)) return error;
        throw error;
      }
    },
    pass: (milliseconds) => environment.advance(milliseconds),
    async [Symbol.asyncDispose]() {
      await router.close();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

function statusOf(answer: string | RouterError): number {
  return typeof answer === 'string' ? 200 : answer.status;
}

const error = (message: string, code: string | null = null, type: string | null = null): object => ({
  error: { message, code, type },
});

/** Refusals of one request, with the status that its caller gets. */
const ONE_REQUEST: readonly (readonly [string, number, object, number])[] = [
  ['an unknown 403', 403, error('This is not allowed for you'), 502],
  ['an unknown 404', 404, error('Previous response with id x not found.'), 404],
  ['an unknown 402', 402, error('Too much'), 502],
  [
    'a balance that allows fewer tokens',
    402,
    error(
      'This request requires more credits, or fewer max_tokens. You requested up to 9 tokens, but can only afford 3.',
    ),
    502,
  ],
  [
    'a balance that allows fewer tokens, with the code of an empty one',
    402,
    error('You requested up to 9 tokens, but can only afford 3.', 'insufficient_credits'),
    502,
  ],
  ['an image where none are understood', 404, error('No endpoints found that support image input'), 400],
  [
    'a scope that the key lacks',
    401,
    error('You have insufficient permissions for this operation. Missing scopes: x'),
    502,
  ],
  [
    'a file that is not ready',
    400,
    { error: { code: 400, status: 'FAILED_PRECONDITION', message: 'The File is not in an ACTIVE state' } },
    502,
  ],
];

describe('a refusal that may concern one request alone', () => {
  it.each(ONE_REQUEST)('takes the endpoint away from nobody: %s', async (_name, status, body, expected) => {
    await using bench = await startBench();
    for (let round = 0; round < 3; round += 1) {
      bench.upstream.handler = failWith(status, body);
      expect(statusOf(await bench.ask())).toBe(expected);
      expect(statusOf(await bench.ask())).toBe(expected);
      bench.upstream.handler = answerWith('Hello');
      expect(await bench.ask()).toBe('Hello');
    }
  });

  it.each(ONE_REQUEST.filter(([, , , expected]) => expected !== 400))(
    'makes an endpoint suspect after three in a row, until somebody looks: %s',
    async (_name, status, body, expected) => {
      await using bench = await startBench();
      bench.upstream.handler = failWith(status, body);
      for (let times = 0; times < 3; times += 1) expect(statusOf(await bench.ask())).toBe(expected);
      bench.upstream.handler = answerWith('Hello');
      if (expected === 502) {
        expect(statusOf(await bench.ask())).toBe(503);
        await bench.pass(1_000);
      }
      expect(await bench.ask()).toBe('Hello');
      expect(await bench.ask()).toBe('Hello');
    },
  );

  it.each<readonly [string, number, object, number]>([
    ['DeepSeek', 400, error('Content Exists Risk', 'invalid_request_error', 'invalid_request_error'), 400],
    ['Alibaba', 400, error('Input data may contain inappropriate content.', 'data_inspection_failed'), 400],
    ['Alibaba, by its native code', 400, { code: 'DataInspectionFailed', message: 'm' }, 400],
    ['xAI', 403, { code: 'permission-denied', error: 'Content violates usage guidelines. ' }, 403],
    [
      'xAI, with what was checked',
      403,
      {
        code: 'The caller does not have permission',
        error: 'Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO',
      },
      403,
    ],
  ])('is a violation of a content policy in the words of %s', async (_name, status, body, expected) => {
    await using bench = await startBench();
    for (let times = 0; times < 5; times += 1) {
      bench.upstream.handler = failWith(status, body);
      expect(await bench.ask()).toMatchObject({ status: expected, errorType: 'content_policy_violation' });
    }
    bench.upstream.handler = answerWith('Hello');
    expect(await bench.ask()).toBe('Hello');
  });
});

describe('the type of an error', () => {
  it.each<readonly [string, number, object, number]>([
    [
      'max_tokens_exceeded',
      400,
      error('max_tokens is too large: 100000. This model supports at most 16384 completion tokens', 'invalid_value'),
      400,
    ],
    [
      'max_tokens_exceeded',
      400,
      error('max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens'),
      400,
    ],
    [
      'token_limit_exceeded',
      413,
      error('Request body too large for gpt-4o model. Max size: 8000 tokens.', 'tokens_limit_reached'),
      400,
    ],
    ['string_too_long', 400, error("Invalid 'user': string too long.", 'string_above_max_length'), 400],
    [
      'refusal',
      400,
      error('Invalid prompt: your prompt was flagged as potentially violating our usage policy.', 'invalid_prompt'),
      400,
    ],
    ['invalid_image', 400, error('Invalid image URL', 'invalid_image_url'), 400],
    ['image_download_failed', 400, error('Error while downloading https://a.example/b.png.', 'invalid_image_url'), 400],
    [
      'unsupported_image_format',
      400,
      error('Please make sure your image has of one the following formats', 'invalid_image_format'),
      400,
    ],
    ['image_too_large', 400, error('messages.0.content.1.image: image exceeds 5 MB maximum'), 400],
    [
      'image_too_small',
      400,
      error(
        'The image length and width do not meet the model restrictions. They must be larger than 10',
        'image_too_small',
      ),
      400,
    ],
    ['image_not_found', 404, error('Image not found', 'image_not_found'), 404],
    ['context_length_exceeded', 400, error('too many tokens'), 400],
    ['invalid_request', 400, error('No'), 400],
    ['unprocessable', 422, error('No'), 422],
    ['payload_too_large', 413, error('No'), 413],
  ])('is %s (status %i)', async (errorType, status, body, expected) => {
    await using bench = await startBench();
    bench.upstream.handler = failWith(status, body);
    expect(await bench.ask()).toMatchObject({ status: expected, errorType });
    bench.upstream.handler = answerWith('Hello');
    expect(await bench.ask()).toBe('Hello');
  });

  it('is invalid_prompt for a prompt that is none', async () => {
    await using bench = await startBench();
    const chat = (body: unknown): Promise<unknown> => bench.router.chat(body as Parameters<Router['chat']>[0]);
    const message = { role: 'user', content: 'Hi' };
    for (const messages of [[], [{ ...message, role: 'nobody' }], [{ role: 'user' }], 'Hi']) {
      await expect(chat({ model: 'acme/one', messages })).rejects.toMatchObject({ errorType: 'invalid_prompt' });
    }
    const other = chat({ model: 'acme/one', messages: [message], temperature: 9 });
    await expect(other).rejects.toMatchObject({ errorType: 'invalid_request' });
  });
});

describe('the only provider', () => {
  it.each([
    [401, error('Incorrect API key provided', 'invalid_api_key')],
    [402, error('Insufficient Balance')],
    [403, error('Your API key was reported as leaked.')],
  ])('is looked at again a second after %i, and not before', async (status, body) => {
    await using bench = await startBench();
    bench.upstream.handler = failWith(status, body);
    expect(statusOf(await bench.ask())).toBe(502);
    expect(await bench.ask()).toMatchObject({ status: 503, retryAfterMs: 1_000 });
    await bench.pass(1_000);
    expect(statusOf(await bench.ask())).toBe(502);
    expect(await bench.ask()).toMatchObject({ status: 503, retryAfterMs: 1_000 });
    await bench.pass(1_000);
    bench.upstream.handler = answerWith('Hello');
    expect(await bench.ask()).toBe('Hello');
    expect(await bench.ask()).toBe('Hello');
    expect(bench.upstream.requests).toHaveLength(4);
  });

  it('is looked at by one request at a time', async () => {
    await using bench = await startBench();
    bench.upstream.handler = failWith(401, error('Incorrect API key provided', 'invalid_api_key'));
    await bench.ask();
    await bench.pass(1_000);
    bench.upstream.handler = answerWith('Hello');
    const answers = await Promise.all([bench.ask(), bench.ask(), bench.ask()]);
    expect(answers.map(statusOf).toSorted((left, right) => left - right)).toEqual([200, 503, 503]);
    expect(bench.upstream.requests).toHaveLength(2);
  });

  it('is called a few times until it evidently refuses all, and then seldom, for as long as it asks', async () => {
    await using bench = await startBench();
    bench.upstream.handler = failWith(429, error('Slow down'), { 'retry-after': '30' });
    for (let asked = 0; asked < 26; asked += 1) {
      await bench.pass(1_000);
      expect(statusOf(await bench.ask())).toBe(429);
    }
    expect(bench.upstream.requests.length).toBeGreaterThan(4);
    expect(bench.upstream.requests.length).toBeLessThan(5 + 10);
    await bench.pass(31_000);
    bench.upstream.handler = answerWith('Hello');
    expect(await bench.ask()).toBe('Hello');
  });

  it('says every time that a name is mistyped, in its own words', async () => {
    await using bench = await startBench();
    bench.upstream.handler = failWith(404, error('The model `one` does not exist', 'model_not_found'));
    for (let times = 0; times < 5; times += 1) {
      const answer = await bench.ask();
      expect(answer).toMatchObject({
        status: 404,
        errorType: 'not_found',
        availability: { code: 'model_unavailable_upstream', retryable: false, affected_providers: ['acme'] },
      });
      expect((answer as RouterError).message).toContain('The model `one` does not exist');
    }
  });
});

describe('several providers', () => {
  const MISSING = failWith(404, error('The model `one` does not exist', 'model_not_found'));
  const BUSY = failWith(503, error('Overloaded'));

  async function answerOf(first: UpstreamHandler, second: UpstreamHandler): Promise<unknown> {
    await using p = await startUpstream(first);
    await using q = await startUpstream(second);
    const router = createRouter({
      providers: [p, q].map(({ baseURL }, at) =>
        openaiCompatible({ slug: at === 0 ? 'p' : 'q', baseURL, models: { 'acme/one': {} } }),
      ),
      fallback: { triesPerEndpoint: 1 },
      on: { warning: () => {} },
    });
    const messages = [{ role: 'user', content: 'Hello' }] as const;
    const caught: unknown = await router
      .chat({ model: 'acme/one', messages: [...messages], provider: { order: ['p', 'q'] } })
      .catch((thrown: unknown) => thrown);
    await router.close();
    return caught;
  }

  it('that all do not have a model make it unavailable upstream', async () => {
    expect(await answerOf(MISSING, MISSING)).toMatchObject({
      status: 404,
      errorType: 'not_found',
      availability: { code: 'model_unavailable_upstream', retryable: false, affected_providers: ['p', 'q'] },
    });
  });

  it.each([
    ['the first', MISSING, BUSY],
    ['the second', BUSY, MISSING],
  ])('of which only %s does not have it say nothing lasting of it', async (_which, first, second) => {
    const answer = await answerOf(first, second);
    expect(answer).toMatchObject({ status: 502 });
    expect((answer as RouterError).availability).toBeUndefined();
  });
});

describe('a prompt that is too long for one endpoint', () => {
  const TOO_LONG = error('maximum context length is 16000 tokens', 'context_length_exceeded');

  /** A short and cheap endpoint and a long and dear one of the same model. */
  async function startTwo() {
    const short = await startUpstream(failWith(400, TOO_LONG));
    const long = await startUpstream(answerWith('From the long one'));
    const price = (prompt: number) => ({ prompt, completion: prompt });
    const router = createRouter({
      providers: [
        openaiCompatible({
          slug: 'short',
          baseURL: short.baseURL,
          models: { 'acme/one': { contextLength: 16_000, price: price(0.1) } },
        }),
        openaiCompatible({
          slug: 'long',
          baseURL: long.baseURL,
          models: { 'acme/one': { contextLength: 131_000, price: price(10) } },
        }),
      ],
      on: { warning: () => {} },
    });
    return { short, long, router };
  }

  it('goes on to one that holds more', async () => {
    const { short, long, router } = await startTwo();
    // So few characters that the estimate does not tell: Chinese has about a token for each.
    const content = '语'.repeat(24_000);
    const result = await router.chat({
      model: 'acme/one',
      messages: [{ role: 'user', content }],
      provider: { order: ['short'] },
    });
    expect(result.choices[0]?.message.content).toBe('From the long one');
    expect([short.requests.length, long.requests.length]).toEqual([1, 1]);
    await router.close();
    await Promise.all([short, long].map((one) => one[Symbol.asyncDispose]()));
  });

  it('is likely not sent to the short one at all', async () => {
    const { short, long, router } = await startTwo();
    const content = 'some words '.repeat(10_000);
    for (let times = 0; times < 5; times += 1) {
      await router.chat({ model: 'acme/one', messages: [{ role: 'user', content }] });
    }
    expect([short.requests.length, long.requests.length]).toEqual([0, 5]);
    await router.close();
    await Promise.all([short, long].map((one) => one[Symbol.asyncDispose]()));
  });

  it('is refused in the words of the provider when none holds more', async () => {
    await using bench = await startBench();
    bench.upstream.handler = failWith(400, TOO_LONG);
    expect(await bench.ask()).toMatchObject({ status: 400, errorType: 'context_length_exceeded' });
  });
});
