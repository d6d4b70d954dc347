import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import type { AssistantMessage, Message } from '../../../src/protocol/message.ts';
import { EncodeError } from '../../../src/providers/codec.ts';
import { encodedFor, messageResult, turnsFor } from '../../support/anthropic.ts';
import { problemsOfBody } from '../../support/anthropic-schema.ts';
import { inProportion, runs } from '../../support/properties.ts';

const MODELS = [
  'claude-sonnet-5-5',
  'claude-opus-5-5',
  'claude-opus-5',
  'claude-opus-4-8',
  'claude-opus-4-6',
  'claude-opus-4-5',
  'claude-sonnet-4-20250514',
  'claude-3-haiku-20240307',
  'claude-next-9',
  'another-model',
];

const PNG = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==';
const words = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom('', ' ', '\n', 'Hello ', '線路 🚦', '\ud800', '"\\'),
);
const mark = fc.option(
  fc.record({ type: fc.constant('ephemeral'), ttl: fc.constantFrom('5m', '1h') }, { requiredKeys: ['type'] }),
);
const textPart = fc.record(
  { type: fc.constant('text'), text: words, cache_control: mark },
  { requiredKeys: ['type', 'text'] },
);
const mediaPart = fc.constantFrom(
  { type: 'image_url', image_url: { url: PNG } },
  { type: 'image_url', image_url: { url: 'https://example.org/a.png' }, prompt_cache_breakpoint: { mode: 'explicit' } },
  { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
  { type: 'file', file: { file_data: 'data:text/plain,Hello%20there' } },
);
const content = fc.oneof(words, fc.array(fc.oneof(textPart, mediaPart), { maxLength: 4 }));
const signed = fc.record({
  type: fc.constant('reasoning.text'),
  text: words,
  signature: fc.constantFrom('c2lnbmVk', '', null),
  format: fc.constantFrom('anthropic-claude-v1', 'google-gemini-v1', null),
  index: fc.nat(4),
});
const call = fc.record({
  type: fc.constant('function'),
  id: fc.constantFrom('call_1', 'call.1', 'call:1', 'x'),
  function: fc.record({
    name: fc.constantFrom('add', 'ring', 'old.tool'),
    arguments: fc.constantFrom('{}', '', '{"a":1}', '[1]', '{half', '"text"'),
  }),
});

type Step =
  | { readonly type: 'system' | 'user'; readonly content: unknown; readonly name?: string | null }
  | {
      readonly type: 'assistant';
      readonly content: unknown;
      readonly calls: readonly unknown[];
      readonly details: unknown;
    }
  | { readonly type: 'tool'; readonly which: number; readonly content: unknown };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ type: fc.constant('system' as const), content: fc.oneof(words, fc.array(textPart, { maxLength: 2 })) }),
  fc.record({ type: fc.constant('user' as const), content, name: fc.constantFrom(null, 'ada') }),
  fc.record({
    type: fc.constant('assistant' as const),
    content: fc.oneof(words, fc.constant(null), fc.array(textPart, { maxLength: 2 })),
    calls: fc.array(call, { maxLength: 3 }),
    details: fc.array(signed, { maxLength: 2 }),
  }),
  fc.record({ type: fc.constant('tool' as const), which: fc.nat(5), content }),
);

/** Messages in which results of tools answer calls that were made before them, and nothing else is in order. */
const conversation = fc.array(step, { minLength: 1, maxLength: 10 }).map((steps): readonly Message[] => {
  const ids: string[] = [];
  const messages = steps.flatMap((one): readonly object[] => {
    if (one.type === 'tool') {
      const id = ids[one.which % Math.max(1, ids.length)];
      return id === undefined ? [] : [{ role: 'tool', tool_call_id: id, content: one.content }];
    }
    if (one.type !== 'assistant')
      return [{ role: one.type, content: one.content, name: 'name' in one ? one.name : null }];
    ids.push(...one.calls.map((made) => (made as { id: string }).id));
    return [{ role: 'assistant', content: one.content, tool_calls: one.calls, reasoning_details: one.details }];
  });
  return (messages.length > 0 ? messages : [{ role: 'user', content: 'Hi' }]) as readonly Message[];
});

const SCHEMA = { type: 'object', properties: { name: { type: 'string', minLength: 2 } }, required: ['name'] };
const TOOLS = ['add', 'ring'].map((name) => ({
  type: 'function' as const,
  function: { name, description: '', parameters: SCHEMA, strict: name === 'add' },
  cache_control: { type: 'ephemeral' as const, ttl: '5m' as const },
}));

