import { anthropic, createRouter, openai, openaiCompatible, type Provider, type Router } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { type Asked, CALLERS, sendAs } from '../support/callers.ts';
import { answerOnAnyWire, refuse } from '../support/strict-schemas.ts';
import {
  failWith,
  type ReceivedRequest,
  startUpstream,
  type Upstream,
  type UpstreamHandler,
} from '../support/upstream.ts';

const MODEL = 'acme/one';
const MESSAGES = [{ role: 'user', content: 'How is it?' }] as const;

/** A provider that refuses what `problem` finds, with its words and what is beside them. */
const refusing =
  (
    problem: (body: ReceivedRequest['body']) => readonly [message: string, more?: object] | undefined,
  ): UpstreamHandler =>
  (request, response, raw) => {
    const said = problem(request.body);
    if (said === undefined) answerOnAnyWire(request, response, raw);
    else refuse(response, request, ...said);
  };

const unsupported = (name: string): UpstreamHandler =>
  refusing((body) =>
    name in body
      ? [
          `Unsupported parameter: '${name}' is not supported with this model.`,
          { param: name, code: 'unsupported_parameter' },
        ]
      : undefined,
  );

function routerOf(...providers: readonly Provider[]): Router {
  return createRouter({ providers, allowAnonymous: true, fallback: { triesPerEndpoint: 1 } });
}

const server = ({ baseURL }: Upstream, slug = 'up'): Provider =>
  openaiCompatible({ slug, baseURL, models: { [MODEL]: { upstreamModel: 'one' } } });

describe.each(CALLERS)('a word that a model refuses, of a client on %s', (_name, format, stream) => {
  const asked: Asked = {
    model: MODEL,
    chat: { temperature: 0.5, top_p: 0.9, stop: ['x'] },
    messages: { temperature: 0.5, top_p: 0.9, stop_sequences: ['x'] },
    responses: { temperature: 0.5, top_p: 0.9 },
  };

  it.each(['temperature', 'top_p', ...(format === '/responses' ? [] : ['stop'])])('is left out: %s', async (name) => {
    await using upstream = await startUpstream(unsupported(name));
    const router = routerOf(server(upstream));
    const first = await sendAs(router, format, stream, asked);
    expect([first.status, first.text.includes('Fine.')]).toEqual([200, true]);
    expect(upstream.requests).toHaveLength(2);
    expect(upstream.requests[1]?.body).not.toHaveProperty(name);
    expect(upstream.requests[1]?.body).toMatchObject(name === 'temperature' ? { top_p: 0.9 } : { temperature: 0.5 });
    await sendAs(router, format, stream, asked);
    expect(upstream.requests).toHaveLength(3);
    await router.close();
  });
});

