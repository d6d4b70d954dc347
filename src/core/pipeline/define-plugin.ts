import type { Plugin } from '../../contracts/plugin.ts';
import type { ServerToolDefinition } from '../../contracts/server-tool.ts';

/** Gives a plugin back as it is, with the types of its options and state found by the compiler. */
export function definePlugin<Options = {}, State = undefined>(plugin: Plugin<Options, State>): Plugin<Options, State> {
  return plugin;
}

/** Gives a server tool back as it is, with the type of its options found by the compiler. */
export function defineServerTool<Options = {}>(tool: ServerToolDefinition<Options>): ServerToolDefinition<Options> {
  return tool;
}
