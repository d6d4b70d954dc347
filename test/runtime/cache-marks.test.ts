import { describe, expect, it } from 'vitest';
import { createAnthropic } from '@ai-sdk/anthropic';
import { anthropic, createRouter, fromAiSdk, openaiCompatible } from '../../src/index.ts';
import type { Provider } from '../../src/contracts/provider.ts';
import type { RouterConfig } from '../../src/config/router.ts';
import type { ChatRequest } from '../../src/protocol/chat-request.ts';
import type { Message } from '../../src/protocol/message.ts';
import type { Router } from '../../src/router/router.ts';
import { valueAt } from '../support/chat-bodies.ts';
import { answerWith, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const LONG = 'The same instructions for everybody. '.repeat(200);
const SYSTEM: Message = { role: 'system', content: LONG };

/** An upstream that speaks the Messages API, and a router before it. */
async function scene(
  config: Partial<RouterConfig> = {},
): Promise<AsyncDisposable & { upstream: Upstream; router: Router }> {
  const upstream = await startUpstream((_request, response) =>
    sendJson(response, 200, {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'one',
      content: [{ type: 'text', text: 'Hi' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 2_000, output_tokens: 3 },
    }),
  );
  const provider = anthropic({
    slug: 'claude',
    baseURL: upstream.baseURL,
    apiKey: 'the-key-of-a-test',
    models: { 'acme/one': {} },
  });
  const router: Router = createRouter({ ...config, providers: [provider] });
  return {
    upstream,
    router,
    async [Symbol.asyncDispose]() {
      await router.close();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

function ask(router: Router, messages: readonly Message[], more: Partial<ChatRequest> = {}) {
  return router.chat({ model: 'acme/one', messages: [...messages], ...more });
}

/** Texts and types of the blocks that were marked in a body. */
function marksIn(body: unknown): readonly string[] {
  if (Array.isArray(body)) return body.flatMap(marksIn);
  if (typeof body !== 'object' || body === null) return [];
  const block = body as { readonly cache_control?: unknown; readonly text?: string };
  const own = block.cache_control === undefined ? [] : [(block.text ?? 'the request').slice(0, 20)];
  return [...own, ...Object.values(body).flatMap(marksIn)];
}

const marksOf = ({ requests }: Upstream): readonly (readonly string[])[] => requests.map(({ body }) => marksIn(body));
const user = (content: string): Message => ({ role: 'user', content });

describe('marks for prompt caches', () => {
  it('are set from the second turn of a conversation on, at its end and at the end of the instructions', async () => {
    await using bench = await scene();
    const said: Message = { role: 'assistant', content: 'Hi' };
    await ask(bench.router, [SYSTEM, user('First')]);
    await ask(bench.router, [SYSTEM, user('First'), said, user('Second')]);
    await ask(bench.router, [SYSTEM, user('First'), said, user('Second'), said, user('Third')]);
    expect(marksOf(bench.upstream)).toEqual([
      [],
      ['The same instruction', 'Second'],
      ['The same instruction', 'Third'],
    ]);
  });

  it('are set at the end of instructions that several conversations share', async () => {
    await using bench = await scene();
    await ask(bench.router, [SYSTEM, user('One thing')]);
    await ask(bench.router, [SYSTEM, user('Another thing')]);
    expect(marksOf(bench.upstream)).toEqual([[], ['The same instruction']]);
  });

  it('are left to callers who set their own', async () => {
    await using bench = await scene();
    const marked: Message = {
      role: 'user',
      content: [{ type: 'text', text: 'Mine', cache_control: { type: 'ephemeral' } }],
    };
    for (let turn = 0; turn < 3; turn += 1) await ask(bench.router, [SYSTEM, marked]);
    expect(marksOf(bench.upstream)).toEqual([['Mine'], ['Mine'], ['Mine']]);
  });

  it('are not set for short prompts, nor when they are switched off', async () => {
    await using short = await scene();
    await using off = await scene({ cacheMarks: false });
    for (let turn = 0; turn < 2; turn += 1) {
      await ask(short.router, [user('Short')]);
      await ask(off.router, [SYSTEM, user('Long')]);
    }
    expect(marksOf(short.upstream)).toEqual([[], []]);
    expect(marksOf(off.upstream)).toEqual([[], []]);
  });

  it('do not come from a call that was repeated', async () => {
    await using bench = await scene();
    const { handler } = bench.upstream;
    let calls = 0;
    bench.upstream.handler = (request, response, raw) => {
      calls += 1;
      if (calls === 1) sendJson(response, 500, { type: 'error', error: { type: 'api_error', message: 'No' } });
      else handler(request, response, raw);
    };
    await ask(bench.router, [SYSTEM, user('Once')]);
    expect(marksOf(bench.upstream)).toEqual([[], []]);
  });

  it('are not set for providers that cache by themselves', async () => {
    await using upstream = await startUpstream(answerWith('Hi'));
    const models = { 'acme/one': {} };
    const router: Router = createRouter({
      providers: [openaiCompatible({ slug: 'other', baseURL: upstream.baseURL, apiKey: 'key-of-a-test', models })],
    });
    for (let turn = 0; turn < 2; turn += 1) await ask(router, [SYSTEM, user('Same')]);
    expect(marksOf(upstream)).toEqual([[], []]);
    await router.close();
  });
});

describe('a mark for the whole request', () => {
  const MARK = { type: 'ephemeral', ttl: '1h' } as const;
  const IMAGE = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } } as const;
  const MODELS = { 'acme/one': {} };

  const compatible =
    (cacheMarks: 'cache_control' | 'prompt_cache_breakpoint') =>
    (baseURL: string): Provider =>
      openaiCompatible({ slug: 'up', baseURL, models: MODELS, quirks: { cacheMarks } });

  /** Where the mark stands on each wire that has breakpoints. Anthropic finds the last block by itself. */
  const WIRES: readonly (readonly [
    name: string,
    provider: (baseURL: string) => Provider,
    path: string,
    mark: object,
  ])[] = [
    ['OpenAI-compatible', compatible('cache_control'), 'messages[1].content[0].cache_control', MARK],
    [
      'OpenAI-compatible, with breakpoints',
      compatible('prompt_cache_breakpoint'),
      'messages[1].content[0].prompt_cache_breakpoint',
      { mode: 'explicit' },
    ],
    [
      'Anthropic',
      (baseURL) => anthropic({ slug: 'up', baseURL, apiKey: 'the-key-of-a-test', models: MODELS }),
      'cache_control',
      MARK,
    ],
    [
      'AI SDK',
      (baseURL) => {
        const model = createAnthropic({ baseURL, apiKey: 'the-key-of-a-test' })('one');
        return fromAiSdk({ slug: 'up', models: { 'acme/one': { model } } });
      },
      'messages[0].content[2].cache_control',
      MARK,
    ],
  ];

  it.each(WIRES)('is on its last block that can be cached: %s', async (_name, provider, path, mark) => {
    await using upstream = await startUpstream((_request, response) => sendJson(response, 500, {}));
    const router = createRouter({
      providers: [provider(upstream.baseURL)],
      fallback: { maxAttempts: 1 },
      on: { warning: () => undefined },
    });
    const messages: Message[] = [user('First'), { role: 'user', content: [{ type: 'text', text: 'Last' }, IMAGE] }];
    await expect(ask(router, messages, { cache_control: MARK })).rejects.toMatchObject({ status: 502 });
    await router.close();
    const { body } = upstream.requests[0] ?? {};
    expect(valueAt(body, path)).toEqual(mark);
    expect(JSON.stringify(body).match(/ephemeral|explicit/g)).toHaveLength(1);
  });
});
