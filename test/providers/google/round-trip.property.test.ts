import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ResultCollector } from '../../../src/core/stream/collect.ts';
import type { AssistantMessage, Message } from '../../../src/protocol/message.ts';
import { decodeGeneration } from '../../../src/providers/google/codec.ts';
import { acceptsOf } from '../../../src/core/accepts.ts';
import { GOOGLE } from '../../../src/providers/accepts/google.ts';
import type { Part } from '../../../src/providers/google/wire.ts';
import {
  type Asked,
  answerContextOf,
  decodeGoogleStream,
  encodedForGoogle,
  turnsOf,
} from '../../support/google-wire.ts';
import { runs } from '../../support/properties.ts';

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const name = fc.stringMatching(/^[a-zA-Z0-9_-]{1,20}$/);
const signature = fc.base64String({ minLength: 4, maxLength: 40 });
const args = fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), {
  maxKeys: 3,
  noNullPrototype: true,
});
const MODELS = [
  'gemini-3-flash',
  'gemini-4-hydrogen',
  'gemini-2.5-flash',
  'gemini-2.5-pro',
  'gemini-2.0-flash',
  'gemma-3-27b-it',
];

const dataUrl = fc.base64String({ minLength: 4, maxLength: 20 }).map((data) => `data:image/png;base64,${data}`);
const contentPart = fc.oneof(
  text.map((one) => ({ type: 'text' as const, text: one })),
  dataUrl.map((url) => ({ type: 'image_url' as const, image_url: { url } })),
  fc
    .base64String({ minLength: 4 })
    .map((data) => ({ type: 'input_audio' as const, input_audio: { data, format: 'wav' } })),
  dataUrl.map((url) => ({ type: 'video_url' as const, video_url: { url } })),
  dataUrl.map((data) => ({ type: 'file' as const, file: { filename: 'a.pdf', file_data: data } })),
);
const content = fc.oneof(text, fc.array(contentPart, { minLength: 1, maxLength: 3 }));

const toolCall = fc.record({
  id: fc.uuid(),
  type: fc.constant('function' as const),
  function: fc.record({
    name,
    arguments: fc.oneof(
      args.map((one) => JSON.stringify(one)),
      text,
    ),
  }),
});

/** Calls, and their results in any order. */
const toolTurn = fc
  .record({ calls: fc.array(toolCall, { minLength: 1, maxLength: 3 }), said: fc.option(text), result: content })
  .chain(({ calls, said, result }) =>
    fc
      .shuffledSubarray(calls, { minLength: calls.length })
      .map((shuffled): Message[] => [
        { role: 'assistant', content: said, tool_calls: calls },
        ...shuffled.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: result })),
      ]),
  );

const otherTurn = fc
  .oneof(
    text.map((said): Message => ({ role: 'system', content: said })),
    content.map((said): Message => ({ role: 'user', content: said })),
    fc
      .record({ said: fc.option(text), refusal: fc.option(text) })
      .map(({ said, refusal }): Message => ({ role: 'assistant', content: said, refusal })),
  )
  .map((message) => [message]);

const messages = fc
  .array(fc.oneof(toolTurn, otherTurn), { minLength: 1, maxLength: 6 })
  .map((turns): Message[] => [...turns.flat(), { role: 'user', content: 'Go on.' }]);

const rest = fc.record(
  {
    temperature: fc.double({ min: 0, max: 2, noNaN: true }),
    top_p: fc.double({ min: 0, max: 1, noNaN: true }),
    top_k: fc.nat(100),
    max_completion_tokens: fc.integer({ min: 1, max: 100_000 }),
    seed: fc.maxSafeNat(),
    stop: fc.array(text, { minLength: 1, maxLength: 4 }),
    frequency_penalty: fc.integer({ min: -2, max: 2 }),
    reasoning: fc.record(
      { effort: fc.constantFrom('max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'), exclude: fc.boolean() },
      { requiredKeys: [] },
    ),
    tools: fc.array(
      fc
        .record({ name, parameters: fc.constantFrom({}, { type: 'object', properties: { a: { const: 1 } } }) })
        .map((declared) => ({ type: 'function' as const, function: declared })),
      { minLength: 1, maxLength: 3 },
    ),
    tool_choice: fc.constantFrom('auto', 'none', 'required'),
    response_format: fc.constantFrom(
      { type: 'json_object' },
      { type: 'json_schema', json_schema: { name: 'a', schema: { $schema: 'x', anyOf: [{ const: 'y' }] } } },
    ),
    modalities: fc.constantFrom(['text'], ['text', 'image']),
    service_tier: fc.constantFrom('flex', 'priority', 'default', 'auto'),
    web_search_options: fc.constant({}),
    user: text,
  },
  { requiredKeys: [] },
);

