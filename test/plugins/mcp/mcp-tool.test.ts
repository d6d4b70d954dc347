/** Runs in a process of its own: it starts programs, and waits for them to end. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type ChatResult, defaultServerTools, type ServerTool } from 'signalbox';
import { mcpTool, type McpServer, type McpToolOptions } from 'signalbox/mcp';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { hello, pluginBench, streamed } from '../../support/plugins.ts';
import {
  emptyServer,
  type HttpMcpServer,
  liesOf,
  serveAnswers,
  serveHttp,
  serveMcp,
  silenceOf,
  ticketServer,
} from '../../support/mcp-servers.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { call, LOOK_UP, turns } from '../../support/tools.ts';

const PROGRAM = fileURLToPath(new URL('../../fixtures/mcp/program.ts', import.meta.url));
const opened: AsyncDisposable[] = [];

afterEach(async () => {
  vi.doUnmock('@modelcontextprotocol/sdk/client/index.js');
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
});

async function http(serving: Promise<HttpMcpServer>): Promise<HttpMcpServer> {
  const server = await serving;
  opened.push(server);
  return server;
}

const program = (kind: string, ...more: readonly string[]): McpServer => ({
  command: process.execPath,
  args: [PROGRAM, kind, ...more],
  // Programs are given few variables by themselves; this one lets them compile their modules once for all.
  env: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' },
});

/** A router with MCP servers and a model that calls what the test says, turn by turn. */
function bench(
  servers: McpToolOptions['servers'],
  model: ReturnType<typeof turns>,
  more: Partial<McpToolOptions> = {},
) {
  const hosts = Object.values(servers).flatMap((one) => ('url' in one ? [new URL(one.url).host] : []));
  const tool = mcpTool({ servers, outbound: { allowedHosts: hosts }, ...more });
  const made = pluginBench(model.script, { serverTools: defaultServerTools([tool]) });
  opened.push({ [Symbol.asyncDispose]: () => made.router.close() });
  return made;
}

const entry = (server: string, more: object = {}): ServerTool => ({
  type: 'router:mcp',
  parameters: { server, ...more },
});
const asking = (...tools: readonly ServerTool[]) => hello({ tools: [...tools] });

/** Results of calls as the model read them. */
const results = ({ choices }: ChatResult): readonly unknown[] =>
  (choices[0]?.message.reasoning_details ?? []).flatMap((detail) => {
    const { type, result } = detail as { readonly type: string; readonly result?: string };
    return type === 'reasoning.server_tool_call' ? [result] : [];
  });

const offered = ({ requests }: ReturnType<typeof turns>) => requests[0]?.tools.map((tool) => tool.function.name);

/** Both ways to reach the same server. */
const TRANSPORTS: Readonly<Record<string, () => Promise<McpServer>>> = {
  'streamable HTTP': async () => ({ url: (await http(serveMcp(() => ticketServer()))).url }),
  stdio: () => Promise.resolve(program('tickets')),
};

describe.each(Object.entries(TRANSPORTS))('an MCP server over %s', (_, start) => {
  it('offers its tools under names with its own, and runs what the model calls', async () => {
    const model = turns(
      {
        toolCalls: [
          call('tickets__search', { query: 'lamps' }),
          call('tickets__count_open'),
          call('tickets__close'),
          call('tickets__picture'),
          call('tickets__search', { query: 7 }),
        ],
      },
      'Done.',
    );
    const { router } = bench({ tickets: await start() }, model);
    const answer = await router.chat(asking(entry('tickets')));
    expect(offered(model)).toEqual([
      'tickets__search',
      'tickets__count_open',
      'tickets__close',
      'tickets__picture',
      'tickets__wait',
    ]);
    expect(model.requests[0]?.tools[0]?.function).toMatchObject({
      description: 'Finds tickets.',
      parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
    });
    expect(answer.choices[0]?.message.content).toBe('Done.');
    expect(results(answer)).toEqual([
      '2 tickets about lamps',
      '{"open":7}',
      '{"status":"error","error":"Tickets cannot be closed on Mondays"}',
      'A ticket:\n[image image/png, not shown]\na text beside it',
      // The server itself checks what models give.
      expect.stringMatching(/"status":"error".*query/) as string,
    ]);
  });

  it('does the same for a stream', async () => {
    const model = turns({ toolCalls: [call('tickets__search', { query: 'lamps' })] }, 'Two.');
    const { router } = bench({ tickets: await start() }, model);
    const { text } = await streamed(router, asking(entry('tickets')));
    expect(text).toBe('Two.');
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: '2 tickets about lamps' });
  });

  it('offers what the configuration and the request allow', async () => {
    const model = turns('Done.');
    const server = { ...(await start()), tools: ['search', 'close'] };
    const { router, warnings } = bench({ tickets: server }, model);
    await router.chat(asking(entry('tickets', { allowed_tools: ['close'] })));
    expect(offered(model)).toEqual(['tickets__close']);
    expect(warnings).toEqual([]);
    await expect(router.chat(asking(entry('tickets', { allowed_tools: ['wait'] })))).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('tools[0].parameters.allowed_tools[0]') as string,
    });
  });

  it('gives up a call that takes too long, and tells the model', async () => {
    const model = turns({ toolCalls: [call('tickets__wait')] }, 'Gave up.');
    const { router, environment, warnings } = bench({ tickets: await start() }, model);
    const begun = new Promise((resolve) => router.on('tool_start', resolve));
    const answering = router.chat(asking(entry('tickets')));
    await begun;
    await environment.advance(30_000);
    const answer = await answering;
    expect(answer.choices[0]?.message.content).toBe('Gave up.');
    expect(results(answer)).toEqual(['{"status":"error","error":"The tool took too long"}']);
    expect(warnings.map(({ code }) => code)).toEqual(['server_tool_failed']);
  });
});

