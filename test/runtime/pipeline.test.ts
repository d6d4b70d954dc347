import {
  type ChunkTransform,
  type Plugin,
  RouterError,
  type Router,
  type SimulatedOutcome,
  createRouter,
  definePlugin,
  simulated,
  textAnswer,
} from 'signalbox';
import { describe, expect, it } from 'vitest';
import { bothWays, hello, pluginBench, saidBothWays, standIn, streamed } from '../support/plugins.ts';

/** Says what it was asked, so that a test sees what reached the provider. */
const echoing = ({ messages }: { readonly messages: readonly { readonly content?: unknown }[] }): string =>
  messages.map((message) => String(message.content)).join('|');

/** Adds a message in front. */
function prefixing(id: string, text: string, more: Partial<Plugin> = {}): Plugin {
  return {
    id,
    whenItThrows: 'fail',
    onRequest: (request) => ({
      type: 'continue',
      change: { messages: [{ role: 'user', content: text }, ...request.messages] },
    }),
    ...more,
  };
}

/** Writes every letter as a capital, chunk by chunk. */
const capitals: ChunkTransform<number> = {
  start: 0,
  step: (count, chunk) => [
    count + 1,
    [{ ...chunk, delta: { ...chunk.delta, content: chunk.delta.content?.toUpperCase() ?? null } }],
  ],
  end: () => [],
};

/** Puts marks around an answer. */
function around(id: string, mark: string): Plugin {
  return {
    id,
    whenItThrows: 'fail',
    onChunks: (): ChunkTransform<boolean> => ({
      start: false,
      step: (begun, chunk) => [
        true,
        begun ? [chunk] : [{ type: 'delta', index: 0, delta: { content: `${mark}(` } }, chunk],
      ],
      end: () => [{ type: 'delta', index: 0, delta: { content: `)${mark}` } }],
    }),
  };
}

const ids = (...names: readonly string[]): { readonly id: string }[] => names.map((id) => ({ id }));

