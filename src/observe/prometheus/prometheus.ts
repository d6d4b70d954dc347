/** Exports measurements to Prometheus. */
import {
  type Labels,
  recordMeasurements,
  type Measurement,
  MEASUREMENTS,
  type Series,
  type SeriesOf,
} from '../measurements.ts';
import type { Counter, Gauge, Histogram, Metric, Registry } from 'prom-client';
import { completeLabels, SeriesMetric } from './series-metric.ts';
import type { RouterEventSource } from '../../contracts/events.ts';

/** Options of {@link prometheus}. */
export interface PrometheusOptions {
  /** Where metrics are registered, for example the default one of `prom-client`. Default: one of their own. */
  readonly registry?: Registry | undefined;
}

/** The metrics of a router. */
export interface Prometheus {
  readonly registry: Registry;
  /** Answers `GET /metrics` in hosts of `Request` and `Response`: Hono, Next, Bun, Deno. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Answers `GET /metrics` in hosts of `node:http`: Express too. Never rejects. */
  readonly node: (request: MetricsReader, response: MetricsWriter) => Promise<void>;
  /** Ends it. What was counted stays in the registry. */
  readonly detach: () => void;
}

/**
 * Counts what a router does, for Prometheus. Needs the package `prom-client`. Await it before the first request, which is
 * not counted otherwise. Labels have few values: a model that the catalog does not list is counted as `other`, and
 * accounts, sessions and users are no labels.
 *
 * @example
 * ```ts
 * const metrics = await prometheus(router);
 * app.get('/metrics', metrics.node);
 * ```
 * @throws Error that names the command which installs `prom-client`, where that is missing; and where a member of
 * what it returns is used without `await`.
 */
export function prometheus(router: RouterEventSource, options: PrometheusOptions = {}): Promise<Prometheus> {
  // Without `await`, a host would be given no handler, and complain of that in words of its own.
  return Object.defineProperties(register(router, options), MEMBERS);
}

/** The members of what is awaited, on the promise itself. */
const MEMBERS: Readonly<Record<keyof Prometheus, { readonly get: () => never }>> = {
  registry: { get: refuseWithoutAwait },
  fetch: { get: refuseWithoutAwait },
  node: { get: refuseWithoutAwait },
  detach: { get: refuseWithoutAwait },
};

function refuseWithoutAwait(): never {
  throw new Error('prometheus() returns a promise; write "const metrics = await prometheus(router)"');
}

async function register(router: RouterEventSource, options: PrometheusOptions): Promise<Prometheus> {
  const registry = options.registry ?? (await newRegistry());
  const detach = recordMeasurements(router, metricsIn(registry));
  return { registry, fetch: fetchHandler(registry), node: nodeHandler(registry), detach };
}

/** What the Node handler reads of a request. Those of `node:http`, Express and Fastify's `raw` fit. */
export interface MetricsReader {
  readonly method?: string | undefined;
}

/** What the Node handler writes on. Those of `node:http`, Express and Fastify's `raw` fit. */
export interface MetricsWriter {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  end(body?: string): unknown;
}

/** What is exposed. */
interface Exposed {
  readonly contentType: string;
  metrics(): Promise<string>;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Answers with the metrics, for hosts of `Request` and `Response`. */
function fetchHandler(exposed: Exposed): (request: Request) => Promise<Response> {
  return async ({ method }) => {
    const { status, headers, body } = await answer(exposed, method);
    return new Response(method === 'HEAD' ? null : body, { status, headers });
  };
}

/** Answers with the metrics, for hosts of `node:http`. */
function nodeHandler(exposed: Exposed): (request: MetricsReader, response: MetricsWriter) => Promise<void> {
  return async ({ method = 'GET' }, response) => {
    const { status, headers, body } = await answer(exposed, method);
    response.writeHead(status, headers);
    if (method === 'HEAD') response.end();
    else response.end(body);
  };
}

async function answer(exposed: Exposed, method: string): Promise<Answer> {
  if (method !== 'GET' && method !== 'HEAD') {
    const headers = { 'content-type': 'text/plain; charset=utf-8', allow: 'GET, HEAD' };
    return { status: 405, headers, body: 'Metrics are read with GET\n' };
  }
  try {
    const body = await exposed.metrics();
    return { status: 200, headers: { 'content-type': exposed.contentType, 'cache-control': 'no-store' }, body };
  } catch {
    // A registry may hold metrics of the program, whose collectors may fail.
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    return { status: 500, headers, body: 'The metrics could not be collected\n' };
  }
}

export type { Registry };

async function newRegistry(): Promise<Registry> {
  try {
    const { Registry } = await import('prom-client');
    return new Registry();
  } catch (cause) {
    throw new Error('prometheus() needs the package prom-client; install it with "npm install prom-client"', { cause });
  }
}

/** Registers all metrics and gives their series. Those that another router registered are shared with it. */
function metricsIn(registry: Registry): SeriesOf {
  const metrics = new Map(
    Object.entries(MEASUREMENTS).map(([name, measurement]) => [name, metricIn(registry, measurement)]),
  );
  return (name, labels) => metrics.get(name)?.(labels) ?? (() => {});
}

function metricIn(registry: Registry, measurement: Measurement): (labels: Labels) => Series {
  const { prometheus: name, labels: names } = measurement;
  const known = registry.getSingleMetric(name) as SeriesMetric | Counter | Gauge | Histogram | undefined;
  if (known === undefined) {
    const metric = new SeriesMetric(measurement);
    // It has what a registry reads of a metric, and nothing of what programs write to.
    registry.registerMetric(metric as unknown as Metric);
    return (labels) => metric.series(labels);
  }
  // Not by its class, of which a program that is loaded anew in pieces has several.
  if ('series' in known) return (labels) => known.series(labels);
  // One that the program made, with buckets of its own for example.
  return (given) => {
    const labels = completeLabels(names, given);
    return 'observe' in known ? (value) => known.observe(labels, value) : (value) => known.inc(labels, value);
  };
}
