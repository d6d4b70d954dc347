import { type ChatRequest, type NormalizedRequest, advisorTool, subagentTool } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { type Cast, caller, fusionBench, toolResults } from '../support/fusion.ts';
import { saidBothWays } from '../support/plugins.ts';
import { echoTool } from '../support/tools.ts';

type Parameters = Readonly<Record<string, unknown>>;

const asking = (type: `router:${string}`, ...entries: readonly Parameters[]): ChatRequest => ({
  model: 'ant/large',
  messages: [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: 'Build me a bridge' },
  ],
  tools: entries.map((parameters) => ({ type, parameters })),
});
const lastOf = (request: NormalizedRequest | undefined): unknown => request?.messages.at(-1)?.content;
const lose = (): never => {
  throw new Error('lost');
};

describe('router:advisor', () => {
  const cast = (more: Cast = {}): Cast => ({ 'ant/large': caller('advisor', { prompt: 'Wood or steel?' }), ...more });

  it('asks the named model and hands its advice to the one that asked', async () => {
    const bench = fusionBench(cast({ 'dog/large': () => 'Steel.' }));
    const parameters = {
      model: 'dog/large',
      instructions: 'You are an engineer.',
      max_completion_tokens: 300,
      temperature: 0.2,
      reasoning: { effort: 'high' },
      stream: true,
    };
    for (const said of await saidBothWays(bench.router, asking('router:advisor', parameters))) {
      expect(said.text).toBe('The final answer.');
      expect(toolResults(said.details)).toEqual([{ status: 'ok', model: 'dog/large', advice: 'Steel.' }]);
      const costs = said.metadata?.pipeline?.filter(({ type }) => type === 'call').map(({ cost_usd: cost }) => cost);
      expect(costs).toEqual([expect.any(Number)]);
      expect(said.usage?.cost).toBeGreaterThan(costs?.[0] ?? Infinity);
    }
    const [advisor] = bench.askedOf('dog/large');
    expect(advisor?.messages).toEqual([
      { role: 'system', content: 'You are an engineer.' },
      { role: 'user', content: 'Wood or steel?' },
    ]);
    expect(advisor?.parameters).toEqual({ max_completion_tokens: 300, temperature: 0.2 });
    expect(advisor?.reasoning).toMatchObject({ effort: 'high' });
  });

  it('is a strong model of the catalog when nobody is named, or the program’s own', async () => {
    const bench = fusionBench(cast());
    const [said] = await saidBothWays(bench.router, asking('router:advisor', {}));
    expect(toolResults(said?.details ?? [])).toMatchObject([{ model: 'bee/large' }]);
    const own = fusionBench(cast(), { serverTools: [advisorTool({ model: 'cat/large' })] });
    const [other] = await saidBothWays(own.router, asking('router:advisor', {}));
    expect(toolResults(other?.details ?? [])).toMatchObject([{ model: 'cat/large' }]);
  });

  it('sees the conversation when the request says so, as text', async () => {
    const bench = fusionBench(cast());
    await bench.router.chat(asking('router:advisor', { model: 'dog/large', forward_transcript: true }));
    const [advisor] = bench.askedOf('dog/large');
    expect(advisor?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'user']);
    const transcript = advisor?.messages[1]?.content;
    if (typeof transcript !== 'string') throw new Error('no transcript');
    expect(JSON.parse(transcript.slice(transcript.indexOf('\n')))).toEqual([
      { role: 'system', text: 'Be kind.' },
      { role: 'user', text: 'Build me a bridge' },
    ]);
    expect(lastOf(advisor)).toBe('Wood or steel?');
  });

  it('remembers what it was asked earlier in the conversation, each advisor for itself', async () => {
    const both: Cast[string] = ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? 'Thanks.'
        : {
            toolCalls: ['advisor_a', 'advisor_b'].map((name) => ({
              name,
              arguments: `{"prompt":"To ${name}, number ${messages.filter(({ role }) => role === 'user').length}"}`,
            })),
          };
    const bench = fusionBench({ 'ant/large': both, 'dog/large': () => 'Go on.' });
    const entries = ['a', 'b'].map((name) => ({ name, model: 'dog/large' }));
    const first = asking('router:advisor', ...entries);
    const answer = await bench.router.chat(first);
    const message = answer.choices[0]?.message;
    if (message === undefined) throw new Error('no message');
    bench.asked.length = 0;
    await bench.router.chat({
      ...first,
      messages: [...first.messages, message, { role: 'user', content: 'And now?' }],
    });
    expect(bench.askedOf('dog/large').map(({ messages }) => messages.slice(1))).toEqual(
      ['advisor_a', 'advisor_b'].map((name) => [
        { role: 'user', content: `To ${name}, number 1` },
        { role: 'assistant', content: 'Go on.' },
        { role: 'user', content: `To ${name}, number 2` },
      ]),
    );
  });

  it('tells what went wrong instead of failing the request', async () => {
    for (const [model, args, error] of [
      ['dog/large', { prompt: 'Help' }, expect.any(String) as string],
      ['no/such', { prompt: 'Help' }, 'no/such is not a valid model ID'],
      ['dog/large', { prompt: ' ' }, 'prompt must be a non-empty string'],
    ] as const) {
      const bench = fusionBench({ 'ant/large': caller('advisor', args), 'dog/large': lose });
      const [said] = await saidBothWays(bench.router, asking('router:advisor', { model }));
      expect([said?.text, toolResults(said?.details ?? [])]).toEqual([
        'The final answer.',
        [{ status: 'error', error }],
      ]);
    }
  });

  it('can be forced, the first one of several', async () => {
    const bench = fusionBench({ 'ant/large': caller('advisor_b', { prompt: 'Help' }) });
    const request = asking('router:advisor', { name: 'b' }, { name: 'a' });
    await bench.router.chat({ ...request, tool_choice: { type: 'router:advisor' } });
    expect(bench.askedOf('ant/large')[0]?.toolChoice).toEqual({ type: 'function', function: { name: 'advisor_b' } });
  });

  it.each<readonly [string, readonly Parameters[], string]>([
    ['two without a name', [{}, {}], 'tools[1].parameters.name'],
    ['two of the same name after trimming', [{ name: 'A b' }, { name: ' A b ' }], 'tools[1].parameters.name'],
    ['a name with other characters', [{ name: 'a/b' }], 'tools[0].parameters.name'],
    ['a name of 65 characters', [{ name: 'x'.repeat(65) }], 'tools[0].parameters.name'],
    ['26 calls', [{ max_tool_calls: 26 }], 'tools[0].parameters.max_tool_calls'],
    ['options of subagents', [{ inherit_functions: true }], 'tools[0].parameters'],
  ])('refuses %s', async (_what, entries, path) => {
    const bench = fusionBench();
    await expect(bench.router.chat(asking('router:advisor', ...entries))).rejects.toMatchObject({
      status: 400,
      metadata: { path },
    });
  });

  it('may have names that become the same function name', async () => {
    const bench = fusionBench({ 'ant/large': () => 'Hello' });
    await bench.router.chat(asking('router:advisor', { name: 'a b' }, { name: 'a_b' }, {}));
    expect(bench.askedOf('ant/large')[0]?.tools.map((tool) => tool.function.name)).toEqual([
      'advisor_a_b',
      'advisor_a_b_2',
      'advisor',
    ]);
  });
});

