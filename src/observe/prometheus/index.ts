export { prometheus } from './prometheus.ts';
export type { Prometheus, PrometheusOptions } from './prometheus.ts';
export type { MetricsReader, MetricsWriter } from './handlers.ts';
