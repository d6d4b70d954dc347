import * as fc from 'fast-check';
import { AggregatorRegistry, Counter, Gauge, Histogram, type Metric, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { MEASUREMENTS, type Labels, type Measurement, type MeasurementName } from '../../src/observe/measurements.ts';
import { completeLabels, SeriesMetric } from '../../src/observe/prometheus/series-metric.ts';
import { runs } from '../support/properties.ts';

/** The metric of `prom-client` that one of ours stands for. */
function referenceOf({ prometheus: name, description: help, kind, labels, buckets = [] }: Measurement, to: Registry) {
  const configuration = { name, help, labelNames: [...labels], registers: [to] };
  if (kind === 'histogram') return new Histogram({ ...configuration, buckets: [...buckets] });
  return kind === 'counter' ? new Counter(configuration) : new Gauge(configuration);
}

/** Two registries with all measurements: of ours, and of `prom-client`. */
function twins() {
  const ours = new Registry();
  const theirs = new Registry();
  const recorders = Object.entries(MEASUREMENTS).map(([name, measurement]: [string, Measurement]) => {
    const metric = new SeriesMetric(measurement);
    ours.registerMetric(metric as unknown as Metric);
    const reference = referenceOf(measurement, theirs);
    const record = (value: number, labels: Labels): void => {
      metric.series(labels)(value);
      const complete = completeLabels(measurement.labels, labels);
      if (reference instanceof Histogram) reference.observe(complete, value);
      else reference.inc(complete, value);
    };
    return [name, record] as const;
  });
  return { ours, theirs, record: new Map<string, (value: number, labels: Labels) => void>(recorders) };
}

const NAMES = Object.keys(MEASUREMENTS) as MeasurementName[];
const label = fc.constantFrom('', 'chat', 'embeddings', 'a "quoted" \\ one\nof two lines', '0', '__proto__');
const labels = fc.record(
  { operation: label, provider: label, model: label, origin: label, error: label, token: label, code: label },
  { requiredKeys: [] },
);
const amount = fc.oneof(
  fc.double({ min: 0, max: 100, noNaN: true }),
  fc.constantFrom(0, 0.01, 0.02, 1, 4, 81.92, 4_194_304, 1e12),
);
const step = fc.oneof(
  { weight: 20, arbitrary: fc.record({ name: fc.constantFrom(...NAMES), value: amount, labels }) },
  { weight: 2, arbitrary: fc.constantFrom('read', 'reset') },
  { weight: 1, arbitrary: fc.constantFrom('default labels', 'OpenMetrics') },
);

describe('a metric whose series are found once', () => {
  it('is read like the one of prom-client, to the byte, whatever was measured and reset in between', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { ours, theirs, record } = twins();
        for (const one of steps) {
          if (typeof one === 'object') record.get(one.name)?.(one.value, one.labels);
          else if (one === 'read') expect(await ours.metrics()).toBe(await theirs.metrics());
          else
            for (const registry of [ours, theirs]) {
              if (one === 'reset') registry.resetMetrics();
              else if (one === 'default labels') registry.setDefaultLabels({ host: 'one', error: 'none' });
              else registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never);
            }
        }
        const [first, again, reference] = await Promise.all([ours.metrics(), ours.metrics(), theirs.metrics()]);
        expect([first, again]).toEqual([reference, reference]);
        // As processes of a cluster send it to each other.
        const processes = async (registry: Registry) =>
          AggregatorRegistry.aggregate([
            await registry.getMetricsAsJSON(),
            await registry.getMetricsAsJSON(),
          ]).metrics();
        expect(await processes(ours)).toBe(await processes(theirs));
      }),
      runs(200),
    );
  });

  it('goes on after a reset with the series that were found before it', async () => {
    const metric = new SeriesMetric(MEASUREMENTS.cost);
    const series = metric.series({ model: 'acme/one' });
    series(1);
    metric.reset();
    expect((await metric.get()).values).toEqual([]);
    series(2);
    metric.series({ model: 'acme/one' })(3);
    expect((await metric.get()).values.map(({ value }) => value)).toEqual([5]);
  });

  it('counts nothing that is no number, and lets no counter go down', async () => {
    const metric = new SeriesMetric(MEASUREMENTS.cost);
    for (const value of [Number.NaN, Infinity, -1]) metric.series({})(value);
    expect((await metric.get()).values).toEqual([]);
  });
});
