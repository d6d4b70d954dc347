import type { ChatRequest, FunctionTool } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { ask, hearBoth, instantRouter } from '../../support/simulated.ts';

function tool(
  name: string,
  properties: Record<string, unknown> = {},
  required = Object.keys(properties),
): FunctionTool {
  return { type: 'function', function: { name, parameters: { type: 'object', properties, required } } };
}

const WEATHER = tool('get_weather', {
  city: { type: 'string' },
  unit: { enum: ['celsius', 'fahrenheit'] },
  days: { type: 'integer', minimum: 1, maximum: 7 },
  place: {
    type: 'object',
    properties: { email: { type: 'string' }, tags: { type: 'array', items: { type: 'string' }, minItems: 2 } },
    required: ['email', 'tags'],
  },
});
const TIDES = tool('getTides', { query: { type: 'string' } });
const SEARCH = tool('web_search');
const TOOLS = { tools: [WEATHER, TIDES, SEARCH] } as const;

async function calledNames(request: ChatRequest): Promise<readonly string[]> {
  const { calls, finish, text } = await hearBoth(request);
  expect(finish).toBe(calls.length > 0 ? 'tool_calls' : 'stop');
  expect(text === '').toBe(calls.length > 0);
  return calls.map(({ name }) => name);
}

describe('a simulated tool call', () => {
  it('is made when the last user message says what the function is about', async () => {
    expect(await calledNames(ask('How is the WEATHER in Oslo?', TOOLS))).toEqual(['get_weather']);
    expect(await calledNames(ask('Please use getTides', TOOLS))).toEqual(['getTides']);
    expect(await calledNames(ask('Is the tide high?', TOOLS))).toEqual(['getTides']);
    expect(await calledNames(ask('Search the web for it', TOOLS))).toEqual(['web_search']);
    expect(await calledNames(ask('Search the house', TOOLS))).toEqual([]);
    expect(await calledNames(ask('Get me a sandwich', TOOLS))).toEqual([]);
  });

  it('is made for every function asked for, or for one where calls may not be parallel', async () => {
    const question = 'What are the weather and the tides like?';
    expect(await calledNames(ask(question, TOOLS))).toEqual(['get_weather', 'getTides']);
    expect(await calledNames(ask(question, { ...TOOLS, parallel_tool_calls: false }))).toEqual(['get_weather']);
  });

  it('follows tool_choice', async () => {
    const named = { type: 'function', function: { name: 'getTides' } } as const;
    expect(await calledNames(ask('Hello', { ...TOOLS, tool_choice: 'required' }))).toEqual(['get_weather']);
    expect(await calledNames(ask('Any tides?', { ...TOOLS, tool_choice: 'required' }))).toEqual(['getTides']);
    expect(await calledNames(ask('How is the weather?', { ...TOOLS, tool_choice: named }))).toEqual(['getTides']);
    expect(await calledNames(ask('How is the weather?', { ...TOOLS, tool_choice: 'none' }))).toEqual([]);
    expect(await calledNames(ask('How is the weather?', { ...TOOLS, tool_choice: 'auto' }))).toEqual(['get_weather']);
  });

  it('is not made after the result of a tool, unless it is forced', async () => {
    const call = { id: 'a', type: 'function', function: { name: 'get_weather', arguments: '{}' } } as const;
    const conversation: ChatRequest = {
      model: 'simulated/small',
      messages: [
        { role: 'user', content: 'How is the weather?' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'a', content: 'wet' },
      ],
      ...TOOLS,
    };
    expect(await calledNames(conversation)).toEqual([]);
    expect(await calledNames({ ...conversation, tool_choice: 'required' })).toEqual(['get_weather']);
  });

  it('has arguments that suit the schema and the question', async () => {
    const question = 'How is the weather in New York today?';
    const { calls } = await hearBoth(ask(question, TOOLS));
    const values = JSON.parse(calls[0]?.arguments ?? '') as Record<string, unknown>;
    expect(values).toEqual({
      city: 'New York',
      unit: expect.stringMatching(/^(?:celsius|fahrenheit)$/),
      days: expect.any(Number),
      place: { email: expect.stringMatching(/^\S+@example\.com$/), tags: [expect.any(String), expect.any(String)] },
    });
    expect(Number.isInteger(values['days']) && Number(values['days']) >= 1 && Number(values['days']) <= 7).toBe(true);
    const tides = await hearBoth(ask('What are the tides?', TOOLS));
    expect(JSON.parse(tides.calls[0]?.arguments ?? '')).toEqual({ query: 'What are the tides?' });
  });

  it('has empty arguments where the function declares no parameters', async () => {
    const bare: FunctionTool = { type: 'function', function: { name: 'ping' } };
    expect((await hearBoth(ask('ping', { tools: [bare] }))).calls[0]?.arguments).toBe('{}');
  });

  it('is streamed as id and name first and its arguments bit by bit', async () => {
    const fragments = [];
    for await (const { choices } of instantRouter().stream(ask('How is the weather?', TOOLS))) {
      fragments.push(...(choices[0]?.delta.tool_calls ?? []));
    }
    expect(fragments[0]).toEqual({
      index: 0,
      id: expect.stringMatching(/^call_[a-z0-9]{24}$/),
      type: 'function',
      function: { name: 'get_weather', arguments: '' },
    });
    expect(fragments.length).toBeGreaterThan(5);
    for (const fragment of fragments.slice(1))
      expect(fragment).toEqual({ index: 0, function: { arguments: expect.any(String) } });
  });

  it('has an id that is the same for the same request and different in the next turn', async () => {
    const idOf = async (content: string): Promise<string | undefined> =>
      (await hearBoth(ask(content, TOOLS))).calls[0]?.id;
    expect(await idOf('weather?')).toBe(await idOf('weather?'));
    expect(await idOf('weather?')).not.toBe(await idOf('weather now?'));
  });

  it('is cut off by the token limit like any other answer', async () => {
    const { calls, finish, usage } = await hearBoth(ask('weather?', { ...TOOLS, max_completion_tokens: 4 }));
    expect(finish).toBe('length');
    expect(usage?.completion_tokens).toBe(4);
    expect(() => JSON.parse(calls[0]?.arguments ?? '') as unknown).toThrow();
  });
});
