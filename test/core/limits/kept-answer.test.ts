import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isWhole } from '../../../src/core/limits/kept-answer.ts';
import type { NormalizedRequest } from '../../../src/contracts/request.ts';
import type { Choice, ResultMessage } from '../../../src/protocol/chat-result.ts';
import { runs } from '../../support/properties.ts';

const NEEDS = { promptTokens: 10, images: 0, parameters: [] } as unknown as NormalizedRequest['needs'];

const nothing = fc.constantFrom(null, '', ' ', '\n\t');
const words = fc.constantFrom('yes', ' 0', '{}');
const call = { id: 'c', index: 0, type: 'function', function: { name: 'f', arguments: '{}' } } as const;

/** Messages that say something, and messages that do not. */
const empty: fc.Arbitrary<Partial<ResultMessage>> = fc.record(
  {
    content: nothing,
    refusal: nothing,
    reasoning: fc.oneof(nothing, words),
    tool_calls: fc.constant([]),
    images: fc.constant([]),
  },
  { requiredKeys: ['content'] },
);
const full: fc.Arbitrary<Partial<ResultMessage>> = fc.oneof(
  fc.record({ content: words }),
  fc.record({ content: nothing, refusal: words }),
  fc.record({ content: nothing, tool_calls: fc.constant([call]) }),
  fc.record({ content: nothing, audio: fc.constant({ id: 'a' }) }),
);

function choiceOf(message: Partial<ResultMessage>, reason: Choice['finish_reason'], index = 0): Choice {
  const whole = { role: 'assistant', content: null, refusal: null, reasoning: null, ...message } as const;
  return { index, finish_reason: reason, native_finish_reason: reason, logprobs: null, message: whole };
}

const reasons = fc.constantFrom('stop', 'length', 'tool_calls', 'content_filter', 'error', null);

describe('an answer that may be given to equal requests', () => {
  it('has something in each choice, and each ended by itself or at the limit of its request', () => {
    const choices = fc.array(
      fc.record({
        message: fc.oneof(
          empty.map((own) => [own, false] as const),
          full.map((own) => [own, true] as const),
        ),
        reason: reasons,
      }),
      { maxLength: 3 },
    );
    fc.assert(
      fc.property(choices, fc.option(fc.integer({ min: 1 }), { nil: undefined }), (list, outputTokens) => {
        const expected =
          list.length > 0 &&
          list.every(({ message: [, isFull], reason }) => {
            const ends = reason === 'stop' || reason === 'tool_calls';
            return isFull && (ends || (reason === 'length' && outputTokens !== undefined));
          });
        const own = list.map(({ message: [message], reason }, index) => choiceOf(message, reason, index));
        expect(isWhole(own, { needs: { ...NEEDS, outputTokens } })).toBe(expected);
      }),
      runs(1_000),
    );
  });

  it('holds no error', () => {
    const cut = { ...choiceOf({ content: 'half' }, 'stop'), error: { code: 502, message: 'cut' } } as Choice;
    expect(isWhole([cut], { needs: NEEDS })).toBe(false);
  });
});
