import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import { encodedFor } from '../../support/anthropic.ts';

const SEARCH = { type: 'web_search_20250305', name: 'web_search' };
const OPTIONS = { web_search_options: { search_context_size: 'low' } } as const;
const look = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object' } } }) as const;
const LOOP: ChatRequest['messages'] = [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }] },
  { role: 'tool', tool_call_id: 'a', content: 'seen' },
  { role: 'user', content: 'And?' },
];

describe("Anthropic's own search", () => {
  it('is what web_search_options ask for, beside the functions of the caller', () => {
    expect(encodedFor('claude-opus-4-7', OPTIONS)).toMatchObject({ tools: [SEARCH] });
    expect(encodedFor('claude-opus-4-7', { ...OPTIONS, tools: [look('look')] })).toMatchObject({
      tools: [{ name: 'look' }, SEARCH],
    });
    expect(encodedFor('claude-opus-4-7', {})).not.toHaveProperty('tools');
  });

  it('may be used where only the history has calls', () => {
    const body = encodedFor('claude-opus-4-7', { ...OPTIONS, messages: LOOP });
    expect(body).toMatchObject({ tools: [{ name: 'look' }, SEARCH] });
    expect(body).not.toHaveProperty('tool_choice');
  });

  it('is not asked for where the endpoint does not take it', () => {
    expect(encodedFor('claude-opus-4-7', OPTIONS, { parameters: ['max_tokens'] })).not.toHaveProperty('tools');
  });

  it('cannot stand beside a function of its name', () => {
    expect(() => encodedFor('claude-opus-4-7', { ...OPTIONS, tools: [look('web_search')] })).toThrow(
      'A function named web_search cannot be used together with the search of the provider',
    );
  });
});
