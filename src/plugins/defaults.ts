import type { Plugin } from '../core/pipeline/plugin.ts';
import type { ServerToolDefinition } from '../core/pipeline/server-tool.ts';
import { advisorTool } from './advisor/advisor.ts';
import { datetime } from './datetime/datetime.ts';
import { filesTool } from './files/files.ts';
import { fusionTool } from './fusion/fusion-tool.ts';
import { fusion } from './fusion/fusion.ts';
import { imageGenerationTool } from './image-generation/image-generation.ts';
import { searchModelsTool } from './search-models/search-models.ts';
import { subagentTool } from './subagent/subagent.ts';

/** The plugins that a router has when its configuration names none. For lists of your own: spread it and add. */
export function defaultPlugins(): readonly Plugin[] {
  return [fusion()];
}

/** The server tools that a router has when its configuration names none. For lists of your own: spread it and add. */
export function defaultServerTools(): readonly ServerToolDefinition[] {
  return [
    datetime(),
    fusionTool(),
    advisorTool(),
    subagentTool(),
    imageGenerationTool(),
    searchModelsTool(),
    filesTool(),
  ];
}
