import { type ChatRequest, RouterError, defaultPlugins, defaultServerTools, fusion, fusionTool } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { type Cast, type FusionBench, caller, fusionBench, toolResults } from '../../support/fusion.ts';
import { bothWays, saidBothWays, streamed } from '../../support/plugins.ts';
import { echoTool } from '../../support/tools.ts';
import { withConstants } from '../../support/constants.ts';

const ANALYSIS = {
  consensus: ['The sky is blue'],
  contradictions: [{ topic: 'Why', stances: [{ model: 'ant/small', stance: 'Air' }] }],
  partial_coverage: [{ models: ['ant/small'], point: 'Sunsets' }],
  unique_insights: [{ model: 'cat/small', insight: 'Eyes' }],
  blind_spots: ['Mars'],
};
const PANEL = ['ant/small', 'cat/small', 'bee/middle'];
const QUESTION = 'Why is the sky blue?';

/** `ant/large` calls fusion; `dog/large` compares. */
const cast = (more: Cast = {}): Cast => ({
  'ant/large': caller('fusion', { prompt: QUESTION }),
  'dog/large': () => `\`\`\`json\n${JSON.stringify(ANALYSIS)}\n\`\`\``,
  ...more,
});
const FUSION = {
  type: 'router:fusion',
  parameters: { analysis_models: PANEL, model: 'dog/large', tools: [] },
} as const;
const asking = (more: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'ant/large',
  messages: [{ role: 'user', content: 'Tell me about the sky' }],
  ...more,
});
const lose = (): never => {
  throw new Error('lost');
};
const stageOf = (said: { readonly metadata: { readonly pipeline?: readonly object[] } | undefined }): unknown =>
  said.metadata?.pipeline?.find((stage) => 'data' in stage && Object.hasOwn(stage.data as object, 'analyzed'));

