import { describe, expect, it } from 'vitest';
import type { EndpointDeclaration } from '../../../src/catalog/endpoint.ts';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import { type Accepts, acceptsOf } from '../../../src/core/accepts.ts';
import { ANTHROPIC } from '../../../src/providers/accepts/anthropic.ts';
import { encodedFor } from '../../support/anthropic.ts';

type Fields = Partial<ChatRequest> & Readonly<Record<string, unknown>>;

/** The body without what every body has. */
function rest(model: string, fields: Fields, declared?: EndpointDeclaration): object {
  const { model: _, messages: __, metadata: ___, max_tokens: ____, ...others } = encodedFor(model, fields, declared);
  return others;
}

const LOOK = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } } as const;
const LOOP: ChatRequest['messages'] = [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }] },
  { role: 'tool', tool_call_id: 'a', content: 'seen' },
];

describe('a request', () => {
  it('has a token limit, a stand-in for the user, and nothing that was not asked for', () => {
    expect(encodedFor('claude-opus-4-7', { metadata: { a: 'b' }, seed: 7, logprobs: true })).toEqual({
      model: 'claude-opus-4-7',
      max_tokens: 128_000,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
      metadata: { user_id: 'user_test' },
    });
    expect(encodedFor('claude-opus-4-7', { stream: true })).toMatchObject({ stream: true });
  });

  it('names models as the API does', () => {
    expect(encodedFor('claude-sonnet-4.5', {})).toMatchObject({ model: 'claude-sonnet-4-5', max_tokens: 64_000 });
    expect(encodedFor('other-1.5', {})).toMatchObject({ model: 'other-1.5' });
  });

  it.each([
    ['claude-opus-4-20250514', {}, undefined, 32_000],
    ['claude-3-haiku-20240307', {}, undefined, 4_096],
    ['claude-unheard-of', {}, undefined, 128_000],
    ['claude-opus-4-7', {}, { maxOutputTokens: 9_000 }, 9_000],
    ['claude-opus-4-7', { max_tokens: 500 }, undefined, 500],
    ['claude-opus-4-5', { max_tokens: 100_000 }, undefined, 64_000],
    ['claude-unheard-of', { max_tokens: 200_000 }, undefined, 200_000],
  ])('to %s with %j and %j may be answered with %s', (model, fields, declared, limit) => {
    expect(encodedFor(model, fields, declared)['max_tokens']).toBe(limit);
  });

  it('for a long answer asks for a stream, also when the caller wants it whole', () => {
    expect(encodedFor('claude-opus-4-7', { max_tokens: 30_000 })['stream']).toBe(true);
    expect(encodedFor('claude-opus-4-7', { max_tokens: 3_000 })['stream']).toBeUndefined();
  });

  it('passes on what only this API knows, and nothing that only others know', () => {
    expect(rest('claude-opus-4-7', { inference_geo: 'us', store: true, safety_identifier: 'x' })).toEqual({
      inference_geo: 'us',
    });
  });

  it.each([
    ['default', { service_tier: 'standard_only' }],
    ['priority', { service_tier: 'auto' }],
    ['fast', { service_tier: 'auto' }],
    ['flex', {}],
    ['auto', {}],
  ] as const)('of the tier %s asks for %j', (tier, expected) => {
    expect(rest('claude-opus-4-7', { service_tier: tier })).toEqual(expected);
  });
});

