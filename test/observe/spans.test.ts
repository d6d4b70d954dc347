import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type AttemptEvent, createRouter, definePlugin, fromAiSdk, openaiCompatible, simulated } from 'signalbox';
import { openTelemetry } from 'signalbox/opentelemetry';
import { describe, expect, it } from 'vitest';
import { SECRETS, asking, post, startObservedCell } from '../support/observed-cell.ts';
import { hello, pluginBench, streamed } from '../support/plugins.ts';
import { everythingIn, startTelemetry, timesOf, treeOf } from '../support/telemetry.ts';
import { call, echoTool, turns } from '../support/tools.ts';
import { type UpstreamHandler, answerWith, failWith, sendJson, streamEvents } from '../support/upstream.ts';

const CALLER = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
/** A wait that shows in times, however busy the machine is: timers fire later, never sooner. */
const WAIT_MS = 30;
/** Times come from two clocks of the machine, each rounded for itself. */
const ROUNDING_MS = 2;
const TRACEPARENT = `00-${CALLER.traceId}-${CALLER.spanId}-01`;

describe('the spans of a request', () => {
  it('show its fallback: one for the request and one below it for each attempt, with who, how long and how it ended', async () => {
    await using telemetry = startTelemetry();
    const received: number[] = [];
    const late =
      (handler: UpstreamHandler): UpstreamHandler =>
      (...given) => {
        received.push(Date.now());
        setTimeout(() => handler(...given), WAIT_MS);
      };
    await using cell = await startObservedCell({ first: late(failWith(500)), second: late(answerWith('Hello')) });
    const attempts: AttemptEvent[] = [];
    cell.router.on('attempt', (event) => void attempts.push(event));
    await openTelemetry(cell.router, telemetry);
    const before = Date.now();
    const { status, id } = await post(cell, asking({ temperature: 0.5, max_tokens: 20 }));
    const after = Date.now();

    expect(status).toBe(200);
    expect(treeOf(telemetry.spans)).toEqual(['chat acme/one', '  chat acme/one !', '  chat acme/one']);
    const [failed, good, request] = telemetry.spans;
    if (failed === undefined || good === undefined || request === undefined) throw new Error('three spans');
    expect(request.kind).toBe(SpanKind.INTERNAL);
    expect(request.status.code).toBe(SpanStatusCode.UNSET);
    expect(request.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'acme/one',
      'gen_ai.request.stream': false,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.max_tokens': 20,
      'gen_ai.response.id': id,
      'gen_ai.response.model': 'acme/one',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.provider.name': 'second',
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 5,
      'signalbox.account': 'anonymous',
      'signalbox.attempts': 2,
      'signalbox.cost_usd': 0.00002,
    });
    expect(failed.kind).toBe(SpanKind.CLIENT);
    expect(failed.status).toEqual({ code: SpanStatusCode.ERROR, message: '500 server' });
    expect(failed.attributes).toMatchObject({
      'gen_ai.provider.name': 'first',
      'gen_ai.request.model': 'acme/one',
      'error.type': 'server',
      'http.response.status_code': 500,
      'signalbox.attempt': 1,
      'signalbox.request': id,
    });
    expect(failed.attributes).not.toHaveProperty('gen_ai.response.model');
    expect(good.status.code).toBe(SpanStatusCode.UNSET);
    expect(good.attributes).toMatchObject({
      'gen_ai.provider.name': 'second',
      'gen_ai.response.model': 'acme/one',
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 5,
      'signalbox.attempt': 2,
      'signalbox.cost_usd': 0.00002,
    });

    const [whole, one, two] = [timesOf(request), timesOf(failed), timesOf(good)];
    expect(whole.start).toBeGreaterThanOrEqual(before - 2);
    expect(whole.end).toBeLessThanOrEqual(after + 2);
    expect(one.start).toBeGreaterThanOrEqual(whole.start - ROUNDING_MS);
    expect(two.start).toBeGreaterThanOrEqual(one.end - ROUNDING_MS);
    expect(whole.end).toBeGreaterThanOrEqual(two.end - ROUNDING_MS);
    // The tracer's clock and ours agree on when the providers had the requests, and on how long that took.
    const [firstAt = 0, secondAt = 0] = received;
    expect(firstAt).toBeGreaterThan(one.start - 2);
    expect(firstAt).toBeLessThan(one.end + 2);
    expect(secondAt).toBeGreaterThan(two.start - 2);
    expect(secondAt).toBeLessThan(two.end + 2);
    for (const { durationMs } of attempts) {
      expect(durationMs).toBeGreaterThan(WAIT_MS - 2);
      expect(durationMs).toBeLessThan(after - before + 2);
    }
    for (const { start, end } of [one, two]) expect(end - start).toBeGreaterThan(WAIT_MS - 2);
  });

  it('go on a trace that came over HTTP, and send each provider the span of its own attempt', async () => {
    await using telemetry = startTelemetry();
    await using cell = await startObservedCell();
    await openTelemetry(cell.router, telemetry);
    await post(cell, asking(), { traceparent: TRACEPARENT, tracestate: 'acme=1', baggage: 'mail=lena' });
    const [failed, good, request] = telemetry.spans.map((span) => ({
      ...span.spanContext(),
      parent: span.parentSpanContext,
    }));
    expect(request?.parent).toMatchObject({ ...CALLER, isRemote: true });
    expect([failed, good, request].map((span) => span?.traceId)).toEqual(Array(3).fill(CALLER.traceId));
    const sent = [cell.first, cell.second].map(({ requests: [one] }) => one?.headers);
    expect(sent.map((headers) => headers?.['traceparent'])).toEqual(
      [failed, good].map((span) => `00-${CALLER.traceId}-${span?.spanId}-01`),
    );
    expect(sent.map((headers) => headers?.['tracestate'])).toEqual(['acme=1', 'acme=1']);
    expect(sent.map((headers) => headers?.['baggage'])).toEqual([undefined, undefined]);
  });

  it.each(['', 'hello', `00-${'0'.repeat(32)}-${CALLER.spanId}-01`, `${TRACEPARENT}-more`])(
    'begin a trace of their own when the traceparent is no good: "%s"',
    async (traceparent) => {
      await using telemetry = startTelemetry();
      await using cell = await startObservedCell();
      await openTelemetry(cell.router, telemetry);
      const { status } = await post(cell, asking(), { traceparent });
      expect(status).toBe(200);
      expect(telemetry.spans.at(-1)?.parentSpanContext).toBeUndefined();
    },
  );

  it('stand below the span in which a program asks, whatever came from elsewhere', async () => {
    await using telemetry = startTelemetry();
    await using cell = await startObservedCell();
    await openTelemetry(cell.router, telemetry);
    const traceContext = { traceparent: TRACEPARENT };
    await telemetry.within('import figures', async () => {
      await Promise.all([cell.router.chat(asking(), { traceContext }), streamed(cell.router, asking())]);
    });
    expect(treeOf(telemetry.spans)).toEqual([
      'import figures',
      '  chat acme/one',
      '    chat acme/one !',
      '    chat acme/one',
      '  chat acme/one',
      '    chat acme/one !',
      '    chat acme/one',
    ]);
  });

  it('tell of a stream when its first content came', async () => {
    await using telemetry = startTelemetry();
    let restSentAt = 0;
    let sendRest = (): void => undefined;
    const second: UpstreamHandler = (_, response) => {
      const [role = '', ...rest] = streamEvents('one two', { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 });
      response.write(role);
      setTimeout(() => response.write(rest.splice(0, 1).join('')), WAIT_MS);
      // Only when the first words have arrived: a busy machine may make any two timers fire together.
      sendRest = () => {
        restSentAt = Date.now();
        response.end(rest.join(''));
      };
    };
    await using cell = await startObservedCell({ second });
    await openTelemetry(cell.router, telemetry);
    for await (const chunk of cell.router.stream(asking())) {
      if (!chunk.choices[0]?.delta.content) continue;
      setTimeout(sendRest, WAIT_MS);
      sendRest = () => undefined;
    }
    const [, good, request] = telemetry.spans;
    if (good === undefined || request === undefined) throw new Error('three spans');
    const first = Number(request.attributes['gen_ai.response.time_to_first_chunk']);
    const { start, end } = timesOf(request);
    expect(first * 1_000).toBeGreaterThan(WAIT_MS - 2);
    expect(start + first * 1_000).toBeLessThan(restSentAt - WAIT_MS / 2);
    expect(end).toBeGreaterThan(restSentAt - 2);
    expect(good.attributes['gen_ai.response.time_to_first_chunk']).toBeLessThan(first);
    expect(request.attributes['gen_ai.request.stream']).toBe(true);
    expect(request.attributes['gen_ai.usage.output_tokens']).toBe(2);
    const [point] = await telemetry.points('gen_ai.client.operation.time_to_first_chunk');
    expect(point).toMatchObject({ unit: 's', count: 1, value: first });
  });

  it('end in an error when nobody answers', async () => {
    await using telemetry = startTelemetry();
    await using cell = await startObservedCell({ second: failWith(503) });
    await openTelemetry(cell.router, telemetry);
    const { status } = await post(cell, asking());
    expect(treeOf(telemetry.spans)).toEqual(['chat acme/one !', '  chat acme/one !', '  chat acme/one !']);
    const request = telemetry.spans.at(-1);
    expect(request?.attributes).toMatchObject({
      'http.response.status_code': status,
      'gen_ai.provider.name': 'second',
      'signalbox.attempts': 2,
      'signalbox.committed': false,
    });
    expect(request?.status.message).toBe(`${status} ${String(request?.attributes['error.type'])}`);
  });

  it('are no errors when the caller goes away, and none is left open', async () => {
    await using telemetry = startTelemetry();
    await using cell = await startObservedCell({ first: () => {} });
    await openTelemetry(cell.router, telemetry);
    const controller = new AbortController();
    const asked = cell.router.chat(asking(), { signal: controller.signal });
    await expect.poll(() => cell.first.requests.length).toBe(1);
    controller.abort();
    await expect(asked).rejects.toThrow();
    expect(treeOf(telemetry.spans)).toEqual(['chat acme/one', '  chat acme/one']);
    expect(telemetry.spans.map((span) => span.attributes['error.type'])).toEqual(['aborted', 'client_closed']);
  });

  it('hold those of plugins, of server tools, and of the requests that they make', async () => {
    await using telemetry = startTelemetry();
    const model = turns({ toolCalls: [call('ask', {})] }, 'Done.');
    const shorten = definePlugin({
      id: 'shorten',
      whenItThrows: 'skip',
      parseOptions: (options) => ({ ok: true, options }),
      onRequest: (request) => ({ type: 'continue', change: { messages: request.messages } }),
      onResult: () => {
        throw new Error('a secret of the plugin');
      },
    });
    const ask = echoTool('router:ask', {
      execute: async (_, __, { call: request }) => {
        const inner = await request({ model: 'acme/two', messages: [{ role: 'user', content: 'Sub-question' }] });
        return { result: inner.model, used: { cost: 0.25 } };
      },
    });
    const bench = pluginBench(model.script, { plugins: [shorten], serverTools: [ask] });
    await openTelemetry(bench.router, telemetry);
    await bench.router.chat(hello({ plugins: [{ id: 'shorten' }], tools: [{ type: 'router:ask' }] }));
    expect(treeOf(telemetry.spans)).toEqual([
      'chat acme/one',
      '  plugin shorten onRequest',
      '  chat acme/one',
      '  execute_tool ask',
      '    chat acme/two',
      '      chat acme/two',
      '  chat acme/one',
      '  plugin shorten onResult !',
    ]);
    expect(telemetry.span('execute_tool ask').attributes).toMatchObject({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'ask',
      'signalbox.tool.type': 'router:ask',
      'signalbox.outcome': 'ok',
      'signalbox.service_cost_usd': 0.25,
      'signalbox.model_tokens': expect.any(Number) as number,
      'signalbox.model_cost_usd': expect.any(Number) as number,
    });
    expect(telemetry.span('plugin shorten onRequest').attributes).toMatchObject({ 'signalbox.outcome': 'changed' });
    expect(telemetry.span('plugin shorten onResult').attributes).toMatchObject({ 'signalbox.outcome': 'skipped' });
    expect(everythingIn(telemetry.spans)).not.toContain('a secret of the plugin');
    // The inner request ends while the outer one is at its first attempt of two.
    const numbers = telemetry.spans.map((span) => span.attributes['signalbox.attempt']).filter(Boolean);
    expect(numbers).toEqual([1, 1, 2]);
  });

  it('tell of embeddings, too', async () => {
    await using telemetry = startTelemetry();
    const provider = simulated({ models: { 'acme/vectors': { outputModalities: ['embeddings'] } } });
    const router = createRouter({ providers: [provider] });
    await openTelemetry(router, telemetry);
    await router.embed({ model: 'acme/vectors', input: 'a text' });
    expect(treeOf(telemetry.spans)).toEqual(['embeddings acme/vectors', '  embeddings acme/vectors']);
    const [attempt] = telemetry.spans;
    expect(attempt?.attributes['gen_ai.usage.input_tokens']).toBeGreaterThan(0);
    expect(attempt?.attributes).not.toHaveProperty('gen_ai.usage.output_tokens');
    await router.close();
  });

  it('never hold a prompt, an answer, a key or an end user', async () => {
    await using telemetry = startTelemetry();
    await using cell = await startObservedCell();
    await openTelemetry(cell.router, telemetry);
    await post(cell, asking());
    await post(cell, asking({ stream: true }));
    cell.second.handler = failWith(400, { error: { message: SECRETS.join(' ') } });
    await post(cell, asking());
    const said = everythingIn(telemetry.spans);
    expect(telemetry.spans).toHaveLength(9);
    expect(SECRETS.filter((secret) => said.includes(secret))).toEqual([]);
  });

  it('end with what is attached: nothing follows, nothing stays open, and nobody is told any more', async () => {
    await using telemetry = startTelemetry();
    await using cell = await startObservedCell({ first: () => {} });
    const detach = await openTelemetry(cell.router, telemetry);
    const controller = new AbortController();
    const asked = cell.router.chat(asking(), { signal: controller.signal }).catch(() => undefined);
    await expect.poll(() => cell.first.requests.length).toBe(1);
    detach();
    expect(treeOf(telemetry.spans)).toEqual(['chat acme/one', '  chat acme/one']);
    controller.abort();
    await asked;
    cell.first.handler = cell.second.handler;
    await post(cell, asking());
    expect(telemetry.spans).toHaveLength(2);
    expect(cell.first.requests.at(-1)?.headers).not.toHaveProperty('traceparent');
    expect(cell.router.internals.services.events.heard('request')).toBe(false);
  });

  it('keep to themselves when they are told so', async () => {
    await using telemetry = startTelemetry();
    await using cell = await startObservedCell();
    await openTelemetry(cell.router, { ...telemetry, propagate: false });
    await post(cell, asking(), { traceparent: TRACEPARENT });
    expect(telemetry.spans).toHaveLength(3);
    expect(cell.second.requests[0]?.headers).not.toHaveProperty('traceparent');
  });

  it('go with calls through the AI SDK and with calls for embeddings', async () => {
    await using telemetry = startTelemetry();
    await using cell = await startObservedCell({
      second: (request, response, raw) => {
        const vector = { object: 'embedding', index: 0, embedding: [0.1, 0.2] };
        if (!request.path.endsWith('/embeddings')) return answerWith('Hello')(request, response, raw);
        sendJson(response, 200, { object: 'list', data: [vector], usage: { prompt_tokens: 2, total_tokens: 2 } });
      },
    });
    const { baseURL } = cell.second;
    const sdk = createOpenAICompatible({ name: 'sdk', baseURL });
    const router = createRouter({
      providers: [
        fromAiSdk({ slug: 'sdk', headers: { 'x-own': 'yes' }, models: { 'sdk/one': sdk('one') } }),
        openaiCompatible({ slug: 'vec', baseURL, models: { 'vec/one': { outputModalities: ['embeddings'] } } }),
      ],
    });
    await openTelemetry(router, telemetry);
    await router.chat({ model: 'sdk/one', messages: [{ role: 'user', content: 'Hello' }] });
    await router.embed({ model: 'vec/one', input: 'Hello' });
    const ids = telemetry.spans.filter(({ kind }) => kind === SpanKind.CLIENT).map((span) => span.spanContext().spanId);
    const sent = cell.second.requests.map(({ headers }) => headers['traceparent']);
    expect(sent.map((header) => String(header).split('-')[2])).toEqual(ids);
    expect(ids).toHaveLength(2);
    expect(cell.second.requests[0]?.headers['x-own']).toBe('yes');
    await router.close();
  });

  it('call providers as the semantic conventions do', async () => {
    await using telemetry = startTelemetry();
    await using cell = await startObservedCell();
    const { baseURL } = cell.second;
    const router = createRouter({
      providers: [openaiCompatible({ slug: 'xai', name: 'xAI', baseURL, models: { 'x-ai/one': {} } })],
    });
    await openTelemetry(router, telemetry);
    await router.chat({ model: 'x-ai/one', messages: [{ role: 'user', content: 'Hello' }] });
    expect(telemetry.spans.map((span) => span.attributes['gen_ai.provider.name'])).toEqual(['x_ai', 'x_ai']);
    await router.close();
  });
});
