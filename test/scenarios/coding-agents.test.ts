import { readFileSync } from 'node:fs';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { anthropic, createRouter, fromAiSdk, google, openaiCompatible, type Provider } from 'signalbox';
import { describe, expect, it } from 'vitest';
import {
  agentUpstream,
  DONE,
  ENCRYPTED,
  type PlannedCall,
  SIGNATURE,
  THOUGHT,
  THOUGHT_SIGNATURE,
} from '../support/agent-upstream.ts';
import { problemsOfBody } from '../support/anthropic-schema.ts';
import { MOUNTS } from '../support/mounts.ts';
import { geminiBodySchema } from '../support/gemini-schema.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

type Json = Readonly<Record<string, unknown>>;

/** A conversation as an agent has it: its requests, and the results that its tools give. */
interface Recorded {
  readonly headers: Readonly<Record<string, string>>;
  readonly title?: Json;
  readonly main: Json;
  readonly results: Readonly<Record<string, string>>;
}

function recorded(name: string): Recorded {
  return JSON.parse(readFileSync(new URL(`../fixtures/agents/${name}.json`, import.meta.url), 'utf8')) as Recorded;
}

/** A wire on which a provider is asked. */
interface Wire {
  make(upstream: Upstream): Provider;
  /** What the wire would refuse. */
  problems?(body: Json): readonly string[];
  /** What comes back to the provider of what the model thought; undefined where the wire has nothing for it. */
  readonly thoughtBack: string | undefined;

  /** Ids of calls, and of the calls that are answered. */
  idsOf(body: Json): { readonly calls: readonly string[]; readonly results: readonly string[] };
}

const MODELS = { 'acme/one': { contextLength: 200_000, maxOutputTokens: 64_000 } };

type Message = { readonly role: string; readonly tool_calls?: { id: string }[]; readonly tool_call_id?: string };
type Block = { readonly type: string; readonly id?: string; readonly tool_use_id?: string };
type Part = { functionCall?: { name: string }; functionResponse?: { name: string } };
type Item = { readonly type: string; readonly call_id?: string };

const WIRES: Readonly<Record<string, Wire>> = {
  'chat completions': {
    make: ({ baseURL }) =>
      openaiCompatible({ slug: 'up', baseURL, models: MODELS, quirks: { reasoningHistory: 'reasoning_content' } }),
    thoughtBack: THOUGHT,
    idsOf: ({ messages }) => ({
      calls: (messages as Message[]).flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id)),
      results: (messages as Message[]).flatMap(({ tool_call_id: id }) => id ?? []),
    }),
  },
  Messages: {
    make: ({ baseURL }) => anthropic({ baseURL, apiKey: 'sk-ant-1', models: MODELS }),
    // With its beta, which is checked below, this is a field like any other.
    problems: ({ context_management: _, ...body }) => problemsOfBody(body),
    thoughtBack: SIGNATURE,
    idsOf({ messages }) {
      const blocks = (messages as { content: string | Block[] }[]).flatMap(({ content }) =>
        typeof content === 'string' ? [] : content,
      );
      return {
        calls: blocks.flatMap(({ type, id }) => (type === 'tool_use' && id !== undefined ? id : [])),
        results: blocks.flatMap(({ tool_use_id: id }) => id ?? []),
      };
    },
  },
  generateContent: {
    make: ({ baseURL }) =>
      google({
        baseURL: baseURL.replace('/v1', '/v1beta'),
        apiKey: 'k',
        models: { 'acme/one': { ...MODELS['acme/one'], upstreamModel: 'gemini-3-pro' } },
      }),
    problems: (body) => (geminiBodySchema.safeParse(body).error?.issues ?? []).map(({ message }) => message),
    thoughtBack: THOUGHT_SIGNATURE,
    idsOf({ contents }) {
      const parts = (contents as { parts: Part[] }[]).flatMap((one) => one.parts);
      return {
        calls: parts.flatMap(({ functionCall: call }) => call?.name ?? []),
        results: parts.flatMap(({ functionResponse: result }) => result?.name ?? []),
      };
    },
  },
  Responses: {
    make: ({ baseURL }) => openaiCompatible({ slug: 'up', baseURL, models: MODELS, nativeApiFormats: ['responses'] }),
    thoughtBack: ENCRYPTED,
    idsOf({ input, messages }) {
      if (messages !== undefined) return WIRES['chat completions']?.idsOf({ messages }) ?? { calls: [], results: [] };
      const items = input as Item[];
      const ids = (ending: string): string[] =>
        items.flatMap(({ type, call_id: id }) => (type.endsWith(ending) && id !== undefined ? id : []));
      return { calls: ids('_call'), results: ids('_call_output') };
    },
  },
};