const request = fc.record(
  {
    messages: conversation,
    stream: fc.boolean(),
    tools: fc.constantFrom(TOOLS, []),
    tool_choice: fc.constantFrom('auto', 'none', 'required', { type: 'function', function: { name: 'ring' } }),
    parallel_tool_calls: fc.boolean(),
    temperature: fc.double({ min: 0, max: 2, noNaN: true }),
    top_p: fc.double({ min: 0, max: 1, noNaN: true }),
    top_k: fc.nat(50),
    stop: fc.array(fc.constantFrom(' ', 'END', '\n'), { maxLength: 3 }),
    max_tokens: fc.integer({ min: 1, max: 300_000 }),
    seed: fc.nat(),
    verbosity: fc.constantFrom('low', 'medium', 'high', 'xhigh', 'max'),
    reasoning: fc.oneof(
      fc.record({
        effort: fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
        exclude: fc.boolean(),
      }),
      fc.record({ max_tokens: fc.integer({ min: 1, max: 200_000 }) }),
    ),
    response_format: fc.constantFrom(
      { type: 'json_object' },
      { type: 'json_schema', json_schema: { name: 'person', schema: SCHEMA } },
      { type: 'json_schema', json_schema: { name: 'anything', schema: { type: 'object' } } },
    ),
    cache_control: fc.constantFrom({ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' }),
    service_tier: fc.constantFrom('default', 'priority', 'flex', 'auto'),
  },
  { requiredKeys: ['messages'] },
);

describe('a chat request', () => {
  it('becomes a body that the API takes, whatever is in it', () => {
    let taken = 0;
    fc.assert(
      fc.property(fc.constantFrom(...MODELS), request, (model, body) => {
        let encoded;
        try {
          encoded = encodedFor(model, body as unknown as Partial<ChatRequest>);
        } catch (error) {
          // Newer models do not go on with an answer; nothing else is refused.
          if (!(error instanceof EncodeError)) throw error;
          expect(error.message).toContain('for the model to go on with');
          return;
        }
        taken += 1;
        expect(problemsOfBody(encoded)).toEqual([]);
      }),
      runs(1_500),
    );
    expect(taken).toBeGreaterThan(inProportion(1_000));
  });

  it('is found out when its body is one that the API refuses', () => {
    const body = encodedFor('claude-opus-4-8', {});
    expect(problemsOfBody(body)).toEqual([]);
    const user = { role: 'user', content: [{ type: 'text', text: 'Hi' }] };
    const asking = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'b', input: {} }] };
    for (const broken of [
      { ...body, seed: 1 },
      { ...body, messages: [user, user] },
      { ...body, messages: [user, asking, user] },
      { ...body, messages: [{ role: 'user', content: [{ type: 'text', text: ' ' }] }] },
      { ...body, thinking: { type: 'enabled', budget_tokens: 200_000 } },
      { ...body, tool_choice: { type: 'auto' } },
    ]) {
      expect(problemsOfBody(broken)).not.toEqual([]);
    }
  });
});

/** Answers as the API gives them: thinking, at most one text, and calls, in any order that a turn may have. */
const answer = fc
  .array(
    fc.oneof(
      fc.record({ type: fc.constant('thinking'), thinking: words, signature: fc.base64String({ minLength: 4 }) }),
      fc.record({ type: fc.constant('redacted_thinking'), data: fc.base64String({ minLength: 4 }) }),
      fc.record({
        type: fc.constant('tool_use'),
        name: fc.constantFrom('add', 'ring'),
        input: fc.dictionary(fc.string(), fc.jsonValue()),
      }),
      fc.record({ type: fc.constant('text'), text: fc.string({ minLength: 1 }).filter((text) => text.trim() !== '') }),
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((blocks) => {
    const firstText = blocks.findIndex(({ type }) => type === 'text');
    const calls = blocks.filter(({ type }) => type === 'tool_use');
    const firstCall = blocks.findIndex(({ type }) => type === 'tool_use');
    // Text comes before calls, and once: chat messages cannot say it otherwise.
    const sayable = blocks.filter(
      ({ type }, at) => type !== 'text' || (at === firstText && (firstCall < 0 || at < firstCall)),
    );
    return sayable.map((block) =>
      block.type === 'tool_use' ? { ...block, id: `toolu_${calls.indexOf(block as never)}` } : block,
    );
  })
  .filter((blocks) => blocks.some(({ type }) => type === 'tool_use' || type === 'text'));

describe('an answer', () => {
  it('goes back as it came: thinking and signatures byte for byte and in place, text and calls too', () => {
    fc.assert(
      fc.property(answer, (blocks) => {
        const result = messageResult({ id: 'msg_1', role: 'assistant', content: blocks, stop_reason: 'end_turn' });
        const message = result.choices[0]?.message as unknown as AssistantMessage;
        const results = (message.tool_calls ?? []).map(({ id }) => ({
          role: 'tool' as const,
          tool_call_id: id,
          content: 'done',
        }));
        const history: readonly Message[] = [
          { role: 'user', content: 'Hi' },
          message,
          ...results,
          { role: 'user', content: 'Go on' },
        ];
        const turns = turnsFor('claude-opus-4-8', history) as readonly { readonly content: unknown }[];
        expect(turns[1]?.content).toEqual(JSON.parse(JSON.stringify(blocks)));
      }),
      runs(400),
    );
  });
});
