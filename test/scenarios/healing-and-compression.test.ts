import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import OpenAI from 'openai';
import { createRouter, openaiCompatible } from 'signalbox';
import { nodeRouter } from 'signalbox/node';
import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { type Mounted, listen } from '../support/mounts.ts';
import { type Upstream, type UpstreamHandler, answerWith, sendJson, startUpstream } from '../support/upstream.ts';

const CONTEXT = 4_096;

/** A provider that counts tokens and refuses prompts beyond its context, as real ones do. */
const strict: UpstreamHandler = (request, response, raw) => {
  const messages = request.body['messages'] as readonly { readonly content: string }[];
  const tokens = messages.reduce((sum, { content }) => sum + 4 + countTokens(content), 3);
  const output = Number(request.body['max_completion_tokens'] ?? request.body['max_tokens'] ?? 16);
  if (tokens + output <= CONTEXT) return answerWith(`Read ${tokens} tokens.`)(request, response, raw);
  const message = `This model's maximum context length is ${CONTEXT} tokens. However, you requested ${tokens + output}.`;
  sendJson(response, 400, { error: { message, type: 'invalid_request_error', code: 'context_length_exceeded' } });
};

interface Scene extends AsyncDisposable {
  readonly upstream: Upstream;
  /** Asks with the openai package, for metadata, too. */
  ask(
    body: Readonly<Record<string, unknown>>,
  ): Promise<OpenAI.ChatCompletion & { readonly router_metadata?: { readonly pipeline?: readonly object[] } }>;
  readonly client: OpenAI;
}