describe('router:fusion', () => {
  it('asks a panel at the same time, has its answers compared, and lets the model that asked write the answer', async () => {
    const bench = fusionBench(cast());
    for await (const [way, said] of bothWays(bench.router, asking({ tools: [FUSION] }))) {
      expect([way, said.text, said.finish, said.model]).toEqual([way, 'The final answer.', 'stop', 'ant/large']);
      expect(toolResults(said.details)).toEqual([
        {
          status: 'ok',
          analysis: ANALYSIS,
          responses: PANEL.map((model) => ({ model, content: `I am ${model}` })),
        },
      ]);
      expect(stageOf(said)).toEqual({
        type: 'server_tools',
        name: 'fusion',
        summary: '3 of 3 models answered',
        cost_usd: expect.closeTo(costOf(said, ['ant/large']), 8) as number,
        data: { analysis_models: PANEL, model: 'dog/large', analyzed: true },
      });
    }
    const [member] = bench.askedOf('ant/small');
    expect(member?.messages.at(-1)).toEqual({ role: 'user', content: QUESTION });
    expect(member?.parameters).toEqual({ max_completion_tokens: 16_000 });
    const [analyst] = bench.askedOf('dog/large');
    expect(analyst?.parameters.temperature).toBe(0);
    const material = analyst?.messages.at(-1)?.content;
    expect(typeof material === 'string' ? JSON.parse(material) : undefined).toEqual({
      question: QUESTION,
      answers: PANEL.map((model) => ({ model, content: `I am ${model}` })),
    });
  });

  it('sums what everybody used and cost', async () => {
    const bench = fusionBench(cast());
    for (const said of await saidBothWays(bench.router, asking({ tools: [FUSION] }))) {
      const calls = said.metadata?.pipeline?.filter((stage) => stage.type === 'call') ?? [];
      expect(calls.map(({ data }) => data?.['model'])).toEqual([...PANEL, 'dog/large']);
      const inner = calls.reduce((sum, { data }) => sum + Number(data?.['completion_tokens']), 0);
      expect(said.usage?.completion_tokens).toBeGreaterThan(inner);
      expect(said.usage?.cost).toBeGreaterThan(calls.reduce((sum, { cost_usd: cost }) => sum + Number(cost), 0));
      expect(said.usage?.server_tool_use_details).toEqual({ tool_calls_requested: 1, tool_calls_executed: 1 });
    }
  });

  it('goes on with those who answer, and tells who was lost', async () => {
    const bench = fusionBench(cast({ 'cat/small': lose, 'bee/middle': () => '   ' }));
    for (const said of await saidBothWays(bench.router, asking({ tools: [FUSION] }))) {
      expect(said.text).toBe('The final answer.');
      const failed = [
        { model: 'cat/small', error: expect.any(String) as string },
        { model: 'bee/middle', error: 'bee/middle gave no text (finish reason: stop)' },
      ];
      expect(toolResults(said.details)).toMatchObject([
        { status: 'ok', responses: [{ model: 'ant/small' }], failed_models: failed },
      ]);
      expect(stageOf(said)).toMatchObject({ summary: '1 of 3 models answered', data: { failed_models: failed } });
    }
  });

  it('does without the analysis when the analyst fails or talks nonsense', async () => {
    for (const analyst of [lose, () => 'I cannot.', () => '{"answer":42}', () => '{"consensus":[1]}']) {
      const bench = fusionBench(cast({ 'dog/large': analyst }));
      const [said] = await saidBothWays(bench.router, asking({ tools: [FUSION] }));
      const [result] = toolResults(said?.details ?? []) as readonly object[];
      expect(Object.keys(result ?? {})).toEqual(['status', 'responses']);
      expect(said?.text).toBe('The final answer.');
    }
  });

  it('tells the model when the whole panel is lost, which then answers by itself', async () => {
    const bench = fusionBench(cast({ 'ant/small': lose, 'cat/small': lose, 'bee/middle': lose }));
    for (const said of await saidBothWays(bench.router, asking({ tools: [FUSION] }))) {
      expect(said.text).toBe('The final answer.');
      expect(toolResults(said.details)).toMatchObject([{ status: 'error', failure_reason: 'all_panels_failed' }]);
      expect(stageOf(said)).toMatchObject({ summary: '0 of 3 models answered' });
    }
    expect(bench.askedOf('dog/large')).toEqual([]);
  });

  it('counts unknown models and presets as lost ones, and takes presets of the router', async () => {
    const presets = { expert: { model: 'cat/small', temperature: 0.5 } };
    const bench = fusionBench(cast(), { presets });
    const tools = [{ ...FUSION, parameters: { ...FUSION.parameters, analysis_models: ['@preset/expert', 'no/such'] } }];
    const [said] = await saidBothWays(bench.router, asking({ tools }));
    expect(toolResults(said?.details ?? [])).toMatchObject([
      {
        responses: [{ model: '@preset/expert', content: 'I am cat/small' }],
        failed_models: [{ model: 'no/such', error: expect.stringContaining('not a valid model ID') as string }],
      },
    ]);
    expect(bench.askedOf('cat/small')[0]?.parameters.temperature).toBe(0.5);
  });

  it('passes its sampling on to the panel alone, and files and images of the user, too', async () => {
    const bench = fusionBench(cast());
    const parameters = {
      ...FUSION.parameters,
      analysis_models: ['ant/small'],
      temperature: 1.5,
      max_completion_tokens: 50,
      reasoning: { effort: 'low' },
      cache_control: { type: 'ephemeral' },
    };
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } } as const;
    await bench.router.chat(
      asking({
        tools: [{ ...FUSION, parameters }],
        messages: [{ role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] }],
      }),
    );
    const [member] = bench.askedOf('ant/small');
    expect(member?.parameters).toEqual({ temperature: 1.5, max_completion_tokens: 50 });
    expect(member?.reasoning).toMatchObject({ effort: 'low' });
    expect(member?.cache.control).toEqual({ type: 'ephemeral' });
    expect(member?.messages.at(-1)?.content).toEqual([image, { type: 'text', text: QUESTION }]);
    expect(bench.askedOf('dog/large')[0]?.parameters.temperature).toBe(0);
  });

  it('gives the panel tools with a budget', async () => {
    const member: Cast[string] = ({ messages, toolChoice }) =>
      toolChoice === 'none' || messages.filter(({ role }) => role === 'tool').length > 4
        ? `Told ${messages.filter(({ role }) => role === 'tool').length} times`
        : { toolCalls: [{ name: 'echo', arguments: '{"text":"x"}' }] };
    const bench = fusionBench(cast({ 'ant/small': member }), { serverTools: [fusionTool(), echoTool()] });
    const parameters = { analysis_models: ['ant/small'], model: 'dog/large', tools: [{ type: 'router:echo' }] };
    const ask = async (more: object): Promise<unknown> => {
      const tools = [{ ...FUSION, parameters: { ...parameters, ...more } }];
      const [said] = await saidBothWays(bench.router, asking({ tools }));
      return toolResults(said?.details ?? []);
    };
    expect(await ask({})).toMatchObject([{ responses: [{ content: 'Told 4 times' }] }]);
    expect(await ask({ max_tool_calls: 2 })).toMatchObject([{ responses: [{ content: 'Told 2 times' }] }]);
    bench.asked.length = 0;
    await ask({ tools: [] });
    expect(bench.askedOf('ant/small')[0]?.tools).toEqual([]);
  });

  it('offers searching and fetching by default, and asks again without them where they cannot be had', async () => {
    const bench = fusionBench(cast(), {
      serverTools: [fusionTool(), echoTool('router:web_search'), echoTool('router:web_fetch')],
    });
    const tools = [{ type: 'router:fusion', parameters: { analysis_models: PANEL, model: 'dog/large' } }] as const;
    await bench.router.chat(asking({ tools }));
    const [member] = bench.askedOf('ant/small');
    expect(member?.tools.map((tool) => tool.function.name)).toEqual(['web_search', 'web_fetch']);
    const refusing = echoTool('router:web_search', {
      describe: () => {
        throw new RouterError({ status: 404, errorType: 'not_found', message: 'Nobody searches here' });
      },
    });
    const poor = fusionBench(cast(), { serverTools: [fusionTool(), refusing] });
    const [said] = await saidBothWays(poor.router, asking({ tools }));
    expect(toolResults(said?.details ?? [])).toMatchObject([{ status: 'ok', responses: [{}, {}, {}] }]);
    expect(poor.askedOf('ant/small')[0]?.tools).toEqual([]);
  });

  it('deliberates once a request, and never within a panel', async () => {
    const twice: Cast[string] = ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? 'Done.'
        : { toolCalls: [1, 2].map(() => ({ name: 'fusion', arguments: JSON.stringify({ prompt: QUESTION }) })) };
    const bench = fusionBench(cast({ 'ant/large': twice }));
    const [said] = await saidBothWays(bench.router, asking({ tools: [FUSION] }));
    expect(toolResults(said?.details ?? [])).toMatchObject([
      { status: 'ok' },
      { status: 'error', failure_reason: 'fusion_invocation_capped' },
    ]);
    // A preset may hide a tool from the check of the request.
    const presets = { nested: { model: 'ant/large', tools: [FUSION] } };
    const nested = fusionBench(cast(), { presets });
    withConstants(nested.router, { maxPluginDepth: 9 });
    const tools = [{ ...FUSION, parameters: { ...FUSION.parameters, analysis_models: ['@preset/nested'] } }];
    await nested.router.chat(asking({ tools }));
    expect(nested.askedOf('ant/small')).toEqual([]);
    const results = nested
      .askedOf('ant/large')
      .flatMap(({ messages }) => messages.filter(({ role }) => role === 'tool'));
    expect(JSON.stringify(results)).toContain('fusion_invocation_capped');
  });

  it('does not wait for a slow member longer than its time', async () => {
    const bench = fusionBench(cast(), { serverTools: [fusionTool()] }, ['cat/small']);
    const asked = bench.router.chat(asking({ tools: [FUSION] }), { metadata: true });
    await bench.environment.advance(119_999);
    expect(bench.askedOf('dog/large')).toEqual([]);
    await bench.environment.advance(1);
    const { choices, router_metadata: metadata } = await asked;
    expect(choices[0]?.message.content).toBe('The final answer.');
    expect(stageOf({ metadata })).toMatchObject({
      data: { failed_models: [{ model: 'cat/small', error: 'The model did not answer within 120 seconds' }] },
    });
    expect(bench.environment.pendingTimers).toBe(0);
  });

  it('ends everything when the caller leaves', async () => {
    const bench = fusionBench(cast(), { serverTools: [fusionTool()] }, PANEL);
    const controller = new AbortController();
    const asked = bench.router.chat(asking({ tools: [FUSION] }), { signal: controller.signal });
    await bench.environment.advance(1_000);
    expect(bench.environment.pendingTimers).toBeGreaterThan(3);
    controller.abort();
    await expect(asked).rejects.toThrow('abort');
    await bench.environment.settle();
    expect(bench.environment.pendingTimers).toBe(0);
    expect(bench.askedOf('dog/large')).toEqual([]);
  });

  it.each<readonly [string, Readonly<Record<string, unknown>>, string]>([
    ['no models', { analysis_models: [] }, 'tools[0].parameters.analysis_models'],
    ['nine models', { analysis_models: Array.from({ length: 9 }, () => 'a/b') }, 'tools[0].parameters.analysis_models'],
    [
      'itself on the panel',
      { analysis_models: ['a/b', 'openrouter/fusion'] },
      'tools[0].parameters.analysis_models[1]',
    ],
    ['itself as the analyst', { model: 'router/fusion-flash:nitro' }, 'tools[0].parameters.model'],
    ['itself as a tool', { tools: [{ type: 'openrouter:fusion' }] }, 'tools[0].parameters.tools[0].type'],
    ['a function as a tool', { tools: [{ type: 'function' }] }, 'tools[0].parameters.tools[0].type'],
    ['a tool that is not here', { tools: [{ type: 'router:nothing' }] }, 'tools[0].parameters.tools[0].type'],
    [
      'a tool with wrong options',
      { tools: [{ type: 'router:datetime', parameters: { timezone: 'Mars' } }] },
      'tools[0].parameters.tools[0].parameters.timezone',
    ],
    ['an unknown preset', { preset: 'general-best' }, 'tools[0].parameters.preset'],
    ['too many calls', { max_tool_calls: 17 }, 'tools[0].parameters.max_tool_calls'],
    ['a temperature above 2', { temperature: 2.1 }, 'tools[0].parameters.temperature'],
    ['an effort and a budget', { reasoning: { effort: 'low', max_tokens: 5 } }, 'tools[0].parameters.reasoning'],
    ['a misspelt option', { analysis_model: ['a/b'] }, 'tools[0].parameters'],
  ])('refuses %s', async (_what, parameters, path) => {
    const bench = fusionBench(cast());
    const tools = [{ type: 'router:fusion', parameters }] as const;
    await expect(bench.router.chat(asking({ tools }))).rejects.toMatchObject({ status: 400, metadata: { path } });
    expect(bench.asked).toEqual([]);
  });
});