describe('router:subagent', () => {
  const task = { task_name: 'Sum up', task_description: 'Summarize: one, two.' };
  const cast = (more: Cast = {}): Cast => ({ 'ant/large': caller('subagent', task), ...more });

  it('hands a task to another model, which sees nothing else', async () => {
    const bench = fusionBench(cast({ 'ant/tiny': () => 'Numbers.' }));
    for (const said of await saidBothWays(bench.router, asking('router:subagent', {}))) {
      expect(said.text).toBe('The final answer.');
      expect(toolResults(said.details)).toEqual([
        { status: 'ok', model: 'ant/tiny', task_name: 'Sum up', outcome: 'Numbers.' },
      ]);
    }
    const [worker] = bench.askedOf('ant/tiny');
    expect(worker?.messages.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(lastOf(worker)).toBe(task.task_description);
  });

  it('may have server tools of its own, with a budget', async () => {
    const worker: Cast[string] = ({ messages, toolChoice }) =>
      toolChoice === 'none'
        ? `${messages.length} messages`
        : { toolCalls: [{ name: 'echo', arguments: '{"text":"x"}' }] };
    const bench = fusionBench(cast({ 'cat/small': worker }), { serverTools: [subagentTool(), echoTool()] });
    const parameters = { model: 'cat/small', tools: [{ type: 'openrouter:echo' }], max_tool_calls: 2 };
    const [said] = await saidBothWays(bench.router, asking('router:subagent', parameters));
    expect(toolResults(said?.details ?? [])).toMatchObject([{ status: 'ok', outcome: '6 messages' }]);
    expect(said?.usage?.server_tool_use_details).toEqual({ tool_calls_requested: 3, tool_calls_executed: 3 });
  });

  it('may have subagents, as deep as plugins may call', async () => {
    const endless: Cast[string] = ({ messages, tools }) =>
      messages.at(-1)?.role === 'tool' || tools.length === 0
        ? `Heard ${JSON.stringify(messages.at(-1)?.content)}`
        : { toolCalls: [{ name: 'subagent', arguments: JSON.stringify(task) }] };
    const bench = fusionBench({ 'ant/large': endless });
    const nested = {
      model: 'ant/large',
      tools: [{ type: 'router:subagent', parameters: { model: 'ant/large', tools: [{ type: 'router:subagent' }] } }],
    };
    const answer = await bench.router.chat(asking('router:subagent', nested));
    expect(answer.choices[0]?.message.content).toContain('at most 2 levels');
  });

  it('tells what went wrong instead of failing the request', async () => {
    const bench = fusionBench(cast({ 'ant/tiny': lose }));
    const [said] = await saidBothWays(bench.router, asking('router:subagent', {}));
    expect(toolResults(said?.details ?? [])).toEqual([
      { status: 'error', task_name: 'Sum up', error: expect.any(String) as string },
    ]);
    const mute = fusionBench({ 'ant/large': caller('subagent', { task_name: 7 }) });
    const [other] = await saidBothWays(mute.router, asking('router:subagent', {}));
    expect(toolResults(other?.details ?? [])).toEqual([
      { status: 'error', task_name: '', error: 'task_description must be a non-empty string' },
    ]);
  });

  it.each<readonly [string, Parameters, string]>([
    ['functions of the caller', { inherit_functions: true }, 'tools[0].parameters.inherit_functions'],
    ['names of functions', { inherited_function_names: ['f'] }, 'tools[0].parameters.inherited_function_names'],
    [
      'functions among its tools',
      { tools: [{ type: 'function', function: { name: 'f' } }] },
      'tools[0].parameters.tools[0]',
    ],
    ['unknown tools', { tools: [{ type: 'router:nope' }] }, 'tools[0].parameters.tools[0].type'],
    ['no calls at all', { max_tool_calls: 0 }, 'tools[0].parameters.max_tool_calls'],
  ])('refuses %s', async (_what, parameters, path) => {
    const bench = fusionBench();
    await expect(bench.router.chat(asking('router:subagent', parameters))).rejects.toMatchObject({
      status: 400,
      metadata: { path: expect.stringContaining(path) as string },
    });
  });
});

describe('a condition on the cost', () => {
  it('counts what tools cost, too', async () => {
    const tireless: Cast[string] = ({ toolChoice }) =>
      toolChoice === 'none' ? 'Enough.' : { toolCalls: [{ name: 'advisor', arguments: '{"prompt":"Again"}' }] };
    const bench = fusionBench({ 'ant/tiny': tireless });
    const request = { ...asking('router:advisor', { model: 'dog/huge' }), model: 'ant/tiny' };
    const answer = await bench.router.chat({
      ...request,
      stop_server_tools_when: { type: 'max_cost', max_cost_in_dollars: 0.01 },
    });
    expect(answer.choices[0]?.message.content).toBe('Enough.');
    expect(bench.askedOf('dog/huge').length).toBeLessThan(5);
  });
});
