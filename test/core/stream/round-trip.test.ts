import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ResultCollector } from '../../../src/core/stream/collect.ts';
import { escapeText, piecesOf, unescapeText } from '../../../src/core/stream/pieces.ts';
import { StreamTracker } from '../../../src/core/stream/stream-tracker.ts';
import type { Choice, FinishReason, ResultMessage } from '../../../src/protocol/chat-result.ts';
import { runs } from '../../support/properties.ts';
import type { StreamPiece, UpstreamResult } from '../../../src/contracts/stream-piece.ts';

function collect(pieces: readonly StreamPiece[]): UpstreamResult {
  const collector = new ResultCollector();
  for (const piece of pieces) collector.add(piece);
  return collector.result();
}

const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 20 });
const maybeText = fc.option(text, { nil: null });

const toolCalls = fc
  .array(fc.record({ id: text, name: text, arguments: fc.json({ maxDepth: 1 }) }), { minLength: 1, maxLength: 4 })
  .map((calls) =>
    calls.map((call, index) => ({
      id: call.id,
      index,
      type: 'function' as const,
      function: { name: call.name, arguments: call.arguments },
    })),
  );

const details = fc
  .array(
    fc.oneof(
      fc.record({ type: fc.constant('reasoning.text' as const), text, signature: fc.option(text, { nil: undefined }) }),
      fc.record({ type: fc.constant('reasoning.summary' as const), summary: text }),
      fc.record({ type: fc.constant('reasoning.encrypted' as const), data: text }),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((list) => list.map((detail, index) => ({ ...detail, index })));

const logprob = fc.record({
  token: text,
  logprob: fc.integer({ min: -20, max: 0 }),
  bytes: fc.constant(null),
  top_logprobs: fc.constant([]),
});

const message: fc.Arbitrary<ResultMessage> = fc
  .record({
    content: maybeText,
    refusal: maybeText,
    reasoning: maybeText,
    calls: fc.option(toolCalls, { nil: undefined }),
    details: fc.option(details, { nil: undefined }),
    image: fc.option(fc.webUrl(), { nil: undefined }),
    citation: fc.option(fc.webUrl(), { nil: undefined }),
    audio: fc.option(fc.record({ id: text, data: text, transcript: text, expires_at: fc.nat() }), { nil: undefined }),
  })
  .map((parts) => ({
    role: 'assistant',
    // An answer without text and without calls is an empty string.
    content: parts.content ?? (parts.calls === undefined ? '' : null),
    refusal: parts.refusal,
    reasoning: parts.reasoning,
    ...(parts.details === undefined ? {} : { reasoning_details: parts.details }),
    ...(parts.citation === undefined
      ? {}
      : { annotations: [{ type: 'url_citation' as const, url_citation: { url: parts.citation } }] }),
    ...(parts.image === undefined ? {} : { images: [{ type: 'image_url' as const, image_url: { url: parts.image } }] }),
    ...(parts.audio === undefined ? {} : { audio: parts.audio }),
    ...(parts.calls === undefined ? {} : { tool_calls: parts.calls }),
  }));

const choice: fc.Arbitrary<Omit<Choice, 'index'>> = fc
  .record({
    message,
    finish_reason: fc.constantFrom<FinishReason>('stop', 'length', 'content_filter'),
    native_finish_reason: maybeText,
    logprobs: fc.option(fc.record({ content: fc.array(logprob, { minLength: 1, maxLength: 3 }) }), { nil: null }),
  })
  // A choice ends with calls where it has some.
  .map((one) => ({
    ...one,
    finish_reason: one.finish_reason === 'stop' && one.message.tool_calls?.length ? 'tool_calls' : one.finish_reason,
  }));

const counts = fc.record({ prompt_tokens: fc.nat(), completion_tokens: fc.nat(), total_tokens: fc.nat() });

const result: fc.Arbitrary<UpstreamResult> = fc
  .record({
    choices: fc.array(choice, { minLength: 1, maxLength: 3 }),
    usage: fc.option(counts, { nil: undefined }),
    systemFingerprint: fc.option(text, { nil: undefined }),
    serviceTier: fc.option(text, { nil: undefined }),
    upstreamId: fc.option(text, { nil: undefined }),
  })
  .map(({ choices, ...rest }) => ({ ...rest, choices: choices.map((one, index) => ({ ...one, index })) }));

/** Cuts the text of every delta into single pieces, as a provider would send it. */
function cutUp(pieces: readonly StreamPiece[]): readonly StreamPiece[] {
  return pieces.flatMap((piece): readonly StreamPiece[] => {
    if (typeof piece === 'string' || piece.type !== 'delta') return [piece];
    const { content, reasoning, tool_calls: calls, ...rest } = piece.delta;
    const { index } = piece;
    return [
      { ...piece, delta: rest },
      ...Array.from(reasoning ?? '', (letter) => ({ type: 'delta' as const, index, delta: { reasoning: letter } })),
      ...Array.from(content ?? '', (letter) =>
        index === 0 ? escapeText(letter) : { type: 'delta' as const, index, delta: { content: letter } },
      ),
      ...(calls ?? []).flatMap((call) => [
        {
          type: 'delta' as const,
          index,
          delta: { tool_calls: [{ ...call, function: { name: call.function?.name ?? '', arguments: '' } }] },
        },
        ...Array.from(call.function?.arguments ?? '', (letter) => ({
          type: 'delta' as const,
          index,
          delta: { tool_calls: [{ index: call.index, function: { arguments: letter } }] },
        })),
      ]),
    ];
  });
}

describe('an answer', () => {
  it('that is scattered and collected is the same answer', () => {
    fc.assert(
      fc.property(result, (one) => {
        expect(collect(piecesOf(one))).toEqual(one);
      }),
      runs(1_000),
    );
  });

  it('is the same however finely it was cut', () => {
    fc.assert(
      fc.property(result, (one) => {
        expect(collect(cutUp(piecesOf(one)))).toEqual(one);
      }),
      runs(500),
    );
  });

  it('is the same when its choices come interleaved', () => {
    fc.assert(
      fc.property(result, fc.infiniteStream(fc.nat(2)), (one, whose) => {
        const pieces = cutUp(piecesOf(one));
        const queues = one.choices.map(({ index }) =>
          pieces.filter((piece) =>
            typeof piece === 'string' ? index === 0 : 'index' in piece && piece.index === index,
          ),
        );
        const others = pieces.filter((piece) => typeof piece !== 'string' && !('index' in piece));
        const woven: StreamPiece[] = [];
        while (queues.some((queue) => queue.length > 0)) {
          const piece = queues[whose.next().value % queues.length]?.shift();
          if (piece !== undefined) woven.push(piece);
        }
        expect(collect([...others, ...woven])).toEqual(one);
      }),
      runs(300),
    );
  });

  it('counts the same number of tokens scattered and cut up', () => {
    const tokensOf = (pieces: readonly StreamPiece[]): number => {
      const tracker = new StreamTracker();
      for (const piece of pieces) {
        if (typeof piece === 'string') tracker.countText(piece);
        else tracker.observe(piece);
      }
      return tracker.likelyTokens;
    };
    fc.assert(
      fc.property(result, (one) => {
        expect(tokensOf(cutUp(piecesOf(one)))).toBe(tokensOf(piecesOf(one)));
      }),
      runs(500),
    );
  });

  it('of many pieces is collected in linear work', () => {
    const collector = new ResultCollector();
    for (let index = 0; index < 200_000; index += 1) collector.add('x');
    expect(collector.result().choices[0]?.message.content).toHaveLength(200_000);
  });
});

describe('escaped text', () => {
  it('is the text again when it is unescaped', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (one) => {
        expect(unescapeText(escapeText(one))).toBe(one);
      }),
      runs(1_000),
    );
  });
});
