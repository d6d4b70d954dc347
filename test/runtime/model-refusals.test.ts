import {
  type Account,
  anthropic,
  apiKeys,
  createRouter,
  fromAiSdk,
  google,
  openaiCompatible,
  type Provider,
  type Router,
  type RouterConfig,
} from 'signalbox';
import { describe, expect, it } from 'vitest';
import { finishOf, handMade, usageOf } from '../support/ai-sdk-models.ts';
import { type Answered, send } from '../support/http-call.ts';
import { responseOf } from '../support/responses-upstream.ts';
import {
  answerWith,
  chunkEvent,
  dataEvent,
  failWith,
  sendJson,
  startUpstream,
  type Upstream,
  type UpstreamHandler,
} from '../support/upstream.ts';

const MODEL = 'acme/one';
const EXPLANATION = 'This request touches a protected area.';

/** Answers with JSON, or with events where a stream is wanted. */
function either(json: unknown, events: readonly string[], isStream = streams): UpstreamHandler {
  return (request, response) => {
    if (!isStream(request)) return sendJson(response, 200, json);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(events.join(''));
  };
}

const streams = ({ body }: { readonly body: Readonly<Record<string, unknown>> }): boolean => body['stream'] === true;

const named = (data: { readonly type: string } & Readonly<Record<string, unknown>>): string =>
  `event: ${data.type}\n${dataEvent(data)}`;

/** Anthropic's refusal, with what the newest models say about it. */
function anthropicRefusal(details: unknown, usage: object = { input_tokens: 106, output_tokens: 1 }): UpstreamHandler {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', content: [], model: 'claude', usage };
  const end = { stop_reason: 'refusal', stop_sequence: null, stop_details: details };
  return either({ ...message, container: null, ...end }, [
    named({ type: 'message_start', message }),
    named({ type: 'message_delta', delta: end, usage: { output_tokens: 1 } }),
    named({ type: 'message_stop' }),
  ]);
}

const DETAILS = { type: 'refusal', category: 'cyber', explanation: EXPLANATION };

function responsesRefusal(): UpstreamHandler {
  const part = { type: 'refusal', refusal: EXPLANATION };
  const item = { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content: [part] };
  const response = responseOf({ body: { model: MODEL } }, 'completed', [item]);
  const begun = responseOf({ body: { model: MODEL } }, 'in_progress', []);
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const events = [
    { type: 'response.created', response: begun },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...place, part: { type: 'refusal', refusal: '' } },
    ...EXPLANATION.split(/(?= )/).map((delta) => ({ type: 'response.refusal.delta', ...place, delta })),
    { type: 'response.refusal.done', ...place, refusal: EXPLANATION },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response },
  ];
  return either(
    response,
    events.map((event, index) => named({ ...event, sequence_number: index })),
  );
}

function chatRefusal(message: object, finish: string): UpstreamHandler {
  const { refusal } = message as { refusal?: string };
  const words = (refusal ?? '').match(/\S+\s*/g) ?? [];
  return either(
    { choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: finish }] },
    [
      chunkEvent({ role: 'assistant', content: '', refusal: null }),
      ...words.map((word) => chunkEvent({ refusal: word })),
      chunkEvent({}, finish),
      'data: [DONE]\n\n',
    ],
  );
}

function geminiRefusal(body: object): UpstreamHandler {
  return (_request, response, raw) => {
    if (raw.url?.includes('stream') !== true) return sendJson(response, 200, body);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(dataEvent(body));
  };
}

const compatible = ({ baseURL }: Upstream, more: object = {}): Provider =>
  openaiCompatible({ slug: 'one', name: 'One', baseURL, models: { [MODEL]: {} }, ...more });
const claude = ({ baseURL }: Upstream): Provider =>
  anthropic({
    slug: 'one',
    name: 'One',
    apiKey: 'k',
    baseURL,
    models: { [MODEL]: { upstreamModel: 'claude-fable-5' } },
  });
const gemini = ({ baseURL }: Upstream): Provider =>
  google({ slug: 'one', name: 'One', apiKey: 'k', baseURL, models: { [MODEL]: {} } });

