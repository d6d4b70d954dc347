import { describe, expect, it } from 'vitest';
import { messagesToChat } from '../../../src/formats/messages/to-chat.ts';
import { DEFAULT_REQUEST_LIMITS } from '../../../src/protocol/limits.ts';
import type { NativeRequest } from '../../../src/contracts/request.ts';

type Body = Readonly<Record<string, unknown>>;

function translate(fields: Body): ReturnType<typeof messagesToChat> {
  const body = { max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }], ...fields };
  return messagesToChat(body, DEFAULT_REQUEST_LIMITS, new Set(['moderation']));
}

function nativeOf(fields: Body = {}): Omit<NativeRequest, 'apiFormat'> | undefined {
  const translated = translate(fields);
  if (!translated.ok) throw new Error(translated.fault.message);
  return translated.value.native;
}

describe('the body for an endpoint that speaks Messages', () => {
  it('is what the caller sent, without what only the router reads', () => {
    const own = {
      model: 'acme/one',
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      thinking: { type: 'adaptive', display: 'omitted' },
      context_management: { edits: [] },
      something_new: { at: 'it' },
    };
    const routing = { models: ['b/two'], provider: {}, session_id: 's', user: 'ada', trace: {}, debug: {} };
    expect(nativeOf({ ...own, ...routing, metadata: { user_id: 'ada', team: 'ops' } })).toEqual({
      body: {
        max_tokens: 100,
        messages: [{ role: 'user', content: 'Hello' }],
        ...own,
        metadata: { user_id: 'ada' },
      },
      requiredBy: undefined,
    });
  });

  it.each([
    ['standard_only', 'standard_only'],
    ['default', 'standard_only'],
    ['auto', 'auto'],
    ['flex', undefined],
  ])('has the tier %s as %s', (asked, sent) => {
    expect(nativeOf({ service_tier: asked })?.body['service_tier']).toBe(sent);
  });

  it('has no thinking of other makers, and no turn that was nothing else', () => {
    const theirs = { type: 'thinking', thinking: 'a', signature: 'EqQB' };
    const unsigned = { type: 'thinking', thinking: 'b', signature: '' };
    const sealed = { type: 'redacted_thinking', data: 'router.v1:{"type":"reasoning.encrypted","data":"x"}' };
    const messages = [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: [unsigned, sealed] },
      { role: 'assistant', content: [unsigned, theirs, sealed, { type: 'text', text: 'Hi' }] },
    ];
    expect(nativeOf({ messages })?.body['messages']).toEqual([
      messages[0],
      { role: 'assistant', content: [theirs, { type: 'text', text: 'Hi' }] },
    ]);
  });

  it('has ids of calls as Anthropic takes them, the same for call and result', () => {
    const exchange = (id: string): readonly Body[] => [
      { role: 'assistant', content: [{ type: 'tool_use', id, name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'x' }] },
    ];
    expect(nativeOf({ messages: exchange('toolu_1') })?.body['messages']).toEqual(exchange('toolu_1'));
    const messages = nativeOf({ messages: exchange('functions.f:0') })?.body['messages'];
    const [call, result] = (messages ?? []) as unknown as readonly {
      content: readonly { id?: string; tool_use_id?: string }[];
    }[];
    expect(call?.content[0]?.id).toMatch(/^functions_f_0_[0-9a-f]{8}$/);
    expect(result?.content[0]?.tool_use_id).toBe(call?.content[0]?.id);
  });

  it.each([
    ['a tool of the router', { tools: [{ type: 'router:datetime' }] }],
    ['a plugin that changes what is sent', { plugins: [{ id: 'file-parser' }] }],
    ['a preset', { preset: 'mine' }],
    ['an option of the chat request', { seed: 1 }],
  ])('is not used with %s', (_what, fields) => {
    expect(nativeOf(fields)).toBeUndefined();
  });

  it.each([
    ['plugins that only route', { plugins: [{ id: 'moderation' }] }],
    ['a plugin that is off', { plugins: [{ id: 'web', enabled: false }] }],
    ['options that are null', { seed: null, preset: null }],
  ])('is used with %s', (_what, fields) => {
    expect(nativeOf(fields)).toBeDefined();
  });
});

function content(...blocks: readonly unknown[]): Body {
  return { messages: [{ role: 'user', content: blocks }] };
}

const FILE = { type: 'file', file_id: 'file_1' };
const CALLED = { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] };

describe('what only an endpoint that speaks Messages understands', () => {
  it.each<[Body, string | undefined]>([
    [{}, undefined],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ stop_sequences: ['a', 'b', 'c', 'd'] }, undefined],
    [{ stop_sequences: ['a', 'b', 'c', 'd', 'e'] }, 'stop_sequences'],
    [{ container: 'c' }, 'container'],
    [{ mcp_servers: [] }, undefined],
    [{ mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'x' }] }, 'mcp_servers'],
    [{ inference_geo: 'us' }, 'inference_geo'],
    [{ inference_geo: 'global' }, undefined],
    [{ tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, undefined],
    [{ tools: [{ type: 'tool_search_tool_regex_20251119', name: 'tool_search' }] }, undefined],
    [{ tools: [{ type: 'bash_20250124', name: 'bash' }] }, 'tools[0].type'],
    [content({ type: 'text', text: 'x' }, { type: 'image', source: FILE }), 'messages[0].content[1].source'],
    [content({ type: 'document', source: FILE }), 'messages[0].content[0].source'],
    [
      content({ type: 'document', source: { type: 'content', content: [{ type: 'image', source: FILE }] } }),
      'messages[0].content[0].source.content[0].source',
    ],
    [content({ type: 'container_upload', file_id: 'file_1' }), 'messages[0].content[0].type'],
    [
      {
        messages: [
          CALLED,
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'tool_reference', tool_name: 'f' }] }],
          },
        ],
      },
      undefined,
    ],
  ])('in %j is found', (fields, path) => {
    expect(nativeOf(fields)?.requiredBy).toBe(path);
  });

  it('cannot be asked for together with what only the router does', () => {
    expect(translate({ container: 'c', plugins: [{ id: 'moderation' }, { id: 'web' }] })).toMatchObject({
      ok: false,
      fault: {
        status: 400,
        path: 'container',
        message:
          'container can only be sent to a provider that supports this API natively, which has no field for plugins[1].',
      },
    });
  });
});