type AiModel = Parameters<typeof fromAiSdk>[0] & { readonly specificationVersion: string };

/** The same wires, spoken by packages of the AI SDK. */
function throughAiSdk(name: string, modelOf: (upstream: Upstream) => AiModel): Record<string, Wire> {
  const wire = WIRES[name];
  if (wire === undefined) throw new Error(`no wire ${name}`);
  const make = (upstream: Upstream): Provider => fromAiSdk({ slug: 'up', models: { 'acme/one': modelOf(upstream) } });
  // What its packages write by themselves is not ours: fields of Messages, and messages of Google's one by one.
  const problems = (body: Json): readonly string[] =>
    name === 'Messages' ? [] : (wire.problems?.(body) ?? []).filter((problem) => problem !== 'must alternate');
  return { [`the AI SDK on ${name}`]: { ...wire, problems, make } };
}

const ALL_WIRES: Readonly<Record<string, Wire>> = {
  ...WIRES,
  ...throughAiSdk('Messages', ({ baseURL }) => createAnthropic({ baseURL, apiKey: 'k' })('claude-one')),
  ...throughAiSdk('generateContent', ({ baseURL }) =>
    createGoogleGenerativeAI({ baseURL: baseURL.replace('/v1', '/v1beta'), apiKey: 'k' })('gemini-3-pro'),
  ),
  ...throughAiSdk('chat completions', ({ baseURL }) => createOpenAICompatible({ name: 'up', baseURL })('one')),
};

interface Scene extends AsyncDisposable {
  readonly upstream: Upstream;
  /** Sends a request as the agent does; gives the data of the events, or the body. */
  send(path: string, body: Json | undefined): Promise<readonly Json[]>;
}

