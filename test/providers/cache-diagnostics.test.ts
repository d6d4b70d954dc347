import { anthropic, createRouter, openai, type ResultEvent, type Router } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { fetchRouter } from '../../adapters/fetch.ts';
import { startUpstream, type Upstream, type UpstreamHandler } from '../support/upstream.ts';

type Json = Readonly<Record<string, unknown>>;

const SYSTEM = `${'You are an agent that works with care.\n'.repeat(200)}The time is 14:03:22.`;
const turns = (count: number): readonly Json[] =>
  Array.from({ length: count }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: `Turn ${index}. ${'Words of it. '.repeat(60)}`,
  }));

/** What a provider remembers of an earlier request: what it compares. */
interface Seen {
  readonly system: string;
  readonly tools: string;
}

/** The Messages API with its diagnostics: fingerprints are only kept of requests that have the object. */
function messagesApi(refuses = false): UpstreamHandler {
  const seen = new Map<string, Seen>();
  let count = 0;
  return ({ body }, response) => {
    const { diagnostics, system, tools, stream, ...rest } = body;
    const asked = diagnostics as { previous_message_id?: string | null } | undefined;
    if (asked !== undefined && refuses) {
      response.writeHead(400, { 'content-type': 'application/json' });
      const message = 'diagnostics: Extra inputs are not permitted';
      response.end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }));
      return;
    }
    const own: Seen = { system: JSON.stringify(system), tools: JSON.stringify(tools) };
    const last = seen.get(asked?.previous_message_id ?? '');
    count += 1;
    const id = `msg_${count}`;
    if (asked !== undefined) seen.set(id, own);
    const type =
      last === undefined
        ? 'previous_message_not_found'
        : last.tools !== own.tools
          ? 'tools_changed'
          : last.system !== own.system
            ? 'system_changed'
            : undefined;
    const isCompared = asked?.previous_message_id != null && type !== undefined;
    const message = {
      id,
      type: 'message',
      role: 'assistant',
      model: rest['model'],
      content: [{ type: 'text', text: 'Done' }],
      stop_reason: 'end_turn',
      diagnostics: isCompared ? { cache_miss_reason: { type, cache_missed_input_tokens: 900 } } : null,
      usage: { input_tokens: 2_000, cache_read_input_tokens: 0, cache_creation_input_tokens: 1_900, output_tokens: 5 },
    };
    if (stream !== true) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(message));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const events = [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Done' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ];
    for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  };
}

/** The Responses API with its diagnostics, which earlier models refuse. */
function responsesApi(): UpstreamHandler {
  const seen = new Map<string, string>();
  let count = 0;
  return ({ path, body }, response) => {
    const { prompt_cache_options: options, tools, model, stream } = body;
    const compared = (options as { comparison_response_id?: string } | undefined)?.comparison_response_id;
    response.writeHead(200, { 'content-type': stream === true ? 'text/event-stream' : 'application/json' });
    if (!path.endsWith('/responses')) {
      const message = { role: 'assistant', content: 'Hello' };
      const usage = { prompt_tokens: 9, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 0 } };
      return void response.end(
        JSON.stringify({ id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }], usage }),
      );
    }
    count += 1;
    const id = `resp_${count}`;
    const last = seen.get(compared ?? '');
    seen.set(id, JSON.stringify(tools));
    const answer = {
      id,
      object: 'response',
      created_at: 1,
      status: 'completed',
      model,
      output: [
        {
          type: 'message',
          id: 'm',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Done', annotations: [] }],
        },
      ],
      usage: { input_tokens: 3_000, input_tokens_details: { cached_tokens: 0 }, output_tokens: 5, total_tokens: 3_005 },
      ...(compared === undefined
        ? {}
        : {
            prompt_cache_options: { mode: 'implicit', ttl: '30m', comparison_response_id: compared },
            prompt_cache_diagnostics:
              last === undefined
                ? { type: 'comparison_response_not_found' }
                : last === JSON.stringify(tools)
                  ? { type: 'cache_hit' }
                  : { type: 'cache_miss', reason: 'tools_changed', cache_missed_tokens: 2_900 },
          }),
    };
    if (stream !== true) return void response.end(JSON.stringify(answer));
    const events = [
      { type: 'response.created', response: { ...answer, status: 'in_progress', output: [] } },
      { type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: 'Done' },
      { type: 'response.completed', response: answer },
    ];
    for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  };
}