/** A refusal on each wire: how it comes, who gives it, and the category that is told. */
const REFUSALS: Readonly<Record<string, readonly [UpstreamHandler, (upstream: Upstream) => Provider, string]>> = {
  'Anthropic with an explanation': [anthropicRefusal(DETAILS), claude, 'cyber'],
  'Anthropic without one': [anthropicRefusal(null), claude, 'other'],
  'a message of OpenAI': [chatRefusal({ refusal: EXPLANATION }, 'stop'), compatible, 'other'],
  'the filter of Azure': [chatRefusal({}, 'content_filter'), compatible, 'other'],
  'Bedrock behind a gateway': [chatRefusal({}, 'guardrail_intervened'), compatible, 'other'],
  'Gemini behind a gateway': [chatRefusal({}, 'PROHIBITED_CONTENT'), compatible, 'other'],
  Responses: [responsesRefusal(), (upstream) => compatible(upstream, { nativeApiFormats: ['responses'] }), 'other'],
  'Gemini in its answer': [
    geminiRefusal({ candidates: [{ index: 0, finishReason: 'PROHIBITED_CONTENT' }] }),
    gemini,
    'other',
  ],
  'Gemini about the prompt': [geminiRefusal({ promptFeedback: { blockReason: 'SAFETY' } }), gemini, 'other'],
};

const PATHS = ['/chat/completions', '/messages', '/responses'] as const;

/** Every API format that can reach a wire, with and without a stream. */
function waysTo(name: string): readonly (readonly [(typeof PATHS)[number], boolean])[] {
  const paths = name === 'Responses' ? (['/responses'] as const) : PATHS;
  return paths.flatMap((path) => [[path, true] as const, [path, false] as const]);
}

function bodyFor(path: (typeof PATHS)[number], stream: boolean, more: object = {}): object {
  const messages = [{ role: 'user', content: 'Hi' }];
  const asked = path === '/responses' ? { input: 'Hi' } : { messages };
  return {
    model: MODEL,
    models: ['acme/two'],
    stream,
    ...(path === '/messages' ? { max_tokens: 50 } : {}),
    ...asked,
    ...more,
  };
}

interface Cell extends AsyncDisposable {
  readonly router: Router;
  readonly first: Upstream;
  readonly second: Upstream;
  send(path: string, body: object, key?: string): Promise<Answered>;
}

async function cellOf(
  handler: UpstreamHandler,
  make: (upstream: Upstream) => Provider,
  config: Partial<RouterConfig> = {},
): Promise<Cell> {
  const first = await startUpstream(handler);
  const second = await startUpstream(answerWith('From the second'));
  const two = openaiCompatible({ slug: 'two', name: 'Two', baseURL: second.baseURL, models: { 'acme/two': {} } });
  const router = createRouter({ ledger: true, on: { warning: () => {} }, ...config, providers: [make(first), two] });
  return {
    router,
    first,
    second,
    send: (path, body, key) =>
      send(router, {
        path,
        body,
        headers: {
          'content-type': 'application/json',
          'x-router-metadata': 'enabled',
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        },
      }),
    async [Symbol.asyncDispose]() {
      await router.close();
      await first[Symbol.asyncDispose]();
      await second[Symbol.asyncDispose]();
    },
  };
}

