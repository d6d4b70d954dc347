import { describe, expect, it } from 'vitest';
import {
  aboutAnswer,
  contentOf,
  finishReasonOf,
  serverToolParts,
  usageOf,
} from '../../../src/formats/ai-sdk/from-chat.ts';
import type { Choice } from '../../../src/protocol/chat-result.ts';
import type { ReasoningDetail } from '../../../src/protocol/reasoning.ts';

/** The parts of a message, as version 4 has them unless another is named. */
function partsOf(message: Partial<Choice['message']>, version: 'v2' | 'v3' | 'v4' = 'v4') {
  let ids = 0;
  const choice = {
    index: 0,
    finish_reason: 'stop',
    native_finish_reason: 'stop',
    message: { role: 'assistant', content: null, refusal: null, reasoning: null, ...message },
  } as Choice;
  return contentOf(choice, version, new Map(), () => `id-${(ids += 1)}`);
}

describe('a message of the AI SDK', () => {
  it.each([
    ['UklGRg==', 'audio/wav'],
    ['SUQzBA==', 'audio/mpeg'],
    ['//uQxA==', 'audio/mpeg'],
    ['AAAAAA==', 'audio/pcm'],
  ])('has sound %s as %s, with what is said in it', (data, mediaType) => {
    const said = { providerMetadata: { signalbox: { transcript: 'Hello' } } };
    expect(partsOf({ audio: { data, transcript: 'Hello' } })).toEqual([
      { type: 'file', mediaType, data: { type: 'data', data }, ...said },
    ]);
    expect(partsOf({ audio: { data } }, 'v2')).toEqual([{ type: 'file', mediaType, data }]);
    expect(partsOf({ audio: { transcript: 'Hello' } })).toEqual([{ type: 'text', text: 'Hello' }]);
  });

  it('leaves out an image whose address is none, and keeps the rest', () => {
    const images = [{ type: 'image_url' as const, image_url: { url: 'no address' } }];
    expect(partsOf({ content: 'Here.', images })).toEqual([{ type: 'text', text: 'Here.' }]);
  });

  it('has its text and its refusal as one text, and none for an empty one', () => {
    expect(partsOf({ content: 'Green.', refusal: 'No more.' })).toEqual([{ type: 'text', text: 'Green.\nNo more.' }]);
    expect(partsOf({ content: '' })).toEqual([]);
  });

  it('has reasoning before text, each signed piece by itself and carried for the next turn', () => {
    const detail = {
      type: 'reasoning.text',
      text: 'Hm.',
      signature: 's',
      format: 'anthropic-claude-v1',
      index: 0,
    } as const;
    expect(partsOf({ content: 'Green.', reasoning: 'Hm.', reasoning_details: [detail] })).toEqual([
      { type: 'reasoning', text: 'Hm.', providerMetadata: { signalbox: { reasoningDetails: [detail] } } },
      { type: 'text', text: 'Green.' },
    ]);
    expect(partsOf({ reasoning: 'Hm.' })).toEqual([{ type: 'reasoning', text: 'Hm.' }]);
  });

  it('has calls of functions, with an empty object for no arguments', () => {
    const call = (id: string, text: string, index = 0) => ({
      index,
      id,
      type: 'function' as const,
      function: { name: 'look', arguments: text },
    });
    expect(partsOf({ tool_calls: [call('a', ''), call('b', '{"x":1}')] })).toEqual([
      { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: '{}' },
      { type: 'tool-call', toolCallId: 'b', toolName: 'look', input: '{"x":1}' },
    ]);
  });

  it('has an image as a file in the words of its version; an address alone only from version 4 on', () => {
    const inline = { type: 'image_url' as const, image_url: { url: 'data:image/webp;base64,AAAA' } };
    const linked = { type: 'image_url' as const, image_url: { url: 'https://images.example/one.png' } };
    expect(partsOf({ images: [inline] }, 'v3')).toEqual([{ type: 'file', mediaType: 'image/webp', data: 'AAAA' }]);
    expect(partsOf({ images: [inline] })).toEqual([
      { type: 'file', mediaType: 'image/webp', data: { type: 'data', data: 'AAAA' } },
    ]);
    expect(partsOf({ images: [linked] }, 'v3')).toEqual([]);
    expect(partsOf({ images: [linked] })).toMatchObject([{ type: 'file', data: { type: 'url' } }]);
  });

  it('has citations as sources, each with an id', () => {
    const cite = (url: string) => ({
      type: 'url_citation' as const,
      url_citation: { url, title: 'T', start_index: 2, end_index: 4 },
    });
    expect(
      partsOf({ content: 'So.', annotations: [cite('https://a.example'), cite('https://b.example')] }),
    ).toMatchObject([
      { type: 'text' },
      { type: 'source', sourceType: 'url', id: 'id-1', url: 'https://a.example', title: 'T' },
      { type: 'source', id: 'id-2', providerMetadata: { signalbox: { start: 2, end: 4 } } },
    ]);
  });
});

