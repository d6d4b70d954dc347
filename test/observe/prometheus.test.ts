import { createServer } from 'node:http';
import { Histogram, Registry } from 'prom-client';
import { createRouter, simulated } from 'signalbox';
import { type Prometheus, prometheus } from 'signalbox/prometheus';
import { describe, expect, it } from 'vitest';
import { listen } from '../support/mounts.ts';
import { SECRETS, asking, post, startObservedCell } from '../support/observed-cell.ts';
import { failWith } from '../support/upstream.ts';

/** Samples of the text format: name with labels, and value. */
function samples(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

const SECOND = 'operation="chat",provider="second",model="acme/one"';

describe('the metrics of Prometheus', () => {
  it('says so where it is used without await', async () => {
    const router = createRouter({ providers: [simulated()] });
    const metrics = prometheus(router) as unknown as Prometheus;
    expect(() => metrics.node).toThrow('write "const metrics = await prometheus(router)"');
    expect(() => metrics.fetch(new Request('http://host/metrics'))).toThrow('returns a promise');
    expect((await metrics).node).toBeTypeOf('function');
  });

  it('are read over HTTP, in the text format, with the values of what happened', async () => {
    await using cell = await startObservedCell();
    const metrics = await prometheus(cell.router);
    await using scraped = await listen(createServer((request, response) => void metrics.node(request, response)));
    await post(cell, asking());
    await post(cell, asking({ stream: true }));
    const response = await fetch(scraped.baseURL);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const text = await response.text();
    expect(text).toContain('# TYPE signalbox_request_duration_seconds histogram');
    const values = samples(text);
    expect(values.get(`signalbox_request_duration_seconds_count{${SECOND},origin="caller",error=""}`)).toBe(2);
    expect(values.get(`signalbox_time_to_first_chunk_seconds_count{${SECOND},origin="caller"}`)).toBe(1);
    expect(
      values.get(`signalbox_attempt_duration_seconds_count{${SECOND.replace('second', 'first')},error="server"}`),
    ).toBe(cell.first.requests.length);
    expect(values.get(`signalbox_tokens_sum{${SECOND},token="input"}`)).toBe(20);
    expect(values.get(`signalbox_cost_usd_total{${SECOND},plugin="",tool=""}`)).toBeCloseTo(0.00004, 9);
    expect(values.get('signalbox_requests_active{operation="chat",origin="caller"}')).toBe(0);
    expect(SECRETS.filter((secret) => text.includes(secret))).toEqual([]);
  });

  it('are the same for hosts that speak Request and Response', async () => {
    await using cell = await startObservedCell();
    const metrics = await prometheus(cell.router);
    await post(cell, asking());
    const response = await metrics.fetch(new Request('http://host/metrics'));
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(await response.text()).toBe(await metrics.registry.metrics());
    const head = await metrics.fetch(new Request('http://host/metrics', { method: 'HEAD' }));
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('are not written to', async () => {
    await using cell = await startObservedCell();
    const metrics = await prometheus(cell.router);
    const response = await metrics.fetch(new Request('http://host/metrics', { method: 'POST' }));
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('share a registry with those of the program and of other routers', async () => {
    await using one = await startObservedCell();
    await using two = await startObservedCell({ first: failWith(503) });
    const registry = new Registry();
    const metrics = [await prometheus(one.router, { registry }), await prometheus(two.router, { registry })];
    await post(one, asking());
    await post(two, asking());
    const values = samples(await registry.metrics());
    expect(values.get(`signalbox_request_duration_seconds_count{${SECOND},origin="caller",error=""}`)).toBe(2);
    for (const { detach } of metrics) detach();
    await post(one, asking());
    expect(samples(await registry.metrics())).toEqual(values);
  });

  it('go into a metric that the program has registered itself, with bounds of its own', async () => {
    await using cell = await startObservedCell();
    const registry = new Registry();
    const own = new Histogram({
      name: 'signalbox_request_duration_seconds',
      help: 'As slow as we like.',
      labelNames: ['operation', 'provider', 'model', 'origin', 'error'],
      buckets: [60],
      registers: [registry],
    });
    await prometheus(cell.router, { registry });
    await post(cell, asking());
    const values = samples(await registry.metrics());
    expect(values.get(`signalbox_request_duration_seconds_bucket{le="60",${SECOND},origin="caller",error=""}`)).toBe(1);
    expect((await own.get()).values.length).toBe(4);
  });

  it('begin anew with their registry, also those that come late, and not in one that was emptied', async () => {
    await using cell = await startObservedCell();
    const { registry } = await prometheus(cell.router);
    await post(cell, asking());
    registry.resetMetrics();
    expect([...samples(await registry.metrics()).keys()]).toEqual([]);
    await post(cell, asking({ stream: true }));
    const [one, other] = await Promise.all([registry.metrics(), registry.metrics()]);
    expect(other).toBe(one);
    const values = samples(one);
    expect(values.get(`signalbox_request_duration_seconds_count{${SECOND},origin="caller",error=""}`)).toBe(1);
    expect(values.get(`signalbox_time_to_first_chunk_seconds_count{${SECOND},origin="caller"}`)).toBe(1);
    registry.clear();
    await post(cell, asking());
    expect(await registry.metrics()).toBe('\n');
  });

  it('say that they could not be read when a collector of the program fails', async () => {
    await using cell = await startObservedCell();
    const { fetch: read, registry } = await prometheus(cell.router);
    registry.metrics = () => Promise.reject(new Error('the database is away'));
    const response = await read(new Request('http://host/metrics'));
    expect([response.status, await response.text()]).toEqual([500, 'The metrics could not be collected\n']);
  });
});
