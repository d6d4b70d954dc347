import { type ChatRequest, type Message, type Router, createRouter } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';
import { PromptCache } from '../../../src/providers/simulated/responder.ts';
import { ask, hear, hearBoth, instant, instantRouter } from '../../support/simulated.ts';

async function cachedTokens(router: Router, request: ChatRequest): Promise<number | undefined> {
  return (await hear(router, request)).usage?.prompt_tokens_details?.cached_tokens;
}

describe('the usage of a simulated answer', () => {
  it('adds up, is priced, and grows with the prompt, its attachments and its tools', async () => {
    const small = (await hearBoth(ask('Hello'))).usage;
    expect(small?.total_tokens).toBe((small?.prompt_tokens ?? 0) + (small?.completion_tokens ?? 0));
    expect(small?.cost).toBeGreaterThan(0);
    expect(small?.estimated).toBeUndefined();
    const tools = [{ type: 'function', function: { name: 'ping', description: 'Sends a ping' } }] as const;
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } } as const;
    const call = { id: 'a', type: 'function', function: { name: 'ping', arguments: '{"to":"example.com"}' } } as const;
    const promptTokens = async (request: ChatRequest): Promise<number> =>
      (await hearBoth(request)).usage?.prompt_tokens ?? 0;
    expect(await promptTokens(ask('Hello', { tools }))).toBeGreaterThan(small?.prompt_tokens ?? 0);
    const messages: Message[] = [{ role: 'user', content: [{ type: 'text', text: 'Hello' }, image] }];
    expect(await promptTokens({ model: 'simulated/large', messages })).toBeGreaterThan(200);
    messages.push({ role: 'assistant', content: null, tool_calls: [call] });
    const withCall = await promptTokens({ model: 'simulated/large', messages });
    messages.pop();
    messages.push({ role: 'assistant', content: null });
    expect(await promptTokens({ model: 'simulated/large', messages })).toBeLessThan(withCall);
  });

  it('reports the part of a conversation that the endpoint has seen before as cached', async () => {
    const router = instantRouter({ models: { 'acme/one': { price: { prompt: 1, completion: 1, cacheRead: 0.1 } } } });
    const first: ChatRequest = ask('Tell me about owls', { model: 'acme/one', session_id: 'owls' });
    expect(await cachedTokens(router, first)).toBe(0);
    const promptTokens = (await hear(router, first)).usage?.prompt_tokens;
    const more: readonly Message[] = [
      { role: 'assistant', content: 'Hoo.' },
      { role: 'user', content: 'More' },
    ];
    expect(await cachedTokens(router, { ...first, messages: [...first.messages, ...more] })).toBe(promptTokens);
    expect(await cachedTokens(router, { ...first, session_id: 'other' })).toBe(0);
    expect(await cachedTokens(router, ask('Different', { model: 'acme/one', session_id: 'owls' }))).toBe(0);
  });

  it('does not take a moved cache mark for another message', async () => {
    const router = instantRouter({ models: { 'acme/one': {} } });
    const marked = [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] as const;
    const plain = [{ type: 'text', text: 'Hi' }] as const;
    const asked = (content: typeof plain | typeof marked): ChatRequest => ({
      model: 'acme/one',
      session_id: 'one',
      messages: [{ role: 'user', content }],
    });
    await router.chat(asked(marked));
    expect(await cachedTokens(router, asked(plain))).toBeGreaterThan(0);
  });

  it('forgets the sessions that were quiet for longest', () => {
    const cache = new PromptCache();
    const prompt = { fingerprints: [1], tokens: [10] };
    for (let session = 0; session <= 1_000; session += 1) cache.read(String(session), prompt);
    expect(cache.read('1000', prompt)).toBe(10);
    expect(cache.read('0', prompt)).toBe(0);
  });

  it('shows sticky sessions at work: a session keeps its endpoint and finds its cache there', async () => {
    const router: Router = createRouter({
      providers: [instant({ slug: 'north' }), instant({ slug: 'south' })],
      environment: fakeEnvironment(),
    });
    const providers = new Set<string | undefined>();
    for (let turn = 0; turn < 12; turn += 1) {
      // Long enough that its cache is worth staying for.
      const request = ask('Same again. '.repeat(500), { model: 'simulated/large', session_id: 'regular' });
      const answer = await router.chat(request, { metadata: true });
      providers.add(answer.router_metadata?.endpoints?.available.find((one) => one.selected)?.provider);
      expect((answer.usage?.prompt_tokens_details?.cached_tokens ?? 0) > 0).toBe(turn > 0);
    }
    expect(providers.size).toBe(1);
  });
});