describe('a refusal', () => {
  const request = { model: MODEL, messages: MESSAGES, temperature: 0.2, top_p: 0.9 } as const;

  it.each<readonly [string, object, string, readonly [string, object?]]>([
    [
      'by value',
      {},
      'temperature',
      [
        "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
        { param: 'temperature', code: 'unsupported_value' },
      ],
    ],
    [
      'of xAI',
      { presence_penalty: 1 },
      'presence_penalty',
      ['Model grok-4 does not support parameter presencePenalty.'],
    ],
    ['of Anthropic', {}, 'top_p', ['top_p: Extra inputs are not permitted']],
    ['of newer Claudes', {}, 'temperature', ['`temperature` is deprecated for this model.']],
    [
      'of what excludes another',
      {},
      'top_p',
      ['`temperature` and `top_p` cannot both be specified for this model. Please use only one.'],
    ],
    ['of a field of the router', {}, 'user', ['Unrecognized request argument supplied: user']],
    [
      'of a field of the caller',
      { chat_mode: 'fast' },
      'chat_mode',
      ["Unknown parameter: 'chat_mode'.", { param: 'chat_mode', code: 'unknown_parameter' }],
    ],
    [
      'of Groq',
      { reasoning_effort: 'low' },
      'reasoning_effort',
      ['`reasoning_effort` is not supported with this model'],
    ],
    ['that only its body names', { seed: 1 }, 'seed', ['This request has an unsupported option', { param: 'seed' }]],
  ])('%s is understood', async (_who, more, name, said) => {
    await using upstream = await startUpstream(
      refusing((body) => (name in body && (name !== 'top_p' || 'temperature' in body) ? said : undefined)),
    );
    const router = routerOf(server(upstream));
    const { choices, router_metadata: metadata } = await router.chat({ ...request, ...more }, { metadata: true });
    expect(choices[0]?.message.content).toBe('Fine.');
    expect(upstream.requests.map(({ body }) => name in body)).toEqual([true, false]);
    void metadata;
    await router.close();
  });

  it('of a framework of servers is understood', async () => {
    await using upstream = await startUpstream(({ body, ...rest }, response, raw) => {
      if (!('top_p' in body)) return answerOnAnyWire({ body, ...rest }, response, raw);
      response.writeHead(422, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({
          detail: [{ type: 'extra_forbidden', loc: ['body', 'top_p'], msg: 'Extra inputs are not permitted' }],
        }),
      );
    });
    const router = routerOf(server(upstream));
    expect((await router.chat(request)).choices[0]?.message.content).toBe('Fine.');
    await router.close();
  });

  it('of an effort leads to the nearest that is named', async () => {
    await using upstream = await startUpstream(
      refusing((body) =>
        body['reasoning_effort'] === 'xhigh'
          ? [
              "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported values are: 'none', 'low', 'medium', and 'high'.",
              { param: 'reasoning_effort' },
            ]
          : undefined,
      ),
    );
    const router = routerOf(server(upstream));
    await router.chat({ model: MODEL, messages: MESSAGES, reasoning_effort: 'xhigh' });
    expect(upstream.requests.map(({ body }) => body['reasoning_effort'])).toEqual(['xhigh', 'high']);
    await router.close();
  });

  it('of the name of the limit leads to the other name', async () => {
    await using upstream = await startUpstream(
      refusing((body) =>
        'max_tokens' in body
          ? [
              "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
              { param: 'max_tokens' },
            ]
          : undefined,
      ),
    );
    const router = routerOf(server(upstream));
    await router.chat({ model: MODEL, messages: MESSAGES, max_tokens: 9 });
    expect(upstream.requests[1]?.body).toMatchObject({ max_completion_tokens: 9 });
    expect(upstream.requests[1]?.body).not.toHaveProperty('max_tokens');
    await router.close();
  });

  it('is said in metadata and by explain', async () => {
    await using upstream = await startUpstream(unsupported('top_p'));
    const router = routerOf(server(upstream));
    const answer = await router.chat(request, { metadata: true });
    expect(answer.router_metadata?.attempts).toEqual([
      { provider: 'up', model: MODEL, status: 400 },
      { provider: 'up', model: MODEL, status: 200, adjustments: ['top_p was left out, because up refused it'] },
    ]);
    const { steps } = await router.explain(request);
    expect(steps[0]).toMatchObject({ refuses: ['top_p'] });
    await router.close();
  });

  it.each<readonly [string, object, object]>([
    ['of a limit', { max_tokens: 5 }, { param: 'max_tokens' }],
    ['of tools', { tools: [{ type: 'function', function: { name: 'f' } }] }, { param: 'tools' }],
    ['of a schema', { response_format: { type: 'json_object' } }, { param: 'response_format' }],
    ['of words that the request insists on', { provider: { require_parameters: true } }, { param: 'top_p' }],
  ])('%s is passed on', async (_what, more, beside) => {
    const { param } = beside as { param: string };
    await using upstream = await startUpstream(
      refusing(() => [`Unsupported parameter: '${param}' is not supported.`, beside]),
    );
    const router = routerOf(server(upstream));
    await expect(router.chat({ ...request, ...more })).rejects.toMatchObject({ status: 400 });
    expect(upstream.requests).toHaveLength(1);
    await router.close();
  });

  it('is met for several words in a request, within its attempts', async () => {
    await using upstream = await startUpstream(
      refusing((body) =>
        'temperature' in body
          ? ["Unsupported parameter: 'temperature'"]
          : 'top_p' in body
            ? ["Unsupported parameter: 'top_p'"]
            : undefined,
      ),
    );
    const router = routerOf(server(upstream));
    expect((await router.chat(request)).choices[0]?.message.content).toBe('Fine.');
    expect(upstream.requests).toHaveLength(3);
    await router.close();
    const single = createRouter({ providers: [server(upstream)], fallback: { maxAttempts: 1 } });
    await expect(single.chat(request)).rejects.toMatchObject({ status: 400 });
    await single.close();
  });

  it('is met for three words at most', async () => {
    const words = ['temperature', 'top_p', 'top_k', 'min_p'];
    await using upstream = await startUpstream(
      refusing((body) => {
        const word = words.find((name) => name in body);
        return word === undefined ? undefined : [`Unsupported parameter: '${word}'`];
      }),
    );
    const router = routerOf(server(upstream));
    const failed = router.chat({ ...request, top_k: 3, min_p: 0.1 });
    await expect(failed).rejects.toMatchObject({
      message: "Provider returned error: Unsupported parameter: 'temperature'",
    });
    expect(upstream.requests).toHaveLength(4);
    await router.close();
  });

  it.each<readonly [string, number, string]>([
    ['refuses the request for something else', 400, 'The messages are no good'],
    ['is out of order then', 503, 'Overloaded'],
  ])('is shown itself, and teaches nothing, where the endpoint %s', async (_what, status, message) => {
    await using upstream = await startUpstream((received, response, raw) => {
      const { body } = received;
      if ('temperature' in body) return refuse(response, received, "Unsupported parameter: 'temperature'");
      if ('top_p' in body) return failWith(status, { error: { message } })(received, response, raw);
      answerOnAnyWire(received, response, raw);
    });
    const router = routerOf(server(upstream));
    for (let times = 1; times <= 2; times += 1) {
      await expect(router.chat(request)).rejects.toMatchObject({
        status: 400,
        message: "Provider returned error: Unsupported parameter: 'temperature'",
      });
      expect(upstream.requests.map(({ body }) => 'temperature' in body).slice(-2)).toEqual([true, false]);
    }
    expect((await router.explain(request)).steps[0]).not.toHaveProperty('refuses');
    await router.close();
  });

  it('keeps nobody from other providers', async () => {
    await using strict = await startUpstream(refusing(() => ["Unsupported parameter: 'temperature'"]));
    await using other = await startUpstream(answerOnAnyWire);
    const router = routerOf(server(strict, 'strict'), server(other, 'other'));
    const answer = await router.chat({ ...request, provider: { order: ['strict', 'other'] } });
    expect([answer.provider, strict.requests.length, other.requests[0]?.body['temperature']]).toEqual([
      'other',
      2,
      0.2,
    ]);
    await router.close();
  });

  it('is remembered for the endpoint alone', async () => {
    await using upstream = await startUpstream(
      refusing((body) => (body['model'] === 'one' && 'top_p' in body ? ["Unsupported parameter: 'top_p'"] : undefined)),
    );
    const models = { [MODEL]: { upstreamModel: 'one' }, 'acme/two': { upstreamModel: 'two' } };
    const router = routerOf(openaiCompatible({ slug: 'up', baseURL: upstream.baseURL, models }));
    await router.chat(request);
    await router.chat({ ...request, model: 'acme/two' });
    expect(upstream.requests.at(-1)?.body).toMatchObject({ model: 'two', top_p: 0.9 });
    await router.close();
  });

  it('takes nothing from a client of Responses but the word', async () => {
    await using upstream = await startUpstream(unsupported('top_p'));
    const router = createRouter({
      providers: [
        openai({
          baseURL: upstream.baseURL,
          apiKey: 'any',
          models: { 'openai/gpt-4.1': {} },
          nativeApiFormats: ['responses'],
        }),
      ],
      allowAnonymous: true,
    });
    const { status } = await sendAs(router, '/responses', false, {
      model: 'openai/gpt-4.1',
      responses: { top_p: 0.5, text: { verbosity: 'low' } },
    });
    expect(status).toBe(200);
    expect(upstream.requests.map(({ path }) => path)).toEqual(['/v1/responses', '/v1/responses']);
    expect(upstream.requests[1]?.body).toMatchObject({ text: { verbosity: 'low' }, input: 'How is it?' });
    await router.close();
  });
});