/** Ways to reach servers that do not behave. */
const BAD: Readonly<Record<string, (kind: 'empty' | 'lies' | 'silence') => Promise<McpServer>>> = {
  'streamable HTTP': async (kind) => {
    const serving = {
      empty: () => serveMcp(emptyServer),
      lies: () => serveAnswers(liesOf),
      silence: () => serveAnswers(silenceOf),
    };
    return { url: (await http(serving[kind]())).url };
  },
  stdio: (kind) => Promise.resolve(program(kind)),
};

describe.each(Object.entries(BAD))('an MCP server over %s that does not behave', (_, start) => {
  it('is an error when it offers nothing, not an answer without tools', async () => {
    const model = turns('Made up.');
    const { router, warnings } = bench({ tickets: await start('empty') }, model);
    await expect(router.chat(asking(entry('tickets')))).rejects.toMatchObject({
      status: 502,
      message: 'The MCP server "tickets" offers no tools that can be used',
    });
    expect(model.requests).toEqual([]);
    expect(warnings).toMatchObject([{ code: 'server_tool_failed' }]);
  });

  it('is an error when it does not say what it offers', async () => {
    const model = turns('Made up.');
    const server = await start('silence');
    const { router, environment } = bench({ tickets: server }, model);
    const answering = router.chat(asking(entry('tickets')));
    const failing = expect(answering).rejects.toMatchObject({
      status: 502,
      message: 'The server tool "router:mcp" did not say in time what it offers',
    });
    // Nothing of the server's can be waited for: what is waited for is that it says nothing.
    await vi.waitFor(() => expect(environment.pendingTimers).toBeGreaterThan(0), 20_000);
    await environment.advance(30_000);
    await failing;
    expect(model.requests).toEqual([]);
  });

  it('is used as far as it tells the truth', async () => {
    const names = ['honest', 'promises', 'shapeless', 'wordless', 'large'];
    const model = turns({ toolCalls: names.map((name) => call(`liar__${name}`)) }, 'Done.');
    const { router, warnings } = bench({ liar: await start('lies') }, model);
    const answer = await router.chat(asking(entry('liar')));
    expect(offered(model)).toEqual(names.map((name) => `liar__${name}`));
    const [honest, promises, shapeless, wordless, large] = results(answer);
    expect(honest).toBe('the truth');
    expect(promises).toContain('does not fit the schema that it declares');
    expect([shapeless, wordless]).toEqual(
      Array(2).fill('{"status":"error","error":"The tool gave a result that is none"}'),
    );
    expect(large).toHaveLength(300_000);
    const [warning] = warnings;
    expect(warnings.map(({ code }) => code)).toEqual(['plugin_notice']);
    expect(warning?.message).toBe(
      'The MCP server "liar" lists tools that are not offered: "list" has a schema that is not one of an object, ' +
        '"text" has a schema that is not one of an object, "none" has a schema that is not one of an object, ' +
        '"huge" has a schema that is too large, "deep" has a schema that is too large, and 3 more',
    );
  });

  it('may answer only so much', async () => {
    const model = turns({ toolCalls: [call('liar__large')] }, 'Done.');
    const { router } = bench({ liar: { ...(await start('lies')), tools: ['large'] } }, model, { maxBytes: 200_000 });
    // The list is large as well, but fits.
    const answer = await router.chat(asking(entry('liar')));
    expect(results(answer)).toEqual([expect.stringContaining('The MCP server \\"liar\\" ') as string]);
  });
});

