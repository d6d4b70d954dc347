import { Writable } from 'node:stream';
import pino from 'pino';
import { createRouter, definePlugin, logSink, simulated } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { SECRETS, asking, post, startObservedCell } from '../support/observed-cell.ts';
import { hello, pluginBench } from '../support/plugins.ts';
import { call, echoTool, turns } from '../support/tools.ts';
import { failWith } from '../support/upstream.ts';

type Line = Readonly<Record<string, unknown>> & { readonly level: number; readonly msg: string };

/** pino as programs use it, and what it wrote. */
function logger() {
  let text = '';
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk);
      done();
    },
  });
  return {
    log: pino({ level: 'debug' }, stream),
    get text() {
      return text;
    },
    /** Level, message and some members of each line. */
    lines(...members: readonly string[]) {
      const lines = text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Line);
      return lines.map((line) => [pino.levels.labels[line.level], line.msg, ...members.map((member) => line[member])]);
    },
  };
}

describe('the log sink', () => {
  it('tells of a request and its fallback what an operator needs, at its level', async () => {
    const output = logger();
    await using cell = await startObservedCell({}, { on: logSink(output.log) });
    const { id } = await post(cell, asking());
    expect(output.lines('request', 'provider', 'failure', 'upstreamStatus', 'promptTokens', 'costUsd')).toEqual([
      ['debug', 'request began', id, undefined, undefined, undefined, undefined, undefined],
      ['warn', 'attempt failed', id, 'first', 'server', 500, undefined, undefined],
      ['debug', 'attempt succeeded', id, 'second', undefined, undefined, 10, 0.00002],
      ['info', 'request answered', id, 'second', undefined, undefined, 10, 0.00002],
    ]);
    expect(output.lines('durationMs').at(-1)?.[2]).toBeGreaterThan(0);
  });

  it('tells a failed request, a refused one and a caller who left apart', async () => {
    const output = logger();
    await using cell = await startObservedCell({ second: failWith(500) }, { on: logSink(output.log) });
    await post(cell, asking());
    cell.first.handler = failWith(400);
    cell.second.handler = failWith(400);
    await post(cell, asking());
    cell.first.handler = () => {};
    const controller = new AbortController();
    const before = cell.first.requests.length;
    const asked = cell.router.chat(asking(), { signal: controller.signal }).catch(() => undefined);
    await expect.poll(() => cell.first.requests.length).toBe(before + 1);
    controller.abort();
    await asked;
    const ends = output
      .lines('status')
      .filter(([, message]) => /^(?:request (?:failed|refused)|client disconnected)/.test(String(message)));
    expect(ends).toEqual([
      ['error', 'request failed', 502],
      ['info', 'request refused', 400],
      ['info', 'client disconnected', 499],
    ]);
  });

  it('warns of keys that are refused, of endpoints that are left alone, and of plugins and tools that fail', async () => {
    const output = logger();
    await using cell = await startObservedCell({ first: failWith(401) }, { on: logSink(output.log) });
    await post(cell, asking());
    const thrown = (): never => {
      throw new Error(SECRETS.join(' '));
    };
    const broken = definePlugin({
      id: 'broken',
      whenItThrows: 'skip',
      parseOptions: (options) => ({ ok: true, options }),
      onRequest: thrown,
    });
    const model = turns({ toolCalls: [call('echo', {})] }, 'Done.');
    const serverTools = [echoTool('router:echo', { execute: thrown })];
    const { router } = pluginBench(model.script, { plugins: [broken], serverTools, on: logSink(output.log) });
    await router.chat(hello({ plugins: [{ id: 'broken' }], tools: [{ type: 'router:echo' }] }));
    const warned = output.lines('code', 'cause', 'outcome').filter(([level]) => level === 'warn');
    expect(warned.map(([, message, ...members]) => [message, ...members.filter(Boolean)])).toEqual([
      ['endpoint cools down', 'credentials'],
      [expect.stringContaining('first does not accept its key') as string, 'provider_key'],
      ['attempt failed'],
      [expect.stringContaining('The plugin "broken" threw Error') as string, 'plugin_failed'],
      ['plugin ended', 'skipped'],
      [expect.stringContaining('The server tool "router:echo"') as string, 'server_tool_failed'],
      ['server tool ended', 'failed'],
    ]);
    expect(SECRETS.filter((secret) => output.text.includes(secret))).toEqual([]);
  });

  it('never prints a prompt, an answer, a key, an end user, metadata, a trace or a session', async () => {
    const output = logger();
    await using cell = await startObservedCell({}, { on: logSink(output.log) });
    const secret = {
      trace: { trace_id: 'secret-trace' },
      session_id: 'secret-session',
      metadata: { note: 'secret-note' },
    };
    await post(cell, asking(secret));
    await post(cell, asking({ ...secret, stream: true }));
    for (const status of [400, 401, 403, 404, 422, 429, 500, 503]) {
      cell.first.handler = failWith(status, { error: { message: SECRETS.join(' '), code: 'secret-code' } });
      cell.second.handler = failWith(status, SECRETS.join(' '));
      await post(cell, asking(secret));
    }
    expect(output.lines().length).toBeGreaterThan(20);
    expect([...SECRETS, 'secret'].filter((said) => output.text.includes(said))).toEqual([]);
  });

  it('hears what a router says while it is made, so that nothing goes to the console', async () => {
    const output = logger();
    const router = createRouter({ providers: [simulated()], on: logSink(output.log) });
    router.internals.services.events.emit('warning', { code: 'one', message: 'Something to know', thrown: SECRETS });
    expect(output.lines('code', 'thrown')).toEqual([['warn', 'Something to know', 'one', undefined]]);
    await router.close();
  });
});
