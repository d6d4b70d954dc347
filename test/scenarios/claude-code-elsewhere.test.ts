import { anthropic, createRouter, openaiCompatible, type Provider } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { MOUNTS } from '../support/mounts.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

type Json = Readonly<Record<string, unknown>>;

const MODELS = { 'acme/one': {} };
const chat = (slug: string, { baseURL }: Upstream): Provider => openaiCompatible({ slug, baseURL, models: MODELS });
const line = (hash: string): string =>
  `x-anthropic-billing-header: cc_version=2.1.177.01c; cc_entrypoint=cli; cch=${hash};`;
const bodyWith = (hash: string, rest: object = {}): object => ({
  max_tokens: 100,
  system: [
    { type: 'text', text: line(hash) },
    { type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } },
  ],
  messages: [{ role: 'user', content: 'Hi' }],
  ...rest,
});

interface Scene extends AsyncDisposable {
  send(body: object, headers?: Readonly<Record<string, string>>): Promise<Response>;
}

async function open(
  providers: readonly Provider[],
  onSession: (session: string | undefined) => void = () => {},
): Promise<Scene> {
  const router = createRouter({
    providers,
    allowAnonymous: true,
    on: { warning: () => {}, result: ({ request }) => onSession(request.session) },
  });
  const mounted = await MOUNTS['node']?.(router);
  return {
    send: (body, headers = {}) =>
      fetch(`${mounted?.baseURL}/messages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model: 'acme/one', ...body }),
      }),
    async [Symbol.asyncDispose]() {
      await mounted?.[Symbol.asyncDispose]();
      await router.close();
    },
  };
}

describe('Claude Code with a provider that is not Anthropic', () => {
  it('sends the same beginning of the prompt in every request', async () => {
    await using upstream = await startUpstream();
    await using scene = await open([chat('up', upstream)]);
    for (const hash of ['97bd6', '0aaa9']) {
      for (const stream of [false, true]) await (await scene.send(bodyWith(hash, { stream }))).text();
    }
    const messages = upstream.requests.map(({ body }) => JSON.stringify(body['messages']));
    expect(new Set(messages).size).toBe(1);
    expect(messages[0]).toBe(
      JSON.stringify([
        { role: 'system', content: 'You are an agent.' },
        { role: 'user', content: 'Hi' },
      ]),
    );
  });

  it('goes on after a search for tools, with the names that were found', async () => {
    await using upstream = await startUpstream();
    await using scene = await open([chat('up', upstream)]);
    const found = ['mcp__mail__send', 'mcp__mail__read'].map((name) => ({ type: 'tool_reference', tool_name: name }));
    for (const stream of [false, true]) {
      const response = await scene.send({
        max_tokens: 100,
        stream,
        tools: [
          { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
          { name: 'mcp__mail__send', input_schema: { type: 'object' }, defer_loading: true },
        ],
        messages: [
          { role: 'user', content: 'Send it' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'ToolSearch', input: { query: 'mail' } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: found }] },
        ],
      });
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Hello')]);
      const { messages, tools } = (upstream.requests.at(-1)?.body ?? {}) as {
        messages: readonly Json[];
        tools: readonly Json[];
      };
      expect(messages.at(-1)).toMatchObject({
        role: 'tool',
        content: 'The tool "mcp__mail__send" is available.\nThe tool "mcp__mail__read" is available.',
      });
      expect(tools).toHaveLength(1);
    }
  });

  it.each<readonly [string, object, Readonly<Record<string, string>>]>([
    ['its header', {}, { 'x-claude-code-session-id': 'one' }],
    ['our header before its own', {}, { 'x-claude-code-session-id': 'two', 'x-session-id': 'one' }],
    ['its name of the user', { metadata: { user_id: 'user_a_account_b_session_one' } }, {}],
    ['its newer name of the user', { metadata: { user_id: JSON.stringify({ session_id: 'one' }) } }, {}],
  ])('has the session that is in %s', async (_name, fields, headers) => {
    await using upstream = await startUpstream();
    const sessions: (string | undefined)[] = [];
    await using scene = await open([chat('up', upstream)], (session) => sessions.push(session));
    await (await scene.send(bodyWith('97bd6', fields), headers)).text();
    expect(sessions).toEqual(['one']);
  });
});

describe('Claude Code with Anthropic', () => {
  it('has its body as it wrote it, and is told of no repair', async () => {
    const answer = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'Yes' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 1 },
    };
    await using upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer));
    });
    await using scene = await open([anthropic({ baseURL: upstream.baseURL, apiKey: 'k', models: MODELS })]);
    const messages = [
      { role: 'user', content: 'Look' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'look', input: {} }] },
      { role: 'user', content: 'Never mind' },
    ];
    const body = bodyWith('97bd6', { messages });
    const response = await scene.send(body, { 'x-router-metadata': 'enabled' });
    expect(await response.text()).not.toContain('adjustments');
    const { system, messages: sent } = upstream.requests[0]?.body ?? {};
    expect({ system, messages: sent }).toEqual({ system: (body as Json)['system'], messages });
  });
});