describe('any request', () => {
  it('becomes one that Google accepts', () => {
    fc.assert(
      fc.property(messages, rest, fc.constantFrom(...MODELS), fc.boolean(), (said, more, model, vertex) => {
        // Encoding for tests checks against the strict schema of the wire.
        const body = encodedForGoogle({ ...(more as Asked), messages: said }, { model, vertex });
        expect(body.contents.length).toBeGreaterThan(0);
      }),
      runs(300),
    );
  });

  it('loses no text, no call and no result', () => {
    fc.assert(
      fc.property(messages, fc.constantFrom(...MODELS), (said, model) => {
        const body = encodedForGoogle({ messages: said }, { model });
        const parts = [
          ...(body.systemInstruction?.parts ?? []),
          ...body.contents.flatMap((turn) => turn.parts),
        ] as Part[];
        const texts = parts.map((part) => part.text ?? '').join('\n');
        for (const { role, content: one, ...message } of said) {
          const refusal = 'refusal' in message ? message.refusal : null;
          if (typeof one === 'string' && role !== 'tool') expect(texts).toContain(one);
          else if (role === 'assistant' && one === null && refusal != null) expect(texts).toContain(refusal);
        }
        const calls = said.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []));
        const ids = calls.map(({ id }) => id);
        expect(parts.flatMap(({ functionCall: call }) => call?.id ?? [])).toEqual(ids);
        expect(parts.flatMap(({ functionResponse: result }) => result?.id ?? [])).toEqual(ids);
        const signed = parts.filter(
          ({ functionCall: call, thoughtSignature: mark }) => call !== undefined && mark !== undefined,
        );
        if (acceptsOf(GOOGLE, model).reasoning.history !== 'required') expect(signed).toEqual([]);
      }),
      runs(150),
    );
  });
});

/** What a model says: thoughts, text and calls, some of them signed, in the order in which Google's models say it. */
const modelTurn = fc
  .record({
    thoughts: fc.array(fc.record({ text, thoughtSignature: signature }, { requiredKeys: ['text'] }), { maxLength: 2 }),
    texts: fc.array(fc.record({ text, thoughtSignature: signature }, { requiredKeys: ['text'] }), { maxLength: 3 }),
    calls: fc.uniqueArray(fc.record({ id: fc.uuid(), name: fc.stringMatching(/^[a-z_]{1,9}$/), args }), {
      selector: ({ id }) => id,
      maxLength: 3,
    }),
    last: fc.option(signature, { nil: undefined }),
    first: signature,
  })
  .filter(({ texts, calls }) => texts.length + calls.length > 0)
  .map(({ thoughts, texts, calls, last, first }): Part[] => [
    ...thoughts.map((thought) => ({ ...thought, thought: true as const })),
    ...texts,
    ...(last === undefined ? [] : [{ text: '', thoughtSignature: last }]),
    ...calls.map((functionCall, index) => ({ functionCall, ...(index === 0 ? { thoughtSignature: first } : {}) })),
  ]);

/** Neighbours without a signature say the same as one part; a signed thought ends what it signs. */
function joined(parts: readonly Part[]): Part[] {
  const all: Part[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    const open = last?.text !== undefined && last.thoughtSignature === undefined && last.thought === part.thought;
    const joins = open && part.text !== undefined && (part.thought === true || part.thoughtSignature === undefined);
    if (joins) all[all.length - 1] = { ...last, ...part, text: `${last.text}${part.text}` };
    else all.push(part);
  }
  return all;
}

function sentBack(message: AssistantMessage): readonly object[] {
  return turnsOf([{ role: 'user', content: 'Hi' }, message])[1]?.parts ?? [];
}

describe('any answer', () => {
  const answerOf = (parts: readonly Part[], finishReason?: string): object => ({
    candidates: [{ content: { parts, role: 'model' }, ...(finishReason && { finishReason }) }],
  });

  it('goes back to Google as it came, whole or streamed', async () => {
    await fc.assert(
      fc.asyncProperty(modelTurn, async (parts) => {
        const whole = decodeGeneration(JSON.stringify(answerOf(parts, 'STOP')), answerContextOf());
        if (!whole.ok) throw new Error(whole.failure.message);
        const expected = joined(parts);
        expect(sentBack(whole.result.choices[0]?.message as AssistantMessage)).toEqual(expected);

        const chunks = [...parts.map((part) => answerOf([part])), answerOf([], 'STOP')];
        const bytes = chunks.map((chunk) => new TextEncoder().encode(`data: ${JSON.stringify(chunk)}\n\n`));
        const collector = new ResultCollector();
        for (const piece of await decodeGoogleStream(bytes)) collector.add(piece);
        expect(sentBack(collector.result().choices[0]?.message as AssistantMessage)).toEqual(expected);
      }),
      runs(150),
    );
  });

  it('means the same whole and streamed', async () => {
    await fc.assert(
      fc.asyncProperty(modelTurn, async (parts) => {
        const body = JSON.stringify(answerOf(parts, 'STOP'));
        const whole = decodeGeneration(body, answerContextOf());
        const collector = new ResultCollector();
        for (const piece of await decodeGoogleStream([new TextEncoder().encode(`data: ${body}\n\n`)]))
          collector.add(piece);
        expect(whole.ok && whole.result.choices).toEqual(collector.result().choices);
      }),
      runs(100),
    );
  });
});