describe('plugins', () => {
  it('change requests in the order of their registration, whatever the order in the request', async () => {
    const bench = pluginBench(echoing, { plugins: [prefixing('one', '1'), prefixing('two', '2')] });
    for await (const [way, said] of bothWays(bench.router, hello({ plugins: ids('two', 'one') }))) {
      expect([way, said.text]).toEqual([way, '2|1|Hello']);
      expect(said.metadata?.pipeline).toEqual([
        { type: 'plugin', name: 'one', summary: 'changed messages' },
        { type: 'plugin', name: 'two', summary: 'changed messages' },
      ]);
    }
  });

  it('take no part unless somebody wants them', async () => {
    const bench = pluginBench(echoing, { plugins: [prefixing('one', '1')] });
    const answer = await bench.router.chat(hello(), { metadata: true });
    expect(answer.choices[0]?.message.content).toBe('Hello');
    expect(answer.router_metadata).not.toHaveProperty('pipeline');
  });

  it('rewrite chunks like the layers of an onion, in streams and in whole answers', async () => {
    const bench = pluginBench('Hi there', { plugins: [around('outer', 'A'), around('inner', 'B')] });
    for await (const [way, said] of bothWays(bench.router, hello({ plugins: ids('outer', 'inner') }))) {
      expect([way, said.text]).toEqual([way, 'A(B(Hi there)B)A']);
      expect(said.finish).toBe('stop');
      expect(said.metadata?.pipeline?.map((stage) => stage.name).sort()).toEqual(['inner', 'outer']);
    }
  });

  it('count what the model wrote, not what a transform made of it', async () => {
    const plain = await saidBothWays(pluginBench('Hi there').router, hello());
    const bench = pluginBench('Hi there', {
      plugins: [{ id: 'loud', whenItThrows: 'fail', onChunks: () => capitals }],
    });
    const loud = await saidBothWays(bench.router, hello({ plugins: ids('loud') }));
    expect(loud.map((said) => [said.text, said.usage])).toEqual(plain.map((said) => ['HI THERE', said.usage]));
  });

  it('rewrite whole answers with usage and cost in hand, the last registered first', async () => {
    const seen: unknown[] = [];
    const stamp = (id: string): Plugin => ({
      id,
      whenItThrows: 'fail',
      onResult(result) {
        seen.push(result.usage?.cost);
        const choices = result.choices.map((choice) => ({
          ...choice,
          message: { ...choice.message, content: `${choice.message.content}, ${id}` },
        }));
        // Whatever else it changes has no effect.
        return { ...result, id: 'mine', model: 'mine', choices };
      },
    });
    const bench = pluginBench('Hi', { plugins: [stamp('one'), stamp('two')] });
    const answer = await bench.router.chat(hello({ plugins: ids('one', 'two') }), { metadata: true });
    expect(answer).toMatchObject({ model: 'acme/one', choices: [{ message: { content: 'Hi, two, one' } }] });
    expect(answer.id).toMatch(/^gen-/);
    expect(seen).toEqual([answer.usage?.cost, answer.usage?.cost]);
    expect(answer.router_metadata?.pipeline).toEqual([
      { type: 'plugin', name: 'two', summary: 'changed the answer' },
      { type: 'plugin', name: 'one', summary: 'changed the answer' },
    ]);
  });

  it('answer by themselves, and nobody else is asked', async () => {
    const bench = pluginBench(() => expect.fail('the provider was asked'), {
      plugins: [
        {
          id: 'canned',
          whenItThrows: 'fail',
          onRequest: () => ({ type: 'answer', answer: textAnswer('From the shelf', { provider: 'Shelf' }) }),
        },
        prefixing('late', 'x'),
      ],
    });
    for await (const [way, said] of bothWays(bench.router, hello({ plugins: ids('canned', 'late') }))) {
      expect([way, said.text, said.finish, said.model]).toEqual([way, 'From the shelf', 'stop', 'acme/one']);
      expect(said.usage).toMatchObject({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 });
      expect(said.metadata).toMatchObject({
        attempt: 0,
        endpoints: { total: 0 },
        pipeline: [{ name: 'canned', summary: 'answered by itself' }],
      });
    }
  });

  it('refuse a request with an error of their own, before a stream begins', async () => {
    const guard: Plugin = {
      id: 'guard',
      whenItThrows: 'skip',
      onRequest(_request, _options, context) {
        context.stage({ type: 'guardrail', name: 'moderation', data: { action: 'blocked', detected: true } });
        const message = 'Request blocked: prompt injection patterns detected';
        const metadata = { patterns: ['ignore all'] };
        return {
          type: 'block',
          error: new RouterError({ status: 403, errorType: 'permission_denied', message, metadata }),
        };
      },
    };
    const bench = pluginBench(() => expect.fail('the provider was asked'), { plugins: [guard] });
    const request = hello({ plugins: ids('guard') });
    const expected = {
      status: 403,
      metadata: { patterns: ['ignore all'] },
      routerMetadata: {
        pipeline: [{ type: 'guardrail', name: 'moderation', data: { action: 'blocked', detected: true } }],
      },
    };
    await expect(bench.router.chat(request)).rejects.toMatchObject(expected);
    const stream = await streamed(bench.router, request);
    expect(stream).toMatchObject({ chunks: [], error: expected });
  });

  it('hand a state from their request hook to their later hooks', async () => {
    const bench = pluginBench('Hi', {
      plugins: [
        definePlugin<{}, { readonly at: string }>({
          id: 'memory',
          whenItThrows: 'fail',
          onRequest: (_request, _options, { wallClock }) => ({
            type: 'continue',
            state: { at: new Date(wallClock()).toISOString() },
          }),
          onChunks: (_request, _options, { state }) => ({
            start: 0,
            step: (count, chunk) => [count, [chunk]],
            end: () => [{ type: 'delta', index: 0, delta: { content: ` at ${state?.at}` } }],
          }),
        }),
      ],
    });
    for await (const [way, said] of bothWays(bench.router, hello({ plugins: ids('memory') }))) {
      expect([way, said.text]).toEqual([way, 'Hi at 2026-01-01T00:00:00.000Z']);
    }
  });

  it('change a request for one endpoint alone, once for each', async () => {
    const prepared: string[] = [];
    const environment = pluginBench('').environment;
    const provider = (slug: string, failures: readonly SimulatedOutcome[]) =>
      simulated({
        slug,
        models: { 'acme/one': {} },
        failures,
        answer: echoing,
        firstTokenMs: 0,
        tokensPerSecond: 0,
        environment,
      });
    const router: Router = createRouter({
      environment,
      providers: [provider('first', [{ kind: 'server' }]), provider('second', [])],
      plugins: [
        {
          id: 'fitting',
          whenItThrows: 'fail',
          async onAttempt(request, endpoint) {
            prepared.push(endpoint.provider);
            await Promise.resolve();
            return { messages: [...request.messages, { role: 'user', content: `for ${endpoint.provider}` }] };
          },
        },
      ],
    });
    const answer = await router.chat(hello({ plugins: ids('fitting'), provider: { order: ['first', 'second'] } }));
    expect(answer.choices[0]?.message.content).toBe('Hello|for second');
    expect(prepared).toEqual(['first', 'second']);
  });
});

