/** Loads plugins on their first use. */
import type { Plugin } from '../../contracts/plugin.ts';
import type { ActivePlugin } from '../../core/pipeline/choose-plugins.ts';
import type { RuntimeServices } from '../chat/services.ts';
import { type HookFailure, runBounded } from './inner-call.ts';

/** Plugins whose `load` has succeeded. A plugin is a value, so two routers that share one load it once. */
const LOADED = new WeakSet<Plugin>();

/** Loads under way: requests that come meanwhile wait for the same one. */
const LOADING = new WeakMap<Plugin, Promise<void>>();

/** Loads the plugins that take part in a request and were not loaded yet, all at the same time. */
export async function loadPlugins(
  { environment, timeouts }: RuntimeServices,
  plugins: readonly ActivePlugin[],
  signal: AbortSignal,
  onFailure: (active: ActivePlugin, failure: HookFailure) => void,
): Promise<void> {
  const missing = plugins.filter(({ plugin }) => plugin.load !== undefined && !LOADED.has(plugin));
  const outcomes = await Promise.all(
    missing.map(({ plugin }) =>
      runBounded(environment, signal, plugin.timeoutMs ?? timeouts.pluginMs, () => loadOnce(plugin)),
    ),
  );
  for (const [index, active] of missing.entries()) {
    const outcome = outcomes[index];
    if (outcome !== undefined && outcome.type !== 'value') onFailure(active, outcome);
  }
}

/** True when a request has to wait for {@link loadPlugins}. */
export function needsLoading(plugins: readonly ActivePlugin[]): boolean {
  return plugins.some(({ plugin }) => plugin.load !== undefined && !LOADED.has(plugin));
}

function loadOnce(plugin: Plugin): Promise<void> {
  const known = LOADING.get(plugin);
  if (known !== undefined) return known;
  const loading = load(plugin);
  LOADING.set(plugin, loading);
  return loading;
}

async function load(plugin: Plugin): Promise<void> {
  try {
    await plugin.load?.();
    LOADED.add(plugin);
  } finally {
    // What failed may work the next time.
    LOADING.delete(plugin);
  }
}