const LIST = {
  type: 'object',
  properties: { tags: { type: 'array', items: { type: 'string', format: 'slug' }, minItems: 2, maxItems: 9 } },
  required: ['tags'],
} as const;

const holds = (body: ReceivedRequest['body'], word: string): boolean => JSON.stringify(body).includes(`"${word}":`);

describe.each(CALLERS)('a word of a schema that a model refuses, of a client on %s', (_name, format, stream) => {
  const asked: Asked = { model: MODEL, tools: [{ name: 'tag', parameters: LIST }] };

  it.each<readonly [string, string, string]>([
    ['Groq', 'minItems', 'invalid schema for tools: tools[0]/parameters/tags: minItems is not supported'],
    [
      'OpenAI',
      'minItems',
      "Invalid schema for function 'tag': In context=('properties', 'tags'), 'minItems' is not permitted.",
    ],
    [
      'Anthropic',
      'maxItems',
      "tools.0.custom.input_schema: For 'array' type, properties maxItems, minItems are not supported",
    ],
    [
      'Google',
      'minItems',
      'Invalid JSON payload received. Unknown name "minItems" at \'tools[0].function_declarations[0].parameters\': Cannot find field.',
    ],
    ['a local server', 'format', 'Unsupported JSON schema keyword: format'],
  ])('is said in the description: of %s, %s', async (_who, word, message) => {
    await using upstream = await startUpstream(refusing((body) => (holds(body, word) ? [message] : undefined)));
    const router = routerOf(server(upstream));
    const first = await sendAs(router, format, stream, asked);
    expect([first.status, first.text.includes('Fine.')]).toEqual([200, true]);
    expect(upstream.requests).toHaveLength(2);
    const told = JSON.stringify(upstream.requests[1]?.body);
    expect(told).toContain(word === 'format' ? 'format: \\"slug\\"' : 'minItems: 2, maxItems: 9');
    expect(told).toContain('"required":["tags"]');
    await sendAs(router, format, stream, asked);
    expect(upstream.requests).toHaveLength(3);
    await router.close();
  });
});

