import { describe, expect, it } from 'vitest';
import { type Provider, type ProviderCall, failedReply } from '../../src/contracts/provider.ts';
import { createRouter } from '../../src/index.ts';
import { memoryStore } from '../../src/storage/memory.ts';
import type { AssistantMessage, Message } from '../../src/protocol/message.ts';
import type { ReasoningDetail } from '../../src/protocol/reasoning.ts';
import type { Router } from '../../src/router/router.ts';
import type { StateStore } from '../../src/contracts/state-store.ts';
import { failure } from '../../src/contracts/failure.ts';

interface Scene {
  /** Calls by provider. */
  readonly calls: ProviderCall[];
  readonly down: Set<string>;
  /** A further instance. */
  readonly instance: (state?: StateStore) => Router;
}

/** Providers that encrypt their reasoning, each readable for itself alone. */
function scene(slugs: readonly string[] = ['alpha', 'beta']): Scene {
  const calls: ProviderCall[] = [];
  const down = new Set<string>();
  const provider = (slug: string, index: number): Provider => ({
    slug,
    name: slug,
    models: { 'acme/one': { price: { prompt: 1 + index, completion: 1 + index } } },
    chat: (call) => {
      calls.push(call);
      if (down.has(slug)) return Promise.resolve(failedReply(failure('server', 'out of order', { status: 500 })));
      const details: readonly ReasoningDetail[] = [
        { type: 'reasoning.text', text: 'I think', signature: `signed-by-${slug}-${calls.length}`, index: 0 },
        { type: 'reasoning.encrypted', data: `secret-of-${slug}-${calls.length}`, index: 1 },
      ];
      const message = { role: 'assistant' as const, content: 'Hi', refusal: null, reasoning: 'I think' };
      return Promise.resolve(
        call.request.stream
          ? {
              type: 'stream' as const,
              stream: streamOf([
                { type: 'delta', index: 0, delta: { reasoning_details: details } },
                'Hi',
                { type: 'finish', index: 0, reason: 'stop', native: 'stop' },
                { type: 'end' },
              ]),
            }
          : {
              type: 'whole' as const,
              result: {
                choices: [
                  {
                    index: 0,
                    finish_reason: 'stop' as const,
                    native_finish_reason: 'stop',
                    logprobs: null,
                    message: { ...message, reasoning_details: details },
                  },
                ],
              },
            },
      );
    },
  });
  const instance = (state?: StateStore): Router =>
    createRouter({
      providers: slugs.map(provider),
      on: { warning: () => {} },
      ...(state === undefined ? {} : { state }),
    });
  return { calls, down, instance };
}

function streamOf(pieces: readonly unknown[]) {
  let left: readonly unknown[] | undefined = pieces;
  return {
    read: () => {
      const next = left;
      left = undefined;
      return Promise.resolve(next as never);
    },
    cancel: () => {},
  };
}

const USER: Message = { role: 'user', content: 'Hello' };

async function turn(router: Router, messages: readonly Message[], only?: string, stream = false) {
  const body = {
    model: 'acme/one',
    messages: [...messages],
    ...(only === undefined ? {} : { provider: { only: [only] } }),
  };
  if (!stream) {
    const { choices, provider, router_metadata: metadata } = await router.chat(body, { metadata: true });
    const { content, reasoning_details: details } = choices[0]?.message ?? {};
    const said: AssistantMessage = { role: 'assistant', content: content ?? '', reasoning_details: details };
    return { said, provider, metadata };
  }
  const details: ReasoningDetail[] = [];
  let provider = '';
  for await (const chunk of router.stream(body)) {
    provider = chunk.provider ?? provider;
    details.push(...(chunk.choices[0]?.delta.reasoning_details ?? []));
  }
  const said: AssistantMessage = { role: 'assistant', content: 'Hi', reasoning_details: details };
  return { said, provider, metadata: undefined };
}

/** What the last call was given as earlier reasoning. */
function given({ calls }: Scene): readonly ReasoningDetail[] {
  return (calls.at(-1)?.request.messages ?? []).flatMap((message) =>
    message.role === 'assistant' ? (message.reasoning_details ?? []) : [],
  );
}

describe.each([false, true])('encrypted reasoning (stream: %s)', (stream) => {
  it('goes back to the provider that made it, although another one is cheaper', async () => {
    const world = scene();
    const router = world.instance();
    const first = await turn(router, [USER], 'beta', stream);
    expect(first.provider).toBe('beta');
    const second = await turn(router, [USER, first.said, USER]);
    expect(second.provider).toBe('beta');
    expect(given(world)).toEqual(first.said.reasoning_details);
    expect(second.metadata?.attempts).toEqual([{ provider: 'beta', model: 'acme/one', status: 200 }]);
  });

  it('is taken out for everybody else, and metadata says so', async () => {
    const world = scene();
    const router = world.instance();
    const first = await turn(router, [USER], 'beta', stream);
    world.down.add('beta');
    const second = await turn(router, [USER, first.said, USER]);
    expect(second.provider).toBe('alpha');
    // The plain text stays; what only its maker can read does not.
    expect(given(world)).toEqual([{ type: 'reasoning.text', text: 'I think', index: 0 }]);
    expect(second.metadata?.attempts).toMatchObject([
      { provider: 'beta', status: 500 },
      { provider: 'alpha', status: 200, reasoning_removed: true },
    ]);
  });
});

describe('the origin of encrypted reasoning', () => {
  it('is that of the latest turn where several providers took part, and each gets its own', async () => {
    const world = scene();
    const router = world.instance();
    const first = await turn(router, [USER], 'beta');
    const second = await turn(router, [USER, first.said, USER], 'alpha');
    const third = await turn(router, [USER, first.said, USER, second.said, USER]);
    expect(third.provider).toBe('alpha');
    const text = JSON.stringify(given(world));
    expect(text).toContain('secret-of-alpha');
    expect(text).not.toContain('beta');
  });

  it('is known to other instances by the store', async () => {
    const world = scene();
    const state = memoryStore();
    const first = await turn(world.instance(state), [USER], 'beta');
    const second = await turn(world.instance(state), [USER, first.said, USER]);
    expect(second.provider).toBe('beta');
  });

  it('belongs to an account, and what nobody knows the origin of stays as it is', async () => {
    const world = scene();
    const said: AssistantMessage = {
      role: 'assistant',
      content: 'Hi',
      reasoning_details: [{ type: 'reasoning.encrypted', data: 'from somewhere else' }],
    };
    const answer = await turn(world.instance(), [USER, said, USER]);
    expect(answer.provider).toBe('alpha');
    expect(given(world)).toEqual(said.reasoning_details);
  });

  it('does not outweigh an order by name', async () => {
    const world = scene();
    const router = world.instance();
    const first = await turn(router, [USER], 'beta');
    const { provider } = await router.chat({
      model: 'acme/one',
      messages: [USER, first.said, USER],
      provider: { order: ['alpha'] },
    });
    expect(provider).toBe('alpha');
    expect(JSON.stringify(given(world))).not.toContain('secret-of-beta');
  });

  it('is what explain plans with, too', async () => {
    const world = scene();
    const router = world.instance();
    const first = await turn(router, [USER], 'beta');
    const plan = await router.explain({ model: 'acme/one', messages: [USER, first.said, USER] });
    expect(plan.steps.map(({ tag }) => tag)).toEqual(['beta', 'alpha']);
    expect(plan.steps[0]?.why).toContain('encrypted reasoning');
  });
});
