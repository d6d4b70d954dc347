import type { ChatRequest } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { normalizeReasoning } from '../../../src/core/normalize/messages.ts';

function reasoningOf(fields: Omit<ChatRequest, 'messages'>): ReturnType<typeof normalizeReasoning> {
  return normalizeReasoning({ messages: [{ role: 'user', content: 'a' }], ...fields });
}

describe('reasoning options', () => {
  it('are undefined when the request says nothing of them', () => {
    expect(reasoningOf({})).toBeUndefined();
    expect(reasoningOf({ reasoning: null, reasoning_effort: null, include_reasoning: null })).toBeUndefined();
  });

  it.each([
    [{ reasoning: { effort: 'high' } }],
    [{ reasoning_effort: 'high' }],
    [{ reasoning: { effort: 'high' }, reasoning_effort: 'high' }],
    [{ reasoning: {}, reasoning_effort: 'high' }],
  ] as const)('are the same in all spellings: %j', (fields) => {
    expect(reasoningOf(fields)).toMatchObject({ effort: 'high', exclude: false });
  });

  it('mean medium effort when they are only switched on, and none when they are switched off', () => {
    expect(reasoningOf({ reasoning: { enabled: true } })?.effort).toBe('medium');
    expect(reasoningOf({ reasoning: { enabled: false } })?.effort).toBe('none');
    expect(reasoningOf({ reasoning: { enabled: true, effort: 'low' } })?.effort).toBe('low');
  });

  it('keep a budget instead of an effort', () => {
    expect(reasoningOf({ reasoning: { max_tokens: 2_000, enabled: true } })).toMatchObject({
      maxTokens: 2_000,
      effort: undefined,
    });
  });

  it('read the deprecated switch: false hides the reasoning, true asks for nothing special', () => {
    expect(reasoningOf({ include_reasoning: false })).toMatchObject({ exclude: true, effort: undefined });
    expect(reasoningOf({ include_reasoning: true })).toMatchObject({ exclude: false, effort: undefined });
    expect(reasoningOf({ include_reasoning: false, reasoning: { exclude: false } })?.exclude).toBe(false);
  });

  it('keep summary, context and mode', () => {
    expect(reasoningOf({ reasoning: { summary: 'concise', context: 'current_turn', mode: 'standard' } })).toMatchObject(
      {
        summary: 'concise',
        context: 'current_turn',
        mode: 'standard',
      },
    );
  });
});
