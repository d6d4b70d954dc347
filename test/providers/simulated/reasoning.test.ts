import type { ChatRequest } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { ask, hearBoth, instantRouter } from '../../support/simulated.ts';

const QUESTION = 'Why do cats purr?';

function think(more: Partial<ChatRequest>): ChatRequest {
  return ask(QUESTION, { model: 'simulated/large', ...more });
}

describe('simulated reasoning', () => {
  it('is there when an effort is asked for, grows with it, and does not change the text', async () => {
    const { text, reasoning: none } = await hearBoth(think({}));
    expect(none).toBe('');
    let before = 0;
    for (const effort of ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const) {
      const heard = await hearBoth(think({ reasoning: { effort } }));
      const tokens = heard.usage?.completion_tokens_details?.reasoning_tokens ?? 0;
      expect(heard.text).toBe(text);
      expect(tokens > before).toBe(effort !== 'none');
      expect(heard.reasoning === '').toBe(effort === 'none');
      expect(heard.usage?.completion_tokens).toBeGreaterThan(tokens);
      before = tokens;
    }
  });

  it('is a detail of text in no known format, put together from its deltas', async () => {
    const router = instantRouter();
    const { choices } = await router.chat(think({ reasoning_effort: 'low' }));
    const { reasoning, reasoning_details: details } = choices[0]?.message ?? {};
    expect(details).toEqual([{ type: 'reasoning.text', format: 'unknown', index: 0, text: reasoning }]);
    const kinds: string[] = [];
    for await (const chunk of router.stream(think({ reasoning_effort: 'low' }))) {
      const delta = chunk.choices[0]?.delta;
      if (delta?.reasoning) {
        expect(delta.reasoning_details).toEqual([
          { type: 'reasoning.text', format: 'unknown', index: 0, text: delta.reasoning },
        ]);
        kinds.push('reasoning');
      } else if (delta?.content) kinds.push('content');
    }
    expect(kinds.lastIndexOf('reasoning')).toBeLessThan(kinds.indexOf('content'));
    expect(kinds[0]).toBe('reasoning');
  });

  it('keeps to a budget of tokens', async () => {
    const { usage } = await hearBoth(think({ reasoning: { max_tokens: 20 } }));
    expect(usage?.completion_tokens_details?.reasoning_tokens).toBeLessThanOrEqual(20);
    expect(usage?.completion_tokens_details?.reasoning_tokens).toBeGreaterThan(10);
  });

  it('that is excluded is counted and not shown', async () => {
    const shown = await hearBoth(think({ reasoning: { effort: 'high' } }));
    const hidden = await hearBoth(think({ reasoning: { effort: 'high', exclude: true } }));
    expect(hidden).toEqual({ ...shown, reasoning: '' });
  });

  it('uses up the token limit before the text does', async () => {
    const heard = await hearBoth(think({ reasoning: { effort: 'high' }, max_completion_tokens: 10 }));
    expect(heard).toMatchObject({ text: '', finish: 'length', usage: { completion_tokens: 10 } });
    const hidden = await hearBoth(think({ reasoning: { effort: 'high', exclude: true }, max_completion_tokens: 10 }));
    expect(hidden).toMatchObject({ text: '', reasoning: '', finish: 'length' });
  });

  it('comes before tool calls and JSON as well', async () => {
    const tools = [{ type: 'function', function: { name: 'ping' } }] as const;
    const calling = await hearBoth(ask('ping', { model: 'simulated/large', tools, reasoning_effort: 'low' }));
    expect(calling.reasoning).not.toBe('');
    expect(calling.calls).toHaveLength(1);
  });

  it('happens unasked on a model that always reasons, and never on one that cannot', async () => {
    expect((await hearBoth(ask(QUESTION, { model: 'simulated/reasoner' }))).reasoning).not.toBe('');
    expect((await hearBoth(ask(QUESTION, { model: 'simulated/small', reasoning_effort: 'high' }))).reasoning).toBe('');
  });
});