describe('the end of an answer', () => {
  it('is a word in version 2, and a word with the provider’s own from version 3 on', () => {
    expect(finishReasonOf('tool_calls', 'tool_use', 'v2')).toBe('tool-calls');
    expect(finishReasonOf('tool_calls', 'tool_use', 'v3')).toEqual({ unified: 'tool-calls', raw: 'tool_use' });
    expect(finishReasonOf(null, undefined, 'v4')).toEqual({ unified: 'other', raw: undefined });
  });
});

describe('usage', () => {
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 7,
    total_tokens: 17,
    prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 1 },
    completion_tokens_details: { reasoning_tokens: 3 },
  };

  it('adds up: what is cached and thought is part of the whole', () => {
    expect(usageOf(usage, 'v2')).toEqual({
      inputTokens: 10,
      outputTokens: 7,
      totalTokens: 17,
      reasoningTokens: 3,
      cachedInputTokens: 4,
    });
    expect(usageOf(usage, 'v4')).toMatchObject({
      inputTokens: { total: 10, noCache: 5, cacheRead: 4, cacheWrite: 1 },
      outputTokens: { total: 7, text: 4, reasoning: 3 },
    });
  });

  it('is unknown where there is none, and not nothing', () => {
    expect(usageOf(undefined, 'v4')).toEqual({
      inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    });
  });
});

describe('what the router says of an answer', () => {
  it('leaves out what is unknown', () => {
    expect(aboutAnswer({ id: 'gen-1', model: 'acme/one' })).toEqual({ id: 'gen-1', model: 'acme/one' });
    expect(aboutAnswer({ id: 'gen-1', model: 'acme/one', provider: 'Acme', service_tier: 'flex' })).toEqual({
      id: 'gen-1',
      model: 'acme/one',
      provider: 'Acme',
      serviceTier: 'flex',
    });
  });
});

const detail = (members: object): ReasoningDetail => ({
  type: 'reasoning.server_tool_call',
  tool_name: 'datetime',
  arguments: '{"a":1}',
  result: '{"b":2}',
  tool_call_id: 'call_1',
  ...members,
});

describe('calls of server tools', () => {
  it('leave a call and its result, dynamic where the program has no name for it', () => {
    const [call, result] = serverToolParts(detail({}), 0, new Map([['datetime', 'clock']]));
    const both = { toolCallId: 'call_1', toolName: 'clock', providerExecuted: true };
    const carried = { signalbox: { reasoningDetails: [detail({})] } };
    expect(call).toEqual({ type: 'tool-call', ...both, input: '{"a":1}', providerMetadata: carried });
    expect(result).toEqual({ type: 'tool-result', ...both, result: { b: 2 } });
    for (const part of serverToolParts(detail({}), 0, new Map())) {
      expect(part).toMatchObject({ toolName: 'datetime', dynamic: true });
    }
    expect(serverToolParts({ type: 'reasoning.text', text: 'Hm' }, 0, new Map())).toEqual([]);
  });

  it.each([
    ['null', { result: 'null' }],
    ['plain text', { result: 'plain text' }],
    [{ status: 'ok' }, { result: { status: 'ok' } }],
    [
      { status: 'error', error: 'The tool took too long' },
      { result: { status: 'error', error: 'The tool took too long' }, isError: true },
    ],
  ])('give the result %j as %j', (result, part) => {
    const text = typeof result === 'string' ? result : JSON.stringify(result);
    expect(serverToolParts(detail({ result: text }), 0, new Map())[1]).toEqual({
      type: 'tool-result',
      toolCallId: 'call_1',
      toolName: 'datetime',
      providerExecuted: true,
      dynamic: true,
      ...part,
    });
  });

  it('have an id and an input where the provider gave none', () => {
    const [call] = serverToolParts(detail({ tool_call_id: '', arguments: '' }), 3, new Map());
    expect(call).toMatchObject({ toolCallId: 'datetime_3', input: '{}' });
  });
});
