import {
  anthropic,
  type ChunkTransform,
  createRouter,
  openaiCompatible,
  type Plugin,
  type RouterConfig,
  type RouterMetadata,
} from 'signalbox';
import { describe, expect, it } from 'vitest';
import { type Mounted, MOUNTS } from '../support/mounts.ts';
import { messageIn, eventsIn } from '../support/messages-stream.ts';
import { readStream } from '../support/sse-client.ts';
import { STORMS_ARE_FULL } from '../support/storms.ts';
import {
  answerWith,
  chunkEvent,
  dataEvent,
  failWith,
  sendJson,
  startUpstream,
  streamEvents,
  type UpstreamHandler,
} from '../support/upstream.ts';

const WHOLE = 'Zürich 🚋 has trams, and each of them is on time. 👩‍🚒';
const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };

/** Sends so many bytes of a stream and closes its connection. */
function cutAfter(bytes: number, text = WHOLE): UpstreamHandler {
  const stream = Buffer.from(streamEvents(text, USAGE).join(''));
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(stream.subarray(0, bytes), () => response.destroy());
  };
}

/** Says so many words of a text and breaks. */
function saying(
  words: number,
  then: (write: (text: string) => void) => void = () => {},
  text = WHOLE,
): UpstreamHandler {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of streamEvents(text).slice(0, words + 1)) response.write(event);
    then((more) => response.write(more));
    response.write(': over\n\n', () => response.destroy());
  };
}

interface Cell extends AsyncDisposable {
  readonly mounted: Mounted;
  /** Bodies that each upstream got. */
  bodies(): readonly (readonly Readonly<Record<string, unknown>>[])[];
  send(path: string, body: object): Promise<string>;
}

