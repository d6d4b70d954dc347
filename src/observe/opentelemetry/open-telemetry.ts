import type { RouterEventSource } from '../../runtime/chat/events.ts';
import type { MeterProvider, TracerProvider } from './api.ts';
import type * as Sending from './send-telemetry.ts';

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

/**
 * Sends traces and metrics of a router to OpenTelemetry, by its semantic conventions for generative AI: a span for each
 * request, and in it one for each upstream call, hook of a plugin and call of a server tool. Prompts and answers are
 * never recorded.
 *
 * Await it before the first request, which is not seen otherwise. A request is a child of the span that is active where it is made, or else of the `traceparent` header it came with.
 *
 * @example
 * ```ts
 * const detach = await openTelemetry(router);
 * ```
 * @returns What ends it; spans of requests under way end with it.
 * @throws Error that names the command which installs `@opentelemetry/api`, where that is missing.
 */
export async function openTelemetry(
  router: RouterEventSource,
  options: OpenTelemetryOptions = {},
): Promise<() => void> {
  const { sendTelemetry } = await load();
  return sendTelemetry(router, options);
}

async function load(): Promise<typeof Sending> {
  try {
    return await import('./send-telemetry.ts');
  } catch (cause) {
    const message =
      'openTelemetry() needs the package @opentelemetry/api; install it with "npm install @opentelemetry/api"';
    throw new Error(message, { cause });
  }
}
