import { type RouterConfig, type StreamPiece, createRouter, failure, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { GOOD_END, type FedCall, fedProvider } from '../support/fed-provider.ts';
import { type Answered, send } from '../support/http-call.ts';
import { eventsIn, responsesBody } from '../support/responses.ts';
import { ENCRYPTED, responsesProvider } from '../support/responses-upstream.ts';
import { STORY, scriptedProvider } from '../support/scripted-upstream.ts';
import { type Upstream, failWith, startUpstream } from '../support/upstream.ts';

type Router = ReturnType<typeof createRouter>;

function ask(router: Router, fields: object = {}, headers: Record<string, string> = {}): Promise<Answered> {
  return send(router, { path: '/responses', headers, body: responsesBody({ ...fields }) });
}

function scripted(script: (fed: FedCall) => void, config: Partial<RouterConfig> = {}): Router {
  return createRouter({ providers: [fedProvider({ script })], ...config });
}

const answering = (fed: FedCall): void => {
  if (fed.call.request.stream) fed.push('Hi', ...GOOD_END);
  else fed.answer('Hi', { usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } });
};

/** Two providers of one model in order: one that speaks Responses, one that does not. */
async function mixed(native: Upstream, plain: Upstream): Promise<Router> {
  const provider = (slug: string, upstream: Upstream, nativeApiFormats: 'responses'[]) =>
    openaiCompatible({
      slug,
      name: slug,
      baseURL: upstream.baseURL,
      models: { 'acme/one': {} },
      nativeApiFormats: nativeApiFormats,
    });
  return createRouter({
    providers: [provider('first', native, ['responses']), provider('second', plain, [])],
    fallback: { triesPerEndpoint: 1 },
  });
}

const ORDERED = { provider: { order: ['first', 'second'] } };

