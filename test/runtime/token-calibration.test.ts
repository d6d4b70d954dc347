import { describe, expect, it } from 'vitest';
import { ask, instantRouter } from '../support/simulated.ts';

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
