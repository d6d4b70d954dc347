import { describe, expect, it } from 'vitest';
import { askAndWait, benchOf } from '../support/driving.ts';
import { ask, instantRouter } from '../support/simulated.ts';
import type { Behaviour } from '../support/stub-provider.ts';

const PROMPT = ask('请把下面的合同翻译成英文,并指出其中对乙方不利的条款。'.repeat(20), { max_tokens: 1 });

describe('estimates of a router', () => {
  it('follow the counts that an endpoint reports', async () => {
    const router = instantRouter({
      models: { 'simulated/small': { price: { prompt: 1, completion: 0 } } },
    });
    const estimated = async (): Promise<number> =>
      Math.round(((await router.explain(PROMPT)).steps[0]?.estimatedCostUsd ?? 0) * 1e6);
    const before = await estimated();
    const { usage } = await router.chat(PROMPT);
    expect(usage?.prompt_tokens).not.toBe(before);
    expect(await estimated()).toBe(usage?.prompt_tokens);
    // What was learned is about the vocabulary, so short prompts and prompts with tools change nothing.
    await router.chat({ ...PROMPT, messages: [{ role: 'user', content: 'Hi' }] });
    expect(await estimated()).toBe(usage?.prompt_tokens);
  });
});

describe('what endpoints have counted so far', () => {
  it('decides for whom a prompt is likely too long', async () => {
    const price = { prompt: 1, completion: 1 };
    const bench = benchOf({
      // Cheaper, but it counts twice as many tokens.
      short: {
        models: { 'acme/one': { price: { prompt: 0.9, completion: 0.9 }, contextLength: 700 } },
        behaves: counts(2),
      },
      long: { models: { 'acme/one': { price } }, behaves: counts(1) },
    });
    const body = {
      messages: [{ role: 'user' as const, content: 'How long does this take? '.repeat(75) }],
      max_tokens: 10,
    };
    const plan = async () => (await bench.router.explain({ model: 'acme/one', ...body })).steps;
    expect((await plan()).map(({ tag, why }) => [tag, why.includes('too short')])).toContainEqual(['short', false]);
    for (const only of ['short', 'long']) await askAndWait(bench, { body: { ...body, provider: { only: [only] } } });
    const after = await plan();
    expect(after.map(({ tag }) => tag)).toEqual(['long', 'short']);
    expect(after[1]?.why).toContain('its context is likely too short');
  });
});

/** Reports so many times the tokens of the likely estimate. */
function counts(factor: number): Behaviour {
  const tokens = Math.round(factor * 450);
  return {
    does: 'answer',
    everyMs: 0,
    usage: { prompt_tokens: tokens, completion_tokens: 5, total_tokens: tokens + 5 },
  };
}
