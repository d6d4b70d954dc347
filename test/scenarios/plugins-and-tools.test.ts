import OpenAI, { APIError } from 'openai';
import { type Plugin, type Router, RouterError, createRouter, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { MOUNTS } from '../support/mounts.ts';
import { standIn } from '../support/plugins.ts';
import {
  type Upstream,
  type UpstreamHandler,
  chunkEvent,
  dataEvent,
  sendJson,
  startUpstream,
} from '../support/upstream.ts';

const USAGE = { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 };
const LOOK_UP = {
  type: 'function',
  function: { name: 'look_up', parameters: { type: 'object', properties: {} } },
} as const;
const DATETIME = { type: 'router:datetime', parameters: { timezone: 'Asia/Tokyo' } } as unknown as typeof LOOK_UP;

type Sent = readonly { readonly role: string; readonly content: unknown }[];

/** Asks for the time, then for a function of the caller if there is one, then says what it was told. */
const model: UpstreamHandler = ({ body }, response) => {
  const results = (body['messages'] as Sent).filter((message) => message.role === 'tool');
  const tools = (body['tools'] ?? []) as readonly { readonly function: { readonly name: string } }[];
  const names = new Set(tools.map((tool) => tool.function.name));
  const next =
    names.has('datetime') && results.length === 0
      ? 'datetime'
      : names.has('look_up') && results.length === 1
        ? 'look_up'
        : undefined;
  const text =
    next === undefined ? `Told: ${results.map(({ content }) => String(content)).join(' and ')}` : 'One moment.';
  const calls =
    next === undefined
      ? undefined
      : [{ id: `call_${next}`, type: 'function', function: { name: next, arguments: '{}' } }];
  const finish = next === undefined ? 'stop' : 'tool_calls';
  const head = { id: 'c', created: 1, model: 'm' };
  if (body['stream'] !== true) {
    const message = { role: 'assistant', content: text, ...(calls === undefined ? {} : { tool_calls: calls }) };
    const choices = [{ index: 0, message, finish_reason: finish }];
    return sendJson(response, 200, { ...head, object: 'chat.completion', choices, usage: USAGE });
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const word of text.split(/(?<= )/)) response.write(chunkEvent({ content: word }));
  if (calls !== undefined) response.write(chunkEvent({ tool_calls: calls.map((call, index) => ({ index, ...call })) }));
  response.write(chunkEvent({}, finish));
  response.write(dataEvent({ ...head, object: 'chat.completion.chunk', choices: [], usage: USAGE }));
  response.end('data: [DONE]\n\n');
};

const guard: Plugin = {
  ...standIn('guard'),
  onRequest: () => ({
    type: 'block',
    error: new RouterError({
      status: 403,
      errorType: 'permission_denied',
      message: 'Blocked',
      metadata: { patterns: ['p'] },
    }),
  }),
};

const loud: Plugin = {
  ...standIn('loud'),
  onChunks: () => ({
    start: 0,
    step: (count, chunk) => [
      count,
      [
        chunk.delta.content
          ? { ...chunk, delta: { ...chunk.delta, content: chunk.delta.content.toUpperCase() } }
          : chunk,
      ],
    ],
    end: () => [],
  }),
};

interface Scene extends AsyncDisposable {
  readonly client: OpenAI;
  readonly upstream: Upstream;
  readonly baseURL: string;
}

async function open(
  mount: (typeof MOUNTS)[keyof typeof MOUNTS],
  plugins: readonly Plugin[] = [guard, loud],
): Promise<Scene> {
  const upstream = await startUpstream(model);
  const provider = openaiCompatible({
    slug: 'up',
    baseURL: upstream.baseURL,
    models: { 'acme/one': { price: { prompt: 1, completion: 2 } } },
  });
  const router: Router = createRouter({
    providers: [provider],
    plugins,
    allowAnonymous: true,
    keepAlive: { firstMs: 20, everyMs: 20 },
  });
  const mounted = await mount(router);
  return {
    client: new OpenAI({ baseURL: mounted.baseURL, apiKey: 'any', maxRetries: 0 }),
    baseURL: mounted.baseURL,
    upstream,
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

const request = { model: 'acme/one', messages: [{ role: 'user' as const, content: 'What time is it?' }] };
const TIME = /^One moment\.\n\nTold: \{"datetime":"[^"]+\+09:00","timezone":"Asia\/Tokyo"\}$/;

describe.each(Object.entries(MOUNTS))('plugins and server tools behind %s', (_name, mount) => {
  it('answer the openai package with the whole of a tool loop', async () => {
    await using scene = await open(mount);
    const answer = await scene.client.chat.completions.create({ ...request, tools: [DATETIME] });
    expect(answer.choices[0]?.message.content).toMatch(TIME);
    expect(answer.choices[0]?.finish_reason).toBe('stop');
    expect(answer.choices[0]?.message.tool_calls).toBeUndefined();
    expect(answer.usage).toMatchObject({
      total_tokens: 50,
      cost: 0.00006,
      server_tool_use_details: { tool_calls_requested: 1, tool_calls_executed: 1 },
    });
    expect(scene.upstream.requests).toHaveLength(2);
  });

  it('stream a tool loop as one answer', async () => {
    await using scene = await open(mount);
    const stream = await scene.client.chat.completions.create({ ...request, tools: [DATETIME], stream: true });
    let text = '';
    const finishes: unknown[] = [];
    const usages: unknown[] = [];
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      expect(chunk.choices[0]?.delta.tool_calls).toBeUndefined();
      if (chunk.choices[0]?.finish_reason) finishes.push(chunk.choices[0].finish_reason);
      if (chunk.usage) usages.push(chunk.usage.total_tokens);
    }
    expect(text).toMatch(TIME);
    expect([finishes, usages]).toEqual([['stop'], [50]]);
  });
});

describe('plugins and server tools over HTTP', () => {
  const mount = MOUNTS['node'] ?? Object.values(MOUNTS)[0];
  if (mount === undefined) throw new Error('no mount');

  it('go on with a function of the caller in the next request', async () => {
    await using scene = await open(mount);
    const tools = [DATETIME, LOOK_UP];
    const first = await scene.client.chat.completions.create({ ...request, tools });
    const message = first.choices[0]?.message;
    expect(first.choices[0]?.finish_reason).toBe('tool_calls');
    expect(message?.tool_calls).toMatchObject([{ id: 'call_look_up', function: { name: 'look_up' } }]);
    if (message === undefined) throw new Error('no message');
    const second = await scene.client.chat.completions.create({
      model: 'acme/one',
      tools,
      messages: [...request.messages, message, { role: 'tool', tool_call_id: 'call_look_up', content: 'found it' }],
    });
    expect(second.choices[0]?.message.content).toMatch(/^Told: \{"datetime".*\} and found it$/);
    const roles = ((scene.upstream.requests.at(-1)?.body['messages'] ?? []) as Sent).map(({ role }) => role);
    expect(roles).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool']);
  });

  it('rewrite what is streamed', async () => {
    await using scene = await open(mount);
    const body = { ...request, stream: true as const, plugins: [{ id: 'loud' }] };
    let text = '';
    for await (const chunk of await scene.client.chat.completions.create(body))
      text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe('TOLD: ');
  });

  it('refuse with the documented errors before a stream begins', async () => {
    await using scene = await open(mount);
    const refused = async (more: object): Promise<unknown> =>
      scene.client.chat.completions.create({ ...request, stream: true, ...more }).catch((error: unknown) => error);
    const blocked = await refused({ plugins: [{ id: 'guard' }] });
    expect(blocked).toBeInstanceOf(APIError);
    expect(blocked).toMatchObject({
      status: 403,
      error: { code: 403, message: 'Blocked', metadata: { patterns: ['p'] } },
    });
    expect(await refused({ plugins: [{ id: 'web' }] })).toMatchObject({ status: 400 });
    expect(await refused({ tools: [{ type: 'router:shell' }] })).toMatchObject({ status: 400 });
    expect(scene.upstream.requests).toEqual([]);
  });

  it('keep a stream open while a plugin works', async () => {
    const slow: Plugin = {
      ...standIn('slow'),
      onRequest: (_request, _options, { signal }) =>
        new Promise((resolve) => {
          const timer = setTimeout(() => resolve({ type: 'continue' }), 90);
          signal.addEventListener('abort', () => clearTimeout(timer));
        }),
    };
    await using scene = await open(mount, [slow]);
    const response = await fetch(`${scene.baseURL}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...request, stream: true, plugins: [{ id: 'slow' }] }),
    });
    const text = await response.text();
    expect(text).toMatch(/^: ROUTER PROCESSING\n\n/);
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
  });
});