describe('POST /responses', () => {
  it('answers whole and streamed with the same ids in body and header', async () => {
    const router = scripted(answering);
    const whole = await ask(router);
    expect(whole.status).toBe(200);
    expect(whole.headers['x-generation-id']).toBe(String(whole.json['id']).replace('resp_', 'gen-'));
    const stream = await ask(router, { stream: true });
    expect(stream.headers['content-type']).toContain('text/event-stream');
    const events = eventsIn(stream.text);
    const ids = events.flatMap(({ response }) => (response === undefined ? [] : [(response as { id: string }).id]));
    expect(new Set(ids)).toEqual(new Set([stream.headers['x-generation-id']?.replace('gen-', 'resp_')]));
  });

  it('routes by the same fields as chat', async () => {
    const seen: FedCall[] = [];
    const router = scripted((fed) => {
      seen.push(fed);
      answering(fed);
    });
    const fields = { session_id: 'body', metadata: { a: 'b' }, user: 'lovelace', provider: { sort: 'price' } };
    await ask(router, fields, { 'x-session-id': 'header' });
    await ask(router, {}, { 'x-session-id': 'header' });
    expect(seen.map(({ call }) => call.request.session.id)).toEqual(['body', 'header']);
    expect(seen[0]?.call.request).toMatchObject({ metadata: { a: 'b' }, preferences: { sort: 'price' } });
    expect(seen[0]?.call.request.endUser).not.toContain('lovelace');
    const nobody = await ask(router, { provider: { only: ['elsewhere'] } });
    expect(nobody.status).toBe(404);
    expect(nobody.json).toMatchObject({ error_type: 'not_found', error: { availability: { code: 'no_endpoints' } } });
  });

  it.each([
    [{}, 'x-router-metadata', 'router_metadata'],
    [{}, 'x-openrouter-metadata', 'openrouter_metadata'],
    [{ stream: true }, 'x-router-metadata', 'router_metadata'],
    [{ stream: true }, 'x-openrouter-metadata', 'openrouter_metadata'],
  ])('adds the routing metadata for %j when %s asks for it', async (fields, header, name) => {
    const { text } = await ask(scripted(answering), fields, { [header]: 'enabled' });
    expect(text).toContain(`"${name}":{"requested":"acme/one"`);
    expect((await ask(scripted(answering), fields)).text).not.toContain(name);
  });

  it('tells errors with path and type, and asks nobody', async () => {
    const router = scripted(() => expect.unreachable());
    const { status, json } = await ask(router, { tools: [{ type: 'function' }] });
    expect(status).toBe(400);
    expect(json).toMatchObject({
      error: { code: 400, type: 'invalid_request_error', param: 'tools[0].name' },
      error_type: 'invalid_request',
    });
    expect((await send(router, { path: '/responses', method: 'GET' })).status).toBe(405);
    expect((await send(router, { path: '/responses', body: 'no JSON' })).json).toMatchObject({
      error_type: 'invalid_request',
    });
  });

  it.each([false, true])('answers early when the prompt is too long (stream: %s)', async (stream) => {
    const router = scripted((fed) => fed.fail(failure('context_length', 'Too long', { status: 400 })));
    const { status, text } = await ask(router, { stream });
    expect(status).toBe(200);
    const response = stream ? eventsIn(text).at(-1)?.['response'] : JSON.parse(text);
    expect(response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      error_type: 'context_length_exceeded',
    });
    if (stream) expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('fails like any other when the stream breaks off', async () => {
    const broken: StreamPiece = { type: 'failure', failure: failure('connection', 'Cut off') };
    const { status, text } = await ask(
      scripted((fed) => fed.push('Hal', broken)),
      { stream: true },
    );
    expect(status).toBe(200);
    expect(eventsIn(text).slice(-2)).toMatchObject([
      { type: 'error', error_type: 'provider_unavailable' },
      { type: 'response.failed', response: { output: [{ content: [{ text: 'Hal' }], status: 'incomplete' }] } },
    ]);
  });

  it('shows what went to the provider before anything else', async () => {
    const { text } = await ask(scripted(answering), { stream: true, debug: { echo_upstream_body: true } });
    const debug = eventsIn(text).findIndex(({ type }) => type === 'response.debug');
    expect(debug).toBe(2);
  });
});

describe('providers that speak Responses and others', () => {
  it('fall back from the caller’s own words to their translation', async () => {
    await using native = await startUpstream(failWith(503));
    await using plain = await startUpstream(scriptedProvider);
    const router = await mixed(native, plain);
    for (const stream of [false, true]) {
      const { text, status } = await ask(router, { ...ORDERED, stream });
      expect(status).toBe(200);
      const response = (stream ? eventsIn(text).at(-1)?.['response'] : JSON.parse(text)) as Record<string, unknown>;
      expect(response).toMatchObject({
        status: 'completed',
        provider: 'second',
        output: [{ content: [{ text: STORY }] }],
      });
    }
    expect(native.requests.map(({ path }) => path)).toContain('/v1/responses');
    expect(new Set(plain.requests.map(({ path }) => path))).toEqual(new Set(['/v1/chat/completions']));
    await router.close();
  });

  it('keep encrypted reasoning to the byte, from the answer to the next request', async () => {
    await using native = await startUpstream(responsesProvider);
    await using plain = await startUpstream(scriptedProvider);
    const router = await mixed(native, plain);
    const first = await ask(router, ORDERED);
    const output = first.json['output'] as readonly Record<string, unknown>[];
    expect(output[0]).toMatchObject({ type: 'reasoning', id: 'rs_0af1', encrypted_content: ENCRYPTED });
    await ask(router, {
      ...ORDERED,
      input: [{ role: 'user', content: 'Hello' }, ...output, { role: 'user', content: 'More' }],
    });
    const { input } = native.requests[1]?.body ?? {};
    expect((input as readonly unknown[])[1]).toEqual(output[0]);
    await router.close();
  });

  it('are not asked natively when the router has something to add', async () => {
    await using native = await startUpstream(scriptedProvider);
    await using plain = await startUpstream(scriptedProvider);
    const router = await mixed(native, plain);
    await ask(router, { ...ORDERED, reasoning: { exclude: true } });
    expect(native.requests[0]?.path).toBe('/v1/chat/completions');
    await router.close();
  });

  it('are the only ones asked for what nobody else understands', async () => {
    await using native = await startUpstream(responsesProvider);
    await using plain = await startUpstream(scriptedProvider);
    const router = await mixed(native, plain);
    const fields = {
      tools: [{ type: 'file_search', vector_store_ids: ['v'] }],
      input: [
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: 'x' },
      ],
    };
    const found = await ask(router, { ...fields, provider: { order: ['second', 'first'] } });
    expect(found.json).toMatchObject({ status: 'completed', provider: 'first' });
    expect(native.requests[0]?.body['tools']).toEqual(fields.tools);
    const lost = await ask(router, { ...fields, provider: { only: ['second'] } });
    expect(lost.status).toBe(400);
    expect(plain.requests).toHaveLength(0);
    await router.close();
  });

  it('are told about at a clear 400 when there are none', async () => {
    await using plain = await startUpstream(scriptedProvider);
    const provider = openaiCompatible({ slug: 'up', baseURL: plain.baseURL, models: { 'acme/one': {} } });
    const { status, error } = await ask(createRouter({ providers: [provider] }), { tools: [{ type: 'file_search' }] });
    expect(status).toBe(400);
    expect(error.message).toContain('tools[0].type can only be sent to a provider that supports this API natively');
    expect(plain.requests).toHaveLength(0);
  });

  it('break off in the caller’s own numbering', async () => {
    await using native = await startUpstream(responsesProvider);
    const provider = openaiCompatible({
      slug: 'up',
      baseURL: native.baseURL,
      models: { 'acme/one': {} },
      nativeApiFormats: ['responses'],
    });
    const router = createRouter({ providers: [provider] });
    const { text } = await ask(router, { input: 'break', stream: true });
    const events = eventsIn(text);
    expect(events.map((event) => event['sequence_number'])).toEqual(events.map((_, index) => index));
    expect(events.slice(-2)).toMatchObject([
      { type: 'error' },
      { type: 'response.failed', response: { status: 'failed' } },
    ]);
    expect(text).not.toContain('resp_0af0');
    await router.close();
  });

  it('are accounted for alike: usage, cost and reason of the end', async () => {
    await using upstream = await startUpstream(responsesProvider);
    const models = { 'acme/one': { price: { prompt: 1, completion: 2 } } };
    const provider = openaiCompatible({
      slug: 'up',
      baseURL: upstream.baseURL,
      models,
      nativeApiFormats: ['responses'],
    });
    const router = createRouter({ providers: [provider] });
    const results: unknown[] = [];
    router.on('result', ({ usage, finishReason }) => results.push([usage?.cost, usage?.total_tokens, finishReason]));
    for (const stream of [false, true]) await ask(router, { stream });
    const tools = [{ type: 'function', name: 'get_weather', parameters: {} }];
    for (const stream of [false, true]) await ask(router, { stream, tools });
    expect(results).toEqual([
      [0.000047, 34, 'stop'],
      [0.000047, 34, 'stop'],
      [0.000047, 34, 'tool_calls'],
      [0.000047, 34, 'tool_calls'],
    ]);
    await router.close();
  });
});