describe('the plugin fusion', () => {
  const plugins = [{ id: 'fusion', analysis_models: PANEL, model: 'dog/large', tools: [] }];

  it('gives the tool to the model of a request', async () => {
    const bench = fusionBench(cast());
    for (const said of await saidBothWays(bench.router, asking({ plugins }))) {
      expect([said.text, said.model]).toEqual(['The final answer.', 'ant/large']);
      expect(toolResults(said.details)).toMatchObject([{ status: 'ok', analysis: ANALYSIS }]);
    }
    const [calm] = await saidBothWays(bench.router, asking({ plugins: [{ id: 'fusion', enabled: false }] }));
    expect(calm?.details).toEqual([]);
  });

  it('lets what the request says of the tool win', async () => {
    const bench = fusionBench(cast());
    const tools = [{ type: 'router:fusion', parameters: { analysis_models: ['cat/large'] } }] as const;
    const [said] = await saidBothWays(bench.router, asking({ plugins, tools }));
    expect(toolResults(said?.details ?? [])).toMatchObject([
      { analysis: ANALYSIS, responses: [{ model: 'cat/large' }] },
    ]);
  });

  it('fails the request when the whole panel is lost', async () => {
    const bench = fusionBench(cast({ 'ant/small': lose, 'cat/small': lose, 'bee/middle': lose }));
    const metadata = { failure_reason: 'all_panels_failed', failed_models: [{}, {}, {}] };
    await expect(bench.router.chat(asking({ plugins }))).rejects.toMatchObject({ status: 502, metadata });
    const { error, text } = await streamed(bench.router, asking({ plugins }));
    expect([text, error]).toMatchObject(['', { status: 502, metadata }]);
  });

  it('says what is missing when its tool is not registered', async () => {
    const bench = fusionBench(cast(), { serverTools: [] });
    await expect(bench.router.chat(asking({ plugins }))).rejects.toThrow('createRouter({ serverTools');
  });
});

