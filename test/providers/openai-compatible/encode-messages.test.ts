import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import { type VendorQuirks, NINE_CHARACTERS } from '../../../src/providers/openai-compatible/vendor-quirks.ts';
import { OPENAI } from '../../../src/providers/accepts/openai.ts';
import { XAI } from '../../../src/providers/accepts/xai.ts';
import { ANY_SERVER } from '../../../src/providers/accepts/any-server.ts';
import { encodeMessages } from '../../../src/providers/openai-compatible/encode-request.ts';
import { ToolIds } from '../../../src/providers/tool-ids.ts';
import type { Accepts } from '../../../src/core/accepts.ts';
import { shapeConversation } from '../../../src/core/conversation/shape.ts';
import { checkConversation } from '../../../src/providers/openai-compatible/encode-message.ts';
import { encodedMessages } from '../../support/encoded.ts';
import { inProportion, runs } from '../../support/properties.ts';

type Messages = ChatRequest['messages'];
type Row = readonly [name: string, quirks: VendorQuirks, message: object, as: object, otherwise: object];

const EPHEMERAL = { type: 'ephemeral' } as const;
const EXPLICIT = { mode: 'explicit' } as const;
const call = (id: string): object => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });

const QUIRKS: readonly Row[] = [
  [
    'the role developer',
    { developerRole: true },
    { role: 'developer', content: 'x' },
    { role: 'developer', content: 'x' },
    { role: 'system', content: 'x' },
  ],
  [
    'no names',
    { messageNames: false },
    { role: 'user', name: 'Ada', content: 'x' },
    { role: 'user', content: 'Ada: x' },
    { role: 'user', name: 'Ada', content: 'x' },
  ],
  [
    'no names, in front of parts',
    { messageNames: false },
    { role: 'user', name: 'Ada', content: [{ type: 'text', text: 'x' }] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Ada:' },
        { type: 'text', text: 'x' },
      ],
    },
    { role: 'user', name: 'Ada', content: [{ type: 'text', text: 'x' }] },
  ],
  [
    'no names, of the system',
    { messageNames: false },
    { role: 'system', name: 'Ada', content: 'x' },
    { role: 'system', content: 'x' },
    { role: 'system', name: 'Ada', content: 'x' },
  ],
  [
    'no names, of the assistant',
    { messageNames: false },
    { role: 'assistant', name: 'Ada', content: 'x' },
    { role: 'assistant', content: 'x' },
    { role: 'assistant', name: 'Ada', content: 'x' },
  ],
  [
    "Anthropic's cache marks",
    { cacheMarks: 'cache_control' },
    { role: 'user', content: [{ type: 'text', text: 'x', cache_control: { ...EPHEMERAL, ttl: '1h' } }] },
    { role: 'user', content: [{ type: 'text', text: 'x', cache_control: { ...EPHEMERAL, ttl: '1h' } }] },
    { role: 'user', content: [{ type: 'text', text: 'x' }] },
  ],
  [
    "Anthropic's cache marks, from OpenAI's",
    { cacheMarks: 'cache_control' },
    { role: 'user', content: [{ type: 'text', text: 'x', prompt_cache_breakpoint: EXPLICIT }] },
    { role: 'user', content: [{ type: 'text', text: 'x', cache_control: EPHEMERAL }] },
    { role: 'user', content: [{ type: 'text', text: 'x' }] },
  ],
  [
    "OpenAI's cache marks, from Anthropic's, without their time",
    { cacheMarks: 'prompt_cache_breakpoint' },
    { role: 'system', content: [{ type: 'text', text: 'x', cache_control: { ...EPHEMERAL, ttl: '1h' } }] },
    { role: 'system', content: [{ type: 'text', text: 'x', prompt_cache_breakpoint: EXPLICIT }] },
    { role: 'system', content: [{ type: 'text', text: 'x' }] },
  ],
  [
    'cache marks, none of which is set',
    { cacheMarks: 'cache_control' },
    { role: 'user', content: [{ type: 'text', text: 'x', cache_control: null, prompt_cache_breakpoint: null }] },
    { role: 'user', content: [{ type: 'text', text: 'x' }] },
    { role: 'user', content: [{ type: 'text', text: 'x' }] },
  ],
  [
    'cache marks on a whole message',
    { cacheMarks: 'cache_control' },
    { role: 'tool', tool_call_id: 'a', content: 'x', cache_control: EPHEMERAL },
    { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'x', cache_control: EPHEMERAL }] },
    { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'x' }] },
  ],
  [
    'images in their original detail',
    { originalImages: true },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,', detail: 'original' } }] },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,', detail: 'original' } }] },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,', detail: 'high' } }] },
  ],
  [
    'earlier reasoning under one name',
    { reasoningHistory: 'reasoning' },
    { role: 'assistant', content: 'x', reasoning: 'r', reasoning_details: [{ type: 'reasoning.text', text: 'r' }] },
    { role: 'assistant', content: 'x', reasoning: 'r' },
    { role: 'assistant', content: 'x' },
  ],
  [
    'earlier reasoning under another name',
    { reasoningHistory: 'reasoning_content' },
    { role: 'assistant', content: 'x', reasoning_content: 'r' },
    { role: 'assistant', content: 'x', reasoning_content: 'r' },
    { role: 'assistant', content: 'x' },
  ],
  [
    'earlier reasoning with its signatures',
    { reasoningHistory: 'reasoning_details' },
    {
      role: 'assistant',
      content: 'x',
      reasoning: 'r',
      reasoning_details: [
        { type: 'reasoning.text', text: 'r', signature: 'c2ln+/=' },
        { type: 'reasoning.encrypted', data: 'd' },
      ],
    },
    {
      role: 'assistant',
      content: 'x',
      reasoning: 'r',
      reasoning_details: [
        { type: 'reasoning.text', text: 'r', signature: 'c2ln+/=' },
        { type: 'reasoning.encrypted', data: 'd' },
      ],
    },
    { role: 'assistant', content: 'x' },
  ],
  [
    'short tool call ids',
    { toolCallIds: 'nine-alphanumeric' },
    { role: 'tool', tool_call_id: 'D681PevKs', content: 'x' },
    { role: 'tool', tool_call_id: 'D681PevKs', content: 'x' },
    { role: 'tool', tool_call_id: 'D681PevKs', content: 'x' },
  ],
];

