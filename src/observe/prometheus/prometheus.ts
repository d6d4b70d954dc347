import type { RouterEventSource } from '../../runtime/chat/events.ts';
import {
  type LabelName,
  type Labels,
  measure,
  type Measurement,
  MEASUREMENTS,
  type Recorder,
} from '../measurements.ts';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

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

/** Answers with the metrics, for hosts that speak `Request` and `Response`. */
function fetchHandler(exposed: Exposed): (request: Request) => Promise<Response> {
  return async ({ method }) => {
    const { status, headers, body } = await answer(exposed, method);
    return new Response(method === 'HEAD' ? null : body, { status, headers });
  };
}

/** Answers with the metrics, for hosts that speak as `node:http` does. */
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

export { Registry };

type Metric = Counter | Gauge | Histogram;

/** Registers all metrics and gives what records on them. Those that another router registered are shared with it. */
function metricsIn(registry: Registry): Recorder {
  const record = new Map(
    Object.entries(MEASUREMENTS).map(([name, measurement]) => [name, recorderOf(registry, measurement)]),
  );
  return (name, value, labels) => record.get(name)?.(value, labels);
}

function recorderOf(registry: Registry, measurement: Measurement): (value: number, labels: Labels) => void {
  const { prometheus: name, labels: labelNames } = measurement;
  const metric = (registry.getSingleMetric(name) as Metric | undefined) ?? create(registry, measurement);
  const labelled = labelsFor(labelNames);
  if (metric instanceof Histogram) return (value, labels) => metric.observe(labelled(labels), value);
  return (value, labels) => metric.inc(labelled(labels), value);
}

/** All labels with a value and one order: the same object for the same values, because most requests bring those again. */
function labelsFor(names: readonly LabelName[]): (labels: Labels) => Record<string, string> {
  const made: Known = { next: new Map() };
  return (labels) => {
    let known = made;
    for (const name of names) {
      const value = labels[name] ?? '';
      let next = known.next.get(value);
      if (next === undefined) {
        next = { next: new Map() };
        known.next.set(value, next);
      }
      known = next;
    }
    return (known.labels ??= Object.fromEntries(names.map((name) => [name, labels[name] ?? ''])));
  };
}

/** What was made for the values of the first labels. Labels have few values, so all of it may be kept. */
interface Known {
  readonly next: Map<string, Known>;
  labels?: Record<string, string>;
}

function create(registry: Registry, measurement: Measurement): Metric {
  const { prometheus: name, description: help, kind, labels, buckets = [] } = measurement;
  const configuration = { name, help, labelNames: [...labels], registers: [registry] };
  if (kind === 'histogram') return new Histogram({ ...configuration, buckets: [...buckets] });
  return kind === 'counter' ? new Counter(configuration) : new Gauge(configuration);
}
