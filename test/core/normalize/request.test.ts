import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import { sceneOf } from '../../support/requests.ts';

const scene = sceneOf({ providers: { alpha: { 'acme/one': {} } } });

const IMAGE = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } } as const;

describe('a normalised request', () => {
  it('has everything that nobody said', () => {
    expect(scene.request()).toEqual({
      operation: 'chat',
      id: 'gen-test',
      created: 1_700_000_000,
      stream: false,
      requested: 'acme/one',
      messages: [{ role: 'user', content: 'Hello' }],
      targets: [
        {
          requested: 'acme/one',
          model: 'acme/one',
          endpoints: scene.catalog.endpoints('acme/one'),
          strategy: 'direct',
          sort: undefined,
          admitTier: undefined,
        },
      ],
      parameters: {},
      tools: [],
      serverTools: [],
      maxToolSteps: 30,
      stopConditions: [],
      cache: {},
      needs: { inputModalities: [], outputModalities: [], tools: false, parameters: [], promptTokens: 0, images: 0 },
      preferences: {
        order: [],
        only: [],
        ignore: [],
        allowFallbacks: true,
        requireParameters: false,
        denyDataCollection: false,
        zeroDataRetention: false,
        distillableOnly: false,
        sortWithinModel: true,
        returnRefusals: false,
      },
      plugins: [],
      session: {},
      endUser: 'user_test',
      account: { id: 'tester' },
      wantsMetadata: false,
      echoUpstreamBody: false,
      extra: {},
    });
  });

  const members: readonly (readonly [Partial<ChatRequest>, object])[] = [
    [{ stream: true }, { stream: true }],
    [{ stream: null }, { stream: false }],
    [{ metadata: { team: 'blue' } }, { metadata: { team: 'blue' } }],
    [{ metadata: null }, { metadata: undefined }],
    [{ trace: { trace_id: 't1' } }, { trace: { trace_id: 't1' } }],
    [{ max_tool_calls: 3 }, { maxToolSteps: 3 }],
    [{ service_tier: 'fast' }, { serviceTier: 'priority' }],
    [{ service_tier: 'auto' }, { serviceTier: undefined }],
    [{ service_tier: 'flex' }, { serviceTier: 'flex' }],
    [{ stream: true, debug: { echo_upstream_body: true } }, { echoUpstreamBody: true }],
    [{ stream: false, debug: { echo_upstream_body: true } }, { echoUpstreamBody: false }],
    [{ stream: true, debug: { echo_upstream_body: false } }, { echoUpstreamBody: false }],
    [{ stream: true, debug: null }, { echoUpstreamBody: false }],
    [{ prompt_cache_key: 'k' }, { cache: { key: 'k' } }],
    [{ cache_control: { type: 'ephemeral', ttl: '1h' } }, { cache: { control: { type: 'ephemeral', ttl: '1h' } } }],
    [{ prompt_cache_options: { mode: 'explicit' } }, { cache: { options: { mode: 'explicit' } } }],
    [{ transforms: ['middle-out'] }, { plugins: [{ id: 'context-compression', enabled: true }] }],
    [{ transforms: [] }, { plugins: [{ id: 'context-compression', enabled: false }] }],
    [
      { transforms: ['middle-out'], plugins: [{ id: 'context-compression', enabled: false }] },
      { plugins: [{ id: 'context-compression', enabled: false }] },
    ],
    [
      { stop_server_tools_when: { type: 'step_count_is', step_count: 2 } },
      { stopConditions: [{ type: 'step_count_is', step_count: 2 }] },
    ],
  ];
  it.each(members)('says what was said: %j', (body, expected) => {
    expect(scene.request(body)).toMatchObject(expected);
  });
});

describe('what a request needs', () => {
  it('counts images, and takes text and calls for tokens, eight characters each at the least', () => {
    const { needs } = scene.request({
      messages: [
        { role: 'system', content: 'x'.repeat(16) },
        { role: 'user', content: [{ type: 'text', text: 'x'.repeat(16) }, IMAGE, IMAGE] },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look_up', arguments: 'x'.repeat(16) } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'x'.repeat(15) },
      ],
      max_tokens: 7,
    });
    expect(needs).toMatchObject({ images: 2, promptTokens: 7, outputTokens: 7, inputModalities: ['image'] });
  });

  const cases: readonly (readonly [Partial<ChatRequest>, readonly string[]])[] = [
    [{ temperature: 0, top_p: 1, seed: 0 }, ['temperature', 'top_p', 'seed']],
    [{ max_tokens: 5 }, ['max_completion_tokens']],
    [{ stop: 'END' }, ['stop']],
    [{ stop: [] }, []],
    [{ logprobs: true, top_logprobs: 2 }, ['logprobs', 'top_logprobs']],
    [{ reasoning: { effort: 'low' } }, ['reasoning']],
    [{ include_reasoning: false }, ['reasoning']],
    [{ response_format: { type: 'text' } }, []],
    [{ response_format: { type: 'json_object' } }, ['response_format']],
    [{ response_format: { type: 'json_schema', json_schema: { name: 'a' } } }, ['structured_outputs']],
    [{ tools: [{ type: 'function', function: { name: 'a' } }], tool_choice: 'auto' }, ['tools', 'tool_choice']],
    [{ tools: [{ type: 'router:datetime' }] }, []],
    [{ verbosity: 'low', web_search_options: {} }, ['verbosity', 'web_search_options']],
    [{ temperature: null, verbosity: null }, []],
  ];
  it.each(cases)('names the parameters of %j', (body, expected) => {
    expect([...scene.request(body).needs.parameters].sort()).toEqual([...expected].sort());
  });

  it.each([
    ['none', 'none'],
    ['required', 'required'],
    [{ type: 'function', function: { name: 'a' } }, 'function'],
    [{ type: 'web_search' }, 'function'],
    [null, undefined],
  ] as const)('knows the kind of tool_choice %j', (tool_choice, expected) => {
    const tools = [{ type: 'function', function: { name: 'a' } }] as const;
    expect(scene.request({ tools, tool_choice }).needs.toolChoice).toBe(expected);
    expect(scene.request({ tool_choice }).needs.toolChoice).toBeUndefined();
  });
});
