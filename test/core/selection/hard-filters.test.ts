import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import {
  type MaxPrice,
  type ProviderPreferences,
  QUANTIZATIONS,
  type Quantization,
} from '../../../src/protocol/provider-preferences.ts';
import { DEFAULT_SELECTION_POLICY } from '../../../src/core/selection/world.ts';
import { type Circumstances, reasonsOf, serving } from '../../support/requests.ts';

const CAUTIOUS: Circumstances = {
  policy: { ...DEFAULT_SELECTION_POLICY, unknownCapability: 'exclude', toolSupport: 'exclude' },
};

const TOOLS: Partial<ChatRequest> = {
  tools: [{ type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } }],
};

describe('quantizations', () => {
  const scene = serving(Object.fromEntries(QUANTIZATIONS.map((quantization) => [quantization, { quantization }])));
  const families: Readonly<Partial<Record<Quantization, readonly Quantization[]>>> = {
    fp4: ['fp4', 'mxfp4', 'nvfp4'],
    fp8: ['fp8', 'mxfp8'],
  };

  it.each(QUANTIZATIONS)('%s accepts itself and its family only', (quantization) => {
    const expected = families[quantization] ?? [quantization];
    expect(scene.order({ provider: { quantizations: [quantization] } })).toEqual(expected);
  });

  it('accept the union of their list', () => {
    expect(scene.order({ provider: { quantizations: ['fp8', 'int4'] } })).toEqual(['int4', 'fp8', 'mxfp8']);
  });

  it('do not accept a family by one of its members', () => {
    expect(scene.order({ provider: { quantizations: ['mxfp4'] } })).toEqual(['mxfp4']);
  });

  it.each([[null], [[]]])('%j leaves nobody out', (quantizations) => {
    expect(scene.order({ provider: { quantizations } })).toHaveLength(QUANTIZATIONS.length);
  });

  it('take an endpoint that declares none as unknown', () => {
    const plain = serving({ plain: {} });
    expect(plain.order({ provider: { quantizations: ['unknown'] } })).toEqual(['plain']);
    expect(reasonsOf(plain.plan({ provider: { quantizations: ['bf16'] } }))).toEqual({ plain: 'quantization' });
  });
});

describe('max_price', () => {
  const scene = serving({
    cheap: { price: { prompt: 0.5, completion: 1 } },
    dear: { price: { prompt: 5, completion: 10, request: 0.01, image: 0.002, audioPrompt: 40 } },
    secret: {},
  });
  const cases: readonly (readonly [MaxPrice, readonly string[]])[] = [
    [{ prompt: 0.5 }, ['cheap']],
    [{ prompt: '0.5' }, ['cheap']],
    [{ prompt: 0.49 }, []],
    [{ prompt: '5' }, ['cheap', 'dear']],
    [{ completion: 1 }, ['cheap']],
    [{ completion: '9.99' }, ['cheap']],
    [{ prompt: 5, completion: 10 }, ['cheap', 'dear']],
    [{ prompt: 5, completion: 9 }, ['cheap']],
    [{ request: 0 }, ['cheap']],
    [{ request: 0.01 }, ['cheap', 'dear']],
    [{ image: 0.001 }, ['cheap']],
    [{ image: '0.002' }, ['cheap', 'dear']],
    [{ audio: 0.000039 }, ['cheap']],
    [{ audio: '0.00004' }, ['cheap', 'dear']],
  ];
  it.each(cases)('%j accepts %j', (max_price, expected) => {
    const plan = scene.plan({ provider: { max_price } });
    expect(plan.steps.map(({ endpoint }) => endpoint.tag)).toEqual(expected);
    expect(reasonsOf(plan)['secret']).toBe('max_price');
  });

  it.each([{}, { prompt: null }, null])('%j is no limit', (max_price) => {
    expect(scene.order({ provider: { max_price } })).toEqual(['cheap', 'dear', 'secret']);
  });

  it('accepts what costs nothing under a limit of zero', () => {
    const free = serving({ free: { price: { prompt: 0, completion: 0 } } });
    expect(free.order({ provider: { max_price: { prompt: 0, completion: '0' } } })).toEqual(['free']);
  });
});

