import type { Plugin } from '../core/pipeline/plugin.ts';
import type { ServerToolDefinition } from '../core/pipeline/server-tool.ts';
import { autoBetaRouter, autoRouter } from './auto-router/auto-router.ts';
import { datetime } from './datetime/datetime.ts';
import { paretoRouter } from './pareto-router/pareto-router.ts';

/** The plugins that a router has when its configuration names none. For lists of your own: spread it and add. */
export function defaultPlugins(): readonly Plugin[] {
  return [autoRouter(), autoBetaRouter(), paretoRouter()];
}

/** The server tools that a router has when its configuration names none. For lists of your own: spread it and add. */
export function defaultServerTools(): readonly ServerToolDefinition[] {
  return [datetime()];
}