/** The text of an answer in any API format. */
function textOf({ text }: Answered): string {
  const [whole] = /From[\s\S]*?second/.exec(text.replaceAll(/"[^"]*?"(?:delta|text|content)":"/g, '')) ?? [];
  const words = ['From', 'the', 'second'].every((word) => text.includes(word));
  return whole !== undefined || words ? 'From the second' : text;
}

describe.each(Object.entries(REFUSALS))('a refusal from %s', (name, [handler, make, category]) => {
  it.each(waysTo(name))(
    'is left to the next model on %s (stream: %s), and the category is told',
    async (path, stream) => {
      await using cell = await cellOf(handler, make);
      const answer = await cell.send(path, bodyFor(path, stream));
      expect(textOf(answer)).toBe('From the second');
      expect(answer.text).not.toContain('protected area');
      expect(answer.text).toContain(`"refusal":"${category}"`);
      const [record] = (await cell.router.ledger?.read({ limit: 1 }))?.records ?? [];
      expect(record?.attempts).toMatchObject([{ outcome: 'content_policy', refusal: category }, { outcome: 'ok' }]);
    },
  );

  it.each(waysTo(name))('is the answer on %s (stream: %s) where no other model may be asked', async (path, stream) => {
    await using cell = await cellOf(handler, make);
    const returned = await cell.send(path, bodyFor(path, stream, { provider: { refusals: 'return' } }));
    const alone = await cell.send(path, bodyFor(path, stream, { models: [] }));
    for (const answer of [returned, alone]) {
      expect(answer.status).toBe(200);
      expect(answer.text).not.toContain('second');
    }
    expect(cell.second.requests).toHaveLength(0);
  });
});

describe('a refusal of a model of the AI SDK', () => {
  it.each([true, false])('is left to the next model (stream: %s)', async (stream) => {
    const metadata = { anthropic: { stopDetails: { type: 'refusal', category: 'bio', explanation: EXPLANATION } } };
    const finish = {
      finishReason: finishOf('v3', 'content-filter', 'refusal'),
      usage: usageOf('v3'),
      providerMetadata: metadata,
    };
    const model = handMade({
      version: 'v3',
      parts: [
        { type: 'stream-start', warnings: [] },
        { type: 'finish', ...finish },
      ],
      answer: { content: [], warnings: [], ...finish },
    });
    await using cell = await cellOf(failWith(500), () => fromAiSdk({ slug: 'one', models: { [MODEL]: model } }));
    const answer = await cell.send('/chat/completions', bodyFor('/chat/completions', stream));
    expect(textOf(answer)).toBe('From the second');
    expect(answer.text).toContain('"refusal":"bio"');
  });
});

describe('refusals', () => {
  const policyViolation = failWith(400, {
    error: { message: 'Rejected by our safety system.', code: 'content_policy_violation' },
  });

  it.each([true, false])(
    'of the content, by a status, are returned where that is wanted (stream: %s)',
    async (stream) => {
      await using cell = await cellOf(policyViolation, compatible);
      expect(textOf(await cell.send('/chat/completions', bodyFor('/chat/completions', stream)))).toBe(
        'From the second',
      );
      const body = bodyFor('/chat/completions', stream, { provider: { refusals: 'return' } });
      const { status, json } = await cell.send('/chat/completions', body);
      expect({ status, type: (json['error'] as { metadata: { error_type: string } }).metadata.error_type }).toEqual({
        status: 400,
        type: 'content_policy_violation',
      });
      expect(cell.second.requests).toHaveLength(1);
    },
  );

  it('are returned where the router or the account say so, and no request can relax that', async () => {
    const account = (id: string, more: Partial<Account> = {}) => ({ key: `key-of-${id}-0123456789`, id, ...more });
    await using cell = await cellOf(anthropicRefusal(DETAILS), claude, {
      authenticate: apiKeys([account('strict', { policy: { refusals: 'return' } }), account('free')]),
    });
    const body = bodyFor('/chat/completions', true, { provider: { refusals: 'fallback' } });
    expect((await cell.send('/chat/completions', body, 'key-of-strict-0123456789')).text).toContain('protected');
    expect(textOf(await cell.send('/chat/completions', body, 'key-of-free-0123456789'))).toBe('From the second');
    await using other = await cellOf(anthropicRefusal(DETAILS), claude, { policy: { refusals: 'return' } });
    expect((await other.send('/chat/completions', body)).text).toContain('protected');
  });

  it('after some text or reasoning are the answer', async () => {
    for (const delta of [{ content: 'I was about to' }, { reasoning: 'Hm' }]) {
      const handler: UpstreamHandler = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(
          `${chunkEvent(delta)}${chunkEvent({ refusal: EXPLANATION })}${chunkEvent({}, 'content_filter')}data: [DONE]\n\n`,
        );
      };
      await using cell = await cellOf(handler, compatible);
      expect((await cell.send('/chat/completions', bodyFor('/chat/completions', true))).text).toContain(EXPLANATION);
    }
  });

  it('that turn out to be none are sent in order', async () => {
    const handler: UpstreamHandler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(
        `${chunkEvent({ refusal: 'No. ' })}${chunkEvent({ content: 'But yes.' })}${chunkEvent({}, 'stop')}data: [DONE]\n\n`,
      );
    };
    await using cell = await cellOf(handler, compatible);
    const { text } = await cell.send('/chat/completions', bodyFor('/chat/completions', true));
    expect(text.indexOf('No. ')).toBeGreaterThan(0);
    expect(text.indexOf('But yes.')).toBeGreaterThan(text.indexOf('No. '));
  });
});