describe('require_parameters', () => {
  const scene = serving({
    full: { parameters: ['temperature', 'top_p', 'seed', 'max_tokens', 'tools', 'tool_choice', 'reasoning_effort'] },
    sparse: { parameters: ['temperature'] },
    unknown: {},
  });
  const cases: readonly (readonly [string, Partial<ChatRequest>, readonly string[]])[] = [
    ['a parameter that all support', { temperature: 1 }, ['full', 'sparse', 'unknown']],
    ['a parameter that one does not support', { seed: 1 }, ['full', 'unknown']],
    ['one parameter of two', { temperature: 1, top_p: 0.5 }, ['full', 'unknown']],
    ['a limit under its other name', { max_completion_tokens: 5 }, ['full', 'unknown']],
    ['reasoning under its other name', { reasoning: { effort: 'low' } }, ['full', 'unknown']],
    ['a parameter nobody declares', { top_k: 4 }, ['unknown']],
    ['a parameter that is null', { top_k: null }, ['full', 'sparse', 'unknown']],
    ['stop sequences', { stop: ['END'] }, ['unknown']],
    ['a JSON schema', { response_format: { type: 'json_schema', json_schema: { name: 'a' } } }, ['unknown']],
    ['a plain text format, which needs nothing', { response_format: { type: 'text' } }, ['full', 'sparse', 'unknown']],
  ];
  it.each(cases)('true, with %s', (_name, body, expected) => {
    expect(scene.order({ ...body, provider: { require_parameters: true } })).toEqual(expected);
  });

  it('true leaves out what is unknown where the policy says so', () => {
    const provider: ProviderPreferences = { require_parameters: true };
    expect(scene.order({ seed: 1, provider }, CAUTIOUS)).toEqual(['full']);
    expect(reasonsOf(scene.plan({ seed: 1, provider }, CAUTIOUS))).toEqual({
      sparse: 'require_parameters',
      unknown: 'require_parameters',
    });
  });

  it.each([false, null])('%j drops nobody for a parameter', (require_parameters) => {
    expect(scene.order({ top_k: 4, provider: { require_parameters } })).toHaveLength(3);
  });
});

describe('what a prompt consists of', () => {
  const scene = serving({
    blind: { inputModalities: ['text'], outputModalities: ['text'] },
    seeing: { inputModalities: ['text', 'image'], outputModalities: ['text', 'image'] },
    unknown: {},
  });
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } } as const;

  it('leaves out endpoints that cannot take it', () => {
    const body: Partial<ChatRequest> = { messages: [{ role: 'user', content: [image] }] };
    expect(scene.order(body)).toEqual(['seeing', 'unknown']);
    expect(scene.order(body, CAUTIOUS)).toEqual(['seeing']);
    expect(reasonsOf(scene.plan(body))).toEqual({ blind: 'input_modality' });
  });

  it.each([
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } },
    { type: 'input_video', video_url: { url: 'https://example.com/a.mp4' } },
  ] as const)('counts $type', (part) => {
    expect(scene.order({ messages: [{ role: 'user', content: [part] }] })).toEqual(['unknown']);
  });

  it('never excludes anybody by a file, which may be parsed', () => {
    const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } } as const;
    expect(scene.order({ messages: [{ role: 'user', content: [file] }] }, CAUTIOUS)).toHaveLength(3);
  });

  it('counts what the answer must consist of', () => {
    expect(scene.order({ modalities: ['text', 'image'] })).toEqual(['seeing', 'unknown']);
    expect(reasonsOf(scene.plan({ modalities: ['audio'] }))).toEqual({
      blind: 'output_modality',
      seeing: 'output_modality',
    });
  });
});

