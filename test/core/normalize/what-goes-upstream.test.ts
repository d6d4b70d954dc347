import { describe, expect, it } from 'vitest';
import { fullBody } from '../../support/chat-bodies.ts';
import { standIn } from '../../support/plugins.ts';
import { allSentUpstream, sentUpstream } from '../../support/sent-upstream.ts';

const SAMPLING = {
  temperature: 0,
  top_p: 1,
  top_k: 0,
  min_p: 0,
  top_a: 0,
  frequency_penalty: 0,
  presence_penalty: 0,
  repetition_penalty: 1,
  logit_bias: { '1': 0 },
  logprobs: false,
  seed: 0,
};

/** Fields of the contract that are for the router alone. */
const ROUTING_FIELDS = [
  'models',
  'provider',
  'plugins',
  'route',
  'preset',
  'transforms',
  'session_id',
  'metadata',
  'trace',
  'debug',
  'stop_server_tools_when',
  'max_tool_calls',
  'include_reasoning',
  'n',
  'prompt',
  'structured_outputs',
];

describe('parameters', () => {
  it('that were left out stay left out', async () => {
    const { body } = await sentUpstream({});
    expect(Object.keys(body).sort()).toEqual(['messages', 'model', 'user']);
    expect(body['model']).toBe('acme/one');
  });

  it('that are null count as left out', async () => {
    const nulls = Object.fromEntries(Object.keys(SAMPLING).map((name) => [name, null]));
    const { body } = await sentUpstream({ ...nulls, stop: null, max_tokens: null, tools: null, response_format: null });
    expect(Object.keys(body).sort()).toEqual(['messages', 'model', 'user']);
  });

  it('that were set go as they are, also those that are zero, one or false', async () => {
    const { body } = await sentUpstream(SAMPLING);
    expect(body).toMatchObject(SAMPLING);
  });

  it('that the endpoint does not support are dropped', async () => {
    const endpoint = { parameters: ['temperature', 'max_tokens'] as const };
    const { body } = await sentUpstream(
      { ...SAMPLING, max_tokens: 5, response_format: { type: 'json_object' } },
      { endpoint },
    );
    expect(Object.keys(body).sort()).toEqual(['max_tokens', 'messages', 'model', 'temperature', 'user']);
  });

  it('that the vendor never takes are dropped', async () => {
    const { body } = await sentUpstream(SAMPLING, { dialect: { unsupported: ['top_k', 'seed'] } });
    expect(body).not.toHaveProperty('top_k');
    expect(body).not.toHaveProperty('seed');
    expect(body).toHaveProperty('top_p', 1);
  });

  it('take the two names of the token limit for one, and the newer name wins', async () => {
    const [old, both] = await allSentUpstream([[{ max_tokens: 7 }], [{ max_tokens: 7, max_completion_tokens: 8 }]]);
    expect(old?.body).toMatchObject({ max_tokens: 7 });
    expect(both?.body).toMatchObject({ max_tokens: 8 });
    expect(both?.body).not.toHaveProperty('max_completion_tokens');
    const renamed = await sentUpstream({ max_tokens: 7 }, { dialect: { maxTokensField: 'max_completion_tokens' } });
    expect(renamed.body).toMatchObject({ max_completion_tokens: 7 });
    expect(renamed.body).not.toHaveProperty('max_tokens');
  });

  it('make one stop sequence a list, and an empty list none', async () => {
    const [one, none] = await allSentUpstream([[{ stop: 'END' }], [{ stop: [] }]]);
    expect(one?.body).toMatchObject({ stop: ['END'] });
    expect(none?.body).not.toHaveProperty('stop');
  });
});

describe('fields for the router alone', () => {
  it('never reach a provider, even when every field is used', async () => {
    const { provider: _, plugins: __, preset: ___, model: ____, models: _____, ...fields } = fullBody();
    const { body } = await sentUpstream(
      { ...fields, n: 3, prompt: 'old', structured_outputs: true, usage: {} },
      { config: { plugins: [standIn('context-compression')] } },
    );
    for (const name of ROUTING_FIELDS) expect(body).not.toHaveProperty(name);
    const text = JSON.stringify(body);
    for (const marker of ['session-1', 'search', 't1']) expect(text).not.toContain(`"${marker}"`);
  });

  it('never reach a provider as preferences, plugins or model lists', async () => {
    const { body } = await sentUpstream({
      models: ['acme/one'],
      provider: { order: ['up'] },
      route: 'fallback',
      transforms: [],
    });
    expect(Object.keys(body).sort()).toEqual(['messages', 'model', 'user']);
  });

  it('stay out of the headers too', async () => {
    const { headers } = await sentUpstream({ session_id: 'session-1', metadata: { team: 'search' }, user: 'lovelace' });
    expect(JSON.stringify(headers)).not.toMatch(/session-1|search|lovelace/);
  });
});