describe('router/fusion', () => {
  /** Whoever is offered the tool calls it. */
  const everybody: Cast = Object.fromEntries(
    ['ant/large', 'cat/large', 'dog/large', 'bee/large', 'bee/middle', 'cat/small', 'ant/tiny', 'bee/tiny'].map(
      (model) => [
        model,
        (request) =>
          request.tools.some((tool) => tool.function.name === 'fusion') && request.messages.at(-1)?.role !== 'tool'
            ? { toolCalls: [{ name: 'fusion', arguments: '{"prompt":"Why?"}' }] }
            : `I am ${model}`,
      ],
    ),
  );
  const asked = (bench: FusionBench): readonly string[] => [...new Set(bench.asked.map(({ model }) => model))];

  it('is a strong model of the catalog with a panel of strong models, but not the dearest of all', async () => {
    const bench = fusionBench(everybody, { serverTools: [fusionTool()] });
    for (const said of await saidBothWays(bench.router, asking({ model: 'router/fusion' }))) {
      expect([said.text, said.model]).toEqual(['I am bee/large', 'bee/large']);
      expect(said.metadata).toMatchObject({ requested: 'router/fusion', strategy: 'fusion' });
      expect(stageOf(said)).toMatchObject({
        data: { preset: 'general-high', analysis_models: ['bee/large', 'dog/large', 'cat/large'], model: 'bee/large' },
      });
    }
  });

  it.each<readonly [string, object, readonly string[]]>([
    ['router/fusion-flash', {}, ['ant/tiny', 'bee/tiny']],
    ['router/fusion', { preset: 'general-fast' }, ['ant/tiny', 'bee/tiny']],
    ['openrouter/fusion', { preset: 'general-budget' }, ['bee/middle', 'cat/small', 'ant/small']],
  ])('%s with %j asks cheaper models', async (model, options, panel) => {
    const bench = fusionBench(everybody, { serverTools: [fusionTool()] });
    await bench.router.chat(asking({ model, plugins: [{ id: 'fusion', ...options }] }));
    expect(asked(bench).slice(0, panel.length).toSorted()).toEqual([...panel].toSorted());
    const { sort } = bench.askedOf(panel[1] ?? '')[0]?.preferences ?? {};
    expect(sort).toBe(panel.includes('ant/tiny') ? 'throughput' : undefined);
  });

  it('takes the models that the request or the program names', async () => {
    const presets = { 'general-high': { analysisModels: ['cat/small'], model: 'cat/large' } };
    const bench = fusionBench(everybody, {
      plugins: defaultPlugins([fusion({ presets })]),
      serverTools: defaultServerTools([fusionTool({ presets })]),
    });
    await bench.router.chat(asking({ model: 'router/fusion' }));
    expect(asked(bench)).toEqual(['cat/large', 'cat/small']);
    bench.asked.length = 0;
    const plugins = [{ id: 'fusion', model: 'bee/middle', analysis_models: ['ant/tiny'] }];
    await bench.router.chat(asking({ model: 'router/fusion', plugins }));
    expect(asked(bench)).toEqual(['bee/middle', 'ant/tiny']);
    const unknown = [{ id: 'fusion', model: 'no/such' }];
    await expect(bench.router.chat(asking({ model: 'router/fusion', plugins: unknown }))).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('no/such') as string,
    });
  });

  it('is explained without asking anybody', async () => {
    const bench = fusionBench(everybody);
    const { steps, plugins } = await bench.router.explain(asking({ model: 'router/fusion' }));
    expect(steps.map(({ model }) => model)).toEqual(['bee/large', 'dog/large', 'cat/large']);
    expect(plugins).toContainEqual(expect.objectContaining({ id: 'fusion', because: 'model' }));
    expect(bench.asked).toEqual([]);
  });

  it('keeps the rules of the request for everybody it asks', async () => {
    const bench = fusionBench(everybody, { serverTools: [fusionTool()] });
    const provider = { ignore: ['bee-large', 'dog-large'], max_price: { prompt: 7 } };
    const answer = await bench.router.chat(asking({ model: 'router/fusion', provider }), { metadata: true });
    expect(answer.model).toBe('ant/large');
    const tools = [{ type: 'router:fusion', parameters: { analysis_models: ['bee/large', 'ant/tiny'] } }] as const;
    bench.asked.length = 0;
    const [said] = await saidBothWays(bench.router, asking({ model: 'cat/large', provider, tools }));
    expect(toolResults(said?.details ?? [])).toMatchObject([
      { responses: [{ model: 'ant/tiny' }], failed_models: [{ model: 'bee/large' }] },
    ]);
    expect(bench.askedOf('bee/large')).toEqual([]);
  });
});

/** What the calls of an answer cost, without those of some models. */
function costOf(
  said: { readonly metadata: { readonly pipeline?: readonly object[] } | undefined },
  except: readonly string[],
): number {
  const calls = (said.metadata?.pipeline ?? []) as readonly {
    readonly type: string;
    readonly cost_usd?: number;
    readonly data?: { readonly model?: string };
  }[];
  return calls
    .filter(({ type, data }) => type === 'call' && !except.includes(data?.model ?? ''))
    .reduce((sum, { cost_usd: cost = 0 }) => sum + cost, 0);
}
