import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { firstChange } from '../../../src/core/ledger/cache-cause.ts';
import { printOf, writtenPrint } from '../../../src/core/ledger/prompt-print.ts';
import type { Message } from '../../../src/protocol/message.ts';
import type { FunctionTool } from '../../../src/protocol/tools.ts';
import { runs } from '../../support/properties.ts';

const SALT = 77;
const system = (text: string): Message => ({ role: 'system', content: text });
const user = (text: string): Message => ({ role: 'user', content: text });
const assistant = (text: string): Message => ({ role: 'assistant', content: text });
const tool = (name: string, description = 'Does it', most = 9): FunctionTool => ({
  type: 'function',
  function: {
    name,
    description,
    parameters: { type: 'object', properties: { a: { type: 'integer', maximum: most, description: 'How many' } } },
  },
});
const LONG = 'You are a helpful agent.\n'.repeat(150);
const BEFORE = {
  tools: [tool('read'), tool('write')],
  messages: [system(`${LONG}The time is 14:03:22.\nBe brief.`), user('Hi'), assistant('Hello'), user('Go on')],
};
const AFTER = { ...BEFORE, messages: [...BEFORE.messages, assistant('Done'), user('More')] };

type Prompt = typeof BEFORE;

function changeTo(prompt: Prompt): unknown {
  return firstChange(printOf(BEFORE, SALT), printOf(prompt, SALT));
}

describe('where a prompt differs from the one before', () => {
  it('is nowhere, where it goes on', () => {
    expect(changeTo(AFTER)).toBeUndefined();
    expect(changeTo(BEFORE)).toBeUndefined();
  });

  it.each<[string, Prompt, object]>([
    ['a tool in another place', { ...AFTER, tools: BEFORE.tools.toReversed() }, { at: 'tools[0]', change: 'order' }],
    ['another tool', { ...AFTER, tools: [...BEFORE.tools, tool('look')] }, { at: 'tools[2]', change: 'added' }],
    ['a tool less', { ...AFTER, tools: [tool('write')] }, { at: 'tools[0]', change: 'removed' }],
    [
      'other words of a tool',
      { ...AFTER, tools: [tool('read'), tool('write', 'Does it!')] },
      { at: 'tools[1]', change: 'content' },
    ],
    [
      'another number deep in a tool',
      { ...AFTER, tools: [tool('read'), tool('write', 'Does it', 8)] },
      { at: 'tools[1]', change: 'content' },
    ],
    [
      'the time in the instructions',
      { ...AFTER, messages: [system(`${LONG}The time is 14:03:23.\nBe brief.`), ...AFTER.messages.slice(1)] },
      { cause: 'system_changed', at: 'system[0]', line: 151 },
    ],
    [
      'instructions in one line',
      { ...AFTER, messages: [system('Other'), ...AFTER.messages.slice(1)] },
      { cause: 'system_changed', at: 'system[0]' },
    ],
    [
      'an edited message',
      { ...AFTER, messages: AFTER.messages.with(2, assistant('Hello!')) },
      { cause: 'message_edited', at: 'messages[1]' },
    ],
    [
      'a message that is gone',
      { ...AFTER, messages: AFTER.messages.toSpliced(1, 2) },
      { cause: 'message_edited', at: 'messages[0]' },
    ],
  ])('is found: %s', (_, prompt, expected) => {
    expect(changeTo(prompt)).toMatchObject(expected);
  });

  it('is found wherever a character of instructions or tools is another', () => {
    const text = fc.string({ minLength: 1, maxLength: 3_000 });
    fc.assert(
      fc.property(text, fc.nat(), fc.boolean(), (said, place, isTool) => {
        const at = place % said.length;
        const other = `${said.slice(0, at)}${said[at] === 'x' ? 'y' : 'x'}${said.slice(at + 1)}`;
        const promptOf = (one: string): Prompt =>
          isTool ? { ...BEFORE, tools: [tool('read', one)] } : { tools: [], messages: [system(one), user('Hi')] };
        const found = firstChange(printOf(promptOf(said), SALT), printOf(promptOf(other), SALT));
        expect(found?.cause).toBe(isTool ? 'tools_changed' : 'system_changed');
      }),
      runs(300),
    );
  });
});

describe('a print as it is written', () => {
  it('has the same beginning as one that goes on, and no other after a change', () => {
    const [before, after] = [writtenPrint(printOf(BEFORE, SALT)), writtenPrint(printOf(AFTER, SALT))];
    expect(before).toMatch(/^2\.1\.3\./);
    expect(after).toMatch(/^2\.1\.5\./);
    const bytes = (text: string): string => atob(text.split('.')[3] ?? '');
    expect(bytes(after).startsWith(bytes(before))).toBe(true);
    const edited = printOf({ ...AFTER, messages: AFTER.messages.with(1, user('Ho')) }, SALT);
    expect(bytes(writtenPrint(edited)).slice(0, 3)).toBe(bytes(before).slice(0, 3));
    expect(bytes(writtenPrint(edited)).slice(3)).not.toBe(bytes(after).slice(3));
  });

  it('says nothing without the salt', () => {
    expect(writtenPrint(printOf(BEFORE, SALT))).not.toBe(writtenPrint(printOf(BEFORE, SALT + 1)));
  });

  it('stays small', () => {
    const messages = Array.from({ length: 500 }, (_, index) => user(`message ${index}`));
    expect(writtenPrint(printOf({ messages, tools: [] }, SALT)).length).toBeLessThanOrEqual(130);
  });
});