describe('fields that nobody here knows', () => {
  it('pass through untouched', async () => {
    const extra = { vendor_setting: { deep: [1, { a: null }] }, top_n_sigma: 1.5, off: null, 'x-y': '' };
    const { body } = await sentUpstream(extra);
    expect(body).toMatchObject(extra);
  });

  it('cannot take the place of what the router writes', async () => {
    const { body } = await sentUpstream(
      { safety_identifier: 'mallory', stream_options: { include_usage: false } },
      { dialect: { userField: 'safety_identifier' } },
    );
    expect(body['safety_identifier']).toMatch(/^user_[0-9a-f]{32}$/);
    expect(body).not.toHaveProperty('stream_options');
  });

  it('cannot reach a prototype on their way', async () => {
    const fields = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"a":1}}') as Record<string, unknown>;
    const body = JSON.parse(`{"fields":{"__proto__":{"polluted":1}}}`) as { fields: Record<string, unknown> };
    const sent = await sentUpstream({ ...fields, ...body });
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(sent.body).toMatchObject({ constructor: { a: 1 } });
  });
});

describe('the end user', () => {
  const userOf = (request: { readonly body: Readonly<Record<string, unknown>> } | undefined): unknown =>
    request?.body['user'];
  const of = (id: string) => ({ account: { id } });

  it('leaves only as a keyed hash', async () => {
    // Not a name that hexadecimal digits can spell, as `ada`: the hash would contain it now and then.
    const { body, headers } = await sentUpstream({ user: 'lovelace@example.com' });
    expect(userOf({ body })).toMatch(/^user_[0-9a-f]{32}$/);
    expect(JSON.stringify([body, headers])).not.toContain('lovelace');
  });

  it('is the same for one account and another for the next', async () => {
    const [first, again, other, elsewhere] = await allSentUpstream([
      [{ user: 'ada' }, of('a')],
      [{ user: 'ada' }, of('a')],
      [{ user: 'bob' }, of('a')],
      [{ user: 'ada' }, of('b')],
    ]);
    expect(userOf(again)).toBe(userOf(first));
    expect(userOf(other)).not.toBe(userOf(first));
    expect(userOf(elsewhere)).not.toBe(userOf(first));
  });

  it('is the account where the request names none, and never its id', async () => {
    const [none, empty, nobody, other] = await allSentUpstream([
      [{}, of('account-1')],
      [{ user: '' }, of('account-1')],
      [{ user: null }, of('account-1')],
      [{}, of('account-2')],
    ]);
    expect(userOf(none)).toMatch(/^user_[0-9a-f]{32}$/);
    expect(userOf(empty)).toBe(userOf(none));
    expect(userOf(nobody)).toBe(userOf(none));
    expect(userOf(other)).not.toBe(userOf(none));
  });

  it('stays the same over restarts when the secret is kept, and changes with it', async () => {
    const under = async (identitySecret: string): Promise<unknown> =>
      userOf(await sentUpstream({ user: 'ada' }, { config: { identitySecret } }));
    const first = await under('secret one, long enough to be one');
    expect(await under('secret one, long enough to be one')).toBe(first);
    expect(await under('secret two, long enough to be one')).not.toBe(first);
  });

  it('is left out for vendors that refuse it', async () => {
    const { body } = await sentUpstream({ user: 'ada' }, { dialect: { userField: 'none' } });
    expect(Object.keys(body).sort()).toEqual(['messages', 'model']);
  });
});

describe('halves of characters', () => {
  it('never go out raw, in texts, keys or unknown fields', async () => {
    const { body } = await sentUpstream({
      messages: [{ role: 'user', content: 'a\ud800b \udc00 \u{1f600} \\ud800' }],
      stop: ['\udfff'],
      vendor_setting: { 'k\ud83d': '\ud83d' },
    });
    expect(body['messages']).toEqual([{ role: 'user', content: 'a\ufffdb \ufffd \u{1f600} \\ud800' }]);
    expect(body['stop']).toEqual(['\ufffd']);
    expect(body['vendor_setting']).toEqual({ 'k\ufffd': '\ufffd' });
  });
});

describe('tools', () => {
  it('of the caller go out without marks that the provider does not know', async () => {
    const parameters = { type: 'object', properties: {} };
    const look = { name: 'look', description: 'Looks.', parameters, strict: true };
    const { body } = await sentUpstream({
      tools: [{ type: 'function', function: look, cache_control: { type: 'ephemeral' }, vendor_mark: 1 }],
      tool_choice: 'required',
      parallel_tool_calls: false,
    });
    expect(body['tools']).toEqual([{ type: 'function', function: look }]);
    expect(body).toMatchObject({ tool_choice: 'required', parallel_tool_calls: false });
  });
});
