import { type Router, type StopCondition, createRouter, simulated } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { bothWays, hello, pluginBench, saidBothWays, streamed } from '../support/plugins.ts';
import { LOOK_UP, call, echoTool, turns } from '../support/tools.ts';

const ECHO = { type: 'router:echo' } as const;
const asking = (more: object = {}) => hello({ tools: [ECHO], ...more });

describe('a server tool', () => {
  it('is shown to the model as a function, run by the router, and its result goes back to the model', async () => {
    const model = turns({ text: 'Let me see.', toolCalls: [call('echo', { text: 'one' })] }, 'It said one.');
    const bench = pluginBench(model.script, { serverTools: [echoTool()] });
    for await (const [way, said] of bothWays(bench.router, asking())) {
      expect([way, said.text, said.finish]).toEqual([way, 'Let me see.\n\nIt said one.', 'stop']);
      expect(said.toolCalls).toEqual([]);
      const [first, second] = model.requests.splice(0);
      expect(first?.tools).toEqual([
        {
          type: 'function',
          function: {
            name: 'echo',
            description: 'Says what it is told.',
            parameters: { type: 'object', properties: { text: { type: 'string' } } },
          },
        },
      ]);
      const calling = second?.messages[1];
      const [made] = (calling?.role === 'assistant' && calling.tool_calls) || [];
      expect(second?.messages.slice(1)).toEqual([
        {
          role: 'assistant',
          content: 'Let me see.',
          tool_calls: [{ id: made?.id, type: 'function', function: { name: 'echo', arguments: '{"text":"one"}' } }],
        },
        { role: 'tool', tool_call_id: made?.id, content: 'echo of one' },
      ]);
    }
  });

  it('leaves its counts, the usage and cost of all turns, every attempt, a stage, and its calls', async () => {
    const model = turns({ toolCalls: [call('echo', { text: 'a' }), call('echo', { text: 'b' })] }, 'Done.');
    const bench = pluginBench(model.script, {
      serverTools: [
        echoTool('router:echo', {
          execute: ({ text }) => ({
            result: { text: text ?? null },
            used: { cost: 0.5, web_search_requests: 1, web_fetch_requests: 2 },
          }),
        }),
      ],
    });
    const attempts: number[] = [];
    let costs = 0;
    let tokens = 0;
    bench.router.on('attempt', ({ attempt, usage }) => {
      attempts.push(attempt);
      costs += usage?.cost ?? 0;
      tokens += usage?.total_tokens ?? 0;
    });
    for await (const [way, said] of bothWays(bench.router, asking())) {
      expect([way, said.usage]).toEqual([
        way,
        expect.objectContaining({
          total_tokens: tokens,
          server_tool_use: { web_search_requests: 2, web_fetch_requests: 4 },
          server_tool_use_details: { web_search_requests: 2, tool_calls_requested: 2, tool_calls_executed: 2 },
          cost_details: expect.objectContaining({ server_tool_cost: 1 }) as object,
        }),
      ]);
      expect(said.usage?.cost).toBeCloseTo(1 + costs, 9);
      expect(attempts.splice(0)).toEqual([1, 2]);
      expect(said.metadata).toMatchObject({
        attempt: 2,
        attempts: [
          { provider: 'Acme', status: 200 },
          { provider: 'Acme', status: 200 },
        ],
        pipeline: [
          {
            type: 'server_tools',
            name: 'server-tools',
            summary: '2 calls',
            data: { mode: 'sdk', tools: ['router:echo'] },
          },
        ],
      });
      expect(said.details).toEqual(
        ['a', 'b'].map((text, index) => ({
          type: 'reasoning.server_tool_call',
          tool_name: 'echo',
          arguments: JSON.stringify({ text }),
          result: JSON.stringify({ text }),
          tool_call_id: expect.any(String) as string,
          index,
        })),
      );
      costs = 0;
      tokens = 0;
    }
  });

  it('keeps its calls in the answer although the caller wants no reasoning', async () => {
    const model = turns({ reasoning: 'Hm.', toolCalls: [call('echo')] }, { reasoning: 'Ah.', text: 'Done.' });
    const bench = pluginBench(model.script, { serverTools: [echoTool()] });
    const types = async (more: object): Promise<unknown> =>
      (await saidBothWays(bench.router, asking(more))).map((said) => said.details.map((detail) => detail.type));
    const only = ['reasoning.server_tool_call'];
    expect(await types({ reasoning: { exclude: true } })).toEqual([only, only]);
  });

  it('adds sources and images to the answer', async () => {
    const citation = { type: 'url_citation', url_citation: { url: 'https://example.com' } } as const;
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } } as const;
    const bench = pluginBench(turns({ toolCalls: [call('echo')] }, 'Done.').script, {
      serverTools: [
        echoTool('router:echo', { execute: () => ({ result: 'ok', annotations: [citation], images: [image] }) }),
      ],
    });
    for await (const [way, said] of bothWays(bench.router, asking())) {
      expect([way, said.annotations]).toEqual([way, [citation]]);
    }
    const answer = await bench.router.chat(asking());
    expect(answer.choices[0]?.message.images).toEqual([image]);
  });

  it('knows the request, its own count, and can ask the router, which is part of the usage', async () => {
    const uses: number[] = [];
    const bench = pluginBench(
      (request) => {
        if (request.tools.length === 0) return 'advice';
        return request.messages.length === 1 ? { toolCalls: [call('echo'), call('echo')] } : 'Done.';
      },
      {
        serverTools: [
          echoTool('router:echo', {
            async execute(_args, _options, context) {
              uses.push(context.use);
              expect(context.depth).toBe(0);
              expect(Object.isFrozen(context.request.messages)).toBe(true);
              const answer = await context.call(hello({ model: 'acme/two' }));
              return { result: answer.choices[0]?.message.content ?? '' };
            },
          }),
        ],
      },
    );
    const answer = await bench.router.chat(asking(), { metadata: true });
    expect(uses).toEqual([1, 2]);
    expect(answer.router_metadata?.pipeline?.map(({ type, name }) => [type, name])).toEqual([
      ['call', 'router:echo'],
      ['call', 'router:echo'],
      ['server_tools', 'server-tools'],
    ]);
    const inner = (await bench.router.chat(hello({ model: 'acme/two' }))).usage?.cost ?? 0;
    expect(inner).toBeGreaterThan(0);
    expect(answer.usage?.cost).toBeGreaterThan(2 * inner);
  });
});

