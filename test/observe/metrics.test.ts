import { createRouter, openaiCompatible } from 'signalbox';
import { openTelemetry } from 'signalbox/opentelemetry';
import { describe, expect, it } from 'vitest';
import { asking, post, startObservedCell } from '../support/observed-cell.ts';
import { hello, pluginBench } from '../support/plugins.ts';
import { startTelemetry } from '../support/telemetry.ts';
import { call, echoTool, turns } from '../support/tools.ts';
import { answerWith, failWith, startUpstream } from '../support/upstream.ts';

const WHO = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'acme/one' };

describe('the metrics of OpenTelemetry', () => {
  it('count requests, attempts, tokens and cost, each once and by who answered', async () => {
    await using telemetry = startTelemetry();
    await using cell = await startObservedCell();
    await openTelemetry(cell.router, telemetry);
    for (let times = 0; times < 3; times += 1) await post(cell, asking());

    expect(await telemetry.points('gen_ai.client.operation.duration')).toMatchObject([
      {
        unit: 's',
        count: 3,
        attributes: { ...WHO, 'gen_ai.provider.name': 'second', 'signalbox.origin': 'caller' },
      },
    ]);
    // The first provider is tried once, or more often until it is left alone.
    const attempts = await telemetry.points('signalbox.attempt.duration');
    expect(
      attempts.map(({ attributes, count }) => [attributes['gen_ai.provider.name'], attributes['error.type'], count]),
    ).toEqual([
      ['first', 'server', cell.first.requests.length],
      ['second', undefined, 3],
    ]);
    const by = { ...WHO, 'gen_ai.provider.name': 'second' };
    expect(await telemetry.points('gen_ai.client.token.usage')).toMatchObject([
      { unit: '{token}', count: 3, value: 30, attributes: { ...by, 'gen_ai.token.type': 'input' } },
      { unit: '{token}', count: 3, value: 15, attributes: { ...by, 'gen_ai.token.type': 'output' } },
    ]);
    const [cost] = await telemetry.points('signalbox.cost');
    expect(cost?.value).toBeCloseTo(3 * 0.00002, 9);
    expect(cost?.attributes).toEqual(by);
    expect(await telemetry.points('signalbox.requests.active')).toMatchObject([{ value: 0 }]);
    expect(await telemetry.points('gen_ai.client.operation.time_to_first_chunk')).toEqual([]);
  });

  it('tell failed requests and callers who left apart from answers', async () => {
    await using telemetry = startTelemetry();
    await using cell = await startObservedCell({ second: failWith(500) });
    await openTelemetry(cell.router, telemetry);
    await post(cell, asking());
    cell.first.handler = () => {};
    cell.second.handler = () => {};
    const controller = new AbortController();
    const asked = cell.router.chat(asking(), { signal: controller.signal }).catch(() => undefined);
    await expect.poll(async () => (await telemetry.points('signalbox.requests.active'))[0]?.value).toBe(1);
    controller.abort();
    await asked;
    const points = await telemetry.points('gen_ai.client.operation.duration');
    expect(points.map(({ attributes }) => attributes['error.type'])).toEqual(['provider_unavailable', 'client_closed']);
    expect(await telemetry.points('signalbox.requests.active')).toMatchObject([{ value: 0 }]);
  });

  it('count what plugins and tools use beside the models they ask, and nothing twice', async () => {
    await using telemetry = startTelemetry();
    const model = turns({ toolCalls: [call('ask', {})] }, 'Done.');
    const ask = echoTool('router:ask', {
      execute: async (_, __, { call: request }) => {
        const { model: answered } = await request({ model: 'acme/two', messages: [{ role: 'user', content: 'Sub' }] });
        return { result: answered, used: { cost: 0.25 } };
      },
    });
    const { router } = pluginBench(model.script, { serverTools: [ask] });
    await openTelemetry(router, telemetry);
    const { usage } = await router.chat(hello({ tools: [{ type: 'router:ask' }] }));
    const costs = await telemetry.points('signalbox.cost');
    expect(costs.reduce((sum, { value }) => sum + value, 0)).toBeCloseTo(usage?.cost ?? 0, 9);
    expect(costs.find(({ attributes }) => attributes['signalbox.tool.type'] === 'router:ask')?.value).toBe(0.25);
    const tokens = await telemetry.points('gen_ai.client.token.usage');
    expect(tokens.reduce((sum, { value }) => sum + value, 0)).toBe(usage?.total_tokens);
    const requests = await telemetry.points('gen_ai.client.operation.duration');
    expect(requests.map(({ attributes }) => attributes['signalbox.origin'])).toEqual(['plugin', 'caller']);
    expect(await telemetry.points('signalbox.tool.duration')).toMatchObject([
      { count: 1, attributes: { 'signalbox.tool.type': 'router:ask', 'signalbox.outcome': 'ok' } },
    ]);
  });

  it('count cooldowns and warnings', async () => {
    await using telemetry = startTelemetry();
    await using cell = await startObservedCell({ first: failWith(401) });
    await openTelemetry(cell.router, telemetry);
    await post(cell, asking());
    expect(await telemetry.points('signalbox.endpoint.cooldowns')).toMatchObject([
      { value: 1, attributes: { 'gen_ai.provider.name': 'first', 'signalbox.cause': 'credentials' } },
    ]);
    expect(await telemetry.points('signalbox.warnings')).toMatchObject([
      { value: 1, attributes: { 'signalbox.warning.code': 'provider_key' } },
    ]);
  });

  it('have one value for all models that callers make up', async () => {
    await using telemetry = startTelemetry();
    await using upstream = await startUpstream(answerWith('Hello'));
    const router = createRouter({ providers: [openaiCompatible({ slug: 'open', baseURL: upstream.baseURL })] });
    await openTelemetry(router, telemetry);
    for (const model of ['open/one', 'open/two', 'open/lena-lindqvist']) await router.chat(hello({ model }));
    for (const metric of ['gen_ai.client.operation.duration', 'signalbox.attempt.duration']) {
      expect(await telemetry.points(metric)).toMatchObject([
        { count: 3, attributes: { 'gen_ai.request.model': 'other' } },
      ]);
    }
    await router.close();
  });
});
