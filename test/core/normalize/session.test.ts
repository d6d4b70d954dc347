import { describe, expect, it } from 'vitest';
import { conversationKey } from '../../../src/core/normalize/session.ts';
import type { Message } from '../../../src/protocol/message.ts';
import { sceneOf } from '../../support/requests.ts';

const scene = sceneOf({ providers: { alpha: { 'acme/one': {} } } });

describe('the key of a session', () => {
  it('is session_id before the header before prompt_cache_key', () => {
    const all = { session_id: 'body', prompt_cache_key: 'cache' };
    expect(scene.request(all, { sessionHeader: 'header' }).session).toEqual({ id: 'body', key: 'session:body' });
    expect(scene.request({ prompt_cache_key: 'cache' }, { sessionHeader: 'header' }).session).toEqual({
      id: 'header',
      key: 'session:header',
    });
    expect(scene.request({ prompt_cache_key: 'cache' }).session).toEqual({ key: 'cache:cache' });
    expect(scene.request().session).toEqual({});
  });

  it.each(['', '   '])('is not the empty text %j', (empty) => {
    expect(scene.request({ session_id: empty }, { sessionHeader: 'header' }).session.id).toBe('header');
    expect(scene.request({ session_id: empty, prompt_cache_key: empty }, { sessionHeader: empty }).session).toEqual({});
  });

  it('does not depend on white space around it', () => {
    expect(scene.request({ session_id: ' one ' }).session).toEqual(scene.request({ session_id: 'one' }).session);
  });

  it('never mixes up a session and a cache key of the same text', () => {
    expect(scene.request({ session_id: 'x' }).session.key).not.toBe(
      scene.request({ prompt_cache_key: 'x' }).session.key,
    );
  });

  it('may be 256 characters long in the header, not more', () => {
    expect(scene.request({}, { sessionHeader: 'x'.repeat(256) }).session.id).toHaveLength(256);
    expect(scene.fault({}, { sessionHeader: 'x'.repeat(257) })).toMatchObject({ status: 400, path: 'x-session-id' });
  });
});

describe('the key of a conversation that nobody named', () => {
  const system: Message = { role: 'system', content: 'Be brief.' };
  const question: Message = { role: 'user', content: 'What is a router?' };

  it('stays the same while the conversation goes on', () => {
    const longer: readonly Message[] = [
      system,
      question,
      { role: 'assistant', content: 'A box.' },
      { role: 'user', content: 'And a switch?' },
    ];
    expect(conversationKey(longer)).toBe(conversationKey([system, question]));
  });

  it.each<readonly [string, readonly Message[]]>([
    ['other instructions', [{ role: 'system', content: 'Be long.' }, question]],
    ['no instructions', [question]],
    ['another first question', [system, { role: 'user', content: 'What is a switch?' }]],
  ])('differs with %s', (_name, messages) => {
    expect(conversationKey(messages)).not.toBe(conversationKey([system, question]));
  });

  it('looks at both ends of a long text', () => {
    const long = (end: string): readonly Message[] => [{ role: 'user', content: `${'x'.repeat(5_000)}${end}` }];
    expect(conversationKey(long('a'))).not.toBe(conversationKey(long('b')));
    expect(conversationKey(long('a'))).not.toBe(conversationKey([{ role: 'user', content: `x${'x'.repeat(5_000)}a` }]));
  });
});