describe('connections to MCP servers', () => {
  it('are shared, and end with the router', async () => {
    const server = await http(serveMcp(() => ticketServer()));
    const model = turns({ toolCalls: [call('tickets__search', { query: 'a' })] }, 'Done.');
    const { router } = bench({ tickets: { url: server.url } }, model);
    await Promise.all([1, 2, 3].map(() => router.chat(asking(entry('tickets')))));
    expect(server.requests.filter((one) => one === 'POST initialize')).toHaveLength(1);
    expect(server.requests.filter((one) => one === 'POST tools/list')).toHaveLength(1);
    expect(server.requests.filter((one) => one === 'POST tools/call')).toHaveLength(3);
    // Nothing is said of calls that are over.
    expect(server.requests).not.toContain('POST notifications/cancelled');
    expect(server.sessions()).toBe(1);
    await router.close();
    expect([server.sessions(), server.open()]).toEqual([0, 0]);
  });

  it('are made anew when a server has forgotten them, without a word to the model', async () => {
    const server = await http(serveMcp(() => ticketServer()));
    const model = turns({ toolCalls: [call('tickets__search', { query: 'a' })] }, 'Done.');
    const { router } = bench({ tickets: { url: server.url } }, model);
    await router.chat(asking(entry('tickets')));
    server.forget();
    expect(results(await router.chat(asking(entry('tickets'))))).toEqual(['2 tickets about a']);
    expect(server.requests.filter((one) => one === 'POST initialize')).toHaveLength(2);
  });

  it('are asked again for the tools after five minutes', async () => {
    const server = await http(serveMcp(() => ticketServer()));
    const { router, environment } = bench({ tickets: { url: server.url } }, turns('Done.'));
    const lists = () => server.requests.filter((one) => one === 'POST tools/list').length;
    await router.chat(asking(entry('tickets')));
    await environment.advance(299_000);
    await router.chat(asking(entry('tickets')));
    expect(lists()).toBe(1);
    await environment.advance(2_000);
    await router.chat(asking(entry('tickets')));
    expect(lists()).toBe(2);
  });

  it('carry the cancellation of a request', async () => {
    const heard = { cancelled: [] as string[] };
    const server = await http(serveMcp(() => ticketServer(heard)));
    const model = turns({ toolCalls: [call('tickets__wait')] }, 'Done.');
    const { router } = bench({ tickets: { url: server.url } }, model);
    const begun = new Promise((resolve) => router.on('tool_start', resolve));
    const caller = new AbortController();
    const answering = router.chat(asking(entry('tickets')), { signal: caller.signal });
    await begun;
    await vi.waitFor(() => expect(server.requests).toContain('POST tools/call'), 20_000);
    caller.abort(new Error('gone'));
    await expect(answering).rejects.toThrow();
    await vi.waitFor(() => expect(heard.cancelled).toEqual(['wait']), 20_000);
  });

  it('send the headers of the configuration, and say nothing of them in errors', async () => {
    const server = await http(serveAnswers(liesOf));
    const headers = { authorization: 'Bearer secret-of-ours' };
    const { router } = bench({ liar: { url: server.url, headers } }, turns('Done.'));
    await router.chat(asking(entry('liar')));
    expect(server.headers()).toMatchObject(headers);
  });

  it('start a program when it is needed, and end it with the router', async () => {
    using folder = temporaryFolder();
    const file = folder.file('pid');
    const { router } = bench({ tickets: program('tickets', file) }, turns('Done.'));
    await router.chat(hello());
    expect(existsSync(file)).toBe(false);
    await router.chat(asking(entry('tickets')));
    const pid = Number(readFileSync(file, 'utf8'));
    expect(process.kill(pid, 0)).toBe(true);
    await router.close();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  it('start a program again that has ended', async () => {
    using folder = temporaryFolder();
    const file = folder.file('pid');
    const model = turns({ toolCalls: [call('tickets__search', { query: 'a' })] }, 'Done.');
    const { router } = bench({ tickets: program('tickets', file) }, model);
    await router.chat(asking(entry('tickets')));
    const pid = Number(readFileSync(file, 'utf8'));
    process.kill(pid, 'SIGKILL');
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), 20_000);
    expect(results(await router.chat(asking(entry('tickets'))))).toEqual(['2 tickets about a']);
    expect(Number(readFileSync(file, 'utf8'))).not.toBe(pid);
  });
});

