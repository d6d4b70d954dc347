import type { Plugin } from '../core/pipeline/plugin.ts';
import type { ServerToolDefinition } from '../core/pipeline/server-tool.ts';
import { datetime } from './datetime/datetime.ts';
import { responseHealing } from './response-healing/response-healing.ts';
import { webFetchTool } from './web-fetch/web-fetch-tool.ts';
import { webFetch } from './web-fetch/web-fetch.ts';
import { webSearchTool } from './web-search/web-search.ts';
import { web } from './web/web.ts';

/** The plugins that a router has when its configuration names none. For lists of your own: spread it and add. */
export function defaultPlugins(): readonly Plugin[] {
  return [web(), webFetch(), responseHealing()];
}

/** The server tools that a router has when its configuration names none. For lists of your own: spread it and add. */
export function defaultServerTools(): readonly ServerToolDefinition[] {
  return [datetime(), webSearchTool(), webFetchTool()];
}
