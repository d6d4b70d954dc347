import { describe, expect, it } from 'vitest';
import { judgeToolCalls } from '../../../src/core/selection/tool-validity.ts';
import type { ResultToolCall } from '../../../src/protocol/chat-result.ts';
import type { FunctionTool } from '../../../src/protocol/tools.ts';

const TOOLS: readonly FunctionTool[] = [
  { type: 'function', function: { name: 'look_up', parameters: { type: 'object', required: ['key'] } } },
  { type: 'function', function: { name: 'list' } },
];

function call(name: string, text: string): ResultToolCall {
  return { id: 'call_1', index: 0, type: 'function', function: { name, arguments: text } };
}

describe('the calls of an answer', () => {
  it.each([
    ['with what is required', [call('look_up', '{"key":1}')], 'valid'],
    ['without what is required', [call('look_up', '{}')], 'invalid'],
    ['of an inherited name for what is required', [call('look_up', '{"__proto__":{"key":1}}')], 'invalid'],
    ['of a tool without a schema', [call('list', '{"any":"thing"}')], 'valid'],
    ['of a tool that nobody has', [call('delete', '{}')], 'invalid'],
    ['with arguments that are not JSON', [call('list', '{"a":')], 'invalid'],
    ['with arguments that are no object', [call('list', '[1]')], 'invalid'],
    ['with arguments that are null', [call('list', 'null')], 'invalid'],
    ['of which one is bad', [call('list', '{}'), call('list', '')], 'invalid'],
    ['of which all are good', [call('list', '{}'), call('look_up', '{"key":null}')], 'valid'],
  ] as const)('%s', (_name, calls, expected) => {
    expect(judgeToolCalls(calls, TOOLS)).toBe(expected);
  });

  it('are not judged when there are none, or no tools', () => {
    expect(judgeToolCalls([], TOOLS)).toBeUndefined();
    expect(judgeToolCalls(undefined, TOOLS)).toBeUndefined();
    expect(judgeToolCalls([call('list', '{}')], [])).toBeUndefined();
  });
});