describe('a word of a schema', () => {
  const tools = [{ type: 'function', function: { name: 'tag', parameters: LIST } }] as const;
  const request = { model: MODEL, messages: MESSAGES, tools } as const;

  it('is said in metadata and by explain', async () => {
    await using upstream = await startUpstream(
      refusing((body) =>
        holds(body, 'minItems') ? ['invalid schema for tools: minItems is not supported'] : undefined,
      ),
    );
    const router = routerOf(server(upstream));
    const answer = await router.chat(request, { metadata: true });
    expect(answer.router_metadata?.attempts?.[1]?.adjustments).toContain(
      'minItems, maxItems of schemas became part of their descriptions, because up refused them',
    );
    const { steps } = await router.explain(request);
    expect(steps[0]).toMatchObject({ refuses: ['minItems, maxItems in schemas'] });
    await router.close();
  });

  it('stays held otherwise, in the form of an answer', async () => {
    await using upstream = await startUpstream(
      refusing((body) =>
        holds(body, 'minItems')
          ? ['invalid schema for response format: response_format/json_schema/tags: minItems is not supported']
          : undefined,
      ),
    );
    const router = routerOf(server(upstream));
    const json_schema = { name: 'tags', strict: true, schema: LIST };
    await router.chat({ model: MODEL, messages: MESSAGES, response_format: { type: 'json_schema', json_schema } });
    expect(upstream.requests[1]?.body['response_format']).toMatchObject({
      json_schema: {
        strict: true,
        schema: {
          required: ['tags'],
          properties: { tags: { items: { format: 'slug' }, description: 'minItems: 2, maxItems: 9' } },
        },
      },
    });
    await router.close();
  });

  it.each<readonly [string, object, string]>([
    ['without which something else is asked', {}, "In context=(), 'required' is not permitted. Invalid schema"],
    ['that no schema has', {}, 'invalid schema for tools: uniqueItems is not supported'],
    [
      'of a request that insists on its words',
      { provider: { require_parameters: true } },
      'invalid schema for tools: minItems is not supported',
    ],
  ])('%s is passed on', async (_what, more, message) => {
    await using upstream = await startUpstream(refusing(() => [message]));
    const router = routerOf(server(upstream));
    await expect(router.chat({ ...request, ...more })).rejects.toMatchObject({ status: 400 });
    expect(upstream.requests).toHaveLength(1);
    await router.close();
  });
});

