import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mayHoldWords } from '../../../src/core/fallback/request-texts.ts';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import { runs } from '../../support/properties.ts';
import { serving } from '../../support/requests.ts';

const scene = serving({ acme: {} });
const WORDS = ['temperature', 'seed', 'stop', 'top_p', 'minLength', 'reasoning_effort', 'presencePenalty'];

const hex = (character: string): string => character.charCodeAt(0).toString(16);

/** Ways in which a text may be written that a server reads as another one. */
const SPELLINGS: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  capitals: (text) => text.toUpperCase(),
  'JSON escapes': (text) => text.replace(/[a-z]/g, (one) => `\\u${hex(one).padStart(4, '0')}`),
  'JSON in JSON': (text) => JSON.stringify(JSON.stringify({ text: `"${text}"` })),
  percent: (text) => text.replace(/[a-z]/g, (one) => `%${hex(one)}`),
  HTML: (text) => text.replace(/[a-z]/g, (one) => `&#x${hex(one)};`),
  'HTML, decimal': (text) => text.replace(/[a-z]/g, (one) => `&#${one.charCodeAt(0)};`),
  'full width': (text) => text.replace(/[a-z]/g, (one) => String.fromCodePoint(one.charCodeAt(0) + 0xfee0)),
  'joiners between': (text) => text.split('').join('\u200b'),
  'more behind it': (text) => `${text}zzz`,
  'more before it': (text) => `zzz${text}`,
};

/** Places of a request where a client's text may stand. */
const PLACES: Readonly<Record<string, (text: string) => Partial<ChatRequest> & Record<string, unknown>>> = {
  message: (content) => ({ messages: [{ role: 'user', content }] }),
  part: (text) => ({ messages: [{ role: 'user', content: [{ type: 'text', text }] }] }),
  'two parts': (text) => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: `Hello ${text.slice(0, 2)}` },
          { type: 'text', text: text.slice(2) },
        ],
      },
    ],
  }),
  'two messages': (text) => ({
    messages: [
      { role: 'user', content: text.slice(0, 3) },
      { role: 'user', content: text.slice(3) },
    ],
  }),
  arguments: (text) => ({
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: JSON.stringify({ text }) } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'ok' },
    ],
  }),
  'description of a tool': (description) => ({ tools: [{ type: 'function', function: { name: 'f', description } }] }),
  'name of a property': (text) => ({
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: { [text]: {} } } } }],
  }),
  'name of a schema': (text) => ({
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { title: text } } },
  }),
  'a field of its own': (text) => ({ chat_mode: { deep: [text] } }),
  'name of a field': (text) => ({ [`x_${text}`]: 1 }),
  metadata: (text) => ({ metadata: { a: text.slice(0, 500) } }),
  stop: (text) => ({ stop: [text] }),
};

describe('a word that a provider names', () => {
  it('is found in a request that says it anywhere, in any spelling', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...WORDS),
        fc.constantFrom(...Object.entries(SPELLINGS)),
        fc.constantFrom(...Object.entries(PLACES)),
        (word, [, spell], [, place]) => {
          const request = scene.request(place(spell(word)));
          return mayHoldWords(request, [word], new Set(['minLength', 'title']));
        },
      ),
      runs(1_500),
    );
  });

  it.each(WORDS)('is not found in requests that only use it: %s', (word) => {
    const request = scene.request({
      temperature: 0,
      seed: 1,
      stop: ['x'],
      top_p: 0.5,
      presence_penalty: 1,
      reasoning_effort: 'low',
      messages: [{ role: 'user', content: 'How is it? Nothing of that is said here.' }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'f',
            parameters: { type: 'object', properties: { a: { type: 'string', minLength: 1, title: 'A' } } },
          },
        },
      ],
    });
    expect(mayHoldWords(request, [word], new Set(['minLength', 'title']))).toBe(false);
  });

  it.each<readonly [string, Partial<ChatRequest>]>([
    [
      'an image',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.test/x.png' } }] }] },
    ],
    ['a long prompt', { messages: [{ role: 'user', content: 'x'.repeat(400_001) }] }],
    ['an earlier answer elsewhere', { previous_response_id: 'resp_1' } as Partial<ChatRequest>],
  ])('may be in %s, whose texts are not looked at', (_what, body) => {
    expect(mayHoldWords(scene.request(body), ['seed'])).toBe(true);
  });

  it('is looked for in little time', () => {
    const request = scene.request({ messages: [{ role: 'user', content: '\\u0061%61&#97;\u200b'.repeat(20_000) }] });
    const { user } = process.cpuUsage();
    mayHoldWords(request, ['seed']);
    expect(process.cpuUsage().user - user).toBeLessThan(250_000);
  });
});
