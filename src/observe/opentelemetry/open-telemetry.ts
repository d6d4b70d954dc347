import type * as Sending from './send-telemetry.ts';
import type { RouterEventSource } from '../../contracts/events.ts';
import type { OpenTelemetryOptions } from './send-telemetry.ts';

/**
 * Sends traces and metrics of a router to OpenTelemetry, by its semantic conventions for generative AI: a span for each
 * request, and in it one for each upstream call, hook of a plugin and call of a server tool. Prompts and answers are
 * recorded where `content` says so, and never otherwise.
 *
 * Await it before the first request, which is not seen otherwise. A request is a child of the span that is active where
 * it is made, or else of the `traceparent` header it came with.
 *
 * @example
 * ```ts
 * const detach = await openTelemetry(router);
 * ```
 * @returns What ends it; spans of requests under way end with it.
 * @throws {@link ConfigError} when an option is not what it should be.
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
    // Such as a file that a bundler has lost: what failed says more than a sentence about another package.
    if (!String(cause).includes('@opentelemetry/api')) throw cause;
    const message =
      'openTelemetry() needs the package @opentelemetry/api; install it with "npm install @opentelemetry/api"';
    throw new Error(message, { cause });
  }
}
