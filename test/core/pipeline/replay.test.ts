import { describe, expect, it } from 'vitest';
import { replayServerToolCalls } from '../../../src/core/pipeline/replay.ts';
import type { Message } from '../../../src/protocol/message.ts';
import type { ReasoningDetail } from '../../../src/protocol/reasoning.ts';

const called = (name: string, result: string, id?: string): ReasoningDetail => ({
  type: 'reasoning.server_tool_call',
  tool_name: name,
  arguments: '{"a":1}',
  result,
  ...(id === undefined ? {} : { tool_call_id: id }),
});
const thought = (text: string): ReasoningDetail => ({ type: 'reasoning.text', text, signature: `signed ${text}` });
const said = (...details: readonly ReasoningDetail[]): Message => ({
  role: 'assistant',
  content: 'Said.',
  reasoning_details: details,
});
const OFFERED = new Set(['search', 'datetime']);

describe('calls of server tools that come back', () => {
  it('stand where they stood, with the reasoning that led to them', () => {
    const message = said(
      thought('1'),
      called('search', 'r1', 'c1'),
      called('datetime', 'r2', 'c2'),
      thought('2'),
      called('search', 'r3', 'c3'),
      thought('3'),
    );
    const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{"a":1}' } });
    expect(replayServerToolCalls([{ role: 'user', content: 'Hi' }, message], OFFERED)).toEqual([
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: null,
        reasoning_details: [thought('1')],
        tool_calls: [call('c1', 'search'), call('c2', 'datetime')],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'r1' },
      { role: 'tool', tool_call_id: 'c2', content: 'r2' },
      { role: 'assistant', content: null, reasoning_details: [thought('2')], tool_calls: [call('c3', 'search')] },
      { role: 'tool', tool_call_id: 'c3', content: 'r3' },
      { role: 'assistant', content: 'Said.', reasoning_details: [thought('3')] },
    ]);
  });

  it('are known by their type in either brand', () => {
    for (const name of ['search', 'router:search', 'openrouter:search']) {
      expect(replayServerToolCalls([said(called(name, 'r', 'c'))], OFFERED)).toHaveLength(3);
    }
  });

  it('of tools that are not offered are taken out, and the reasoning stays with the answer', () => {
    expect(replayServerToolCalls([said(thought('1'), called('gone', 'r'), thought('2'))], OFFERED)).toEqual([
      said(thought('1'), thought('2')),
    ]);
    expect(replayServerToolCalls([said(called('gone', 'r'))], OFFERED)).toEqual([
      { role: 'assistant', content: 'Said.' },
    ]);
  });

  it('get an id where they have none, each its own', () => {
    const replayed = replayServerToolCalls(
      [said(called('search', 'a'), called('search', 'b')), said(called('search', 'c'))],
      OFFERED,
    );
    const ids = replayed.flatMap((message) => (message.role === 'tool' ? [message.tool_call_id] : []));
    expect(new Set(ids).size).toBe(3);
  });

  it('survive what a caller made of them', () => {
    const broken = { type: 'reasoning.server_tool_call', tool_name: 'search' } as unknown as ReasoningDetail;
    expect(replayServerToolCalls([said(broken)], OFFERED)).toMatchObject([
      { tool_calls: [{ function: { arguments: '{}' } }] },
      { role: 'tool', content: '' },
      { content: 'Said.' },
    ]);
    expect(replayServerToolCalls([said({ ...broken, tool_name: 7 } as never)], OFFERED)).toHaveLength(1);
  });

  it('cost nothing where there are none', () => {
    const messages = [{ role: 'user', content: 'Hi' }, said(thought('1'))] as const;
    expect(replayServerToolCalls(messages, OFFERED)).toBe(messages);
  });
});