describe('sampling', () => {
  const all = { temperature: 1.7, top_p: 0.9, top_k: 5, stop: ['END', ' '] };

  it.each([
    ['claude-3-haiku-20240307', all, { temperature: 1, top_p: 0.9, top_k: 5, stop_sequences: ['END'] }],
    ['claude-opus-4-6', all, { temperature: 1, top_k: 5, stop_sequences: ['END'] }],
    ['claude-opus-4-6', { top_p: 0.9, top_k: 0 }, { top_p: 0.9 }],
    ['claude-opus-4-7', all, { stop_sequences: ['END'] }],
    ['claude-next', all, { stop_sequences: ['END'] }],
    [
      'claude-opus-4-6',
      { ...all, reasoning: { effort: 'low' } },
      { stop_sequences: ['END'], thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
    ],
  ] as const)('of %s with %j is %j', (model, fields, expected) => {
    expect(rest(model, fields)).toEqual(expected);
  });

  it('leaves out what an endpoint does not take', () => {
    expect(rest('claude-opus-4-6', all, { parameters: ['top_k'] })).toEqual({ top_k: 5 });
  });
});

describe('reasoning', () => {
  const adaptive = { type: 'adaptive', display: 'summarized' };
  const enabled = (tokens: number): object => ({ thinking: { type: 'enabled', budget_tokens: tokens } });

  it.each([
    ['claude-opus-4-7', { effort: 'minimal' }, { thinking: adaptive, output_config: { effort: 'low' } }],
    ['claude-opus-4-7', { effort: 'xhigh' }, { thinking: adaptive, output_config: { effort: 'xhigh' } }],
    [
      'claude-opus-4-7',
      { effort: 'max', exclude: true },
      { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'max' } },
    ],
    ['claude-opus-4-7', { max_tokens: 50_000 }, { thinking: adaptive, output_config: { effort: 'medium' } }],
    ['claude-opus-4-7', { effort: 'none' }, { thinking: { type: 'disabled' } }],
    ['claude-opus-4-6', { effort: 'xhigh' }, { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
    ['claude-opus-4-6', { max_tokens: 5_000 }, enabled(5_000)],
    ['claude-opus-4-5', { effort: 'medium' }, enabled(32_000)],
    ['claude-sonnet-4-5', { effort: 'max' }, enabled(60_800)],
    ['claude-sonnet-4-5', { max_tokens: 200 }, enabled(1_024)],
    ['claude-sonnet-4-5', { effort: 'none' }, { thinking: { type: 'disabled' } }],
    ['claude-sonnet-5-5', { effort: 'none' }, { thinking: { type: 'between_tools' } }],
    ['claude-opus-5-5', { effort: 'none' }, { output_config: { effort: 'low' } }],
    ['claude-3-haiku-20240307', { effort: 'high' }, {}],
    ['claude-opus-4-7', { exclude: true }, {}],
  ] as const)('of %s with %j is %j', (model, reasoning, expected) => {
    expect(rest(model, { reasoning })).toEqual(expected);
  });

  it('with a budget leaves room for an answer', () => {
    expect(encodedFor('claude-sonnet-4-5', { max_tokens: 500, reasoning: { max_tokens: 4_000 } })).toMatchObject({
      max_tokens: 4_500,
      thinking: { budget_tokens: 4_000 },
    });
    expect(encodedFor('claude-sonnet-4-5', { reasoning: { max_tokens: 90_000 } })).toMatchObject({
      max_tokens: 64_000,
      thinking: { budget_tokens: 63_999 },
    });
  });

  it('with a budget does not begin in the middle of a tool loop', () => {
    const fields = { messages: LOOP, tools: [LOOK], reasoning: { effort: 'high' } } as const;
    expect(rest('claude-sonnet-4-5', fields)).not.toHaveProperty('thinking');
    expect(rest('claude-opus-4-7', fields)).toHaveProperty('thinking');
    const signed = { type: 'reasoning.text', text: 'Hm.', signature: 'c2ln' } as const;
    const [user, call, result] = LOOP;
    const thought = [user, { ...call, reasoning_details: [signed] }, result] as ChatRequest['messages'];
    expect(rest('claude-sonnet-4-5', { ...fields, messages: thought })).toHaveProperty('thinking');
  });

  it('changes its effort where the conversation says so', () => {
    const messages: ChatRequest['messages'] = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello.' },
      { role: 'system', content: '', configuration_update: { reasoning: { effort: 'max' } } },
      { role: 'user', content: 'Think hard.' },
    ];
    expect(rest('claude-opus-4-7', { messages, reasoning: { effort: 'low' } })).toEqual({
      thinking: adaptive,
      output_config: { effort: 'max' },
    });
  });

  it('keeps to the efforts that an endpoint declares, and does not switch off what must think', () => {
    const declared = { reasoning: { efforts: ['low', 'medium'], mandatory: true } } as const;
    expect(rest('claude-opus-4-7', { reasoning: { effort: 'max' } }, declared)).toMatchObject({
      output_config: { effort: 'medium' },
    });
    expect(rest('claude-opus-4-7', { reasoning: { effort: 'none' } }, declared)).toEqual({
      output_config: { effort: 'low' },
    });
  });

  it('takes a verbosity for an effort, and keeps it low while thinking is switched off', () => {
    expect(rest('claude-opus-4-5', { verbosity: 'low' })).toEqual({ output_config: { effort: 'low' } });
    expect(rest('claude-opus-5', { verbosity: 'max', reasoning: { effort: 'none' } })).toEqual({
      thinking: { type: 'disabled' },
      output_config: { effort: 'high' },
    });
  });
});

describe('tools', () => {
  const forced = { type: 'function', function: { name: 'look' } } as const;

  it.each([
    ['auto', {}, { type: 'auto' }],
    ['none', { parallel_tool_calls: false }, { type: 'none' }],
    ['required', {}, { type: 'any' }],
    [forced, { parallel_tool_calls: false }, { type: 'tool', name: 'look', disable_parallel_tool_use: true }],
    [undefined, { parallel_tool_calls: false }, { type: 'auto', disable_parallel_tool_use: true }],
    [undefined, { parallel_tool_calls: true }, undefined],
  ] as const)('with the choice %j and %j are chosen by %j', (choice, fields, expected) => {
    const body = encodedFor('claude-opus-4-7', { tools: [LOOK], tool_choice: choice, ...fields });
    expect(body['tool_choice']).toEqual(expected);
    expect(body['tools']).toEqual([{ name: 'look', input_schema: { type: 'object' } }]);
  });

  it.each([
    ['claude-opus-5-5', {}],
    ['claude-sonnet-4-5', { reasoning: { effort: 'low' } }],
  ] as const)('cannot be forced on %s with %j, so the model is told', (model, fields) => {
    const body = encodedFor(model, { tools: [LOOK], tool_choice: forced, ...fields });
    expect(body['tool_choice']).toEqual({ type: 'auto' });
    expect(JSON.stringify(body['messages'])).toContain('Call the tool look now.');
    const any = encodedFor(model, { tools: [LOOK], tool_choice: 'required', ...fields });
    expect(JSON.stringify(any['messages'])).toContain('Call one of the tools now.');
  });

  it('of the past are there when the conversation holds their calls, and may not be called', () => {
    expect(rest('claude-opus-4-7', { messages: LOOP })).toEqual({
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      tool_choice: { type: 'none' },
    });
  });

  it('are held to their schema where that is asked for and possible', () => {
    const strict = (parameters: object): ChatRequest['tools'] => [
      { type: 'function', function: { name: 'look', parameters: parameters as Record<string, unknown>, strict: true } },
    ];
    const closed = { type: 'object', properties: { at: { type: 'integer', minimum: 1 } }, required: ['at'] };
    expect(rest('claude-opus-4-7', { tools: strict(closed) })).toEqual({
      tools: [
        {
          name: 'look',
          strict: true,
          input_schema: {
            type: 'object',
            properties: { at: { type: 'integer', description: 'minimum: 1' } },
            required: ['at'],
            additionalProperties: false,
          },
        },
      ],
    });
    expect(rest('claude-opus-4-7', { tools: strict({ type: 'object' }) })).toEqual({
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
    });
    expect(rest('claude-opus-4-20250514', { tools: strict(closed) })).toEqual({
      tools: [{ name: 'look', input_schema: closed }],
    });
  });
});

describe('the form of the answer', () => {
  const person = {
    type: 'object',
    properties: { name: { type: 'string' }, tags: { type: 'array', items: { type: 'string' }, minItems: 1 } },
    required: ['name'],
  };
  const format = (schema: object): ChatRequest['response_format'] => ({
    type: 'json_schema',
    json_schema: { name: 'person', schema: schema as Record<string, unknown>, strict: true },
  });
  const closed = { ...person, additionalProperties: false };

  it('is kept by the API where the model can be held to it', () => {
    expect(rest('claude-sonnet-4-5', { response_format: format(person) })).toEqual({
      output_config: { format: { type: 'json_schema', schema: closed } },
    });
  });

  it('is the only tool of an older model', () => {
    expect(rest('claude-opus-4-20250514', { response_format: format(person) })).toEqual({
      tools: [{ name: 'answer_in_json', description: 'Gives the answer.', input_schema: person }],
      tool_choice: { type: 'tool', name: 'answer_in_json', disable_parallel_tool_use: true },
    });
  });

  const circular = { type: 'object', properties: { next: { $ref: '#' } } };

  it.each<readonly [string, string, Fields]>([
    ['a JSON object', 'claude-opus-4-7', { response_format: { type: 'json_object' } }],
    [
      'a schema beside tools of an older model',
      'claude-opus-4-20250514',
      { response_format: format(person), tools: [LOOK] },
    ],
    [
      'a schema with a budget',
      'claude-opus-4-20250514',
      { response_format: format(person), reasoning: { effort: 'low' } },
    ],
    ['a schema that is a list', 'claude-opus-4-20250514', { response_format: format({ type: 'array' }) }],
    ['a schema of an old tool loop', 'claude-opus-4-20250514', { response_format: format(person), messages: LOOP }],
    ['a circular schema where no call can be forced', 'claude-opus-5-5', { response_format: format(circular) }],
  ])('is told to the model: %s', (_what, model, fields) => {
    const body = encodedFor(model, fields);
    expect(JSON.stringify(body['system'])).toContain('Answer with one valid JSON object and nothing else');
    expect(body['output_config'] ?? {}).not.toHaveProperty('format');
  });

  it.each([
    ['circles', circular],
    [
      'circles through definitions',
      { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }] } } },
    ],
    ['other documents', { type: 'object', properties: { a: { $ref: 'https://example.org/a' } } }],
    ['objects open to anything', { type: 'object', properties: { a: { type: 'object', additionalProperties: true } } }],
    [
      'too many optional properties',
      { type: 'object', properties: Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`p${index}`, {}])) },
    ],
  ])('with %s in its schema is asked for as a tool', (_what, schema) => {
    expect(rest('claude-opus-4-7', { response_format: format(schema) })).toMatchObject({
      tool_choice: { name: 'answer_in_json' },
    });
  });

  it('may be said with references that end', () => {
    const schema = {
      type: 'object',
      properties: { a: { $ref: '#/$defs/a' } },
      $defs: { a: { type: 'string', maxLength: 3 } },
    };
    expect(rest('claude-opus-4-7', { response_format: format(schema) })).toMatchObject({
      output_config: { format: { schema: { $defs: { a: { type: 'string', description: 'maxLength: 3' } } } } },
    });
  });
});

