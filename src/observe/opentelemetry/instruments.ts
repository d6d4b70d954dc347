import type { Recorder } from '../measure.ts';
import { type LabelName, type Labels, MEASUREMENTS, type Measurement, type MeasurementName } from '../measurements.ts';
import type { Attributes, Meter } from './api.ts';
import { conventionalProvider } from './provider-name.ts';

const ATTRIBUTES: Readonly<Record<LabelName, string>> = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  model: 'gen_ai.request.model',
  origin: 'signalbox.origin',
  error: 'error.type',
  token: 'gen_ai.token.type',
  plugin: 'signalbox.plugin.id',
  hook: 'signalbox.plugin.hook',
  tool: 'signalbox.tool.type',
  outcome: 'signalbox.outcome',
  cause: 'signalbox.cause',
  state: 'signalbox.breaker.state',
  code: 'signalbox.warning.code',
};

/** Makes the instruments of a meter and gives what records on them. */
export function instrumentsOf(meter: Meter): Recorder {
  const instruments = new Map(
    Object.entries(MEASUREMENTS).map(([name, measurement]) => [name, instrumentOf(meter, measurement)]),
  );
  return (name: MeasurementName, value, labels) => instruments.get(name)?.(value, attributesOf(labels));
}

function instrumentOf(meter: Meter, measurement: Measurement): (value: number, attributes: Attributes) => void {
  const { name, unit, description, kind, buckets = [] } = measurement;
  if (kind === 'histogram') {
    const advice = { explicitBucketBoundaries: [...buckets] };
    const histogram = meter.createHistogram(name, { unit, description, advice });
    return (value, attributes) => histogram.record(value, attributes);
  }
  const options = { unit, description };
  const counter = kind === 'counter' ? meter.createCounter(name, options) : meter.createUpDownCounter(name, options);
  return (value, attributes) => counter.add(value, attributes);
}

function attributesOf(labels: Labels): Attributes {
  const attributes: Attributes = {};
  for (const [label, value] of Object.entries(labels)) {
    if (value === undefined) continue;
    attributes[ATTRIBUTES[label as LabelName]] = label === 'provider' ? conventionalProvider(value) : value;
  }
  return attributes;
}
