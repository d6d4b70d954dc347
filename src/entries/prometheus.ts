/** The entry point `signalbox/prometheus`. */

export { prometheus } from '../observe/prometheus/prometheus.ts';
export type { Prometheus, PrometheusOptions } from '../observe/prometheus/prometheus.ts';
export type { MetricsReader, MetricsWriter } from '../observe/prometheus/prometheus.ts';
