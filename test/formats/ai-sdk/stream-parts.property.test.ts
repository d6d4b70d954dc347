import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StreamedPart } from '../../../src/formats/ai-sdk/spec.ts';
import { StreamParts } from '../../../src/formats/ai-sdk/stream-parts.ts';
import type { ChatChunk, Delta } from '../../../src/protocol/chunk.ts';

const word = fc.string({ minLength: 1, maxLength: 4 });
const delta: fc.Arbitrary<Delta> = fc.oneof(
  word.map((content) => ({ content })),
  word.map((reasoning) => ({ reasoning })),
  fc.record({ index: fc.nat(2), text: word }).map(({ index, text }) => ({
    reasoning: text,
    reasoning_details: [{ type: 'reasoning.text' as const, text, index }],
  })),
  fc.record({ index: fc.nat(2), text: word }).map(({ index, text }) => ({
    tool_calls: [{ index, id: `call_${index}`, function: { name: `tool_${index}`, arguments: text } }],
  })),
  fc.constant({}),
);

function chunkOf(one: Delta): ChatChunk {
  const choice = { index: 0, delta: one, finish_reason: null, native_finish_reason: null, logprobs: null };
  return { id: 'gen-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [choice] };
}

function partsOf(deltas: readonly Delta[]): readonly StreamedPart[] {
  const parts = new StreamParts('v4', new Map());
  return [...deltas.flatMap((one) => parts.push(chunkOf(one))), ...parts.end()];
}

const joined = (parts: readonly StreamedPart[], type: string): string =>
  parts.map((part) => (part.type === type && 'delta' in part ? part.delta : '')).join('');

describe('parts of a stream for the AI SDK', () => {
  it('hold every text, thought and argument once and in order', () => {
    fc.assert(
      fc.property(fc.array(delta, { maxLength: 30 }), (deltas) => {
        const parts = partsOf(deltas);
        expect(joined(parts, 'text-delta')).toBe(deltas.map(({ content }) => content ?? '').join(''));
        expect(joined(parts, 'reasoning-delta')).toBe(deltas.map(({ reasoning }) => reasoning ?? '').join(''));
        for (const index of [0, 1, 2]) {
          const fragments = deltas
            .flatMap(({ tool_calls: calls = [] }) => calls)
            .filter((call) => call.index === index);
          const input = fragments.map((call) => call.function?.arguments ?? '').join('');
          const calls = parts.filter((part) => part.type === 'tool-call' && part.toolCallId === `call_${index}`);
          expect(calls).toEqual(
            fragments.length === 0
              ? []
              : [{ type: 'tool-call', toolCallId: `call_${index}`, toolName: `tool_${index}`, input }],
          );
        }
      }),
    );
  });

  it('have sound as one file with what is said in it, and a transcript alone as text', () => {
    const sound = [{ audio: { data: 'UklG', transcript: 'Hel' } }, { audio: { data: 'RgAA', transcript: 'lo' } }];
    expect(partsOf(sound)).toEqual([
      {
        type: 'file',
        mediaType: 'audio/wav',
        data: { type: 'data', data: 'UklGRgAA' },
        providerMetadata: { signalbox: { transcript: 'Hello' } },
      },
    ]);
    expect(partsOf([{ audio: { transcript: 'Hel' } }, { audio: { transcript: 'lo' } }])).toMatchObject([
      { type: 'text-start' },
      { type: 'text-delta', delta: 'Hello' },
      { type: 'text-end' },
    ]);
  });

  it('open and close each block once, with what belongs to it in between', () => {
    fc.assert(
      fc.property(fc.array(delta, { maxLength: 30 }), (deltas) => {
        const open = new Set<string>();
        const seen = new Set<string>();
        for (const part of partsOf(deltas)) {
          if (!('id' in part) || part.type === 'source') continue;
          if (part.type.endsWith('-start')) {
            expect(seen.has(part.id)).toBe(false);
            seen.add(part.id);
            open.add(part.id);
          } else expect(open.has(part.id)).toBe(true);
          if (part.type.endsWith('-end')) open.delete(part.id);
        }
        expect([...open]).toEqual([]);
      }),
    );
  });
});
