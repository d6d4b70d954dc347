import type { RouterEventSource } from '../../runtime/chat/events.ts';
import { measure } from '../measure.ts';
import { fetchHandler, type MetricsReader, type MetricsWriter, nodeHandler } from './handlers.ts';
import { metricsIn, Registry } from './prom-client.ts';

/** Options of {@link prometheus}. */
export interface PrometheusOptions {
  /** Where metrics are registered, for example the default one of `prom-client`. Default: one of their own. */
  readonly registry?: Registry | undefined;
}

/** The metrics of a router. */
export interface Prometheus {
  readonly registry: Registry;
  /** Answers `GET /metrics` where `Request` and `Response` are spoken: Hono, Next, Bun, Deno. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Answers `GET /metrics` where `node:http` is spoken: Express too. Never rejects. */
  readonly node: (request: MetricsReader, response: MetricsWriter) => Promise<void>;
  /** Ends it. What was counted stays in the registry. */
  readonly detach: () => void;
}

/**
 * Counts what a router does, for Prometheus. Needs the package `prom-client`. Labels have few values: a model that the
 * catalog does not list is counted as `other`, and accounts, sessions and users are no labels.
 *
 * @example
 * ```ts
 * const metrics = prometheus(router);
 * app.get('/metrics', metrics.node);
 * ```
 * @throws Error when the registry holds a metric of the same name and other labels.
 */
export function prometheus(
  router: RouterEventSource,
  { registry = new Registry() }: PrometheusOptions = {},
): Prometheus {
  const detach = measure(router, metricsIn(registry));
  return { registry, fetch: fetchHandler(registry), node: nodeHandler(registry), detach };
}
