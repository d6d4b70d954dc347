/** Public surface: the router itself, its configuration and its errors. */
export { createRouter } from '../create-router.ts';
export type { CallOptions, OpenedChat, Router, RouterInternals, VectorOf } from '../router.ts';
export type { ResolvedConfig } from '../config.ts';
export type { Brand, Cors, KeepAlive, RouterConfig } from '../router-config.ts';
export type { AliasOf, ModelOf, RequestModel } from '../model-names.ts';
export type {
  ExplainedPlugin,
  ExplainedRejection,
  ExplainedServerTool,
  ExplainedStep,
  Explanation,
} from '../explanation.ts';
export { ConfigError, RouterError } from '../errors.ts';
export type { ConfigProblem, RouterErrorOptions } from '../errors.ts';