describe('a value in the own body of a client', () => {
  const said = (name: string): string =>
    `Unsupported value: '${name}' does not support 'xhigh' with this model. Supported values are: 'low', 'medium', and 'high'.`;

  it.each([false, true])('of Responses is the nearest that the error names, streamed: %s', async (stream) => {
    await using upstream = await startUpstream(
      refusing((body) =>
        (body['reasoning'] as { effort?: string } | undefined)?.effort === 'xhigh'
          ? [said('reasoning.effort'), { param: 'reasoning.effort', code: 'unsupported_value' }]
          : undefined,
      ),
    );
    const router = createRouter({
      providers: [
        openai({
          baseURL: upstream.baseURL,
          apiKey: 'any',
          models: { 'openai/gpt-5.2': {} },
          nativeApiFormats: ['responses'],
        }),
      ],
      allowAnonymous: true,
    });
    const responses = { reasoning: { effort: 'xhigh', summary: 'auto' } };
    const { status } = await sendAs(router, '/responses', stream, { model: 'openai/gpt-5.2', responses });
    expect(status).toBe(200);
    expect(upstream.requests.map(({ body }) => body['reasoning'])).toEqual([
      { effort: 'xhigh', summary: 'auto' },
      { effort: 'high', summary: 'auto' },
    ]);
    await router.close();
  });

  it.each([false, true])('of Messages is the nearest that the error names, streamed: %s', async (stream) => {
    await using upstream = await startUpstream(
      refusing((body) =>
        (body['output_config'] as { effort?: string } | undefined)?.effort === 'xhigh'
          ? ["output_config.effort: 'xhigh' is not supported. output_config.effort must be one of low, medium, high"]
          : undefined,
      ),
    );
    const router = createRouter({
      providers: [anthropic({ baseURL: upstream.baseURL, apiKey: 'any', models: { 'acme/claude': {} } })],
      allowAnonymous: true,
    });
    const messages = { output_config: { effort: 'xhigh' } };
    const { status } = await sendAs(router, '/messages', stream, { model: 'acme/claude', messages });
    expect(status).toBe(200);
    expect(upstream.requests.map(({ body }) => body['output_config'])).toEqual([
      { effort: 'xhigh' },
      { effort: 'high' },
    ]);
    await router.close();
  });

  it('of Messages loses a parameter that is refused', async () => {
    await using upstream = await startUpstream(
      refusing((body) => ('top_p' in body ? ['`top_p` is deprecated for this model.'] : undefined)),
    );
    const router = createRouter({
      providers: [anthropic({ baseURL: upstream.baseURL, apiKey: 'any', models: { 'acme/claude': {} } })],
      allowAnonymous: true,
    });
    const { status } = await sendAs(router, '/messages', false, { model: 'acme/claude', messages: { top_p: 0.5 } });
    expect(status).toBe(200);
    expect(upstream.requests[1]?.body).not.toHaveProperty('top_p');
    await router.close();
  });
});