describe('tools of both kinds', () => {
  it('may be called in one turn: the router runs its own, and the caller gets only theirs', async () => {
    const model = turns(
      { text: 'Both.', toolCalls: [call('echo', { text: 'x' }), call('look_up', { q: 1 })] },
      'Never.',
    );
    const bench = pluginBench(model.script, { serverTools: [echoTool()] });
    for await (const [way, said] of bothWays(bench.router, asking({ tools: [LOOK_UP, ECHO] }))) {
      expect([way, said.text, said.finish]).toEqual([way, 'Both.', 'tool_calls']);
      expect(said.toolCalls).toEqual([{ name: 'look_up', index: 0 }]);
      expect(said.details).toMatchObject([
        { type: 'reasoning.server_tool_call', tool_name: 'echo', result: 'echo of x' },
      ]);
      expect(model.requests.splice(0)).toHaveLength(1);
    }
  });

  it('go on in the next request, with the calls of before in their place', async () => {
    const model = turns(
      { text: 'Both.', toolCalls: [call('echo', { text: 'x' }), call('look_up', { q: 1 })] },
      'unused',
      { text: 'The end.' },
    );
    const bench = pluginBench(model.script, { serverTools: [echoTool()] });
    const request = asking({ tools: [LOOK_UP, ECHO] });
    const first = await bench.router.chat(request);
    const message = first.choices[0]?.message;
    const mine = message?.tool_calls?.[0];
    if (message === undefined || mine === undefined) throw new Error('no call');
    const answer = await bench.router.chat({
      ...request,
      messages: [...request.messages, message, { role: 'tool', tool_call_id: mine.id, content: 'found' }],
    });
    expect(answer.choices[0]?.message.content).toBe('The end.');
    expect(model.requests[1]?.messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'Hello'],
      ['assistant', null],
      ['tool', 'echo of x'],
      ['assistant', 'Both.'],
      ['tool', 'found'],
    ]);
    expect(JSON.stringify(model.requests[1]?.messages)).not.toContain('server_tool_call');
  });

  it('are told apart although they have the same name', async () => {
    const own = { type: 'function', function: { name: 'echo' } } as const;
    const model = turns({ toolCalls: [call('echo_2', { text: 'mine' })] }, { toolCalls: [call('echo')] });
    const bench = pluginBench(model.script, { serverTools: [echoTool()] });
    for await (const [way, said] of bothWays(bench.router, asking({ tools: [own, ECHO] }))) {
      expect([way, said.toolCalls]).toEqual([way, [{ name: 'echo', index: 0 }]]);
      expect(said.details).toMatchObject([{ tool_name: 'echo_2' }]);
    }
  });

  it('may be offered several times where the tool allows it, each with options of its own', async () => {
    const named = echoTool('router:echo', {
      repeatable: true,
      nameOf: ({ name }) => (typeof name === 'string' ? `ask ${name}` : undefined),
      execute: (_args, { name = 'nobody' }) => ({ result: ['I am', name] }),
    });
    const model = turns({ toolCalls: [call('ask_Ada'), call('echo')] }, 'Done.');
    const bench = pluginBench(model.script, { serverTools: [named] });
    const tools = [{ ...ECHO, parameters: { name: 'Ada' } }, ECHO];
    const answer = await bench.router.chat(asking({ tools }));
    expect(answer.choices[0]?.message.reasoning_details).toMatchObject([
      { result: '["I am","Ada"]' },
      { result: '["I am","nobody"]' },
    ]);
    await expect(pluginBench('Hi', { serverTools: [echoTool()] }).router.chat(asking({ tools }))).rejects.toThrow(
      'tools[1].type must not repeat "router:echo".',
    );
  });
});

