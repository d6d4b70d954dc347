import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AcceptedConversation } from '../../../src/core/accepts.ts';
import { nameOfFile, shapeConversation } from '../../../src/core/conversation/shape.ts';
import type { Message } from '../../../src/protocol/message.ts';
import { runs } from '../../support/properties.ts';

const ALL = { system: true, user: true, assistant: true, tool: true };
const LENIENT: AcceptedConversation = {
  systemTurns: 'anywhere',
  turns: 'any',
  calls: 'many',
  afterResults: 'any',
  lists: ALL,
  nullContent: true,
  media: { user: ['image', 'file'], assistant: [], tool: [] },
  fileNames: 'optional',
  fileAddresses: true,
  prefill: 'plain',
  toolIds: 'any',
  source: 'none',
};
const STRICT: AcceptedConversation = {
  ...LENIENT,
  systemTurns: 'first',
  turns: 'alternating',
  afterResults: 'assistant',
  lists: { system: false, user: false, assistant: false, tool: false },
  fileNames: 'required',
};

describe('the form of a conversation', () => {
  it('gives turns that only call tools an empty text where there must be one, and copies no other', () => {
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } } as const;
    const said: readonly Message[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'Found.' },
    ];
    const shaped = shapeConversation(said, { ...LENIENT, nullContent: false });
    expect(shaped).toEqual(said.with(2, { role: 'assistant', content: '', tool_calls: [call] }));
    for (const index of [0, 1, 3]) expect(shaped[index]).toBe(said[index]);
    expect(shapeConversation(said, LENIENT)).toBe(said);
  });

  it('has instructions in front of the first turn of the user where there is no place for them', () => {
    const shaped = shapeConversation(
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ],
      { ...STRICT, systemTurns: 'none' },
    );
    expect(shaped).toEqual([{ role: 'user', content: 'Be brief.\n\nHi' }]);
  });

  it('keeps marks of blocks where lists are taken', () => {
    const marked = { type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } } as const;
    const messages: readonly Message[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'system', content: [marked] },
      { role: 'user', content: 'Hi' },
    ];
    expect(shapeConversation(messages, { ...LENIENT, systemTurns: 'first' })).toEqual([
      { role: 'system', content: [{ type: 'text', text: 'Be brief.' }, marked] },
      { role: 'user', content: 'Hi' },
    ]);
  });

  it('says who speaks where turns of several users become one', () => {
    const messages: readonly Message[] = [
      { role: 'user', name: 'Ada', content: 'Hi' },
      { role: 'user', name: 'Bob', content: 'Hello' },
    ];
    expect(shapeConversation(messages, STRICT)).toEqual([{ role: 'user', content: 'Ada: Hi\n\nBob: Hello' }]);
  });

  it.each([
    ['data:application/pdf;base64,AA', 'document.pdf'],
    ['data:text/plain,x', 'document.txt'],
    ['data:application/vnd.ms-excel;base64,AA', 'document.bin'],
    ['https://x.test/a/report.docx?x=1', 'report.docx'],
    ['https://x.test/', 'document.pdf'],
  ])('names the file of %s', (address, name) => {
    expect(nameOfFile(address)).toBe(name);
  });

  // No word that the repair adds, such as "the".
  const text = fc.stringMatching(/^[a-m]{3}$/);
  const image = fc.constant({ type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } });
  const parts = fc.array(
    fc.oneof(
      text.map((one) => ({ type: 'text', text: one })),
      image,
    ),
    { minLength: 1, maxLength: 3 },
  );
  const message = fc.oneof(
    fc.record({ role: fc.constantFrom('system', 'developer'), content: text }),
    fc.record({ role: fc.constantFrom('user', 'assistant'), content: fc.oneof(text, parts) }),
  );
  const exchange = fc.tuple(text, fc.oneof(text, parts)).map(([id, content]) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '' } }],
    },
    { role: 'tool', tool_call_id: id, content },
  ]);
  const conversation = fc
    .array(
      fc.oneof(
        message.map((one) => [one]),
        exchange,
      ),
      { minLength: 1, maxLength: 8 },
    )
    .map((all) => [{ role: 'user', content: 'abc' }, ...all.flat()]) as fc.Arbitrary<readonly Message[]>;

  const wordsOf = (messages: readonly Message[]): readonly string[] =>
    messages.flatMap(({ content }) => {
      const texts =
        typeof content === 'string' ? [content] : (content ?? []).map((part) => ('text' in part ? part.text : ''));
      return texts.flatMap((one) => one.match(/\b[a-z]{3}\b/g) ?? []);
    });
  const imagesOf = (messages: readonly Message[]): number =>
    messages
      .flatMap(({ content }) => (Array.isArray(content) ? content : []))
      .filter(({ type }) => type === 'image_url').length;

  it('loses nothing, and is what a strict server takes', () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const shaped = shapeConversation(messages, STRICT);
        const added = new Set(['the', 'result', 'follows', 'next', 'message']);
        const said = wordsOf(shaped).filter((word) => !added.has(word));
        expect([...said].sort()).toEqual([...wordsOf(messages)].sort());
        expect(imagesOf(shaped)).toBe(imagesOf(messages));
        for (const [index, { role, content }] of shaped.entries()) {
          const before = shaped[index - 1]?.role;
          if (role === 'system' || role === 'developer') expect(index).toBe(0);
          if (role === 'user') expect(before).not.toBe('tool');
          if (role === 'user') expect(before).not.toBe('user');
          if (Array.isArray(content))
            expect([role, content.some(({ type }) => type !== 'text')]).toEqual(['user', true]);
        }
        // Nothing is left to do, so prompt caches of providers are of use.
        expect(shapeConversation(shaped, STRICT)).toBe(shaped);
      }),
      runs(500),
    );
  });
});
