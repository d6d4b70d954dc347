import { describe, expect, it } from 'vitest';
import { serverToolNames, serverToolParts } from '../../../src/formats/ai-sdk/server-tools.ts';
import type { ToolOption } from '../../../src/formats/ai-sdk/spec.ts';
import type { ReasoningDetail } from '../../../src/protocol/reasoning.ts';

const provided = (id: string, name: string, args = {}): ToolOption => ({ type: 'provider', id, name, args });
const DEFINITIONS = new Map([
  ['router:advisor', { nameOf: ({ name }: { readonly name?: string }) => name && `advisor ${name}` }],
  ['router:mcp', { expand: () => Promise.resolve([]) }],
]) as unknown as Parameters<typeof serverToolNames>[1];
const detail = (members: object): ReasoningDetail => ({
  type: 'reasoning.server_tool_call',
  tool_name: 'datetime',
  arguments: '{"a":1}',
  result: '{"b":2}',
  tool_call_id: 'call_1',
  ...members,
});

describe('server tools of the AI SDK', () => {
  it('have the names that the program gave them, by those of their functions', () => {
    const tools: readonly ToolOption[] = [
      { type: 'function', name: 'datetime', inputSchema: {} },
      provided('signalbox.datetime', 'clock'),
      provided('signalbox.advisor', 'reviewer', { name: 'strict' }),
      provided('signalbox.mcp', 'files'),
      provided('openai.code_interpreter', 'foreign'),
    ];
    expect([...serverToolNames(tools, DEFINITIONS)]).toEqual([
      ['datetime_2', 'clock'],
      ['advisor_strict', 'reviewer'],
    ]);
    expect(serverToolNames(undefined, DEFINITIONS).size).toBe(0);
  });

  it('leave a call and its result, dynamic where the program has no name for it', () => {
    const [call, result] = serverToolParts(detail({}), 0, new Map([['datetime', 'clock']]));
    const both = { toolCallId: 'call_1', toolName: 'clock', providerExecuted: true };
    const carried = { signalbox: { reasoningDetails: [detail({})] } };
    expect(call).toEqual({ type: 'tool-call', ...both, input: '{"a":1}', providerMetadata: carried });
    expect(result).toEqual({ type: 'tool-result', ...both, result: { b: 2 } });
    for (const part of serverToolParts(detail({}), 0, new Map())) {
      expect(part).toMatchObject({ toolName: 'datetime', dynamic: true });
    }
    expect(serverToolParts({ type: 'reasoning.text', text: 'Hm' }, 0, new Map())).toEqual([]);
  });

  it.each([
    ['null', { result: 'null' }],
    ['plain text', { result: 'plain text' }],
    [{ status: 'ok' }, { result: { status: 'ok' } }],
    [
      { status: 'error', error: 'The tool took too long' },
      { result: { status: 'error', error: 'The tool took too long' }, isError: true },
    ],
  ])('give the result %j as %j', (result, part) => {
    const text = typeof result === 'string' ? result : JSON.stringify(result);
    expect(serverToolParts(detail({ result: text }), 0, new Map())[1]).toEqual({
      type: 'tool-result',
      toolCallId: 'call_1',
      toolName: 'datetime',
      providerExecuted: true,
      dynamic: true,
      ...part,
    });
  });

  it('have an id and an input where the provider gave none', () => {
    const [call] = serverToolParts(detail({ tool_call_id: '', arguments: '' }), 3, new Map());
    expect(call).toMatchObject({ toolCallId: 'datetime_3', input: '{}' });
  });
});