async function openScene(
  mountName: string,
  wire: Wire,
  calls: readonly PlannedCall[],
  headers: Recorded['headers'],
): Promise<Scene> {
  const upstream = await startUpstream(agentUpstream(calls));
  const router = createRouter({
    providers: [wire.make(upstream)],
    allowAnonymous: true,
    fallback: { triesPerEndpoint: 1 },
    on: { warning: () => {} },
  });
  const mounted = await MOUNTS[mountName]?.(router);
  if (mounted === undefined) throw new Error(`no mount ${mountName}`);
  return {
    upstream,
    async send(path, body) {
      const response = await fetch(`${mounted.baseURL}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { ...headers, 'content-type': 'application/json', authorization: 'Bearer key' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${response.status} ${text}`);
      if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true)
        return [JSON.parse(text) as Json];
      return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data) as Json);
    },
    async [Symbol.asyncDispose]() {
      await mounted[Symbol.asyncDispose]();
      await router.close();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

const last = (upstream: Upstream): Json => upstream.requests.at(-1)?.body ?? {};

/** Checks the last request of a conversation as the provider of a wire would. */
function expectUnderstood(wire: Wire, upstream: Upstream, count: number): void {
  const body = last(upstream);
  expect(wire.problems?.(body) ?? []).toEqual([]);
  const { calls, results } = wire.idsOf(body);
  expect(calls).toHaveLength(count);
  expect(results).toEqual(calls);
}

/** The blocks of a Message, put together from its events as clients do. */
function blocksOf(events: readonly Json[]): readonly Json[] {
  const blocks: Record<string, unknown>[] = [];
  const open = new Set<number>();
  for (const event of events) {
    const index = Number(event['index']);
    const { type } = event;
    const block = blocks[index] ?? {};
    if (type === 'content_block_start') {
      expect(index).toBe(blocks.length);
      blocks.push({ ...(event['content_block'] as Json) });
      open.add(index);
    } else if (type === 'content_block_delta') {
      expect(open.has(index)).toBe(true);
      const delta = event['delta'] as Readonly<Record<string, string>>;
      for (const name of ['text', 'thinking', 'signature', 'partial_json']) {
        if (delta[name] !== undefined) block[name] = `${(block[name] as string | undefined) ?? ''}${delta[name]}`;
      }
    } else if (type === 'content_block_stop') {
      open.delete(index);
      if (block['type'] === 'tool_use')
        block['input'] = JSON.parse((block['partial_json'] as string | undefined) ?? '{}');
      delete block['partial_json'];
    }
  }
  expect(open.size).toBe(0);
  return blocks;
}

const ENDS = ['node', 'fetch on Hono'];
const cases = ENDS.flatMap((mount) => Object.entries(ALL_WIRES).map(([name, wire]) => ({ mount, name, wire })));

describe('Claude Code', () => {
  const { headers, title = {}, main, results } = recorded('claude-code');
  const calls: readonly PlannedCall[] = [
    { name: 'Read', args: { file_path: '/box/signal-1' } },
    { name: 'Bash', args: { command: 'cat signal-2' } },
  ];

  it.each(cases)('has its whole conversation over $mount, with a provider of $name', async ({ mount, wire, name }) => {
    await using scene = await openScene(mount, wire, calls, headers);
    const [models] = await scene.send('/models?limit=1000', undefined);
    expect(models).toMatchObject({
      data: expect.arrayContaining([expect.objectContaining({ type: 'model', id: 'acme/one' })]) as unknown,
      has_more: false,
    });
    const titled = await scene.send('/messages?beta=true', title);
    expect(blocksOf(titled)).toEqual([{ type: 'text', text: '{"title":"Signals"}' }]);

    const { max_tokens: _, stream: __, metadata: ___, context_management: ____, ...counted } = main;
    const [count] = await scene.send('/messages/count_tokens?beta=true', counted);
    const isCounted = name === 'Messages' || name === 'generateContent';
    expect(count).toMatchObject(
      isCounted ? { input_tokens: 4_321, counted_by: 'provider' } : { input_tokens: expect.any(Number) as number },
    );
    expect(Number(count?.['input_tokens'])).toBeGreaterThan(100);

    const first = await scene.send('/messages?beta=true', main);
    const [start] = first;
    expect(start).toMatchObject({ type: 'message_start', message: { role: 'assistant', model: 'acme/one' } });
    const { usage } = (start?.['message'] ?? {}) as { usage?: { input_tokens: number } };
    expect(usage?.input_tokens).toBeGreaterThan(0);
    const said = blocksOf(first);
    const thinking = said.find(({ type }) => type === 'thinking');
    expect(thinking).toMatchObject({ thinking: THOUGHT });
    const used = said.filter(({ type }) => type === 'tool_use');
    expect(used.map(({ name: tool, input }) => ({ name: tool, args: input }))).toEqual(calls);
    expect(new Set(used.map(({ id }) => id)).size).toBe(2);
    expect(first.at(-2)).toMatchObject({ type: 'message_delta', delta: { stop_reason: 'tool_use' } });
    expect(first.at(-1)).toEqual({ type: 'message_stop' });

    const answered = used.map(({ id, name: tool }, at) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: results[String(tool)],
      ...(at === used.length - 1 ? { cache_control: { type: 'ephemeral' } } : {}),
    }));
    const history = [
      ...(main['messages'] as Json[]),
      { role: 'assistant', content: said },
      { role: 'user', content: answered },
    ];
    const second = await scene.send('/messages?beta=true', { ...main, messages: history });
    expect(blocksOf(second).find(({ type }) => type === 'text')).toMatchObject({ text: DONE });
    expect(second.at(-2)).toMatchObject({ delta: { stop_reason: 'end_turn' } });
    expectUnderstood(wire, scene.upstream, 2);
    const sent = JSON.stringify(last(scene.upstream));
    expect(sent).toContain('signal-2: green');
    if (name !== 'Responses') expect(sent).toContain(wire.thoughtBack);
  });

  it('reaches Anthropic as it was sent: betas, thinking, cache marks, context management', async () => {
    const wire = WIRES['Messages'];
    if (wire === undefined) throw new Error('no wire');
    await using scene = await openScene('node', wire, calls, headers);
    await scene.send('/messages?beta=true', { ...main, cache_control: { type: 'ephemeral' } });
    const [request] = scene.upstream.requests;
    expect(request?.headers['anthropic-beta']).toBe(headers['anthropic-beta']);
    const { metadata: _, ...sent } = request?.body ?? {};
    const { metadata: __, ...asked } = main;
    expect(sent).toEqual({ ...asked, cache_control: { type: 'ephemeral' } });
  });

  it.each(cases)('may force a tool over $mount, with a provider of $name', async ({ mount, wire }) => {
    await using scene = await openScene(mount, wire, calls, headers);
    const { thinking: _, context_management: __, ...plain } = main;
    const choice = { type: 'tool', name: 'Read', disable_parallel_tool_use: true };
    await scene.send('/messages?beta=true', { ...plain, tool_choice: choice });
    expect(wire.problems?.(last(scene.upstream)) ?? []).toEqual([]);
    expect(JSON.stringify(last(scene.upstream))).toMatch(
      /"tool_choice":\{[^}]*"Read"|"allowedFunctionNames":\["Read"\]|"tool_choice":\{"type":"function","function":\{"name":"Read"\}/,
    );
  });
});

/** Items as Codex keeps them: without ids and states. */
function keptItems(events: readonly Json[]): readonly Json[] {
  return events
    .filter(({ type }) => type === 'response.output_item.done')
    .map(({ item }) => {
      const { id: _, status: __, ...kept } = item as Json;
      return kept['type'] === 'reasoning' ? { content: null, ...kept } : kept;
    });
}