interface Scene extends AsyncDisposable {
  readonly router: Router;
  readonly upstream: Upstream;
  readonly results: ResultEvent[];
  send(path: string, body: Json): Promise<string>;
}

async function open(
  handler: UpstreamHandler,
  provider: (baseURL: string) => ReturnType<typeof anthropic>,
  ledger = true,
): Promise<Scene> {
  const upstream = await startUpstream(handler);
  const results: ResultEvent[] = [];
  const router = createRouter({
    providers: [provider(upstream.baseURL)],
    ledger,
    cacheMarks: false,
    allowAnonymous: true,
    on: { result: (event) => results.push(event), warning: () => {} },
  });
  const handle = fetchRouter(router);
  const send = async (path: string, body: Json): Promise<string> => {
    const response = await handle(
      new Request(`http://router.test/v1${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    );
    return response.text();
  };
  // What compares is loaded by the first request.
  const most = ledger ? 50 : 0;
  for (let time = 0; time < most && results.at(-1)?.cache === undefined; time += 1) {
    await router.chat({
      model: 'acme/one',
      session_id: `warm-${time}`,
      messages: [{ role: 'user', content: 'Hi' }],
    } as never);
  }
  upstream.requests.splice(0);
  results.splice(0);
  return {
    router,
    upstream,
    results,
    send,
    async [Symbol.asyncDispose]() {
      await router.close();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

const PRICE = { prompt: 1, completion: 2, cacheRead: 0.1 };
const ofAnthropic =
  (cacheDiagnostics?: boolean) =>
  (baseURL: string): ReturnType<typeof anthropic> =>
    anthropic({
      apiKey: 'k',
      baseURL: baseURL.replace(/\/v1$/, ''),
      ...(cacheDiagnostics === undefined ? {} : { cacheDiagnostics }),
      models: { 'acme/one': { price: PRICE, upstreamModel: 'claude-opus-5-5' } },
    });
const ofOpenAi =
  (upstreamModel: string) =>
  (baseURL: string): ReturnType<typeof anthropic> =>
    openai({
      apiKey: 'k',
      baseURL,
      cacheDiagnostics: true,
      nativeApiFormats: ['responses'],
      models: { 'acme/one': { price: PRICE, upstreamModel, implicitCaching: true } },
    });
const tool = (name: string): Json => ({ type: 'function', function: { name, parameters: { type: 'object' } } });

describe('the diagnostics of providers', () => {
  it.each([false, true])('are asked for on Messages, and compared with our cause (stream: %s)', async (stream) => {
    await using scene = await open(messagesApi(), ofAnthropic(true));
    const ask = async (system: string, count: number): Promise<unknown> => {
      const messages = [{ role: 'system', content: system }, ...turns(count)];
      await scene.send('/chat/completions', { model: 'acme/one', session_id: 's', messages, stream });
      return scene.results.at(-1)?.cache;
    };
    await ask(SYSTEM, 1);
    expect(await ask(SYSTEM.replace(':22', ':23'), 3)).toMatchObject({
      cause: 'system_changed',
      provider_cause: 'system_changed',
    });
    expect(scene.upstream.requests.map(({ body }) => body['diagnostics'])).toEqual([
      { previous_message_id: null },
      { previous_message_id: expect.stringMatching(/^msg_/) },
    ]);
    expect(await ask(SYSTEM.replace(':22', ':23'), 5)).toMatchObject({
      cause: 'evicted_or_unknown',
      provider_cause: 'unchanged',
    });
    const { records = [] } = (await scene.router.ledger?.read({ order: 'latest', limit: 2 })) ?? {};
    expect(records.map(({ cold }) => cold?.provider_cause)).toEqual(['unchanged', 'system_changed']);
    for (const { prompt, cold } of records) expect(JSON.stringify({ prompt, cold }).length).toBeLessThanOrEqual(200);
  });

  it.each([false, true])('are not shown to callers of Messages who have not asked (stream: %s)', async (stream) => {
    await using scene = await open(messagesApi(), ofAnthropic(true));
    const body = { model: 'acme/one', max_tokens: 50, stream, session_id: 's' };
    await scene.send('/messages', { ...body, system: SYSTEM, messages: turns(1) });
    const later = { ...body, system: SYSTEM.replace(':22', ':23'), messages: turns(3) };
    const text = await scene.send('/messages', later);
    expect(scene.results.at(-1)?.cache).toMatchObject({ provider_cause: 'system_changed' });
    expect(text).not.toContain('cache_miss_reason');
    expect(text).toContain('"diagnostics":null');
    const own = await scene.send('/messages', { ...later, diagnostics: { previous_message_id: 'msg_unknown' } });
    expect(own).toContain('previous_message_not_found');
    expect(scene.upstream.requests.at(-1)?.body['diagnostics']).toEqual({ previous_message_id: 'msg_unknown' });
  });

  it.each([false, true])('are asked for on Responses from GPT-5.6 on, and not shown (stream: %s)', async (stream) => {
    await using scene = await open(responsesApi(), ofOpenAi('gpt-6-sol'));
    const ask = (tools: readonly Json[], count: number): Promise<string> =>
      scene.send('/responses', { model: 'acme/one', session_id: 's', input: turns(count), tools, stream });
    const flat = (name: string): Json => ({ type: 'function', name, parameters: { type: 'object' }, strict: false });
    await ask([flat('look')], 1);
    const text = await ask([flat('read')], 3);
    expect(scene.results.at(-1)?.cache).toMatchObject({ cause: 'tools_changed', provider_cause: 'tools_changed' });
    expect(text).not.toContain('prompt_cache_diagnostics');
    expect(text).not.toContain('comparison_response_id');
    const [first, second] = scene.upstream.requests;
    expect(first?.body).not.toHaveProperty('prompt_cache_options');
    expect(second?.body['prompt_cache_options']).toEqual({ comparison_response_id: expect.stringMatching(/^resp_/) });
  });

  it('are not asked of earlier models, which refuse the object', async () => {
    await using scene = await open(responsesApi(), ofOpenAi('gpt-5.4'));
    for (const count of [1, 3])
      await scene.send('/responses', { model: 'acme/one', session_id: 's', input: turns(count) });
    for (const { body } of scene.upstream.requests) expect(body).not.toHaveProperty('prompt_cache_options');
  });

  it.each<[string, Json, boolean | undefined, boolean]>([
    ['without a ledger', {}, true, false],
    ['at another address, unless it is switched on', {}, undefined, true],
    ['where it is switched off', {}, false, true],
    ['for requests that want nothing kept', { provider: { zdr: true } }, true, true],
    ['for requests that deny data collection', { provider: { data_collection: 'deny' } }, true, true],
  ])('are not asked for %s', async (_, more, option, ledger) => {
    const isKept = 'provider' in more && (more['provider'] as Json)['zdr'] === true;
    const make = ofAnthropic(option);
    const zdr = (baseURL: string): ReturnType<typeof anthropic> =>
      anthropic({
        apiKey: 'k',
        baseURL: baseURL.replace(/\/v1$/, ''),
        cacheDiagnostics: true,
        zeroDataRetention: true,
        models: { 'acme/one': { price: PRICE } },
      });
    await using scene = await open(messagesApi(), isKept ? zdr : make, ledger);
    for (const count of [1, 3]) {
      await scene.send('/chat/completions', { model: 'acme/one', session_id: 's', messages: turns(count), ...more });
    }
    expect(scene.upstream.requests).toHaveLength(2);
    for (const { body } of scene.upstream.requests) expect(body).not.toHaveProperty('diagnostics');
  });

  it('cost no answer where a server refuses them, and are not asked for again', async () => {
    await using scene = await open(messagesApi(true), ofAnthropic(true));
    const bodies: (object | undefined)[] = [];
    for (const count of [1, 3, 5]) {
      const text = await scene.send('/chat/completions', {
        model: 'acme/one',
        session_id: 's',
        messages: turns(count),
        tools: [tool('look')],
      });
      expect(text).toContain('Done');
      bodies.push(scene.upstream.requests.at(-1)?.body);
    }
    for (const body of bodies) expect(body).not.toHaveProperty('diagnostics');
    expect(scene.upstream.requests.length).toBeLessThanOrEqual(4);
  });
});
