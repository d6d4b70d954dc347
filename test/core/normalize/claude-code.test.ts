import { describe, expect, it } from 'vitest';
import { conversationKey } from '../../../src/core/normalize/session.ts';
import { sceneOf } from '../../support/requests.ts';

const scene = sceneOf({ providers: { alpha: { 'acme/one': {} } } });
const line = (hash: string): string =>
  `x-anthropic-billing-header: cc_version=2.1.177.01c; cc_entrypoint=cli; cch=${hash};`;
const hi = { role: 'user', content: 'Hi' } as const;

describe('the line of Claude Code that differs in every request', () => {
  it.each([
    [
      'a block of its own',
      (hash: string) => [
        { type: 'text', text: line(hash) },
        { type: 'text', text: 'You are.' },
      ],
    ],
    ['the first line of a text', (hash: string) => `${line(hash)}\nYou are.`],
  ])('is left out as %s, and so of the key of the conversation', (_name, content) => {
    const messages = ['97bd6', '0aaa9'].map(
      (hash) => scene.request({ messages: [{ role: 'system', content: content(hash) } as never, hi] }).messages,
    );
    expect(messages[0]).toEqual(messages[1]);
    expect(JSON.stringify(messages[0])).toContain('You are.');
    expect(JSON.stringify(messages[0])).not.toContain('billing');
    expect(conversationKey(messages[0] ?? [])).toBe(conversationKey(messages[1] ?? []));
  });

  it('leaves nothing where it is all that there is', () => {
    expect(scene.request({ messages: [{ role: 'system', content: line('97bd6') }, hi] }).messages).toEqual([hi]);
  });

  it('stays where a user says it', () => {
    const said = { role: 'user', content: line('97bd6') } as const;
    expect(scene.request({ messages: [said] }).messages).toEqual([said]);
  });
});

describe("Claude Code's name of the user", () => {
  it.each([
    'user_0a1b_account_1c2d_session_57a121ec-f78c-48c3-a745-e3036a3ecc33',
    '{"device_id":"d","account_uuid":"","session_id":"57a121ec-f78c-48c3-a745-e3036a3ecc33"}',
  ])('names the session: %s', (user) => {
    const id = '57a121ec-f78c-48c3-a745-e3036a3ecc33';
    expect(scene.request({ user }).session).toEqual({ id, key: `session:${id}` });
    expect(scene.request({ user, session_id: 'mine' }).session.id).toBe('mine');
    expect(scene.request({ user }, { sessionHeader: 'theirs' }).session.id).toBe('theirs');
    expect(scene.request({ user, prompt_cache_key: 'cache' }).session).toEqual({ key: 'cache:cache' });
  });

  it('names none in any other form', () => {
    expect(scene.request({ user: 'ada' }).session).toEqual({});
  });
});
