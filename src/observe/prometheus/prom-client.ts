import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Recorder } from '../measure.ts';
import { type Labels, type Measurement, MEASUREMENTS } from '../measurements.ts';

export { Registry };

type Metric = Counter | Gauge | Histogram;

/** Registers all metrics and gives what records on them. Those that another router registered are shared with it. */
export function metricsIn(registry: Registry): Recorder {
  const record = new Map(
    Object.entries(MEASUREMENTS).map(([name, measurement]) => [name, recorderOf(registry, measurement)]),
  );
  return (name, value, labels) => record.get(name)?.(value, labels);
}

function recorderOf(registry: Registry, measurement: Measurement): (value: number, labels: Labels) => void {
  const { prometheus: name, labels: labelNames } = measurement;
  const metric = (registry.getSingleMetric(name) as Metric | undefined) ?? create(registry, measurement);
  const labelled = (labels: Labels): Record<string, string> =>
    Object.fromEntries(labelNames.map((label) => [label, labels[label] ?? '']));
  if (metric instanceof Histogram) return (value, labels) => metric.observe(labelled(labels), value);
  return (value, labels) => metric.inc(labelled(labels), value);
}

function create(registry: Registry, measurement: Measurement): Metric {
  const { prometheus: name, description: help, kind, labels, buckets = [] } = measurement;
  const configuration = { name, help, labelNames: [...labels], registers: [registry] };
  if (kind === 'histogram') return new Histogram({ ...configuration, buckets: [...buckets] });
  return kind === 'counter' ? new Counter(configuration) : new Gauge(configuration);
}
