import { modelPatterns } from '../../catalog/model-patterns.ts';
import type { ChatFields, ChatRequest } from '../../protocol/chat-request.ts';
import type { Message } from '../../protocol/message.ts';
import { type Checked, echo, failed, faultAt, passed } from '../../protocol/fault.ts';
import { isFunctionTool, type Tool } from '../../protocol/tools.ts';
import { serverToolType } from './server-tools.ts';
import type { MaxPrice, Percentiles } from '../../protocol/provider-preferences.ts';
import type { RoutingPolicy } from '../../contracts/account.ts';
import type { Cutoffs, Preferences, PriceLimits } from '../../contracts/request.ts';

/** A stored set of request fields, and how its requests use the response cache. */
export interface Preset extends ChatFields {
  /** Messages of requests that bring none. */
  readonly messages?: readonly Message[] | undefined;
  /** Whether answers may come from the response cache. False is not overruled by a request (gaps 9.4). */
  readonly cache_enabled?: boolean | undefined;
  /** Seconds that answers are kept. */
  readonly cache_ttl_seconds?: number | undefined;
}

/** What the preset that a request names says about the response cache. */
export function cacheOfPreset(
  request: ChatRequest,
  presets: Readonly<Record<string, Preset>>,
): { readonly enabled?: boolean | undefined; readonly ttlSeconds?: number | undefined } | undefined {
  const { name } = presetOf(request);
  const preset = name !== undefined && Object.hasOwn(presets, name) ? presets[name] : undefined;
  if (preset?.cache_enabled === undefined && preset?.cache_ttl_seconds === undefined) return undefined;
  return { enabled: preset.cache_enabled, ttlSeconds: preset.cache_ttl_seconds };
}

/**
 * Puts the fields of a preset under those of the request (gaps 2.6). A preset is named by `preset`, by the model
 * `@preset/name`, or by `author/slug@preset/name`. Fields of the request win; tools of both are kept.
 */
export function applyPreset(request: ChatRequest, presets: Readonly<Record<string, Preset>>): Checked<ChatRequest> {
  const { name, model, path } = presetOf(request);
  if (name === undefined) return passed(request);
  const preset = Object.hasOwn(presets, name) ? presets[name] : undefined;
  if (preset === undefined)
    return failed(faultAt(path, `must be the name of a preset of this router, not ${echo(name)}`));
  const { cache_enabled: _, cache_ttl_seconds: __, ...fields } = preset;
  const given = Object.fromEntries(Object.entries({ ...request, model }).filter(([, value]) => value != null));
  return passed({
    ...fields,
    ...(given as unknown as ChatRequest),
    ...(preset.tools || request.tools ? { tools: unionOf(preset.tools ?? [], request.tools ?? []) } : {}),
  });
}

/** Whether a request names a preset, which few do. */
export function namesPreset({ preset, model }: ChatRequest): boolean {
  return preset != null || model?.includes(IN_MODEL) === true;
}

const IN_MODEL = '@preset/';

interface PresetName {
  readonly name?: string | undefined;
  readonly model?: string | null | undefined;
  readonly path: string;
}

function presetOf({ preset, model }: ChatRequest): PresetName {
  const at = model?.indexOf(IN_MODEL) ?? -1;
  if (model == null || at < 0) return { name: preset ?? undefined, model, path: 'preset' };
  return { name: model.slice(at + IN_MODEL.length), model: at === 0 ? null : model.slice(0, at), path: 'model' };
}

/** The request's tool replaces the preset's tool of the same name. */
function unionOf(preset: readonly Tool[], request: readonly Tool[]): readonly Tool[] {
  const given = new Set(request.map(keyOf));
  return [...preset.filter((tool) => !given.has(keyOf(tool))), ...request];
}

function keyOf(tool: Tool): string {
  if (isFunctionTool(tool)) return `function ${tool.function.name}`;
  const type = serverToolType(tool.type);
  const name = tool.parameters?.['name'] ?? tool['name'];
  return typeof name === 'string' ? `${type} ${name}` : type;
}

/**
 * Folds the policies of the router and the account into a request's preferences (gaps 3.1).
 * Every rule can only get stricter on the way.
 */
export function normalizePreferences(
  { provider, route }: Pick<ChatRequest, 'provider' | 'route'>,
  policies: readonly RoutingPolicy[],
): Preferences {
  const [only] = policies;
  if (provider != null || route != null || only === undefined || policies.length > 1) {
    return foldPreferences({ provider, route }, policies);
  }
  let known = OF_POLICY.get(only);
  if (known === undefined) {
    known = foldPreferences({}, policies);
    OF_POLICY.set(only, known);
    SHARED.add(known);
  }
  return known;
}