describe('Codex', () => {
  const { headers, main, results } = recorded('codex');
  const calls: readonly PlannedCall[] = [
    { name: 'exec_command', args: { cmd: 'cat signal-1' } },
    { name: 'apply_patch', input: '*** Begin Patch\n*** Update File: signal-2\n@@\n-red\n+green\n*** End Patch' },
  ];

  it.each(cases)('has its whole conversation over $mount, with a provider of $name', async ({ mount, wire }) => {
    await using scene = await openScene(mount, wire, calls, headers);
    const first = await scene.send('/responses', main);
    const types = first.map(({ type }) => String(type));
    expect(types[0]).toBe('response.created');
    expect(types.at(-1)).toBe('response.completed');
    // Each item is told of twice, in the same place. Calls that are side by side may end after what began behind them.
    const placesOf = (ending: string) =>
      first
        .filter(({ type }) => type === `response.output_item.${ending}`)
        .map((event) => Number(event['output_index']));
    const added = placesOf('added');
    expect(added).toEqual(added.map((_, at) => at));
    expect(placesOf('done').toSorted((left, right) => left - right)).toEqual(added);
    expect(first.at(-1)).toMatchObject({
      response: {
        id: expect.stringMatching(/^resp_/) as string,
        status: 'completed',
        usage: {
          input_tokens: 4_000,
          input_tokens_details: { cached_tokens: expect.any(Number) as number },
          output_tokens: 50,
          output_tokens_details: { reasoning_tokens: expect.any(Number) as number },
          total_tokens: 4_050,
        },
      },
    });
    const items = keptItems(first);
    const reasoning = items.find(({ type }) => type === 'reasoning');
    expect(JSON.stringify(reasoning)).toContain(THOUGHT);
    expect(items.filter(({ type }) => String(type).endsWith('_call'))).toEqual([
      {
        type: 'function_call',
        call_id: expect.any(String) as string,
        name: 'exec_command',
        arguments: '{"cmd":"cat signal-1"}',
      },
      { type: 'custom_tool_call', call_id: expect.any(String) as string, name: 'apply_patch', input: calls[1]?.input },
    ]);

    const outputs = items
      .filter(({ type }) => String(type).endsWith('_call'))
      .map(({ type, call_id: id, name }) => ({
        type: `${String(type)}_output`,
        call_id: id,
        output: results[String(name)],
      }));
    const second = await scene.send('/responses', {
      ...main,
      input: [...(main['input'] as Json[]), ...items, ...outputs],
    });
    const text = second
      .filter(({ type }) => type === 'response.output_text.delta')
      .map(({ delta }) => delta)
      .join('');
    expect(text).toBe(DONE);
    expect(keptItems(second).at(-1)).toMatchObject({
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: DONE }],
    });
    expect(second.at(-1)?.['type']).toBe('response.completed');
    expectUnderstood(wire, scene.upstream, 2);
    const sent = JSON.stringify(last(scene.upstream));
    expect(sent).toContain('Updated the following files');
    expect(sent).toContain(wire.thoughtBack);
    expect(last(scene.upstream)['store'] ?? false).toBe(false);
  });

  it('may search with the provider of Responses, which it asks to by default', async () => {
    const wire = WIRES['Responses'];
    if (wire === undefined) throw new Error('no wire');
    await using scene = await openScene('node', wire, calls, headers);
    const tools = [...(main['tools'] as Json[]), { type: 'web_search', external_web_access: false }];
    const events = await scene.send('/responses', { ...main, tools });
    expect(events.at(-1)?.['type']).toBe('response.completed');
    expect(last(scene.upstream)['tools']).toEqual(tools);
  });

  it('is told what to do about its search where nobody can search', async () => {
    const wire = WIRES['chat completions'];
    if (wire === undefined) throw new Error('no wire');
    await using scene = await openScene('node', wire, calls, headers);
    const tools = [{ type: 'web_search', external_web_access: false }];
    await expect(scene.send('/responses', { ...main, tools })).rejects.toThrow(/404.*no search engine.*Set one of/);
  });

  it('reaches a provider of Responses as it was sent, its grammar, encrypted reasoning and cache key included', async () => {
    const wire = WIRES['Responses'];
    if (wire === undefined) throw new Error('no wire');
    await using scene = await openScene('node', wire, calls, headers);
    await scene.send('/responses', main);
    expect(last(scene.upstream)).toMatchObject({
      include: ['reasoning.encrypted_content'],
      tools: main['tools'],
      input: main['input'],
      parallel_tool_calls: true,
      prompt_cache_key: main['prompt_cache_key'],
      store: false,
      text: { verbosity: 'medium' },
    });
  });
});
