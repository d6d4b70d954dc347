/** The plugin pipeline: `choosePlugins` decides which plugins take part in a request, and in which order. */
import { RouterError } from '../../protocol/router-error.ts';
import { type Checked, echo, failed, faultAt, passed, type RequestFault } from '../../protocol/fault.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { nearName } from '../../protocol/near-name.ts';
import { CONTRACT_PLUGINS, type PluginEntry } from '../../protocol/plugins.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { Plugin, PluginDefault } from '../../contracts/plugin.ts';
import type { PluginCause } from '../../contracts/plugin-context.ts';
import type { ChatRequest } from '../../protocol/chat-request.ts';
import { pathOfPlugin } from './locate-tool.ts';
import type { PluginRegistry } from './registry.ts';
import { checkPluginOptions, pathBelow } from './plugin-options.ts';

/** A plugin that takes part in a request, with its options for this request. */
export interface ActivePlugin {
  readonly plugin: Plugin;
  readonly options: unknown;
  readonly because: PluginCause;
}

const NONE: readonly never[] = [];

/** What choosing depends on besides the request. */
interface ChoosingContext {
  readonly registry: PluginRegistry;
  /** The request as it was checked: faults name its paths. */
  readonly body: ChatRequest;
  /** True for calls that plugins make: only what the call itself names takes part. */
  readonly inner: boolean;
}

/**
 * Chooses the plugins of a request, in the order of their registration (gaps 5). Request over account over router; of
 * two entries with the same id the last one counts. An id that nobody registered is a 400.
 */
export function choosePlugins(request: NormalizedRequest, context: ChoosingContext): Checked<readonly ActivePlugin[]> {
  const { registry } = context;
  if (request.plugins.length > 0) {
    const unknown = request.plugins.find((entry) => !registry.plugins.has(entry.id) && !asksForNothing(entry));
    if (unknown !== undefined) return failed(unknownPlugin(unknown.id, context));
  }
  const { pluginDefaults = NONE } = request.account;
  if (pluginDefaults.length > 0 && !context.inner) {
    const missing = unregisteredDefault(pluginDefaults, registry);
    if (missing !== undefined) throw brokenDefault(missing, 'id', 'must be the id of a registered plugin');
  }
  let isRequested = request.plugins.length > 0 || pluginDefaults.length > 0;
  for (const { model } of request.targets) isRequested ||= registry.models.has(model);
  const active: ActivePlugin[] = [];
  for (const plugin of isRequested ? registry.plugins.values() : registry.unasked) {
    const requested = requestedFor(plugin, request, context);
    if (requested === undefined) continue;
    const checked = foreign(`plugin "${plugin.id}"`, () => checkPluginOptions(plugin, requested.options));
    if (checked.ok) active.push({ plugin, options: checked.options, because: requested.because });
    else if (requested.because === 'account')
      throw brokenDefault(plugin.id, pathBelow('options', checked.path), checked.problem);
    else return failed(faultAt(pathBelow(pathOfPlugin(context.body, plugin.id), checked.path), checked.problem));
  }
  const unresolved = isRequested ? unresolvedRouter(request, active, context) : undefined;
  return unresolved === undefined ? passed(active) : failed(unresolved);
}

/** A router model is nothing without its plugin, so switching that off for one request is a mistake. */
function unresolvedRouter(
  { targets, plugins }: NormalizedRequest,
  active: readonly ActivePlugin[],
  { registry, body }: ChoosingContext,
): RequestFault | undefined {
  for (const { router } of targets) {
    if (router === undefined || active.some(({ plugin }) => plugin.models?.includes(router))) continue;
    const owner = [...registry.plugins.values()].find(({ models }) => models?.includes(router));
    if (owner === undefined) continue;
    const entry = plugins.findLast((one) => one.id === owner.id);
    if (entry?.enabled === false) {
      return faultAt(
        `${pathOfPlugin(body, owner.id)}.enabled`,
        `must not be false, because ${router} is resolved by this plugin`,
      );
    }
    const message = `No endpoints found for ${router}: its plugin "${owner.id}" is switched off here`;
    return { status: 404, errorType: 'not_found', path: 'model', message };
  }
  return undefined;
}

/** An account whose guardrail is not there must not be served without it. */
function unregisteredDefault(defaults: readonly PluginDefault[], { plugins }: PluginRegistry): string | undefined {
  return defaults.find(({ id, enabled }) => enabled !== false && !plugins.has(id))?.id;
}