async function open(handler: UpstreamHandler): Promise<Scene> {
  const upstream = await startUpstream(handler);
  const models = { 'acme/small': { contextLength: CONTEXT }, 'acme/one': {} };
  const router = createRouter({
    providers: [openaiCompatible({ slug: 'up', name: 'Up', baseURL: upstream.baseURL, models })],
    allowAnonymous: true,
  });
  const mounted: Mounted = await listen(createServer(nodeRouter(router, { basePath: '/v1' })));
  const client = new OpenAI({
    baseURL: mounted.baseURL,
    apiKey: 'any',
    maxRetries: 0,
    defaultHeaders: { 'X-Router-Metadata': 'enabled' },
  });
  return {
    upstream,
    client,
    ask: async (body) =>
      client.chat.completions.create(body as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming),
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

const HISTORY = Array.from({ length: 60 }, (_, index) => ({
  role: index % 2 === 0 ? 'user' : 'assistant',
  content: `${index}. ${'Über die Brücke ging, ohne zu zögern, a man who had nothing to lose; 彼は笑った. '.repeat(4)}`,
}));
const LONG = { model: 'acme/small', messages: [...HISTORY, { role: 'user', content: 'And then?' }] };

describe('context-compression over the wire', () => {
  it('makes a conversation fit a provider that counts for itself, whole and streamed', async () => {
    await using scene = await open(strict);
    const answer = await scene.ask({ ...LONG, max_tokens: 500 });
    expect(answer.choices[0]?.message.content).toMatch(/^Read \d+ tokens\.$/);
    expect(answer.router_metadata?.pipeline).toMatchObject([
      { type: 'context_compression', data: { engine: 'middle-out', original_count: 61, provider: 'Up' } },
    ]);
    const stream = await scene.client.chat.completions.create({
      ...(LONG as OpenAI.ChatCompletionCreateParamsStreaming),
      stream: true,
    });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toMatch(/^Read \d+ tokens\.$/);
    const sent = scene.upstream.requests.map(({ body }) => body['messages'] as typeof HISTORY);
    for (const messages of sent) {
      expect(messages[0]).toEqual(HISTORY[0]);
      expect(messages.at(-1)?.content).toBe('And then?');
      expect(messages.length).toBeLessThan(61);
    }
  });

  it('gives a 400 that names it when it is switched off', async () => {
    await using scene = await open(strict);
    for (const off of [{ transforms: [] }, { plugins: [{ id: 'context-compression', enabled: false }] }]) {
      await expect(
        scene.ask({ ...LONG, messages: [...HISTORY, ...HISTORY, ...HISTORY], ...off }),
      ).rejects.toMatchObject({
        status: 400,
        message: expect.stringContaining('context-compression plugin') as string,
      });
    }
    expect(scene.upstream.requests).toEqual([]);
  });
});

const FENCED = "Sure!\n```json\n{'name': 'Ada', 'formula': '\\alpha', 'active': True,}\n```\n";
const PERSON = {
  type: 'json_schema',
  json_schema: {
    name: 'person',
    schema: { type: 'object', properties: { name: { type: 'string', pattern: '^A' } }, required: ['name'] },
  },
};
const HEAL = {
  model: 'acme/one',
  messages: [{ role: 'user', content: 'As JSON' }],
  plugins: [{ id: 'response-healing' }],
};

describe('response-healing over the wire', () => {
  it('makes JSON of an answer that is not quite JSON', async () => {
    await using scene = await open(answerWith(FENCED));
    const healed = '{"name":"Ada","formula":"\\\\alpha","active":true}';
    for (const format of [{ type: 'json_object' }, PERSON]) {
      const { choices, usage, router_metadata: metadata } = await scene.ask({ ...HEAL, response_format: format });
      expect(choices[0]?.message.content).toBe(healed);
      expect(usage?.completion_tokens).toBe(5);
      expect(metadata?.pipeline).toEqual([
        {
          type: 'response_healing',
          name: 'response-healing',
          summary: 'extracted, quotes, escapes, literals, commas',
          data: {
            mode: format.type,
            improved: true,
            original_length: FENCED.length,
            healed_length: healed.length,
            repairs: ['extracted', 'quotes', 'escapes', 'literals', 'commas'],
            ...(format === PERSON ? { schema: 'fits' } : {}),
          },
        },
      ]);
    }
  });

  it('leaves alone what is JSON, what nobody asked to be JSON, streams, and everything when it is not wanted', async () => {
    await using scene = await open(answerWith(FENCED));
    const format = { response_format: { type: 'json_object' } };
    const others = [
      HEAL,
      { ...HEAL, ...format, plugins: [{ id: 'response-healing', enabled: false }] },
      { ...HEAL, ...format, plugins: [] },
    ];
    for (const body of others) {
      const { choices, router_metadata: metadata } = await scene.ask(body);
      expect(choices[0]?.message.content).toBe(FENCED);
      expect(metadata?.pipeline).toBeUndefined();
    }
    const stream = await scene.client.chat.completions.create({
      ...(HEAL as unknown as OpenAI.ChatCompletionCreateParamsStreaming),
      response_format: { type: 'json_object' },
      stream: true,
    });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe(FENCED);
    scene.upstream.handler = answerWith(' {"a": "\\frac"}\n');
    const valid = await scene.ask({ ...HEAL, ...format });
    expect([valid.choices[0]?.message.content, valid.router_metadata?.pipeline]).toEqual([
      ' {"a": "\\frac"}\n',
      undefined,
    ]);
  });

  it('says that it could not help, and why', async () => {
    await using scene = await open(answerWith('{"name": 7,}'));
    const misfit = await scene.ask({ ...HEAL, response_format: PERSON });
    expect(misfit.choices[0]?.message.content).toBe('{"name": 7,}');
    expect(misfit.router_metadata?.pipeline).toMatchObject([
      {
        type: 'response_healing',
        summary: 'left as it is: does not fit the schema',
        data: {
          mode: 'json_schema',
          improved: false,
          reason: 'does not fit the schema',
          original_length: 12,
          healed_length: 12,
        },
      },
    ]);
    scene.upstream.handler = (_request, response) =>
      sendJson(response, 200, completion({ content: '{"name": "Ada", "bio": "Born in', finish: 'length' }));
    const cut = await scene.ask({ ...HEAL, response_format: { type: 'json_object' } });
    expect(cut.choices[0]).toMatchObject({
      finish_reason: 'length',
      message: { content: '{"name": "Ada", "bio": "Born in' },
    });
    expect(cut.router_metadata?.pipeline).toMatchObject([{ data: { improved: false, reason: 'cut off' } }]);
  });

  it('heals each of several choices, keeps reasoning, and passes tool calls and refusals by', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{a:' } };
    await using scene = await open((_request, response) =>
      sendJson(
        response,
        200,
        completion(
          { content: '<think>{"b": 2}?</think>{"a": 1,}', reasoning: 'I wonder {' },
          { content: '{"a": 2}' },
          { content: 'No idea.' },
          { content: 'Calling {f', tool_calls: [call], finish: 'tool_calls' },
        ),
      ),
    );
    const { choices, router_metadata: metadata } = await scene.ask({
      ...HEAL,
      n: 4,
      response_format: { type: 'json_object' },
    });
    expect(choices.map(({ message }) => message.content)).toEqual(['{"a":1}', '{"a": 2}', 'No idea.', 'Calling {f']);
    expect(choices[0]?.message).toMatchObject({ reasoning: 'I wonder {' });
    expect(metadata?.pipeline).toMatchObject([
      { summary: 'choice 0: extracted, commas', data: { choice: 0, improved: true } },
      { summary: 'choice 2: left as it is: no JSON found', data: { choice: 2, improved: false } },
    ]);
  });
});

function completion(...messages: readonly { readonly finish?: string; readonly [name: string]: unknown }[]): object {
  return {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: messages.map(({ finish = 'stop', ...message }, index) => ({
      index,
      finish_reason: finish,
      message: { role: 'assistant', ...message },
    })),
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}