describe('the credit for a refusal', () => {
  async function askBoth(second: UpstreamHandler, provider = 'one', models: readonly string[] = ['acme/two']) {
    const first = anthropicRefusal({ ...DETAILS, fallback_credit_token: 'opaque-token' });
    const taken: UpstreamHandler = (request, response, raw) =>
      request.body['model'] === 'claude-fable-5' ? first(request, response, raw) : second(request, response, raw);
    await using upstream = await startUpstream(taken);
    const of = (slug: string, model: string, upstreamModel: string): Provider =>
      anthropic({
        slug,
        apiKey: 'k',
        baseURL: upstream.baseURL,
        betas: ['fallback-credit-2026-07-01'],
        models: { [model]: { upstreamModel } },
      });
    const both = { [MODEL]: { upstreamModel: 'claude-fable-5' }, 'acme/two': { upstreamModel: 'claude-opus-4-8' } };
    const same = anthropic({
      slug: 'one',
      apiKey: 'k',
      baseURL: upstream.baseURL,
      betas: ['fallback-credit-2026-07-01'],
      models: both,
    });
    const providers =
      provider === 'one' ? [same] : [of('one', MODEL, 'claude-fable-5'), of('two', 'acme/two', 'claude-opus-4-8')];
    const told: unknown[] = [];
    const router = createRouter({ providers, on: { warning: () => {}, attempt: (event) => void told.push(event) } });
    const answers: string[] = [];
    for (const path of PATHS.slice(0, 2))
      answers.push((await send(router, { path, body: bodyFor(path, true, { models }) })).text);
    await router.close();
    expect(JSON.stringify(told)).not.toContain('opaque-token');
    for (const answer of answers) expect(answer).not.toContain('opaque-token');
    return upstream.requests.map(({ body, headers }) => [
      body['model'],
      body['fallback_credit_token'],
      headers['anthropic-beta'],
    ]);
  }

  const message = {
    id: 'msg_2',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    usage: { input_tokens: 1, output_tokens: 1 },
  };
  const answer = either({}, [
    named({ type: 'message_start', message: { ...message, content: [] } }),
    named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Yes' } }),
    named({ type: 'content_block_stop', index: 0 }),
    named({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }),
    named({ type: 'message_stop' }),
  ]);
  const BETA = 'fallback-credit-2026-07-01';
  const REFUSED = ['claude-fable-5', undefined, BETA];

  it('goes on to the next model of the same account', async () => {
    const redeemed = ['claude-opus-4-8', 'opaque-token', BETA];
    expect(await askBoth(answer)).toEqual([REFUSED, redeemed, REFUSED, redeemed]);
  });

  it('is left out for another account', async () => {
    const plain = ['claude-opus-4-8', undefined, BETA];
    expect(await askBoth(answer, 'two')).toEqual([REFUSED, plain, REFUSED, plain]);
  });

  it('is given up where it is refused', async () => {
    const strict: UpstreamHandler = (request, response, raw) => {
      if (request.body['fallback_credit_token'] === undefined) return answer(request, response, raw);
      const error = {
        type: 'invalid_request_error',
        message: 'fallback_credit_token: the request body does not match',
      };
      sendJson(response, 400, { type: 'error', error });
    };
    const tries = [
      ['claude-opus-4-8', 'opaque-token', BETA],
      ['claude-opus-4-8', undefined, BETA],
    ];
    expect(await askBoth(strict)).toEqual([REFUSED, ...tries, REFUSED, ...tries]);
  });
});
