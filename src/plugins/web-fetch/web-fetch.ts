import { type Plugin, definePlugin } from '../../core/pipeline/plugin.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { parseFetchOptions } from './web-fetch-options.ts';

const TOOL = 'router:web_fetch';

/**
 * The plugin `web-fetch` (contract: plugin objects; gaps 5.5): offers the model the server tool `router:web_fetch` with
 * the options of the entry. Needs that tool among the router's server tools. A request that offers the tool itself
 * keeps its own options.
 */
export function webFetch(): Plugin<JsonObject> {
  return definePlugin<JsonObject>({
    id: 'web-fetch',
    whenItThrows: 'fail',
    parseOptions(value) {
      const checked = parseFetchOptions(value);
      // The tool checks them again when it is offered, so they are handed on as they came.
      return checked.ok ? { ok: true, options: value } : checked;
    },
    onRequest({ serverTools }, parameters, context) {
      if (serverTools.some(({ type }) => type === TOOL)) return { type: 'continue' };
      context.stage({ summary: `offered ${TOOL}`, data: { tool: TOOL } });
      return { type: 'continue', change: { serverTools: [...serverTools, { type: TOOL, parameters }] } };
    },
  });
}