describe('whether a plugin runs', () => {
  const asked = prefixing('p', 'p', { parseOptions: (options) => ({ ok: true, options }) });
  const said = async (config: object, request: object, account?: object): Promise<unknown> => {
    const bench = pluginBench(echoing, { plugins: [asked], ...config });
    const answer = await bench.router.chat(hello(request), { account: { id: 'a', ...account } });
    return answer.choices[0]?.message.content;
  };

  it.each([
    ['the request names it', {}, { plugins: ids('p') }, {}, true],
    ['the request switches it off', {}, { plugins: [{ id: 'p', enabled: false }] }, {}, false],
    ['of two entries the last switches it on', {}, { plugins: [{ id: 'p', enabled: false }, { id: 'p' }] }, {}, true],
    ['the router has it as a default', { pluginDefaults: ids('p') }, {}, {}, true],
    ['the account has it as a default', {}, {}, { pluginDefaults: ids('p') }, true],
    [
      'the account switches the default of the router off',
      { pluginDefaults: ids('p') },
      {},
      { pluginDefaults: [{ id: 'p', enabled: false }] },
      false,
    ],
    [
      'the request switches a default off',
      {},
      { plugins: [{ id: 'p', enabled: false }] },
      { pluginDefaults: ids('p') },
      false,
    ],
    [
      'the request may not switch a default off',
      {},
      { plugins: [{ id: 'p', enabled: false }] },
      { pluginDefaults: [{ id: 'p', preventOverrides: true }] },
      true,
    ],
    [
      'the request may not switch it on',
      {},
      { plugins: ids('p') },
      { pluginDefaults: [{ id: 'p', enabled: false, preventOverrides: true }] },
      false,
    ],
    [
      'the account may not override the router',
      { pluginDefaults: [{ id: 'p', preventOverrides: true }] },
      {},
      { pluginDefaults: [{ id: 'p', enabled: false, preventOverrides: true }] },
      true,
    ],
  ])('when %s', async (_case, config, request, account, runs) => {
    expect(await said(config, request, account)).toBe(runs ? 'p|Hello' : 'Hello');
  });

  it('is up to the plugin itself when nobody says anything', async () => {
    const wary = prefixing('wary', 'w', { runsUnasked: ({ messages }) => messages.length > 1 });
    const bench = pluginBench(echoing, { plugins: [wary] });
    const two = {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'user', content: 'b' },
      ],
    } as const;
    const contents = await Promise.all(
      [hello(), hello(two), hello({ ...two, plugins: [{ id: 'wary', enabled: false }] })].map((one) =>
        bench.router.chat(one),
      ),
    );
    expect(contents.map((one) => one.choices[0]?.message.content)).toEqual(['Hello', 'w|a|b', 'a|b']);
  });

  it('is told with its options, which the request takes from the account as a whole', async () => {
    const options: unknown[] = [];
    const plugin: Plugin = {
      ...standIn('o'),
      onRequest(_request, given) {
        options.push(given);
        return { type: 'continue' };
      },
    };
    const bench = pluginBench('Hi', { plugins: [plugin] });
    const account = { id: 'a', pluginDefaults: [{ id: 'o', options: { from: 'account', more: 1 } }] };
    await bench.router.chat(hello(), { account });
    await bench.router.chat(hello({ plugins: [{ id: 'o', from: 'request' }] }), { account });
    expect(options).toEqual([{ from: 'account', more: 1 }, { from: 'request' }]);
  });
});

