/** The plugins and server tools that a router has by default. */
import type { Plugin } from '../contracts/plugin.ts';
import type { ServerToolDefinition } from '../contracts/server-tool.ts';
import { advisorTool } from './advisor/advisor.ts';
import { autoBetaRouter, autoRouter } from './auto-router/auto-router.ts';
import { bodyBuilder } from './body-builder/body-builder.ts';
import { contextCompression } from './context-compression/context-compression.ts';
import { datetime } from './datetime/datetime.ts';
import { fileParser } from './file-parser/file-parser.ts';
import { filesTool } from './files/files.ts';
import { fusion, fusionTool } from './fusion/fusion.ts';
import { imageGenerationTool } from './image-generation/image-generation.ts';
import { moderation } from './moderation/moderation.ts';
import { paretoRouter } from './pareto-router/pareto-router.ts';
import { responseHealing } from './response-healing/response-healing.ts';
import { searchModelsTool } from './search-models/search-models.ts';
import { subagentTool } from './subagent/subagent.ts';
import { webFetch, webFetchTool } from './web-fetch/web-fetch.ts';
import { webSearchTool } from './web-search/web-search.ts';
import { web } from './web/web.ts';

/**
 * The plugins that a router has when its configuration names none, and those of your own: one with the id of a default
 * takes its place, the others come after them.
 */
export function defaultPlugins(own: readonly Plugin[] = []): readonly Plugin[] {
  const defaults: readonly Plugin[] = [
    // What may refuse a request comes before everything that sends it somewhere.
    moderation(),
    // Results pass in the opposite order: what is healed is the answer that everybody else has finished with.
    responseHealing(),
    fileParser(),
    web(),
    webFetch(),
    fusion(),
    autoRouter(),
    autoBetaRouter(),
    paretoRouter(),
    bodyBuilder(),
    // After all that makes a prompt longer, and after all that chooses models.
    contextCompression(),
  ];
  return replaced(defaults, own, ({ id }) => id);
}

/**
 * The server tools that a router has when its configuration names none, and those of your own: one with the type of a
 * default takes its place, the others come after them.
 */
export function defaultServerTools(own: readonly ServerToolDefinition[] = []): readonly ServerToolDefinition[] {
  const defaults: readonly ServerToolDefinition[] = [
    datetime(),
    webSearchTool(),
    webFetchTool(),
    fusionTool(),
    advisorTool(),
    subagentTool(),
    imageGenerationTool(),
    searchModelsTool(),
    filesTool(),
  ];
  return replaced(defaults, own, ({ type }) => type);
}

function replaced<One>(defaults: readonly One[], own: readonly One[], keyOf: (one: One) => string): readonly One[] {
  const others = own.filter((one) => !defaults.some((usual) => keyOf(usual) === keyOf(one)));
  return [...defaults.map((usual) => own.find((one) => keyOf(one) === keyOf(usual)) ?? usual), ...others];
}
