import { describe, expect, it } from 'vitest';
import { serverToolNames } from '../../../src/formats/ai-sdk/server-tools.ts';
import type { ToolOption } from '../../../src/formats/ai-sdk/spec.ts';

const provided = (id: string, name: string, args = {}): ToolOption => ({ type: 'provider', id, name, args });
const DEFINITIONS = new Map([
  ['router:advisor', { nameOf: ({ name }: { readonly name?: string }) => name && `advisor ${name}` }],
  ['router:mcp', { expand: () => Promise.resolve([]) }],
]) as unknown as Parameters<typeof serverToolNames>[1];
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
});