describe('requests for plugins that do not exist or do not like their options', () => {
  const picky: Plugin = {
    id: 'picky',
    whenItThrows: 'fail',
    parseOptions: ({ size }) =>
      typeof size === 'number'
        ? { ok: true, options: { size } }
        : { ok: false, path: 'size', problem: 'must be a number' },
  };

  it.each([
    [
      { plugins: ids('pickyy') },
      'plugins[0].id must be the id of a plugin, not "pickyy" (did you mean "picky"?); this router has picky, bare. A program registers more with createRouter({ plugins: [...] }).',
    ],
    [
      { plugins: [{ id: 'nobody', enabled: false }] },
      'plugins[0].id must be the id of a plugin, not "nobody"; this router has picky, bare.',
    ],
    [{ plugins: ids('bare', 'web') }, 'plugins[1].id must be the id of a plugin, not "web"; this router has'],
    [{ model: 'acme/one:online' }, 'model needs the plugin "web"; this router has picky, bare.'],
    [{ transforms: ['middle-out' as const] }, 'transforms needs the plugin "context-compression"; this router has'],
    [{ plugins: ids('picky') }, 'plugins[0].size must be a number.'],
    [{ plugins: [{ id: 'bare', colour: 'red' }] }, 'plugins[0] takes no options, but has "colour".'],
  ])('are a 400 that says so: %j', async (more, message) => {
    const bench = pluginBench(() => expect.fail('the provider was asked'), {
      plugins: [picky, { id: 'bare', whenItThrows: 'fail' }],
    });
    const refused = bench.router.chat(hello(more));
    await expect(refused).rejects.toMatchObject({ status: 400, errorType: 'invalid_request' });
    await expect(refused).rejects.toThrow(message);
    await expect(bench.router.explain(hello(more))).rejects.toThrow(message);
  });

  it('are accepted when they only switch a plugin of the contract off', async () => {
    const bench = pluginBench('Hi');
    const answer = await bench.router.chat(hello({ plugins: [{ id: 'web', enabled: false }], transforms: [] }));
    expect(answer.choices[0]?.message.content).toBe('Hi');
  });

  it.each([
    {
      parseOptions: () => {
        throw new Error('secret');
      },
    },
    {
      runsUnasked: () => {
        throw new Error('secret');
      },
    },
  ])('are a 502 when the plugin cannot even be asked', async (broken) => {
    const bench = pluginBench('Hi', { plugins: [{ id: 'broken', whenItThrows: 'fail', ...broken }] });
    const plugins = 'parseOptions' in broken ? [{ id: 'broken' }] : [];
    await expect(bench.router.chat(hello({ plugins }))).rejects.toMatchObject({
      status: 502,
      message: 'The plugin "broken" failed',
    });
  });

  it('are refused when the account relies on a plugin that is not there', async () => {
    const bench = pluginBench('Hi', { plugins: [picky] });
    const asking = (enabled: boolean) =>
      bench.router.chat(hello(), { account: { id: 'a', pluginDefaults: [{ id: 'guardrail', enabled }] } });
    await expect(asking(true)).rejects.toMatchObject({
      status: 500,
      message: expect.stringContaining('"guardrail"') as string,
    });
    expect((await asking(false)).choices[0]?.message.content).toBe('Hi');
  });

  it('are no fault of the caller when the account has the wrong options', async () => {
    const bench = pluginBench('Hi', { plugins: [picky] });
    const account = { id: 'a', pluginDefaults: [{ id: 'picky', options: { size: 'XL' } }] };
    await expect(bench.router.chat(hello(), { account })).rejects.toMatchObject({ status: 500 });
  });
});

describe('a plugin that has models of its own', () => {
  const cheapest = definePlugin<{ readonly never?: string | undefined }>({
    id: 'cheapest-router',
    whenItThrows: 'fail',
    models: ['router/cheapest'],
    parseOptions: ({ never }) => ({ ok: true, options: { never: typeof never === 'string' ? never : undefined } }),
    onCandidates: (targets, _request, { never }, context) =>
      targets.flatMap((target) => {
        if (target.model !== 'router/cheapest') return [target];
        const models = [...context.catalog.models.keys()].filter((model) => model !== never);
        const priceOf = (model: string): number => context.catalog.endpoints(model)[0]?.price?.prompt ?? Infinity;
        return models
          .sort((left, right) => priceOf(left) - priceOf(right))
          .flatMap((model) => context.target(model, 'cheapest') ?? []);
      }),
  });

  it('puts real ones in their place, for a call and for explain alike', async () => {
    const bench = pluginBench('Hi', { plugins: [cheapest] });
    const request = hello({ model: 'router/cheapest' });
    expect(await bench.router.explain(request)).toMatchObject({
      requested: 'router/cheapest',
      plugins: [{ id: 'cheapest-router', because: 'model', hooks: ['onCandidates'] }],
      steps: [{ model: 'acme/one' }, { model: 'acme/two' }],
    });
    for await (const [way, said] of bothWays(bench.router, request)) {
      expect([way, said.model]).toEqual([way, 'acme/one']);
      expect(said.metadata).toMatchObject({
        requested: 'router/cheapest',
        strategy: 'cheapest',
        pipeline: [{ type: 'plugin', name: 'cheapest-router', summary: 'chose the models' }],
      });
    }
  });

  it('understands the brand in the name, and its options come from the request', async () => {
    const bench = pluginBench('Hi', { plugins: [cheapest] });
    const plugins = [{ id: 'cheapest-router', never: 'acme/one' }];
    const answer = await bench.router.chat(hello({ model: 'openrouter/cheapest', plugins }));
    expect(answer.model).toBe('acme/two');
  });

  it('gives a 404 when it leaves nobody, and tells explain whom it left out', async () => {
    const nobody: Plugin = { id: 'nobody', whenItThrows: 'fail', onCandidates: () => [] };
    const bench = pluginBench('Hi', { plugins: [nobody] });
    const request = hello({ plugins: ids('nobody') });
    await expect(bench.router.chat(request)).rejects.toMatchObject({
      status: 404,
      message: 'No models match your request and model restrictions',
      availability: { excluded_by: ['plugin'] },
    });
    expect(await bench.router.explain(request)).toMatchObject({
      steps: [],
      rejected: [{ model: 'acme/one', reason: 'plugin', detail: 'nobody' }],
    });
  });
});