describe('the rules of a model', () => {
  it.each([
    ['claude-sonnet-5-5', 'claude-sonnet-5-5-20261001'],
    ['claude-opus-5', 'anthropic.claude-opus-5-20260801-v1:0'],
    ['claude-opus-4-1', 'claude-opus-4.1'],
    ['claude-opus-4', 'claude-opus-4-0'],
    ['claude-sonnet-4', 'claude-sonnet-4@20250514'],
    ['claude-haiku-4-5', 'us.anthropic.claude-haiku-4-5-20251001-v1:0'],
    ['claude-3-haiku', 'claude-3-5-sonnet-latest'],
    ['claude-mythos-5', 'claude-mythos-preview'],
  ])('%s are those of %s', (name, upstreamModel) => {
    expect(acceptsOf(ANTHROPIC, upstreamModel)).toEqual(acceptsOf(ANTHROPIC, name));
  });

  it('tell lines apart', () => {
    const of = (upstreamModel: string): Accepts => acceptsOf(ANTHROPIC, upstreamModel);
    expect(of('claude-opus-5')).not.toEqual(of('claude-opus-5-5'));
    expect(of('claude-opus-4')).not.toEqual(of('claude-opus-4-1'));
    expect(of('claude-constructor')).toEqual(of('claude-next'));
  });
});
