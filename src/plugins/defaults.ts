import type { Plugin } from '../core/pipeline/plugin.ts';
import type { ServerToolDefinition } from '../core/pipeline/server-tool.ts';
import { datetime } from './datetime/datetime.ts';
import { responseHealing } from './response-healing/response-healing.ts';

/** The plugins that a router has when its configuration names none. For lists of your own: spread it and add. */
export function defaultPlugins(): readonly Plugin[] {
  return [responseHealing()];
}

/** The server tools that a router has when its configuration names none. For lists of your own: spread it and add. */
export function defaultServerTools(): readonly ServerToolDefinition[] {
  return [datetime()];
}