/** Preferences of requests that request nothing themselves, by the one policy that they are under. */
const OF_POLICY = new WeakMap<RoutingPolicy, Preferences>();
const SHARED = new WeakSet<Preferences>();

/** Whether preferences come from the router's policy alone, so that many requests share them. */
export function areOfPolicy(preferences: Preferences): boolean {
  return SHARED.has(preferences);
}

function foldPreferences(
  { provider, route }: Pick<ChatRequest, 'provider' | 'route'>,
  policies: readonly RoutingPolicy[],
): Preferences {
  const sort = typeof provider?.sort === 'string' ? { by: provider.sort } : (provider?.sort ?? undefined);
  const partition = sort?.partition ?? (route === 'sort' ? 'none' : 'model');
  const order = provider?.order ?? [];
  return {
    order,
    only: [...policies.map((policy) => policy.only), provider?.only ?? undefined].filter((list) => list !== undefined),
    ignore: [...policies.flatMap((policy) => policy.ignore ?? []), ...(provider?.ignore ?? [])],
    models: modelRules(policies),
    allowFallbacks: provider?.allow_fallbacks ?? true,
    requireParameters: provider?.require_parameters ?? false,
    denyDataCollection:
      provider?.data_collection === 'deny' || policies.some((policy) => policy.dataCollection === 'deny'),
    zeroDataRetention: provider?.zdr === true || policies.some((policy) => policy.zeroDataRetention === true),
    distillableOnly:
      provider?.enforce_distillable_text === true || policies.some((policy) => policy.enforceDistillableText === true),
    regions: regionsOf([
      ...policies.map((policy) => policy.regions),
      provider?.regions?.length ? provider.regions : null,
    ]),
    quantizations: provider?.quantizations?.length ? new Set(provider.quantizations) : undefined,
    sort: sort?.by ?? undefined,
    // A sort is ignored where there is an order, over all models as within each.
    sortWithinModel: partition === 'model' || order.length > 0,
    maxPrice: lowestLimits([...policies.map((policy) => policy.maxPrice), provider?.max_price]),
    minThroughput: toCutoffs(provider?.preferred_min_throughput),
    maxLatency: toCutoffs(provider?.preferred_max_latency),
    returnRefusals: provider?.refusals === 'return' || policies.some((policy) => policy.refusals === 'return'),
    afterFirstToken: provider?.after_first_token ?? undefined,
  };
}

/** The lists that say something; undefined where none does. */
export function regionsOf(lists: readonly (readonly string[] | null | undefined)[]): Preferences['regions'] {
  const said = lists.filter((list) => list != null);
  return said.length === 0 ? undefined : said;
}

/** Whether policies let a model be used; undefined where they let all. */
export function modelRules(policies: readonly RoutingPolicy[]): ((model: string) => boolean) | undefined {
  const rules = policies.flatMap((policy) => {
    if (policy.allowedModels === undefined && policy.excludedModels === undefined) return [];
    let rule = MODEL_RULES.get(policy);
    if (rule === undefined) {
      const { allowedModels, excludedModels = [] } = policy;
      const allowed = allowedModels && modelPatterns(allowedModels);
      const excluded = modelPatterns(excludedModels);
      rule = (model) => (allowed === undefined || allowed.matches(model)) && !excluded.matches(model);
      MODEL_RULES.set(policy, rule);
    }
    return [rule];
  });
  return rules.length < 2 ? rules[0] : (model) => rules.every((rule) => rule(model));
}

/** Whether the preferences of a request let a model be used: its account's lists, and rules that deny. */
export function mayUse({ models, denied }: Pick<Preferences, 'models' | 'denied'>, model: string): boolean {
  return models?.(model) !== false && denied?.(model) === undefined;
}

/** Patterns are prepared once for each policy. */
const MODEL_RULES = new WeakMap<RoutingPolicy, (model: string) => boolean>();

function lowestLimits(limits: readonly (MaxPrice | null | undefined)[]): PriceLimits | undefined {
  const lowest: Record<string, number> = {};
  for (const limit of limits) {
    for (const [unit, amount] of Object.entries(limit ?? {})) {
      if (amount != null) lowest[unit] = Math.min(Number(amount), lowest[unit] ?? Infinity);
    }
  }
  return Object.keys(lowest).length > 0 ? lowest : undefined;
}

function toCutoffs(percentiles: Percentiles | null | undefined): Cutoffs | undefined {
  if (percentiles == null) return undefined;
  if (typeof percentiles === 'number') return { p50: percentiles };
  const cutoffs = Object.fromEntries(Object.entries(percentiles).filter(([, value]) => value != null));
  return Object.keys(cutoffs).length > 0 ? cutoffs : undefined;
}