describe('an MCP server that never answers', () => {
  it('is left when the router is closed, over streamable HTTP', async () => {
    const server = await http(serveAnswers(() => undefined));
    const { router, environment } = bench({ tickets: { url: server.url } }, turns('Made up.'));
    const failing = expect(router.chat(asking(entry('tickets')))).rejects.toMatchObject({ status: 502 });
    await vi.waitFor(() => expect(server.requests).toEqual(['POST initialize']), 20_000);
    await environment.advance(30_000);
    await failing;
    await router.close();
    await vi.waitFor(() => expect(server.open()).toBe(0), 20_000);
  });

  it('is ended when the router is closed, over stdio', async () => {
    using folder = temporaryFolder();
    const file = folder.file('pid');
    const { router, environment } = bench({ tickets: program('mute', file) }, turns('Made up.'));
    const failing = expect(router.chat(asking(entry('tickets')))).rejects.toMatchObject({ status: 502 });
    await vi.waitFor(() => expect(existsSync(file)).toBe(true), 10_000);
    await environment.advance(30_000);
    await failing;
    const pid = Number(readFileSync(file, 'utf8'));
    await router.close();
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), 10_000);
  });

  it('leaves nothing behind when a request is given up', async () => {
    const server = await http(serveAnswers(silenceOf));
    const { router } = bench({ tickets: { url: server.url } }, turns('Made up.'));
    const caller = new AbortController();
    const failing = expect(router.chat(asking(entry('tickets')), { signal: caller.signal })).rejects.toThrow();
    await vi.waitFor(() => expect(server.requests).toContain('POST tools/list'), 20_000);
    caller.abort(new Error('gone'));
    await failing;
    await router.close();
    await vi.waitFor(() => expect(server.open()).toBe(0), 20_000);
  });
});

describe('what goes wrong with an MCP server', () => {
  it.each<readonly [string, () => McpServer | Promise<McpServer>, string]>([
    ['a program that is not there', () => ({ command: 'no-such-program-here' }), 'cannot be started (ENOENT)'],
    ['a program that ends at once', () => program('crash'), 'ended the connection'],
    ['a server that is not there', () => ({ url: 'http://127.0.0.1:1/mcp' }), 'cannot be reached'],
    [
      'a key that is wrong',
      async () => ({ url: (await http(serveStatus(401))).url }),
      'does not accept the credentials that are configured here (401)',
    ],
    ['a server that fails', async () => ({ url: (await http(serveStatus(500))).url }), 'answered 500'],
    [
      'an address of something else',
      async () => ({ url: (await http(serveStatus(404))).url }),
      'is not at its address, or has ended the session (404)',
    ],
    [
      'a server that speaks something else',
      async () => ({ url: (await http(serveStatus(200))).url }),
      'answered with something that is not MCP',
    ],
  ])('is an error that says so: %s', async (_, server, message) => {
    const model = turns('Made up.');
    const { router } = bench({ tickets: await server() }, model);
    await expect(router.chat(asking(entry('tickets')))).rejects.toMatchObject({
      status: 502,
      message: `The MCP server "tickets" ${message}`,
    });
    expect(model.requests).toEqual([]);
  });

  it('is said with what to install where the package is missing', async () => {
    vi.doMock('@modelcontextprotocol/sdk/client/index.js', () => {
      throw new Error('Cannot find package');
    });
    const { router } = bench({ tickets: program('tickets') }, turns('Done.'));
    await expect(router.chat(asking(entry('tickets')))).rejects.toMatchObject({
      status: 500,
      message: expect.stringContaining('npm install @modelcontextprotocol/sdk') as string,
    });
    // Whoever does not ask for it does not miss it.
    expect((await router.chat(hello())).choices[0]?.message.content).toBe('Done.');
  });
});

/** A server that answers everything with one status, and something that is no JSON-RPC. */
function serveStatus(status: number): Promise<HttpMcpServer> {
  return serveHttp((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end('{"said":"sk-secret"}');
  });
}