describe('the end of the loop', () => {
  /** Calls two tools in every turn, for ever, as long as it may. */
  const tireless = turns({ toolCalls: [call('echo', { text: 'a' }), call('echo', { text: 'b' })] });
  const relentless = (more: object = {}) =>
    pluginBench(
      (request) => {
        tireless.requests.push(request);
        return request.toolChoice === 'none' || request.tools.length === 0
          ? 'I give up.'
          : { text: 'More.', toolCalls: [call('echo', { text: 'a' }), call('echo', { text: 'b' })] };
      },
      { serverTools: [echoTool()], ...more },
    );

  it.each<readonly [string, object, readonly [executed: number, modelTurns: number]]>([
    ['its budget, each call being one step', { max_tool_calls: 4 }, [4, 3]],
    ['its budget within a turn: what is over is told to the model', { max_tool_calls: 3 }, [3, 3]],
    ['the maximum of the contract without any', {}, [30, 16]],
    ['a number of steps', { stop_server_tools_when: [{ type: 'step_count_is', step_count: 3 }] }, [4, 3]],
    [
      'a number of steps, which lifts the budget',
      { max_tool_calls: 1, stop_server_tools_when: { type: 'step_count_is', step_count: 5 } },
      [6, 4],
    ],
    [
      'a tool that was called',
      { stop_server_tools_when: [{ type: 'has_tool_call', tool_name: 'router:echo' }] },
      [2, 2],
    ],
    ['tokens', { stop_server_tools_when: [{ type: 'max_tokens_used', max_tokens: 1 }] }, [2, 2]],
    ['money', { stop_server_tools_when: [{ type: 'max_cost', max_cost_in_dollars: 0.000001 }] }, [2, 2]],
    ['how a turn ended', { stop_server_tools_when: [{ type: 'finish_reason_is', reason: 'tool_calls' }] }, [2, 2]],
    [
      'any of several conditions',
      {
        stop_server_tools_when: [
          { type: 'max_cost', max_cost_in_dollars: 99 },
          { type: 'step_count_is', step_count: 0 },
        ] satisfies StopCondition[],
      },
      [2, 2],
    ],
    [
      'nothing but the maximum, when its conditions never hold',
      { stop_server_tools_when: [{ type: 'finish_reason_is', reason: 'length' }] },
      [30, 16],
    ],
  ])('comes by %s, and then the model answers with its tools off', async (_what, more, [executed, modelTurns]) => {
    tireless.requests.length = 0;
    const bench = relentless();
    for await (const [way, said] of bothWays(bench.router, asking(more))) {
      expect(said.text.endsWith('I give up.')).toBe(true);
      expect([way, said.finish, said.usage?.server_tool_use_details]).toEqual([
        way,
        'stop',
        { tool_calls_requested: (modelTurns - 1) * 2, tool_calls_executed: executed },
      ]);
      const requests = tireless.requests.splice(0);
      expect(requests).toHaveLength(modelTurns);
      expect(requests.at(-1)).toMatchObject({ toolChoice: 'none', tools: [{ function: { name: 'echo' } }] });
    }
  });

  it('is told to an endpoint without a word for it by taking the tools away', async () => {
    const seen: number[] = [];
    const router: Router = createRouter({
      serverTools: [echoTool()],
      providers: [
        simulated({
          models: { 'acme/one': { parameters: ['tools'] } },
          firstTokenMs: 0,
          tokensPerSecond: 0,
          answer(request) {
            seen.push(request.tools.length);
            return request.tools.length === 0 ? 'Done.' : { toolCalls: [call('echo')] };
          },
        }),
      ],
    });
    const answer = await router.chat({ ...asking({ max_tool_calls: 1 }), model: 'acme/one' });
    expect(answer.choices[0]?.message.content).toBe('Done.');
    expect(seen).toEqual([1, 0]);
  });

  it('does not depend on the model obeying', async () => {
    const bench = pluginBench(() => ({ text: 'Again.', toolCalls: [call('echo')] }), { serverTools: [echoTool()] });
    for await (const [way, said] of bothWays(bench.router, asking({ max_tool_calls: 2 }))) {
      expect([way, said.finish, said.toolCalls]).toEqual([way, 'stop', []]);
      expect(said.usage?.server_tool_use_details).toEqual({ tool_calls_requested: 2, tool_calls_executed: 2 });
    }
  });

  it('comes earlier for a tool that has a budget of its own, without an error', async () => {
    const model = turns({ toolCalls: [call('echo'), call('echo'), call('echo')] }, 'Done.');
    const bench = pluginBench(model.script, {
      serverTools: [
        echoTool('router:echo', { maxUses: ({ max_uses: limit }) => (typeof limit === 'number' ? limit : undefined) }),
      ],
    });
    const answer = await bench.router.chat(asking({ tools: [{ ...ECHO, parameters: { max_uses: 2 } }] }));
    const results = answer.choices[0]?.message.reasoning_details?.map((detail) => 'result' in detail && detail.result);
    expect(results?.filter((result) => result === 'echo of nothing')).toHaveLength(2);
    expect(results?.at(-1)).toBe('{"status":"error","error":"max_uses exceeded: this tool can be used 2 times"}');
    expect(answer.usage?.server_tool_use_details).toEqual({ tool_calls_requested: 3, tool_calls_executed: 2 });
  });
});