describe('tools', () => {
  const scene = serving({
    none: { parameters: ['temperature'] },
    some: { parameters: ['tools'], toolChoices: ['auto', 'none'] },
    all: { parameters: ['tools', 'tool_choice'] },
    unknown: {},
  });

  it('leave out endpoints without tool support', () => {
    expect(scene.order(TOOLS)).toEqual(['some', 'all', 'unknown']);
    expect(scene.order(TOOLS, CAUTIOUS)).toEqual(['some', 'all']);
    expect(reasonsOf(scene.plan(TOOLS))).toEqual({ none: 'tools' });
  });

  it('are only a preference where the policy says so', () => {
    const policy = { ...DEFAULT_SELECTION_POLICY, unknownCapability: 'exclude', toolSupport: 'prefer' } as const;
    expect(scene.order(TOOLS, { policy })).toEqual(['some', 'all']);
    expect(serving({ none: { parameters: ['temperature'] } }).order(TOOLS, { policy })).toEqual(['none']);
  });

  it.each(['required', { type: 'function', function: { name: 'look_up' } }] as const)(
    'leave out endpoints that do not know tool_choice %j',
    (tool_choice) => {
      expect(scene.order({ ...TOOLS, tool_choice })).toEqual(['all', 'unknown']);
      expect(reasonsOf(scene.plan({ ...TOOLS, tool_choice }))).toEqual({ none: 'tools', some: 'tool_choice' });
    },
  );

  it('keep endpoints that know the tool_choice', () => {
    expect(scene.order({ ...TOOLS, tool_choice: 'auto' })).toEqual(['some', 'all', 'unknown']);
  });

  it('do not count when they run in the router', () => {
    expect(scene.order({ tools: [{ type: 'router:datetime' }] })).toContain('none');
  });
});

describe('lengths', () => {
  const scene = serving({
    short: { contextLength: 1_000, maxOutputTokens: 100 },
    long: { contextLength: 100_000, maxOutputTokens: 10_000 },
    prompty: { maxPromptTokens: 500 },
    unknown: {},
  });

  it('leave out endpoints that cannot write that much', () => {
    expect(scene.order({ max_tokens: 101 })).toEqual(['long', 'prompty', 'unknown']);
    expect(reasonsOf(scene.plan({ max_completion_tokens: 101 }))).toEqual({ short: 'max_output_tokens' });
    expect(scene.order({ max_tokens: 100 })).toHaveLength(4);
  });

  it('leave out endpoints that certainly cannot hold the prompt', () => {
    const body: Partial<ChatRequest> = { messages: [{ role: 'user', content: 'x'.repeat(8 * 1_001) }] };
    expect(scene.order(body)).toEqual(['long', 'unknown']);
    expect(reasonsOf(scene.plan(body))).toEqual({ short: 'context_length', prompty: 'context_length' });
  });

  it('keep endpoints that just hold the prompt', () => {
    expect(scene.order({ messages: [{ role: 'user', content: 'x'.repeat(8 * 1_000) }] })).toContain('short');
    expect(scene.order({ messages: [{ role: 'user', content: 'x'.repeat(8 * 500) }] })).toContain('prompty');
  });

  it('count the wanted output into the context', () => {
    const body: Partial<ChatRequest> = { messages: [{ role: 'user', content: 'x'.repeat(8 * 950) }], max_tokens: 60 };
    expect(scene.order(body)).toEqual(['long', 'unknown']);
    expect(scene.order({ ...body, max_tokens: 50 })).toContain('short');
  });
});

describe('reasoning that cannot be switched off', () => {
  const scene = serving(
    { thinker: { reasoning: { mandatory: true } }, plain: {} },
    { models: { 'acme/one': { family: 'one' } } },
  );

  it('leaves an endpoint out for effort "none" only', () => {
    expect(scene.order({ reasoning: { effort: 'none' } })).toEqual(['plain']);
    expect(scene.order({ reasoning_effort: 'none' })).toEqual(['plain']);
    expect(scene.order({ reasoning: { effort: 'minimal' } })).toEqual(['thinker', 'plain']);
    expect(scene.order()).toEqual(['thinker', 'plain']);
  });

  it('is accepted from a moving name', () => {
    expect(scene.order({ model: '~acme/one-latest', reasoning: { effort: 'none' } })).toEqual(['thinker', 'plain']);
  });
});
