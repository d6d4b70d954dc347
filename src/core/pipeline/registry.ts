import type { Plugin } from './plugin.ts';
import type { PluginDefault } from './plugin-default.ts';
import type { ServerToolDefinition } from './server-tool.ts';

/** Everything that was registered, in order. */
export interface PluginRegistry {
  readonly plugins: ReadonlyMap<string, Plugin>;
  /** Defaults for all accounts. */
  readonly defaults: readonly PluginDefault[];
  /** By type. */
  readonly serverTools: ReadonlyMap<string, ServerToolDefinition>;
  /** Types of {@link PluginRegistry.serverTools}. */
  readonly types: ReadonlySet<string>;
}

/** Puts a registry together; what is wrong with its parts was found before. */
export function buildRegistry(
  plugins: readonly Plugin[],
  defaults: readonly PluginDefault[],
  serverTools: readonly ServerToolDefinition[],
): PluginRegistry {
  return {
    plugins: new Map(plugins.map((plugin) => [plugin.id, plugin])),
    defaults,
    serverTools: new Map(serverTools.map((tool) => [tool.type, tool])),
    types: new Set(serverTools.map((tool) => tool.type)),
  };
}

/** Router models that plugins resolve. */
export function modelsOfPlugins(plugins: Iterable<Plugin>): ReadonlySet<string> {
  return new Set([...plugins].flatMap((plugin) => plugin.models ?? []));
}