describe('tool_choice', () => {
  it.each([
    ['required', 'required'],
    [{ type: 'router:echo' }, { type: 'function', function: { name: 'echo' } }],
    [{ type: 'openrouter:echo' }, { type: 'function', function: { name: 'echo' } }],
  ] as const)('%j forces the first turn only', async (choice, told) => {
    const model = turns({ toolCalls: [call('echo')] }, 'Done.');
    const bench = pluginBench(model.script, { serverTools: [echoTool()] });
    await bench.router.chat(asking({ tool_choice: choice }));
    expect(model.requests.map((request) => request.toolChoice)).toEqual([told, 'auto']);
  });

  it('must name a tool of the request', async () => {
    const bench = pluginBench('Hi', { serverTools: [echoTool(), echoTool('router:other')] });
    await expect(bench.router.chat(asking({ tool_choice: { type: 'router:other' } }))).rejects.toMatchObject({
      status: 422,
      message: 'tool_choice.type must be the type of a tool in tools, not "router:other".',
    });
  });
});

describe('server tools that are refused', () => {
  it.each([
    ['router:bash', 'tools[1].type must not be "router:bash": that tool does not exist for chat completions.'],
    ['openrouter:shell', 'tools[1].type must not be "router:shell"'],
    ['router:tool_search', 'does not exist for chat completions'],
    ['router:apply_patch', 'does not exist for chat completions'],
    [
      'router:ecko',
      'tools[1].type must be "function" or a server tool, not "router:ecko" (did you mean "router:echo"?); this router has router:echo. A program registers more with createRouter({ serverTools: [...] }).',
    ],
    ['web_search_preview', 'not "router:web_search"'],
  ])('are a 400 that says why: %s', async (type, message) => {
    const bench = pluginBench(() => expect.fail('the provider was asked'), { serverTools: [echoTool()] });
    const refused = bench.router.chat(hello({ tools: [LOOK_UP, { type: type as 'router:bash' }] }));
    await expect(refused).rejects.toMatchObject({ status: 400 });
    await expect(refused).rejects.toThrow(message);
  });

  it('say which of their parameters is wrong', async () => {
    const bench = pluginBench('Hi');
    const tools = [{ type: 'router:datetime', parameters: { timezone: 'Mars/Olympus' } }] as const;
    await expect(bench.router.chat(hello({ tools }))).rejects.toThrow(
      'tools[0].parameters.timezone must be the IANA name of a time zone such as "Europe/Vienna", not "Mars/Olympus".',
    );
  });
});