const ALIKE: readonly (readonly [name: string, message: object, as: object])[] = [
  ['text', { role: 'user', content: 'x' }, { role: 'user', content: 'x' }],
  [
    'no content beside tool calls',
    { role: 'assistant', tool_calls: [call('a')] },
    { role: 'assistant', content: null, tool_calls: [call('a')] },
  ],
  [
    'empty content beside tool calls',
    { role: 'assistant', content: '', tool_calls: [call('a')] },
    { role: 'assistant', content: '', tool_calls: [call('a')] },
  ],
  ['nothing at all', { role: 'assistant', content: null }, { role: 'assistant', content: '' }],
  [
    'an empty list of tool calls',
    { role: 'assistant', content: 'x', tool_calls: [] },
    { role: 'assistant', content: 'x' },
  ],
  [
    'a refusal',
    { role: 'assistant', content: null, refusal: 'no' },
    { role: 'assistant', content: null, refusal: 'no' },
  ],
  [
    'a refusal as a part',
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] },
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] },
  ],
  [
    'earlier audio by its id',
    { role: 'assistant', content: null, audio: { id: 'a', data: 'x' } },
    { role: 'assistant', content: null, audio: { id: 'a' } },
  ],
  [
    'parts of every kind',
    {
      role: 'user',
      content: [
        { type: 'text', text: 'x' },
        { type: 'image_url', image_url: { url: 'https://x.test/a.png', detail: 'low' } },
        { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' } },
        { type: 'video_url', video_url: { url: 'https://x.test/a.mp4' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'x' },
        { type: 'image_url', image_url: { url: 'https://x.test/a.png', detail: 'low' } },
        { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' } },
        { type: 'video_url', video_url: { url: 'https://x.test/a.mp4' } },
      ],
    },
  ],
  [
    'members that only this contract knows',
    {
      role: 'assistant',
      content: 'x',
      model: 'a/b',
      annotations: [{ type: 'file' }],
      images: [{ image_url: { url: 'data:,' } }],
      foo: 1,
    },
    { role: 'assistant', content: 'x' },
  ],
  [
    'the name of a tool',
    { role: 'tool', tool_call_id: 'a', name: 'f', content: 'x' },
    { role: 'tool', tool_call_id: 'a', content: 'x' },
  ],
  [
    'members of a tool call that nobody knows',
    { role: 'assistant', tool_calls: [{ ...call('a'), index: 0, extra: 1 }] },
    { role: 'assistant', content: null, tool_calls: [call('a')] },
  ],
];

describe('a dialect with', () => {
  it.each(QUIRKS)('%s', (_name, quirks, message, as, otherwise) => {
    expect(encodedMessages([message] as unknown as Messages, quirks, OPENAI)).toEqual([as]);
    expect(encodedMessages([message] as unknown as Messages, {}, OPENAI)).toEqual([otherwise]);
  });
});

describe('a message in every dialect: ', () => {
  it.each(ALIKE)('%s', (_name, message, as) => {
    expect(encodedMessages([message] as unknown as Messages, {}, XAI)).toEqual([as]);
  });

  it('is the very same object when nothing about it needs to change', () => {
    const messages = [
      { role: 'system', content: 'x' },
      { role: 'user', content: 'x' },
      { role: 'assistant', content: 'x' },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
    ] as const;
    for (const quirks of [
      {},
      { developerRole: true },
      { cacheMarks: 'cache_control' },
      { messageNames: false },
    ] as const) {
      for (const [index, message] of encodeMessages(messages, quirks, ANY_SERVER.all).entries())
        expect(message).toBe(messages[index]);
    }
  });

  it('is not changed where it stands', () => {
    for (const [, quirks, message] of QUIRKS) {
      const before = structuredClone(message);
      encodeMessages([message] as unknown as Messages, quirks, ANY_SERVER.all);
      expect(message).toEqual(before);
    }
  });
});

describe('a conversation that every server takes', () => {
  const role = fc.constantFrom('system', 'user', 'assistant', 'developer');
  /** Nearly always the user and the model in turn, with an instruction before them or without one. */
  const conversation = fc
    // At least one turn: no request is without.
    .tuple(fc.boolean(), fc.integer({ min: 1, max: 6 }), fc.option(role, { nil: undefined }), fc.nat(6))
    .map(([isInstructed, turns, odd, place]) => {
      const usual = Array.from({ length: turns }, (_, index) => (index % 2 === 0 ? 'user' : 'assistant'));
      const roles = isInstructed ? ['system', ...usual] : usual;
      return (odd === undefined ? roles : roles.with(place % roles.length, odd)).map((one, index) => ({
        role: one,
        content: `text ${index}`,
      })) as unknown as Messages;
    });
  const { all } = ANY_SERVER;
  const accepted = fc
    .record({
      systemTurns: fc.constantFrom('anywhere', 'first', 'none', 'top', 'top-or-between'),
      turns: fc.constantFrom('any', 'with-user', 'alternating'),
      afterResults: fc.constantFrom('any', 'assistant'),
      prefill: fc.constantFrom('refused', 'prefix', 'plain'),
      nullContent: fc.boolean(),
    })
    .map((some): Accepts => ({ ...all, conversation: { ...all.conversation, ...some } }));

  it('is sent as it is only where shaping it would change nothing', () => {
    let same = 0;
    fc.assert(
      fc.property(conversation, accepted, (said, accepts) => {
        let sent: readonly unknown[] | undefined;
        try {
          sent = encodeMessages(said, {}, accepts);
        } catch {
          return;
        }
        if (sent !== said) return;
        same += 1;
        expect(() => checkConversation(said, accepts.conversation)).not.toThrow();
        expect(shapeConversation(said, accepts.conversation)).toBe(said);
      }),
      runs(2_000),
    );
    expect(same).toBeGreaterThan(inProportion(200));
  });
});

describe('short tool call ids', () => {
  const id = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
    fc.string({ unit: fc.constantFrom('a', 'b', '0'), minLength: 9, maxLength: 9 }),
    fc.nat(1e6).map((number) => `call_${number}`),
  );

  const shortIds = (ids: readonly string[]): readonly string[] => {
    const known = new ToolIds(NINE_CHARACTERS);
    return ids.map((one) => known.call(one));
  };

  it('have nine letters and digits, are never shared by two calls, and lead back to the caller’s', () => {
    fc.assert(
      fc.property(fc.array(id, { maxLength: 200 }), (ids) => {
        const known = new ToolIds(NINE_CHARACTERS);
        const short = ids.map((one) => known.call(one));
        for (const stand of short) expect(stand).toMatch(/^[a-zA-Z0-9]{9}$/);
        expect(new Set(short).size).toBe(ids.length);
        expect(short.map((stand) => known.original(stand))).toEqual(ids);
      }),
      runs(500),
    );
  });

  it('stay the same while a conversation grows, so that its cache is of use', () => {
    fc.assert(
      fc.property(fc.array(id, { maxLength: 50 }), fc.nat(50), (ids, length) => {
        expect(shortIds(ids.slice(0, length))).toEqual(shortIds(ids).slice(0, length));
      }),
      runs(500),
    );
  });

  it('are never shared among a hundred thousand', () => {
    const all = shortIds(Array.from({ length: 100_000 }, (_, index) => `call_${index}`));
    expect(new Set(all).size).toBe(100_000);
  });

  it('are kept when they have nine letters and digits already', () => {
    expect(shortIds(['D681PevKs'])).toEqual(['D681PevKs']);
  });

  it('are given back to the same calls and results', () => {
    const messages = [
      { role: 'user', content: 'Look' },
      { role: 'assistant', tool_calls: [call('call_abc'), call('D681PevKs')] },
      { role: 'tool', tool_call_id: 'D681PevKs', content: 'x' },
      { role: 'tool', tool_call_id: 'call_abc', content: 'y' },
    ];
    const sent = encodedMessages(messages as unknown as Messages, { toolCallIds: 'nine-alphanumeric' }) as {
      tool_calls?: { id: string }[];
      tool_call_id?: string;
    }[];
    const [first, second] = sent[1]?.tool_calls ?? [];
    expect(second?.id).toBe('D681PevKs');
    expect(sent.slice(2).map((message) => message.tool_call_id)).toEqual(['D681PevKs', first?.id]);
  });
});
