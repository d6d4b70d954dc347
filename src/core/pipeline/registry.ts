/** The registry of plugins and server tools of a router, and what is wrong with it. */
import type { Plugin, PluginDefault } from '../../contracts/plugin.ts';
import type { ServerToolDefinition } from '../../contracts/server-tool.ts';
import type { ConfigProblem } from '../../protocol/router-error.ts';
import { echo } from '../../protocol/fault.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { REFUSED_SERVER_TOOLS } from '../../protocol/tools.ts';
import { whatItLooksFor } from './define-plugin.ts';
import { checkPluginOptions, pathBelow, problemOfOwner } from './plugin-options.ts';

/** Everything that was registered, in order. */
export interface PluginRegistry {
  readonly plugins: ReadonlyMap<string, Plugin>;
  /** Defaults for all accounts. */
  readonly defaults: readonly PluginDefault[];
  /** By type. */
  readonly serverTools: ReadonlyMap<string, ServerToolDefinition>;
  /** Types of {@link PluginRegistry.serverTools}. */
  readonly types: ReadonlySet<string>;
  /** Ids of the plugins that only route (see {@link Plugin.onlyRoutes}). */
  readonly routing: ReadonlySet<string>;
  /** Router models that plugins resolve. */
  readonly models: ReadonlySet<string>;
  /** Plugins that may take part although nobody requires them or for their models: by themselves, or by a default. */
  readonly unasked: readonly Plugin[];
  /** Which requests these may take part in, so that no other is shown to them. */
  readonly unaskedFor: {
    readonly anything: boolean;
    readonly files: boolean;
    readonly shortContext: boolean;
  };
}

/** Puts a registry together; what is wrong with its parts was found before. */
export function buildRegistry(
  plugins: readonly Plugin[],
  defaults: readonly PluginDefault[],
  serverTools: readonly ServerToolDefinition[],
): PluginRegistry {
  const isDefault = ({ id }: Plugin): boolean => defaults.some((one) => one.id === id);
  const unasked = plugins.filter((plugin) => plugin.runsUnasked !== undefined || isDefault(plugin));
  const wanted = new Set(unasked.map((plugin) => (isDefault(plugin) ? undefined : whatItLooksFor(plugin))));
  return {
    plugins: new Map(plugins.map((plugin) => [plugin.id, plugin])),
    defaults,
    serverTools: new Map(serverTools.map((tool) => [tool.type, tool])),
    types: new Set(serverTools.map((tool) => tool.type)),
    models: modelsOfPlugins(plugins),
    unasked,
    unaskedFor: {
      anything: wanted.has(undefined),
      files: wanted.has('files'),
      shortContext: wanted.has('short_context'),
    },
    routing: new Set(plugins.filter(({ onlyRoutes }) => onlyRoutes === true).map(({ id }) => id)),
  };
}

/** Router models that plugins resolve. */
export function modelsOfPlugins(plugins: Iterable<Plugin>): ReadonlySet<string> {
  return new Set([...plugins].flatMap((plugin) => plugin.models ?? []));
}

/** Everything that is wrong with what a program registers, for the error at start-up. */
export function* registryProblems(
  plugins: readonly Plugin[],
  defaults: readonly PluginDefault[],
  serverTools: readonly ServerToolDefinition[],
): Generator<ConfigProblem> {
  const owners = new Map<string, string>();
  const ids = new Set<string>();
  for (const [index, plugin] of plugins.entries()) {
    const path = `plugins[${index}]`;
    yield* pluginProblems(plugin, path);
    if (ids.has(plugin.id)) yield { path: `${path}.id`, problem: `must be unique, but "${plugin.id}" is there twice` };
    ids.add(plugin.id);
    for (const model of plugin.models ?? []) {
      const owner = owners.get(model);
      if (owner !== undefined)
        yield { path: `${path}.models`, problem: `must not claim "${model}", which "${owner}" has` };
      owners.set(model, plugin.id);
    }
  }
  for (const [index, one] of defaults.entries()) yield* defaultProblems(one, `pluginDefaults[${index}]`, plugins);
  const types = new Set<string>();
  for (const [index, tool] of serverTools.entries()) {
    const path = `serverTools[${index}]`;
    yield* toolProblems(tool, path);
    if (types.has(tool.type))
      yield { path: `${path}.type`, problem: `must be unique, but "${tool.type}" is there twice` };
    types.add(tool.type);
  }
}

function* pluginProblems(plugin: Plugin, path: string): Generator<ConfigProblem> {
  const { id, whenItThrows, timeoutMs, models = [] } = plugin;
  if (!/^[a-zA-Z0-9-]{1,64}$/.test(id)) {
    yield { path: `${path}.id`, problem: `must be 1 to 64 letters, digits and "-", not ${echo(id)}` };
  }
  if (!['fail', 'skip'].includes(whenItThrows)) {
    yield { path: `${path}.whenItThrows`, problem: `must be "fail" or "skip", not ${echo(whenItThrows)}` };
  }
  yield* timeoutProblems(timeoutMs, path);
  yield* optionsProblems(plugin, path);
  for (const [index, model] of models.entries()) {
    if (/^[^/\s:]+\/[^/\s:]+$/.test(model)) continue;
    yield { path: `${path}.models[${index}]`, problem: `must be a slug such as "router/auto", not ${echo(model)}` };
  }
}

function* toolProblems(tool: ServerToolDefinition, path: string): Generator<ConfigProblem> {
  const { type, timeoutMs } = tool;
  if (!/^router:[a-z_]{1,57}$/.test(type)) {
    yield { path: `${path}.type`, problem: `must be "router:" and lower-case letters or "_", not ${echo(type)}` };
  } else if (REFUSED_SERVER_TOOLS.includes(type)) {
    yield { path: `${path}.type`, problem: `must not be "${type}": chat completions always refuse it` };
  }
  yield* timeoutProblems(timeoutMs, path);
  yield* optionsProblems(tool, path);
}

function* optionsProblems(owner: Plugin | ServerToolDefinition, path: string): Generator<ConfigProblem> {
  const problem = problemOfOwner(owner);
  if (problem !== undefined) yield { path: `${path}.options`, problem };
}

function* timeoutProblems(timeoutMs: number | undefined, path: string): Generator<ConfigProblem> {
  if (timeoutMs === undefined || (Number.isFinite(timeoutMs) && timeoutMs > 0)) return;
  yield { path: `${path}.timeoutMs`, problem: `must be a number above 0, not ${timeoutMs}` };
}

function* defaultProblems(
  { id, options }: PluginDefault,
  path: string,
  plugins: readonly Plugin[],
): Generator<ConfigProblem> {
  const plugin = plugins.find((one) => one.id === id);
  if (plugin === undefined) {
    const known = plugins.map((one) => one.id).join(', ') || 'none';
    return yield { path: `${path}.id`, problem: `must be the id of a registered plugin (${known}), not ${echo(id)}` };
  }
  if (problemOfOwner(plugin) !== undefined) return;
  const checked = checkPluginOptions(plugin, { ...options } as JsonObject);
  if (!checked.ok) yield { path: pathBelow(`${path}.options`, checked.path), problem: checked.problem };
}