/** A router in front of upstreams, each with a model of its own that is the next fallback. */
async function cellOf(
  handlers: readonly UpstreamHandler[],
  { prefill, ...config }: Partial<RouterConfig> & { prefill?: boolean } = {},
): Promise<Cell> {
  const upstreams = await Promise.all(handlers.map((handler) => startUpstream(handler)));
  const router = createRouter({
    on: { warning: () => {} },
    fallback: { triesPerEndpoint: 1, afterFirstToken: 'continue' },
    ...config,
    providers: upstreams.map(({ baseURL }, index) =>
      openaiCompatible({
        slug: `p${index}`,
        name: `P${index}`,
        baseURL,
        models: {
          [`acme/m${index}`]: { price: { prompt: 1, completion: 2 }, prefill: index === 0 ? undefined : prefill },
        },
      }),
    ),
  });
  const mounted = await (MOUNTS['node'] ?? (() => Promise.reject(new Error('no mount'))))(router);
  return {
    mounted,
    bodies: () => upstreams.map(({ requests }) => requests.map(({ body }) => body)),
    async send(path, body) {
      const headers = { 'content-type': 'application/json', 'x-router-metadata': 'enabled' };
      const response = await fetch(`${mounted.baseURL}${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      return response.text();
    },
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      for (const upstream of upstreams) await upstream[Symbol.asyncDispose]();
    },
  };
}

const ASKED = { model: 'acme/m0', models: ['acme/m1'], stream: true, messages: [{ role: 'user', content: 'Hi' }] };

/** The chunks of an answer, and what they say of the attempts. */
function readChat(text: string) {
  const { chunks, content, done, finishReasons } = readStream(text);
  const last = chunks.at(-1);
  const seen = [...new Set(chunks.map(({ provider, model }) => `${provider} ${model}`))];
  const { attempts = [] } = (last?.router_metadata ?? {}) as RouterMetadata;
  return { content, done, finishReasons, seen, attempts, usage: last?.usage, error: last?.error };
}

describe('a stream that is cut', () => {
  it('is the uncut one at every byte', async () => {
    const { length } = Buffer.from(streamEvents(WHOLE, USAGE).join(''));
    for (let cut = 0; cut < length; cut += STORMS_ARE_FULL ? 1 : 11) {
      // A router of its own: one that remembers would not ask an endpoint again that breaks every time.
      await using cell = await cellOf([cutAfter(cut), answerWith(WHOLE, USAGE)]);
      const { content, done, finishReasons } = readChat(await cell.send('/chat/completions', ASKED));
      expect({ cut, content, done, finishReasons }).toEqual({
        cut,
        content: WHOLE,
        done: true,
        finishReasons: ['stop'],
      });
    }
  }, 120_000);

  it('says where it comes from, what both calls used and cost, and where the seam is', async () => {
    await using cell = await cellOf([saying(3), answerWith(WHOLE, USAGE)]);
    const { seen, attempts, usage } = readChat(await cell.send('/chat/completions', ASKED));
    expect(seen).toEqual(['P0 acme/m0', 'P1 acme/m1']);
    const after = (WHOLE.match(/\S+\s*/g) ?? []).slice(0, 3).join('').length;
    expect(attempts).toEqual([
      { provider: 'P0', model: 'acme/m0', status: 502, kept: true },
      { provider: 'P1', model: 'acme/m1', status: 200, continued: { way: 'repetition', after } },
    ]);
    const first = usage === undefined ? 0 : usage.prompt_tokens - USAGE.prompt_tokens;
    expect(first).toBeGreaterThan(0);
    expect(usage?.completion_tokens).toBeGreaterThan(USAGE.completion_tokens);
    const tokens = (usage?.prompt_tokens ?? 0) + 2 * (usage?.completion_tokens ?? 0);
    expect(usage?.cost).toBeCloseTo(tokens / 1e6, 12);
    expect(usage?.estimated).toBe(true);
  });

  it('is sent on as a prefill where that is declared, without the space at its end and with less to say', async () => {
    const words = WHOLE.match(/\S+\s*/g) ?? [];
    const sent = words.slice(0, 3).join('');
    await using cell = await cellOf([saying(3), answerWith(WHOLE.slice(sent.trimEnd().length), USAGE)], {
      prefill: true,
    });
    const { content, attempts } = readChat(await cell.send('/chat/completions', { ...ASKED, max_tokens: 100 }));
    expect(content).toBe(WHOLE);
    expect(attempts[1]).toMatchObject({ continued: { way: 'prefill', after: sent.length } });
    const [, [body] = []] = cell.bodies();
    expect(body?.['messages']).toEqual([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: sent.trimEnd() },
    ]);
    expect(body?.['max_tokens']).toBeLessThan(100);
  });

  it('is asked for anew where a prefill is declared and refused, and nobody hears of that', async () => {
    const refusing: UpstreamHandler = (request, response, raw) => {
      const { messages } = request.body as { messages: { role: string }[] };
      if (messages.at(-1)?.role !== 'assistant') return answerWith(WHOLE, USAGE)(request, response, raw);
      const message = 'This model does not support assistant message prefill.';
      sendJson(response, 400, { error: { message, type: 'invalid_request_error', code: 'invalid_prefill' } });
    };
    await using cell = await cellOf([saying(3), refusing], { prefill: true });
    const { content, attempts, error } = readChat(await cell.send('/chat/completions', ASKED));
    expect({ content, error }).toEqual({ content: WHOLE, error: undefined });
    expect(attempts.map(({ status }) => status)).toEqual([502, 400, 200]);
  });

  it('ends with its first error where the next says something else', async () => {
    await using cell = await cellOf([saying(3), answerWith('Something else', USAGE)]);
    const { content, error, attempts } = readChat(await cell.send('/chat/completions', ASKED));
    expect(content).toBe((WHOLE.match(/\S+\s*/g) ?? []).slice(0, 3).join(''));
    expect(error).toMatchObject({ metadata: { provider_name: 'P0' } });
    expect(attempts[1]).toMatchObject({ given_up: true });
  });

  it.each([
    ['there is no other', [saying(3)]],
    ['the others fail', [saying(3), failWith(400)]],
  ])('ends with its first error where %s', async (_name, handlers) => {
    await using cell = await cellOf(handlers);
    const models = handlers.length > 1 ? ['acme/m1'] : [];
    const { error } = readChat(await cell.send('/chat/completions', { ...ASKED, models }));
    expect(error).toMatchObject({ metadata: { provider_name: 'P0' } });
  });

  it('goes on at the third when the second is cut, too, before or after it had said anything new', async () => {
    for (const words of [2, 5]) {
      await using cell = await cellOf([saying(3), saying(words), answerWith(WHOLE, USAGE)]);
      const body = { ...ASKED, models: ['acme/m1', 'acme/m2'] };
      const { content, attempts } = readChat(await cell.send('/chat/completions', body));
      expect(content).toBe(WHOLE);
      expect(attempts.map(({ kept }) => kept === true)).toEqual([true, words > 3, false]);
    }
  });

  it('is cut by an event that cannot be read, and by one that says that it failed', async () => {
    for (const broken of [
      'data: {"choices":[{"delta":{"content":\n\n',
      dataEvent({ error: { message: 'Overloaded', code: 503 } }),
    ]) {
      await using cell = await cellOf([saying(3, (write) => write(broken)), answerWith(WHOLE, USAGE)]);
      expect(readChat(await cell.send('/chat/completions', ASKED)).content).toBe(WHOLE);
    }
  });

  it('is cut by silence', async () => {
    const stalls: UpstreamHandler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of streamEvents(WHOLE).slice(0, 4)) response.write(event);
    };
    await using cell = await cellOf([stalls, answerWith(WHOLE, USAGE)], { timeouts: { idleMs: 100 } });
    expect(readChat(await cell.send('/chat/completions', ASKED)).content).toBe(WHOLE);
  });

  it('ends with an error after a call of a tool has begun, and when nothing else is configured', async () => {
    const calls: UpstreamHandler = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunkEvent({ content: 'Let me look.' }));
      response.write(
        chunkEvent({ tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{' } }] }),
      );
      response.write(': over\n\n', () => response.destroy());
    };
    const tools = [{ type: 'function', function: { name: 'f', parameters: {} } }];
    await using cell = await cellOf([calls, answerWith('Let me look.', USAGE)]);
    expect(readChat(await cell.send('/chat/completions', { ...ASKED, tools })).error).toBeDefined();
    await using plain = await cellOf([saying(3), answerWith(WHOLE, USAGE)], { fallback: {} });
    expect(readChat(await plain.send('/chat/completions', ASKED)).error).toBeDefined();
    const wanted = { ...ASKED, provider: { after_first_token: 'continue' } };
    await using other = await cellOf([saying(3), answerWith(WHOLE, USAGE)], { fallback: {} });
    expect(readChat(await other.send('/chat/completions', wanted)).content).toBe(WHOLE);
  });

  it('stays of one piece where it has a format', async () => {
    const json = '{"name": "Ada", "age": 36}';
    const whole = answerWith(json, USAGE);
    await using cell = await cellOf([saying(2, undefined, json), whole], { prefill: true });
    const body = { ...ASKED, response_format: { type: 'json_object' } };
    const { content, attempts } = readChat(await cell.send('/chat/completions', body));
    expect(content).toBe(json);
    expect(attempts[1]).toMatchObject({ continued: { way: 'repetition' } });
  });

  it('goes on in Messages and in Responses', async () => {
    await using cell = await cellOf([saying(3), answerWith(WHOLE, USAGE)]);
    const { models, stream } = ASKED;
    const message = { model: 'acme/m0', models, stream, max_tokens: 100, messages: ASKED.messages };
    expect(messageIn(eventsIn(await cell.send('/messages', message)))).toMatchObject({
      content: [{ type: 'text', text: WHOLE }],
      stop_reason: 'end_turn',
    });
    const response = await cell.send('/responses', { model: 'acme/m0', models, stream, input: 'Hi' });
    expect(response).toContain('event: response.completed');
    expect(response).not.toContain('event: error');
    const deltas = [...response.matchAll(/"type":"response.output_text.delta".*?"delta":("(?:[^"\\]|\\.)*")/g)];
    expect(deltas.map(([, text]) => JSON.parse(text ?? '""') as string).join('')).toBe(WHOLE);
  });

  it('goes on through the transforms of plugins', async () => {
    const shout: ChunkTransform<number> = {
      start: 0,
      step: (count, chunk) => [
        count + 1,
        [{ ...chunk, delta: { ...chunk.delta, content: chunk.delta.content?.toUpperCase() ?? null } }],
      ],
      end: () => [],
    };
    const plugin: Plugin = {
      id: 'shout',
      whenItThrows: 'fail',
      onRequest: ({ preferences }) => ({
        type: 'continue',
        change: { preferences: { ...preferences, afterFirstToken: 'continue' } },
      }),
      onChunks: () => shout,
    };
    await using cell = await cellOf([saying(3), answerWith(WHOLE, USAGE)], { plugins: [plugin], fallback: {} });
    const body = { ...ASKED, plugins: [{ id: 'shout' }] };
    const { content, seen } = readChat(await cell.send('/chat/completions', body));
    expect(content).toBe(WHOLE.toUpperCase());
    expect(seen).toEqual(['P0 acme/m0', 'P1 acme/m1']);
  });
});

/** Anthropic's events of a text, as far as so many words. */
function anthropicEvents(words: readonly string[], isWhole: boolean): string {
  const event = (data: { readonly type: string } & object): string => `event: ${data.type}\n${dataEvent(data)}`;
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [],
    model: 'claude',
    usage: { input_tokens: 3, output_tokens: 1 },
  };
  return [
    event({ type: 'message_start', message } as never),
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as never),
    ...words.map((text) =>
      event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } } as never),
    ),
    ...(isWhole
      ? [
          event({ type: 'content_block_stop', index: 0 } as never),
          event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } } as never),
          event({ type: 'message_stop' }),
        ]
      : []),
  ].join('');
}

describe('a stream of Anthropic that is cut', () => {
  it('goes on as a prefill at a model that takes one, also for callers of Messages', async () => {
    const words = WHOLE.match(/\S+\s*/g) ?? [];
    const sent = words.slice(0, 3).join('');
    await using one = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(anthropicEvents(words.slice(0, 3), false), () => response.destroy());
    });
    await using two = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(anthropicEvents([WHOLE.slice(sent.trimEnd().length)], true));
    });
    const router = createRouter({
      on: { warning: () => {} },
      fallback: { afterFirstToken: 'continue', triesPerEndpoint: 1 },
      providers: [
        anthropic({
          slug: 'one',
          apiKey: 'k',
          baseURL: one.baseURL,
          models: { 'anthropic/claude-opus-4-8': { upstreamModel: 'claude-opus-4-8' } },
        }),
        anthropic({
          slug: 'two',
          apiKey: 'k',
          baseURL: two.baseURL,
          models: { 'anthropic/claude-sonnet-4-5': { upstreamModel: 'claude-sonnet-4-5' } },
        }),
      ],
    });
    await using mounted = await (MOUNTS['node'] ?? (() => Promise.reject(new Error('no mount'))))(router);
    const body = {
      model: 'anthropic/claude-opus-4-8',
      models: ['anthropic/claude-sonnet-4-5'],
      stream: true,
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hi' }],
    };
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${mounted.baseURL}/messages`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    expect(messageIn(eventsIn(await response.text()))).toMatchObject({ content: [{ type: 'text', text: WHOLE }] });
    expect(two.requests[0]?.body['messages']).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'text', text: sent.trimEnd() }] },
    ]);
    await router.close();
  });
});
