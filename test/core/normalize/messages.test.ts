import type { Message } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { normalizeMessages } from '../../../src/core/normalize/messages.ts';

const MARK = { type: 'ephemeral' } as const;

describe('messages that need no rewriting', () => {
  it('stay the very same objects', () => {
    const messages: Message[] = [
      { role: 'system', content: 'a' },
      { role: 'user', content: [{ type: 'text', text: 'b' }] },
      { role: 'assistant', content: null, reasoning: 'c' },
    ];
    expect(normalizeMessages(messages)).toBe(messages);
  });

  it('stay the very same objects beside others that are rewritten', () => {
    const plain: Message = { role: 'user', content: 'a' };
    expect(normalizeMessages([plain, { role: 'assistant', reasoning_content: 'b' }])[0]).toBe(plain);
  });
});

describe('a deprecated video part', () => {
  it('gets its newer name', () => {
    const video_url = { url: 'https://example.com/a.mp4' };
    expect(normalizeMessages([{ role: 'user', content: [{ type: 'input_video', video_url }] }])).toEqual([
      { role: 'user', content: [{ type: 'video_url', video_url }] },
    ]);
  });
});

describe('a cache mark on a message', () => {
  it('moves to its only text', () => {
    expect(normalizeMessages([{ role: 'user', content: 'a', cache_control: MARK }])).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'a', cache_control: MARK }] },
    ]);
  });

  it('moves to the last of its text parts', () => {
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } } as const;
    const content = [{ type: 'text', text: 'a' } as const, { type: 'text', text: 'b' } as const, image];
    expect(normalizeMessages([{ role: 'user', content, cache_control: MARK }])).toEqual([
      {
        role: 'user',
        content: [{ type: 'text', text: 'a' }, { type: 'text', text: 'b', cache_control: MARK }, image],
      },
    ]);
  });

  it('is dropped where there is no text to carry it', () => {
    expect(normalizeMessages([{ role: 'assistant', content: null, cache_control: MARK }])).toEqual([
      { role: 'assistant', content: null },
    ]);
  });
});

describe('earlier reasoning', () => {
  it('is found under its alias', () => {
    expect(normalizeMessages([{ role: 'assistant', content: 'a', reasoning_content: 'b' }])).toEqual([
      { role: 'assistant', content: 'a', reasoning: 'b' },
    ]);
  });

  it('is taken from `reasoning` when both are there', () => {
    expect(normalizeMessages([{ role: 'assistant', reasoning: 'a', reasoning_content: 'b' }])).toMatchObject([
      { role: 'assistant', reasoning: 'a' },
    ]);
  });
});
