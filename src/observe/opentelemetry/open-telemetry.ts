import { type RouterEventSource, listen } from '../../runtime/events.ts';
import { measure } from '../measure.ts';
import { type MeterProvider, type TracerProvider, metrics, trace } from './api.ts';
import { instrumentsOf } from './instruments.ts';
import { RequestSpans } from './spans.ts';

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
}

const SCOPE = 'signalbox';

/**
 * Sends traces and metrics of a router to OpenTelemetry, by its semantic conventions for generative AI: a span for each
 * request, and in it one for each upstream call, hook of a plugin and call of a server tool. Prompts and answers are
 * never recorded.
 *
 * A request is a child of the span that is active where it is made, or else of the `traceparent` header it came with.
 *
 * @example
 * ```ts
 * const detach = openTelemetry(router);
 * ```
 * @returns What ends it; spans of requests under way end with it.
 */
export function openTelemetry(router: RouterEventSource, options: OpenTelemetryOptions = {}): () => void {
  const { tracerProvider = trace, meterProvider = metrics, propagate = true } = options;
  const spans = new RequestSpans(tracerProvider.getTracer(SCOPE), propagate);
  const removals = [listen(router, spans.listeners), measure(router, instrumentsOf(meterProvider.getMeter(SCOPE)))];
  return () => {
    for (const remove of removals) remove();
    spans.close();
  };
}