describe('calls of plugins', () => {
  /** Asks another model for a summary, and puts it in front. */
  const asking = (request: object): Plugin => ({
    id: 'asking',
    whenItThrows: 'fail',
    async onRequest({ messages }, _options, context) {
      const answer = await context.call(hello({ model: 'acme/two', ...request }));
      context.used({ cost: 0.25, web_search_requests: 2 });
      const content = `${context.depth}: ${answer.choices[0]?.message.content}`;
      return { type: 'continue', change: { messages: [{ role: 'user', content }, ...messages] } };
    },
  });

  it('are answered by the router, and their usage and cost are part of the answer', async () => {
    const bench = pluginBench(echoing, { plugins: [asking({})] });
    const inner = await bench.router.chat(hello({ model: 'acme/two' }));
    const outer = await bench.router.chat(
      hello({
        messages: [
          { role: 'user', content: '0: Hello' },
          { role: 'user', content: 'Hello' },
        ],
      }),
    );
    for await (const [way, said] of bothWays(bench.router, hello({ plugins: ids('asking') }))) {
      expect([way, said.text]).toEqual([way, '0: Hello|Hello']);
      const sum = (name: 'prompt_tokens' | 'completion_tokens'): number =>
        (inner.usage?.[name] ?? 0) + (outer.usage?.[name] ?? 0);
      expect(said.usage).toMatchObject({
        prompt_tokens: sum('prompt_tokens'),
        completion_tokens: sum('completion_tokens'),
        server_tool_use: { web_search_requests: 2 },
        server_tool_use_details: { web_search_requests: 2 },
        cost_details: { server_tool_cost: 0.25 },
      });
      expect(said.usage?.cost).toBeCloseTo(0.25 + (inner.usage?.cost ?? 0) + (outer.usage?.cost ?? 0), 9);
      expect(said.metadata?.pipeline).toEqual([
        {
          type: 'call',
          name: 'asking',
          summary: 'called acme/two',
          cost_usd: inner.usage?.cost,
          data: expect.objectContaining({
            model: 'acme/two',
            generation_id: expect.stringMatching(/^gen-/) as string,
          }) as object,
        },
        { type: 'plugin', name: 'asking', summary: 'changed messages' },
      ]);
    }
  });

  it('run only the plugins that they name, and go no deeper than allowed', async () => {
    const bench = pluginBench(echoing, { plugins: [asking({ plugins: ids('asking') })] });
    await expect(bench.router.chat(hello({ plugins: ids('asking') }))).rejects.toMatchObject({
      status: 422,
      message: '"asking" calls the router within a call of a plugin; at most 2 levels are allowed',
    });
    const unasked = { ...asking({}), runsUnasked: () => true };
    const once = pluginBench(echoing, { plugins: [unasked], pluginDefaults: ids('asking') });
    expect((await once.router.chat(hello())).choices[0]?.message.content).toBe('0: Hello|Hello');
  });

  it('tell their events to whom they belong', async () => {
    const parents: (string | undefined)[] = [];
    const bench = pluginBench(echoing, { plugins: [asking({})] });
    bench.router.on('result', ({ request }) => void parents.push(request.parent));
    const answer = await bench.router.chat(hello({ plugins: ids('asking') }));
    expect(parents).toEqual([answer.id, undefined]);
  });
});
