import * as fc from 'fast-check';
import { ResponseStream } from 'openai/lib/responses/ResponseStream';
import { describe, expect, it } from 'vitest';
import { RESPONSES } from '../../../src/formats/responses/responses.ts';
import { escapeText } from '../../../src/core/stream/pieces.ts';
import type { ResultMessage } from '../../../src/protocol/chat-result.ts';
import type { ChatChunk, Delta } from '../../../src/protocol/chunk.ts';
import type { JsonObject } from '../../../src/protocol/json.ts';
import { DEFAULT_REQUEST_LIMITS } from '../../../src/protocol/limits.ts';
import { parseChatRequest } from '../../../src/protocol/parse-chat-request.ts';
import type { ReasoningDetail } from '../../../src/protocol/reasoning.ts';
import { runs } from '../../support/properties.ts';
import {
  type Event,
  chunk,
  contextOf,
  eventsIn,
  itemsFor,
  messagesOf,
  understood,
  usageChunk,
  writeTo,
} from '../../support/responses.ts';

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 24 });
const secret = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });

type Block = (index: number) => readonly ReasoningDetail[];

/** Reasoning as OpenAI has it: an id, a summary, and what is encrypted. */
const openaiBlock = fc
  .record({ summary: fc.option(text, { nil: undefined }), data: secret })
  .map(({ summary, data }): Block => (index) => {
    const common = { id: `rs_${index}`, format: 'openai-responses-v1', index };
    return [
      ...(summary === undefined ? [] : [{ type: 'reasoning.summary' as const, summary, ...common }]),
      { type: 'reasoning.encrypted', data, ...common },
    ];
  });

/** Reasoning as Anthropic has it: signed text, or redacted. */
const anthropicBlock = fc
  .oneof(
    fc.record({ type: fc.constant('reasoning.text' as const), text, signature: secret }),
    fc.record({ type: fc.constant('reasoning.encrypted' as const), data: secret }),
  )
  .map((detail): Block => (index) => [{ ...detail, format: 'anthropic-claude-v1', index }]);

const details = fc
  .oneof(
    fc.array(openaiBlock, { minLength: 1, maxLength: 3 }),
    fc.array(anthropicBlock, { minLength: 1, maxLength: 3 }),
  )
  .map((blocks) => blocks.flatMap((block, index) => block(index)));