describe('a request that offers MCP servers', () => {
  const server: McpServer = { command: 'never-started', tools: ['search'] };
  const { router } = pluginBench('Done.', {
    serverTools: [mcpTool({ servers: { tickets: server, wiki: { command: 'x' } } })],
  });

  it.each<readonly [readonly ServerTool[], string]>([
    [[{ type: 'router:mcp' }], 'tools[0].parameters.server is required'],
    [[entry('ticket')], 'did you mean "tickets"?); it has tickets, wiki'],
    [[entry('constructor')], 'must be an MCP server of this router'],
    [[entry('tickets', { allowed_tools: ['close'] })], 'tools[0].parameters.allowed_tools[0]'],
    [[entry('tickets', { allowed_tools: [] })], 'tools[0].parameters.allowed_tools'],
    [[entry('tickets', { command: 'rm' })], 'tools[0].parameters has a member that is not known here: "command"'],
    [[entry('tickets', { url: 'http://127.0.0.1' })], 'tools[0].parameters has a member that is not known here: "url"'],
    [[entry('tickets'), entry('wiki'), entry('tickets')], 'tools[2].parameters must not ask for "tickets" again'],
  ])('is refused before anything is started: %j', async (tools, message) => {
    await expect(router.chat(asking(...tools))).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(message) as string,
    });
  });

  it('is explained without asking a server', async () => {
    const { candidates } = (await router.explain(asking(entry('tickets')))) as { readonly candidates?: unknown };
    expect(candidates).not.toEqual([]);
  });

  it('may force them where the model has nothing else', async () => {
    const model = turns('Done.');
    const own = bench({ tickets: { url: (await http(serveMcp(() => ticketServer()))).url } }, model);
    const choice = { tool_choice: { type: 'router:mcp' as const } };
    await own.router.chat({ ...asking(entry('tickets')), ...choice });
    expect(model.requests[0]?.toolChoice).toBe('required');
    const mixed = { ...hello({ tools: [entry('tickets'), LOOK_UP] }), ...choice };
    await expect(own.router.chat(mixed)).rejects.toMatchObject({ status: 422 });
  });

  it('never has two functions of one name', async () => {
    const servers = await Promise.all(
      ['a', 'b'].map(async (name) => [name, { url: (await http(serveMcp(() => ticketServer()))).url }] as const),
    );
    const model = turns({ toolCalls: [call('b__search_2', { query: 'x' })] }, 'Done.');
    const { router: one } = bench(Object.fromEntries(servers), model);
    const own = { type: 'function' as const, function: { name: 'b__search' } };
    const tools = [own, entry('a', { allowed_tools: ['search'] }), entry('b', { allowed_tools: ['search'] })];
    const answer = await one.chat(hello({ tools }));
    expect(offered(model)).toEqual(['b__search', 'a__search', 'b__search_2']);
    expect(results(answer)).toEqual(['2 tickets about x']);
  });
});

describe('the options of mcpTool', () => {
  it.each<readonly [unknown, string]>([
    [{}, 'mcpTool.servers must be an object'],
    [{ servers: { 'My Server': { command: 'x' } } }, '1 to 24 lower-case letters'],
    [{ servers: { a__b: { command: 'x' } } }, '1 to 24 lower-case letters'],
    [{ servers: { one: {} } }, 'mcpTool.servers.one.url must be an http(s) address'],
    [{ servers: { one: { comand: 'x' } } }, 'mcpTool.servers.one.comand is not an option'],
    [{ servers: { one: { command: 'x', url: 'http://x' } } }, 'mcpTool.servers.one.url is not an option'],
    [{ servers: { one: { url: 'http://127.0.0.1:3001/mcp' } } }, "allowedHosts: ['127.0.0.1:3001']"],
    [{ servers: { one: { url: 'https://mcp.internal/mcp' } } }, "allowedHosts: ['mcp.internal:443']"],
    [{ servers: { one: { url: 'https://a.example/mcp', headers: { 'a b': 'x' } } } }, 'mcpTool.servers.one.headers'],
  ])('are checked at start: %j', (options, message) => {
    expect(() => mcpTool(options as McpToolOptions)).toThrow(message);
  });

  it('keep values of headers out of errors', () => {
    const make = () => mcpTool({ servers: { one: { url: 'https://a.example', headers: { a: 'secret\nvalue' } } } });
    expect(make).toThrow('mcpTool.servers.one.headers.a');
    expect(make).not.toThrow('secret');
  });
});
