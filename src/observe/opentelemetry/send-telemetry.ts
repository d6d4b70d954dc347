/** What sends traces and metrics. It needs `@opentelemetry/api`, so that it is loaded by whoever wants them. */
import { type Attributes, type Meter, metrics, trace, type MeterProvider, type TracerProvider } from './api.ts';
import {
  type LabelName,
  type Labels,
  recordMeasurements,
  type Measurement,
  MEASUREMENTS,
  type SeriesOf,
} from '../measurements.ts';
import { conventionalProvider } from './attributes.ts';
import { RequestSpans } from './request-spans.ts';
import type { RedactSpanContent } from './content.ts';
import { readEnvironment } from '../../platform/environment.ts';
import { callable, type OptionShape, wholeNumber } from '../../options/values.ts';
import { checkShape } from '../../platform/check-options.ts';
import { boolean } from '../../schema/scalars.ts';
import { type ContentEvent, listen, type RouterEventSource } from '../../contracts/events.ts';

const SCOPE = 'signalbox';

/**
 * Sends traces and metrics of a router, and gives what ends it.
 *
 * @param options - Those of `openTelemetry`.
 * @throws {@link ConfigError} when an option is not what it should be.
 */
export async function sendTelemetry(router: RouterEventSource, options: OpenTelemetryOptions): Promise<() => void> {
  const { tracerProvider = trace, meterProvider = metrics, propagate = true, content, redact, contentBytes } = options;
  checkShape(CONTENT_OPTIONS, { content, redact, contentBytes }, 'openTelemetry');
  const contentOf = (content ?? isContentWanted()) ? await contentRecorder(options) : undefined;
  const spans = new RequestSpans(tracerProvider.getTracer(SCOPE), { propagate, contentOf });
  const removals = [
    listen(router, spans.listeners),
    recordMeasurements(router, instrumentsOf(meterProvider.getMeter(SCOPE))),
  ];
  return () => {
    for (const remove of removals) remove();
    spans.close();
  };
}

/** Variable by which instrumentations of generative AI are told to record content. */
const CONTENT_VARIABLE = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT';

/** Whether the environment wants content on spans. Events with content, which the variable may ask for, are not made. */
function isContentWanted(): boolean {
  return /^(?:true|span_only|span_and_event)$/i.test(readEnvironment(CONTENT_VARIABLE) ?? '');
}

const CONTENT_BYTES = 64_000;

async function contentRecorder({
  redact,
  contentBytes = CONTENT_BYTES,
}: OpenTelemetryOptions): Promise<(event: ContentEvent) => Attributes | undefined> {
  const { contentAttributes } = await import('./content.ts');
  return (event) => contentAttributes(event, redact, contentBytes);
}

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
  provider_cause: 'signalbox.provider_cause',
  state: 'signalbox.breaker.state',
  code: 'signalbox.warning.code',
};

/** Makes the instruments of a meter and gives their series. */
function instrumentsOf(meter: Meter): SeriesOf {
  const instruments = new Map(
    Object.entries(MEASUREMENTS).map(([name, measurement]) => [name, instrumentOf(meter, measurement)]),
  );
  return (name, labels) => {
    const record = instruments.get(name);
    const attributes = attributesOf(labels);
    return (value) => record?.(value, attributes);
  };
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

/** Options of {@link openTelemetry}. */
export interface OpenTelemetryOptions {
  /** Where spans go. Default: the global provider of `@opentelemetry/api`. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Where metrics go. Default: the global provider of `@opentelemetry/api`. */
  readonly meterProvider?: MeterProvider | undefined;
  /**
   * Whether upstream calls carry a `traceparent` with the span of their attempt. Turn it off when an instrumentation of
   * the HTTP client adds its own. Default true.
   */
  readonly propagate?: boolean | undefined;
  /**
   * Whether spans hold prompts, answers, and arguments and results of server tools, in the form of the semantic conventions.
   * A warning says that it is on. Default: what `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says (`true`,
   * `SPAN_ONLY` and `SPAN_AND_EVENT` switch it on), else false.
   */
  readonly content?: boolean | undefined;
  /**
   * Takes out of content what must not be recorded, before it is on a span; undefined records nothing of it. Default: all of
   * it is recorded.
   */
  readonly redact?: RedactSpanContent | undefined;
  /** Bytes that each attribute with content may have; longer texts in it are cut. At least 100. Default 64,000. */
  readonly contentBytes?: number | undefined;
}

/** What is checked: the providers are whatever the SDK makes of them. */
const CONTENT_OPTIONS: OptionShape<Pick<OpenTelemetryOptions, 'content' | 'redact' | 'contentBytes'>> = {
  content: boolean,
  redact: callable,
  contentBytes: wholeNumber(100),
};