/** Clients switch plugins of the contract off without asking whether they are there. */
function asksForNothing({ id, enabled }: PluginEntry): boolean {
  return enabled === false && CONTRACT_PLUGINS.includes(id);
}

interface RequestedPlugin {
  readonly because: PluginCause;
  readonly options: JsonObject;
}

/** Who wants a plugin to run, and how; undefined when nobody does. */
function requestedFor(
  plugin: Plugin,
  request: NormalizedRequest,
  { registry, inner }: ChoosingContext,
): RequestedPlugin | undefined {
  const { id, models } = plugin;
  const entry = request.plugins.findLast((one) => one.id === id);
  const account = inner ? undefined : request.account.pluginDefaults?.findLast((one) => one.id === id);
  const router = inner ? undefined : registry.defaults.findLast((one) => one.id === id);
  const fallback = account ?? router;
  const isRequested = models !== undefined && request.targets.some(({ model }) => models.includes(model));
  const fixedByPlugin = plugin.preventOverrides === true;
  const fixed =
    router?.preventOverrides === true
      ? router
      : account?.preventOverrides === true
        ? account
        : fixedByPlugin
          ? fallback
          : undefined;
  if (fixed !== undefined) return requestedByDefault(fixed, fixed === router ? 'router' : 'account');
  if (entry !== undefined && !fixedByPlugin)
    return entry.enabled === false ? undefined : { because: 'request', options: optionsOf(entry) };
  // A default that is switched off waits for a request that asks; asking for the plugin's model is one.
  if (fallback !== undefined && (fallback.enabled !== false || !isRequested)) {
    return requestedByDefault(fallback, fallback === account ? 'account' : 'router');
  }
  if (isRequested) return { because: 'model', options: { ...fallback?.options } as JsonObject };
  return !inner && runsUnasked(plugin, request) ? { because: 'itself', options: {} } : undefined;
}

/** Whether a plugin takes part by itself. Plugins come from anybody. */
function runsUnasked(plugin: Plugin, request: NormalizedRequest): boolean {
  try {
    return plugin.runsUnasked?.(request) === true;
  } catch (thrown) {
    throw failureOf(`plugin "${plugin.id}"`, thrown);
  }
}

function requestedByDefault({ enabled, options }: PluginDefault, because: PluginCause): RequestedPlugin | undefined {
  return enabled === false ? undefined : { because, options: { ...options } as JsonObject };
}

function optionsOf({ id: _, enabled: __, ...options }: PluginEntry): JsonObject {
  return options as JsonObject;
}

function unknownPlugin(id: string, { registry, body }: ChoosingContext): RequestFault {
  const known = [...registry.plugins.keys()];
  const near = nearName(id, known);
  const names = known.length === 0 ? 'this router has none' : `this router has ${known.join(', ')}`;
  const more = 'A program registers more with createRouter({ plugins: [...] })';
  const path = pathOfPlugin(body, id);
  if (!path.startsWith('plugins')) return faultAt(path, `needs the plugin "${id}"; ${names}. ${more}`);
  const hint = near === undefined ? '' : ` (did you mean "${near}"?)`;
  return faultAt(`${path}.id`, `must be the id of a plugin, not ${echo(id)}${hint}; ${names}. ${more}`);
}

/** What an account has set is not the caller's mistake. */
function brokenDefault(id: string, path: string, problem: string): RouterError {
  return new RouterError({
    status: 500,
    errorType: 'server',
    message: `The account's default for the plugin "${id}" is not valid: ${path} ${problem}`,
  });
}

/**
 * Runs foreign code that must not throw, such as a parser of options.
 *
 * @param owner - Whose it is, for the error: `plugin "web"`.
 * @throws {@link RouterError} Errors of ours as they are, 502 in the place of all others.
 */
export function foreign<Value>(owner: string, run: () => Value): Value {
  try {
    return run();
  } catch (thrown) {
    throw failureOf(owner, thrown);
  }
}

/** What to throw for what foreign code threw. */
function failureOf(owner: string, thrown: unknown): RouterError {
  if (RouterError.isInstance(thrown)) return thrown;
  return new RouterError({ status: 502, errorType: 'provider_unavailable', message: `The ${owner} failed` });
}