describe('what surrounds the loop', () => {
  it('excludes endpoints without tools, and explain shows what would be offered', async () => {
    const bench = pluginBench('Hi', { serverTools: [echoTool()] });
    expect(await bench.router.explain(asking())).toMatchObject({
      serverTools: [{ type: 'router:echo', name: 'echo' }],
    });
    const router: Router = createRouter({
      serverTools: [echoTool()],
      providers: [simulated({ models: { 'acme/one': { parameters: ['temperature'] } } })],
    });
    const request = { ...asking(), model: 'acme/one' } as const;
    await expect(router.chat(request)).rejects.toMatchObject({ status: 404 });
    expect(await router.explain(request)).toMatchObject({ steps: [], rejected: [{ reason: 'tools' }] });
  });

  it('takes calls of earlier turns out where no tool is offered', async () => {
    const model = turns('Hi');
    const bench = pluginBench(model.script, { serverTools: [echoTool()] });
    const made = { type: 'reasoning.server_tool_call', tool_name: 'echo', arguments: '{}', result: 'r' } as const;
    await bench.router.chat(
      hello({
        messages: [
          { role: 'user', content: 'Hello' },
          { role: 'assistant', content: 'Before', reasoning_details: [made, { type: 'reasoning.text', text: 'Hm' }] },
          { role: 'user', content: 'And now?' },
        ],
      }),
    );
    expect(model.requests[0]?.messages[1]).toEqual({
      role: 'assistant',
      content: 'Before',
      reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }],
    });
  });

  it('lets plugins see one whole answer, and change what is offered', async () => {
    const model = turns({ text: 'one', toolCalls: [call('echo')] }, 'two');
    const seen: unknown[] = [];
    const bench = pluginBench(model.script, {
      serverTools: [echoTool()],
      plugins: [
        {
          id: 'adding',
          whenItThrows: 'fail',
          onRequest: () => ({ type: 'continue', change: { serverTools: [ECHO] } }),
          onResult(result) {
            seen.push(result.choices[0]?.message.content);
            return result;
          },
        },
      ],
    });
    const request = hello({ plugins: [{ id: 'adding' }] });
    expect((await bench.router.chat(request)).choices[0]?.message.content).toBe('one\n\ntwo');
    expect((await streamed(bench.router, request)).text).toBe('one\n\ntwo');
    expect(seen).toEqual(['one\n\ntwo']);
  });

  it('shows every body that goes upstream when the caller asks for it', async () => {
    const bench = pluginBench(turns({ text: 'one', toolCalls: [call('echo')] }, 'two').script, {
      serverTools: [echoTool()],
    });
    const { chunks } = await streamed(bench.router, asking({ debug: { echo_upstream_body: true } }));
    const bodies = chunks.flatMap((chunk) => chunk.debug?.echo_upstream_body ?? []);
    expect(bodies).toHaveLength(2);
  });
});