const calls = fc
  .array(fc.record({ name: fc.stringMatching(/^[a-z_]{1,12}$/), arguments: fc.json({ maxDepth: 2 }) }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((list) => list.map((one, index) => ({ id: `call_${index}`, index, type: 'function' as const, function: one })));

const message: fc.Arbitrary<ResultMessage> = fc
  .record({
    content: fc.option(text, { nil: null }),
    refusal: fc.option(text, { nil: null }),
    thought: fc.option(
      fc.oneof(
        text.map((reasoning) => ({ reasoning })),
        details.map((list) => ({ reasoning_details: list })),
      ),
      { nil: {} },
    ),
    calls: fc.option(calls, { nil: undefined }),
    citation: fc.option(fc.webUrl(), { nil: undefined }),
    image: fc.option(fc.base64String({ minLength: 4, maxLength: 16 }), { nil: undefined }),
  })
  .map((parts) => ({
    role: 'assistant',
    content: parts.content ?? (parts.calls === undefined && parts.refusal === null ? '' : null),
    refusal: parts.refusal,
    reasoning: null,
    ...parts.thought,
    ...(parts.citation === undefined || parts.content === null
      ? {}
      : {
          annotations: [
            { type: 'url_citation', url_citation: { url: parts.citation, title: 'T', start_index: 0, end_index: 1 } },
          ],
        }),
    ...(parts.image === undefined
      ? {}
      : { images: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${parts.image}` } }] }),
    ...(parts.calls === undefined ? {} : { tool_calls: parts.calls }),
  }));

/** An earlier answer of the chat form, as it would be sent back there. */
function sentBack(answer: ResultMessage): JsonObject {
  const { content, refusal, reasoning, reasoning_details: pieces, tool_calls: made, annotations, images } = answer;
  const readable = (pieces ?? []).flatMap((piece) => {
    if (piece.type === 'reasoning.summary') return [piece.summary];
    return piece.type === 'reasoning.text' ? [piece.text ?? ''] : [];
  });
  const plain = reasoning ?? (readable.length > 0 ? readable.join('\n\n') : undefined);
  const parts = [
    ...(content === null || (content === '' && refusal !== null) ? [] : [{ type: 'text', text: content }]),
    ...(refusal === null ? [] : [{ type: 'refusal', refusal }]),
  ];
  const said = parts.length > 1 ? { content: parts } : refusal === null ? { content } : { content: null, refusal };
  return JSON.parse(
    JSON.stringify({
      role: 'assistant',
      ...said,
      reasoning: plain,
      reasoning_details: pieces,
      annotations,
      images,
      tool_calls: made?.map(({ index: _, ...call }) => call),
    }),
  ) as JsonObject;
}

/** A message cut into the chunks of a stream, with the fragments of its calls mixed. */
function chunksOf(answer: ResultMessage, cut: number): readonly (ChatChunk | string)[] {
  const pieces = (whole: string): readonly string[] =>
    Array.from({ length: Math.ceil(whole.length / cut) }, (_, index) => whole.slice(index * cut, (index + 1) * cut));
  const say = (delta: Delta): ChatChunk => chunk(delta);
  const made = answer.tool_calls ?? [];
  const fragments = made.map(({ index, function: { arguments: args } }) =>
    pieces(args).map((piece) => say({ tool_calls: [{ index, function: { arguments: piece } }] })),
  );
  const longest = Math.max(0, ...fragments.map((list) => list.length));
  return [
    ...pieces(answer.reasoning ?? '').map((reasoning) => say({ reasoning })),
    ...(answer.reasoning_details ?? [])
      .flatMap((piece) => fragmentsOf(piece, pieces))
      .map((piece) => say({ reasoning_details: [piece] })),
    ...pieces(answer.content ?? '').map(escapeText),
    ...pieces(answer.refusal ?? '').map((refusal) => say({ refusal })),
    ...(answer.annotations ?? []).map((annotation) => say({ annotations: [annotation] })),
    ...(answer.images ?? []).map((image) => say({ images: [image] })),
    ...made.map(({ id, index, type, function: { name } }) =>
      say({ tool_calls: [{ index, id, type, function: { name, arguments: '' } }] }),
    ),
    ...Array.from({ length: longest }, (_, turn) => fragments.flatMap((list) => list.slice(turn, turn + 1))).flat(),
    chunk({ content: '' }, { finish_reason: made.length > 0 ? 'tool_calls' : 'stop' }),
    usageChunk(),
  ];
}

function fragmentsOf(piece: ReasoningDetail, pieces: (whole: string) => readonly string[]): readonly ReasoningDetail[] {
  if (piece.type === 'reasoning.summary') return pieces(piece.summary).map((summary) => ({ ...piece, summary }));
  if (piece.type !== 'reasoning.text') return [piece];
  const { signature, ...unsigned } = piece;
  return [
    ...pieces(piece.text ?? '').map((part) => ({ ...unsigned, text: part })),
    { ...unsigned, text: '', signature },
  ];
}

function eventsOf(answer: ResultMessage, cut: number): readonly Event[] {
  const writer = RESPONSES.streamWriter(contextOf());
  return eventsIn(
    chunksOf(answer, cut)
      .map((item) => writeTo(writer, item))
      .join('') + writer.end(),
  );
}

describe('an answer that comes back as input', () => {
  it('says what it said: text, calls, citations, images, and reasoning to the byte', () => {
    fc.assert(
      fc.property(message, (answer) => {
        const [earlier, ...more] = messagesOf([...itemsFor(answer)]);
        expect(more).toEqual([]);
        expect(earlier).toEqual(sentBack(answer));
      }),
      runs(300),
    );
  });

  it('is a conversation that the chat form accepts, with the results of its calls', () => {
    fc.assert(
      fc.property(message, (answer) => {
        const results = (answer.tool_calls ?? []).map(({ id }) => ({
          type: 'function_call_output',
          call_id: id,
          output: 'x',
        }));
        const { chat } = understood({ input: [{ role: 'user', content: 'Hello' }, ...itemsFor(answer), ...results] });
        const checked = parseChatRequest(chat, DEFAULT_REQUEST_LIMITS);
        expect(checked.ok ? 'accepted' : checked.fault.message).toBe('accepted');
      }),
      runs(100),
    );
  });
});

describe('a stream', () => {
  it('ends in the same answer as a whole one, however it was cut', () => {
    fc.assert(
      fc.property(message, fc.integer({ min: 1, max: 9 }), (answer, cut) => {
        const response = eventsOf(answer, cut).at(-1)?.['response'] as JsonObject;
        expect(response['output']).toEqual(itemsFor(answer));
      }),
      runs(200),
    );
  });

  it('tells of every item what its deltas add up to, between its beginning and its end', () => {
    fc.assert(
      fc.property(message, fc.integer({ min: 1, max: 9 }), (answer, cut) => {
        const events = eventsOf(answer, cut);
        expect(events.map((event) => event['sequence_number'])).toEqual(events.map((_, index) => index));
        const sums = new Map<string, string>();
        for (const event of events) {
          const { type, item_id: id, content_index: content, summary_index: summary } = event;
          const key = JSON.stringify([type.replace(/\.(?:delta|done)$/, ''), id, content, summary]);
          if (type.endsWith('.delta')) sums.set(key, (sums.get(key) ?? '') + (event['delta'] as string));
          else if (type.endsWith('.done') && sums.has(key)) {
            expect(event['text'] ?? event['refusal'] ?? event['arguments']).toBe(sums.get(key));
          }
        }
      }),
      runs(100),
    );
  });

  it('is followed by the openai package without a complaint', async () => {
    await fc.assert(
      fc.asyncProperty(message, fc.integer({ min: 1, max: 9 }), async (answer, cut) => {
        const lines = eventsOf(answer, cut).map((event) => `${JSON.stringify(event)}\n`);
        const source = new Response(lines.join('')).body;
        if (source === null) throw new Error('no body');
        const final = await ResponseStream.fromReadableStream(source).finalResponse();
        expect(final.output_text).toBe(answer.content ?? '');
        expect(final.output).toHaveLength(itemsFor(answer).length);
      }),
      runs(60),
    );
  });
});
