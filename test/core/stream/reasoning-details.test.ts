import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joinReasoningDetails } from '../../../src/core/stream/collect.ts';
import type { ReasoningDetail } from '../../../src/protocol/reasoning.ts';
import { runs } from '../../support/properties.ts';

describe('fragments of reasoning', () => {
  const cases: readonly (readonly [string, readonly ReasoningDetail[], readonly ReasoningDetail[]])[] = [
    [
      'of the same index become one text',
      [
        { type: 'reasoning.text', index: 0, text: 'Let me ' },
        { type: 'reasoning.text', index: 0, text: 'think.' },
      ],
      [{ type: 'reasoning.text', index: 0, text: 'Let me think.' }],
    ],
    [
      'keep a signature that comes last with the text it signs',
      [
        { type: 'reasoning.text', index: 0, text: 'Yes', format: 'anthropic-claude-v1' },
        { type: 'reasoning.text', index: 0, signature: 'c2ln' },
      ],
      [{ type: 'reasoning.text', index: 0, text: 'Yes', format: 'anthropic-claude-v1', signature: 'c2ln' }],
    ],
    [
      'keep a signature that comes first',
      [
        { type: 'reasoning.text', index: 0, signature: 'c2ln', text: null },
        { type: 'reasoning.text', index: 0, text: 'Yes', signature: null },
      ],
      [{ type: 'reasoning.text', index: 0, signature: 'c2ln', text: 'Yes' }],
    ],
    [
      'keep id and format when later fragments leave them null',
      [
        { type: 'reasoning.summary', index: 0, id: 'rs_1', format: 'openai-responses-v1', summary: 'A' },
        { type: 'reasoning.summary', index: 0, id: null, format: null, summary: 'B' },
      ],
      [{ type: 'reasoning.summary', index: 0, id: 'rs_1', format: 'openai-responses-v1', summary: 'AB' }],
    ],
    [
      'get the id that only a later fragment has',
      [
        { type: 'reasoning.text', index: 0, text: 'a' },
        { type: 'reasoning.text', index: 0, id: 'rs_1', text: 'b' },
        { type: 'reasoning.text', index: 0, id: 'rs_2', text: 'c' },
      ],
      [
        { type: 'reasoning.text', index: 0, id: 'rs_1', text: 'ab' },
        { type: 'reasoning.text', index: 0, id: 'rs_2', text: 'c' },
      ],
    ],
    [
      'take the format that was said last',
      [
        { type: 'reasoning.text', index: 0, format: 'unknown', text: 'a' },
        { type: 'reasoning.text', index: 0, format: 'xai-responses-v1', text: 'b' },
      ],
      [{ type: 'reasoning.text', index: 0, format: 'xai-responses-v1', text: 'ab' }],
    ],
    [
      'of different indexes stay apart',
      [
        { type: 'reasoning.text', index: 0, text: 'a' },
        { type: 'reasoning.text', index: 1, text: 'b' },
      ],
      [
        { type: 'reasoning.text', index: 0, text: 'a' },
        { type: 'reasoning.text', index: 1, text: 'b' },
      ],
    ],
    [
      'of different ids stay apart',
      [
        { type: 'reasoning.text', id: 'a', text: 'a' },
        { type: 'reasoning.text', id: 'b', text: 'b' },
      ],
      [
        { type: 'reasoning.text', id: 'a', text: 'a' },
        { type: 'reasoning.text', id: 'b', text: 'b' },
      ],
    ],
    [
      'of different types stay apart',
      [
        { type: 'reasoning.summary', index: 0, summary: 'a' },
        { type: 'reasoning.text', index: 0, text: 'b' },
      ],
      [
        { type: 'reasoning.summary', index: 0, summary: 'a' },
        { type: 'reasoning.text', index: 0, text: 'b' },
      ],
    ],
    [
      'that are encrypted are never touched',
      [
        { type: 'reasoning.encrypted', index: 0, data: 'AA==' },
        { type: 'reasoning.encrypted', index: 0, data: 'BB==' },
      ],
      [
        { type: 'reasoning.encrypted', index: 0, data: 'AA==' },
        { type: 'reasoning.encrypted', index: 0, data: 'BB==' },
      ],
    ],
    [
      'about server tools are never joined',
      [
        { type: 'reasoning.server_tool_call', tool_name: 'x', arguments: '{}', result: '1' },
        { type: 'reasoning.server_tool_call', tool_name: 'x', arguments: '{}', result: '2' },
      ],
      [
        { type: 'reasoning.server_tool_call', tool_name: 'x', arguments: '{}', result: '1' },
        { type: 'reasoning.server_tool_call', tool_name: 'x', arguments: '{}', result: '2' },
      ],
    ],
  ];
  it.each(cases)('%s', (_name, fragments, expected) => {
    expect(joinReasoningDetails(fragments)).toEqual(expected);
  });

  it('lose no character, however a text was cut', () => {
    const cuts = fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(cuts, (list) => {
        const fragments = list.map((text) => ({ type: 'reasoning.text' as const, index: 0, text }));
        expect(joinReasoningDetails(fragments)).toEqual([{ type: 'reasoning.text', index: 0, text: list.join('') }]);
      }),
      runs(500),
    );
  });

  it('are the same joined once and joined twice, and their input is left alone', () => {
    const fragment = fc.oneof(
      fc.record({ type: fc.constant('reasoning.text' as const), index: fc.nat(2), text: fc.string({ maxLength: 3 }) }),
      fc.record({
        type: fc.constant('reasoning.summary' as const),
        index: fc.nat(2),
        summary: fc.string({ maxLength: 3 }),
      }),
      fc.record({
        type: fc.constant('reasoning.encrypted' as const),
        index: fc.nat(2),
        data: fc.string({ maxLength: 3 }),
      }),
    );
    fc.assert(
      fc.property(fc.array(fragment, { maxLength: 12 }), (fragments) => {
        const before = JSON.stringify(fragments);
        const joined = joinReasoningDetails(fragments);
        expect(joinReasoningDetails(joined)).toEqual(joined);
        expect(JSON.stringify(fragments)).toBe(before);
      }),
      runs(500),
    );
  });
});
