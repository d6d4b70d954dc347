import { type Span as ApiSpan, SpanStatusCode, context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { DataPointType, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';

class PulledReader extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

/** A point of a metric. */
export interface MetricPoint {
  readonly metric: string;
  readonly unit: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** The sum, for counters and histograms. */
  readonly value: number;
  /** How often a histogram was recorded. */
  readonly count: number | undefined;
}

/** Providers of OpenTelemetry that keep everything in memory. */
export interface Telemetry extends AsyncDisposable {
  readonly tracerProvider: BasicTracerProvider;
  readonly meterProvider: MeterProvider;
  /** Spans that have ended, in the order of their ends. */
  readonly spans: readonly ReadableSpan[];
  /** The span of this name; fails when there is none or more than one. */
  span(name: string): ReadableSpan;
  /** Runs within a span of the program's own. */
  within<Value>(name: string, run: (span: ApiSpan) => Promise<Value>): Promise<Value>;
  points(metric: string): Promise<readonly MetricPoint[]>;
}

/** Starts {@link Telemetry} with a manager of contexts, as programs do. */
export function startTelemetry(): Telemetry {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const reader = new PulledReader();
  const meterProvider = new MeterProvider({ readers: [reader] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  return {
    tracerProvider,
    meterProvider,
    get spans() {
      return exporter.getFinishedSpans();
    },
    span(name) {
      const found = exporter.getFinishedSpans().filter((span) => span.name === name);
      if (found.length !== 1)
        throw new Error(`${found.length} spans "${name}" of ${JSON.stringify(this.spans.map((one) => one.name))}`);
      return found[0] as ReadableSpan;
    },
    async within(name, run) {
      const span = tracerProvider.getTracer('program').startSpan(name);
      try {
        return await context.with(trace.setSpan(context.active(), span), () => run(span));
      } finally {
        span.end();
      }
    },
    async points(metric) {
      const { resourceMetrics } = await reader.collect();
      return resourceMetrics.scopeMetrics
        .flatMap(({ metrics }) => metrics)
        .filter(({ descriptor }) => descriptor.name === metric)
        .flatMap(({ descriptor, dataPointType, dataPoints }) =>
          dataPoints.map(({ attributes, value }) => {
            const whole = { metric: descriptor.name, unit: descriptor.unit, attributes };
            if (dataPointType !== DataPointType.HISTOGRAM)
              return { ...whole, value: value as number, count: undefined };
            const { sum = 0, count } = value as { sum?: number; count: number };
            return { ...whole, value: sum, count };
          }),
        );
    },
    async [Symbol.asyncDispose]() {
      context.disable();
      await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()]);
    },
  };
}

/** Spans as a tree: their names, and `!` behind those that ended in an error. */
export function treeOf(spans: readonly ReadableSpan[]): readonly string[] {
  const ids = new Set(spans.map((span) => span.spanContext().spanId));
  const begin = ({ startTime: [seconds, nanos] }: ReadableSpan): number => seconds * 1e9 + nanos;
  const below = (parent: string | undefined, depth: number): readonly string[] =>
    spans
      .filter(({ parentSpanContext }) => {
        const id = parentSpanContext?.spanId;
        return (id !== undefined && ids.has(id) ? id : undefined) === parent;
      })
      .toSorted((left, right) => begin(left) - begin(right))
      .flatMap((span) => [
        `${'  '.repeat(depth)}${span.name}${span.status.code === SpanStatusCode.ERROR ? ' !' : ''}`,
        ...below(span.spanContext().spanId, depth + 1),
      ]);
  return below(undefined, 0);
}

/** Milliseconds since the epoch at which a span began and ended. */
export function timesOf({ startTime, endTime }: ReadableSpan): { readonly start: number; readonly end: number } {
  const ms = ([seconds, nanos]: readonly [number, number]): number => seconds * 1e3 + nanos / 1e6;
  return { start: ms(startTime), end: ms(endTime) };
}

/** Everything that spans say, in one text, to look for what they must not say. */
export function everythingIn(spans: readonly ReadableSpan[]): string {
  return JSON.stringify(spans.map(({ name, attributes, events, status }) => ({ name, attributes, events, status })));
}
