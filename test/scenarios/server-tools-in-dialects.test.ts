import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk';
import OpenAI, { APIError } from 'openai';
import { type Router, createRouter, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { MOUNTS } from '../support/mounts.ts';
import { toldBy, toolUpstream } from '../support/tool-upstream.ts';
import { type Upstream, startUpstream } from '../support/upstream.ts';

interface Scene extends AsyncDisposable {
  readonly anthropic: Anthropic;
  readonly openai: OpenAI;
  readonly upstream: Upstream;
}

/** Asks for the time, then for advice, then says what it was told; the advisor gives advice. */
const handler = toolUpstream((messages, model) => {
  if (model === 'sage') return 'Be brief.';
  const told = toldBy(messages);
  if (told.length === 0) return { call: 'datetime', args: {} };
  return told.length === 1 ? { call: 'advisor_sage', args: { prompt: 'How long?' } } : `Told: ${told.join(' and ')}`;
});

async function open(): Promise<Scene> {
  const upstream = await startUpstream(handler);
  const price = { prompt: 1, completion: 2 };
  const router: Router = createRouter({
    providers: [
      openaiCompatible({
        slug: 'up',
        baseURL: upstream.baseURL,
        models: { 'acme/one': { upstreamModel: 'one', price }, 'acme/sage': { upstreamModel: 'sage', price } },
      }),
    ],
    allowAnonymous: true,
  });
  const mount = Object.values(MOUNTS)[0];
  if (mount === undefined) throw new Error('no mount');
  const mounted = await mount(router);
  return {
    anthropic: new Anthropic({ baseURL: mounted.baseURL.replace(/\/v1$/, ''), apiKey: 'any', maxRetries: 0 }),
    openai: new OpenAI({ baseURL: mounted.baseURL, apiKey: 'any', maxRetries: 0 }),
    upstream,
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

const DATETIME = { type: 'router:datetime', parameters: { timezone: 'Asia/Tokyo' } };
const ADVISOR = { type: 'router:advisor', parameters: { name: 'sage', model: 'acme/sage' } };
const SAID =
  /^One moment\.\s+One moment\.\s+Told: \{"datetime":"[^"]+\+09:00","timezone":"Asia\/Tokyo"\} and \{"status":"ok","model":"acme\/sage","advice":"Be brief\."\}$/;
/** Three turns of the model and one of the advisor. */
const USED = { input: 80, output: 20, cost: 0.00012 };

describe('server tools for the Anthropic SDK', () => {
  const request = {
    model: 'acme/one',
    max_tokens: 500,
    messages: [{ role: 'user' as const, content: 'What time is it?' }],
    tools: [DATETIME, ADVISOR] as unknown as Anthropic.Tool[],
  };

  it('answer whole', async () => {
    await using scene = await open();
    const message = await scene.anthropic.messages.create(request);
    const text = message.content.flatMap((block) => (block.type === 'text' ? block.text : [])).join('\n\n');
    expect(text).toMatch(SAID);
    expect(message.content.some((block) => block.type === 'tool_use')).toBe(false);
    expect(message.stop_reason).toBe('end_turn');
    expect(message.usage).toMatchObject({ input_tokens: USED.input, output_tokens: USED.output, cost: USED.cost });
    expect(scene.upstream.requests).toHaveLength(4);
  });

  it('answer as one stream', async () => {
    await using scene = await open();
    const stream = scene.anthropic.messages.stream(request);
    const types = new Set<string>();
    stream.on('streamEvent', (event) => types.add(event.type));
    const message = await stream.finalMessage();
    const text = message.content.flatMap((block) => (block.type === 'text' ? block.text : [])).join('\n\n');
    expect(text).toMatch(SAID);
    expect([message.stop_reason, message.usage.output_tokens]).toEqual(['end_turn', USED.output]);
    expect(message.content.some((block) => block.type === 'tool_use')).toBe(false);
    expect(types).toContain('message_stop');
  });

  it('go on in the next turn with what was said', async () => {
    await using scene = await open();
    const first = await scene.anthropic.messages.create(request);
    const second = await scene.anthropic.messages.create({
      ...request,
      messages: [...request.messages, { role: 'assistant', content: first.content }, { role: 'user', content: 'And?' }],
    });
    expect(second.stop_reason).toBe('end_turn');
  });

  it('are forced by the name that tools of this wire have', async () => {
    await using scene = await open();
    const tools = [{ ...DATETIME, name: 'clock', cache_control: { type: 'ephemeral' } }] as unknown as Anthropic.Tool[];
    await scene.anthropic.messages.create({ ...request, tools, tool_choice: { type: 'tool', name: 'clock' } });
    const [first, second] = scene.upstream.requests;
    expect(first?.body['tool_choice']).toEqual({ type: 'function', function: { name: 'datetime' } });
    expect(second?.body['tool_choice']).not.toEqual(first?.body['tool_choice']);
  });

  it('are refused with the paths of the caller’s own body', async () => {
    await using scene = await open();
    const refused = (tools: readonly object[], more: object = {}): Promise<unknown> =>
      scene.anthropic.messages
        .create({ ...request, ...more, tools: tools as Anthropic.Tool[] })
        .catch((error: unknown) => error);
    const own = { name: 'look_up', input_schema: { type: 'object' } };
    const wrong = await refused([own, { type: 'router:datetime', parameters: { timezone: 'Mars' } }]);
    expect(wrong).toBeInstanceOf(AnthropicError);
    expect(wrong).toMatchObject({
      status: 400,
      message: expect.stringContaining('tools[1].parameters.timezone') as string,
    });
    expect(await refused([own, own, { type: 'router:nothing' }])).toMatchObject({
      status: 400,
      message: expect.stringContaining('tools[2].type') as string,
    });
    expect(await refused([own, { type: 'router:datetime', timezone: 'Mars' }])).toMatchObject({
      message: expect.stringContaining('tools[1].timezone') as string,
    });
    const search = { type: 'web_search_20250305', name: 'web_search', blocked_domains: ['http://a b'] };
    expect(await refused([own, search])).toMatchObject({
      status: 400,
      message: expect.stringContaining('tools[1].blocked_domains[0]') as string,
    });
    expect(scene.upstream.requests).toEqual([]);
  });
});

describe('server tools for responses of the openai package', () => {
  const request = {
    model: 'acme/one',
    input: 'What time is it?',
    tools: [DATETIME, ADVISOR] as unknown as OpenAI.Responses.Tool[],
  };

  it('answer whole', async () => {
    await using scene = await open();
    const answer = await scene.openai.responses.create(request);
    expect(answer.status).toBe('completed');
    expect(answer.output_text).toMatch(SAID);
    expect(answer.output.some((item) => item.type === 'function_call')).toBe(false);
    expect(answer.usage).toMatchObject({ input_tokens: USED.input, output_tokens: USED.output, cost: USED.cost });
    expect(scene.upstream.requests).toHaveLength(4);
  });

  it('answer as one stream', async () => {
    await using scene = await open();
    let text = '';
    let completed: OpenAI.Responses.Response | undefined;
    for await (const event of await scene.openai.responses.create({ ...request, stream: true })) {
      if (event.type === 'response.output_text.delta') text += event.delta;
      expect(event.type).not.toContain('function_call');
      if (event.type === 'response.completed') completed = event.response;
    }
    expect(text).toMatch(SAID);
    expect(completed?.usage).toMatchObject({ input_tokens: USED.input, output_tokens: USED.output });
  });

  it('are refused with the paths of the caller’s own body', async () => {
    await using scene = await open();
    const refused = (tools: readonly object[]): Promise<unknown> =>
      scene.openai.responses
        .create({ ...request, tools: tools as OpenAI.Responses.Tool[] })
        .catch((error: unknown) => error);
    const own = { type: 'function', name: 'look_up', parameters: {} };
    const wrong = await refused([own, { type: 'router:datetime', parameters: { timezone: 'Mars' } }]);
    expect(wrong).toBeInstanceOf(APIError);
    expect(wrong).toMatchObject({
      status: 400,
      message: expect.stringContaining('tools[1].parameters.timezone') as string,
    });
    const search = { type: 'web_search', filters: { allowed_domains: ['http://a b'] } };
    for (const [tool, path] of [
      [{ type: 'image_generation', quality: 7 }, 'tools[1].quality'],
      [search, 'tools[1].filters.allowed_domains[0]'],
      [{ type: 'router:subagent', parameters: { inherit_functions: true } }, 'tools[1].parameters.inherit_functions'],
      [{ type: 'router:subagent', tools: [{ type: 'router:nope' }] }, 'tools[1].tools[0].type'],
    ] as const) {
      expect(await refused([own, tool])).toMatchObject({
        status: 400,
        message: expect.stringContaining(`${path} `) as string,
      });
    }
    expect(scene.upstream.requests).toEqual([]);
  });
});
