/** The hard filters of routing, in their order: which endpoints a request may use at all. */
import { type Endpoint, serves } from '../../catalog/endpoint.ts';
import type { ParameterName, ToolChoiceKind } from '../../catalog/model.ts';
import type { SelectionPolicy } from './world.ts';
import type { Quantization } from '../../protocol/provider-preferences.ts';
import type { ModelTarget, RoutedRequest } from '../../contracts/request.ts';
import { isShortened } from './route-plan.ts';
import { requestRates } from './adaptive/expected-cost.ts';
import type { ExclusionReason } from '../../contracts/exclusion-reason.ts';
import { namesEndpoint, namesProvider, selectorIndex } from '../../catalog/selectors.ts';

/** Whether an endpoint can do something; `unknown` when nobody declared it. */
export type Capability = 'yes' | 'no' | 'unknown';

/** Whether something may be used: what is unknown gets the answer of the policy. */
function isAllowed(capability: Capability, policy: SelectionPolicy): boolean {
  return capability === 'unknown' ? policy.unknownCapability === 'allow' : capability === 'yes';
}

/** Whether a set holds a value; of a set that nobody declared, nothing is known. */
function capabilityIn<Value>(declared: ReadonlySet<Value> | undefined, value: Value): Capability {
  if (declared === undefined) return 'unknown';
  return declared.has(value) ? 'yes' : 'no';
}

/** Whether an endpoint takes a parameter. The two names of the token limit are one, and so are those of reasoning. */
export function parameterCapability(endpoint: Endpoint, name: ParameterName): Capability {
  const own = oneCapability(endpoint, name);
  const existingJob = TWINS[name];
  if (own === 'yes' || existingJob === undefined) return own;
  const other = oneCapability(endpoint, existingJob);
  return other === 'no' ? own : other;
}

function oneCapability({ parameters, unknownParameters }: Endpoint, name: ParameterName): Capability {
  return unknownParameters?.has(name) === true ? 'unknown' : capabilityIn(parameters, name);
}

/** Whether an endpoint with tools lets the caller choose among them like this. `auto` is what no choice means. */
function toolChoiceCapability(endpoint: Endpoint, choice: ToolChoiceKind): Capability {
  if (endpoint.toolChoices !== undefined) return capabilityIn(endpoint.toolChoices, choice);
  return choice === 'auto' ? 'yes' : 'unknown';
}

/** Whether a parameter may be sent to an endpoint. */
function takesParameter(endpoint: Endpoint, name: ParameterName, policy: SelectionPolicy): boolean {
  return isAllowed(parameterCapability(endpoint, name), policy);
}

/** Names that mean the same ability. */
const TWINS: Readonly<Partial<Record<ParameterName, ParameterName>>> = {
  max_completion_tokens: 'max_tokens',
  max_tokens: 'max_completion_tokens',
  reasoning: 'reasoning_effort',
  reasoning_effort: 'reasoning',
};

/** A rule that one endpoint breaks. */
interface Exclusion {
  readonly reason: ExclusionReason;
  readonly detail?: string | undefined;
  /** True when nobody declared whether the endpoint can do it. */
  readonly undeclared?: boolean | undefined;
}

type Filter = (
  endpoint: Endpoint,
  request: RoutedRequest,
  policy: SelectionPolicy,
  target: ModelTarget,
) => Exclusion | undefined;

/**
 * The hard filters in the order in which they are called (gaps 3.4). The order matters when nobody is left: the
 * endpoint that came furthest tells the caller what the last obstacle was.
 */
const FILTERS: readonly (readonly [filter: Filter, matters: (request: RoutedRequest) => boolean])[] = [
  [allowedModels, ({ preferences: { denied, models } }) => denied !== undefined || models !== undefined],
  [allowedProviders, ({ preferences: { only, ignore } }) => only.length > 0 || ignore.length > 0],
  [dataPolicy, ({ preferences }) => preferences.denyDataCollection || preferences.zeroDataRetention],
  [region, ({ preferences }) => preferences.regions !== undefined],
  [distillable, ({ preferences }) => preferences.distillableOnly],
  [quantization, ({ preferences }) => preferences.quantizations !== undefined],
  [maxPrice, ({ preferences }) => preferences.maxPrice !== undefined],
  [serviceTier, () => true],
  [apiFormat, ({ native }) => native?.requiredBy !== undefined],
  [modalities, () => true],
  [dimensions, ({ needs }) => needs.parameters.includes('dimensions')],
  [tools, ({ needs }) => needs.tools],
  [mandatoryReasoning, ({ reasoning }) => reasoning?.effort === 'none'],
  [requiredParameters, ({ preferences }) => preferences.requireParameters],
  [outputLimit, ({ needs }) => needs.outputTokens !== undefined],
  [contextLength, () => true],
];

/** Finds the first rule of a request that an endpoint breaks, and how far it came; undefined when it qualifies. */
export function exclusionsFor(
  request: RoutedRequest,
  policy: SelectionPolicy,
): (endpoint: Endpoint, target: ModelTarget) => Exclusion | undefined {
  // Most filters do not concern a request, and it has many endpoints.
  const filters = FILTERS.filter(([, matters]) => matters(request)).map(([filter]) => filter);
  return (endpoint, target) => {
    for (const filter of filters) {
      const exclusion = filter(endpoint, request, policy, target);
      if (exclusion !== undefined) return exclusion;
    }
    return undefined;
  };
}

/** Those of the filters that say what a request may use, whatever an endpoint can do. */
const POLICIES: readonly ((endpoint: Endpoint, request: RoutedRequest) => Exclusion | undefined)[] = [
  allowedModels,
  allowedProviders,
  dataPolicy,
  region,
  distillable,
  quantization,
  maxPrice,
];

/** Whether rules, policies or preferences keep a request from an endpoint, also from an answer that it has given before. */
export function isForbidden(endpoint: Endpoint, request: RoutedRequest): boolean {
  return POLICIES.some((filter) => filter(endpoint, request) !== undefined);
}

/** How late in the list of filters a reason comes. */
export function progressOf(reason: (typeof PROGRESS)[number]): number {
  return PROGRESS.indexOf(reason);
}

/** Every reason: the compiler refuses one that is not here. */
const PROGRESS = [
  'rule',
  'allowed_models',
  'allowed_providers',
  'data_policy:training',
  'data_policy:zdr',
  'region',
  'distillable',
  'quantization',
  'max_price',
  'service_tier',
  'dialect',
  'input_modality',
  'output_modality',
  'dimensions',
  'tools',
  'tool_choice',
  'reasoning',
  'require_parameters',
  'response_format',
  'max_output_tokens',
  'context_length',
  'allow_fallbacks',
  'budget',
  'plugin',
] as const satisfies readonly ExclusionReason[];

function allowedModels({ model }: Endpoint, { preferences }: RoutedRequest): Exclusion | undefined {
  const denied = preferences.denied?.(model);
  if (denied !== undefined) return { reason: 'rule', detail: `${denied.reason} (rule ${denied.rule})` };
  return preferences.models === undefined || preferences.models(model) ? undefined : { reason: 'allowed_models' };
}

function allowedProviders(endpoint: Endpoint, { preferences }: RoutedRequest): Exclusion | undefined {
  for (const list of preferences.only) {
    if (selectorIndex(list, endpoint) < 0) return { reason: 'allowed_providers', detail: 'not in only' };
  }
  // Whoever ignores a provider means all of it, its service tiers included.
  const ignored = preferences.ignore.some((one) => namesEndpoint(one, endpoint) || namesProvider(one, endpoint));
  return ignored ? { reason: 'allowed_providers', detail: 'in ignore' } : undefined;
}

function dataPolicy(endpoint: Endpoint, { preferences }: RoutedRequest): Exclusion | undefined {
  if (preferences.denyDataCollection && endpoint.dataCollection) return { reason: 'data_policy:training' };
  return preferences.zeroDataRetention && !endpoint.zeroDataRetention ? { reason: 'data_policy:zdr' } : undefined;
}

/** What does not say where it runs is in no region. */
function region({ region: own }: Endpoint, { preferences }: RoutedRequest): Exclusion | undefined {
  const at = own?.toLowerCase();
  const isIn = (wanted: string): boolean =>
    at === wanted.toLowerCase() || at?.startsWith(`${wanted.toLowerCase()}-`) === true;
  if (preferences.regions?.every((list) => list.some(isIn)) ?? true) return undefined;
  return { reason: 'region', detail: own ?? 'not declared' };
}

function distillable(endpoint: Endpoint, { preferences }: RoutedRequest): Exclusion | undefined {
  return preferences.distillableOnly && endpoint.distillable !== true ? { reason: 'distillable' } : undefined;
}

function quantization(endpoint: Endpoint, { preferences }: RoutedRequest): Exclusion | undefined {
  const wanted = preferences.quantizations;
  if (wanted === undefined || accepts(wanted, endpoint.quantization)) return undefined;
  return { reason: 'quantization', detail: endpoint.quantization };
}

/** Some things can only be said in the caller's own API format. */
function apiFormat(endpoint: Endpoint, { native }: RoutedRequest): Exclusion | undefined {
  if (native?.requiredBy === undefined || endpoint.apiFormats.includes(native.apiFormat)) return undefined;
  return { reason: 'dialect', detail: native.requiredBy };
}

/** `fp4` includes its two block formats, `fp8` its one. */
function accepts(wanted: ReadonlySet<Quantization>, own: Quantization): boolean {
  if (wanted.has(own)) return true;
  if (own === 'mxfp4' || own === 'nvfp4') return wanted.has('fp4');
  return own === 'mxfp8' && wanted.has('fp8');
}

/**
 * An endpoint without a price cannot show that it is cheap enough. Compared are the rates that the cost would be made
 * from; the unit of `audio` is a token, as in `GET /models`.
 */
function maxPrice(endpoint: Endpoint, request: RoutedRequest): Exclusion | undefined {
  const limits = request.preferences.maxPrice;
  if (limits === undefined) return undefined;
  const rates = requestRates(endpoint, request);
  if (rates === undefined) return { reason: 'max_price', detail: 'price unknown' };
  const own = {
    prompt: rates.prompt,
    completion: rates.completion,
    request: rates.request ?? 0,
    image: rates.image ?? 0,
    audio: (rates.audioPrompt ?? (hearsAudio(endpoint) ? rates.prompt : 0)) / 1e6,
  };
  for (const unit of PRICE_UNITS) {
    const limit = limits[unit];
    if (limit !== undefined && own[unit] > limit) return { reason: 'max_price', detail: `${unit} ${own[unit]}` };
  }
  return undefined;
}

/** Without a price of its own, audio costs what text costs. */
function hearsAudio({ inputModalities }: Endpoint): boolean {
  return capabilityIn(inputModalities, 'audio') === 'yes';
}

const PRICE_UNITS = ['prompt', 'completion', 'request', 'image', 'audio'] as const;

/** Which tiers are eligible depends on the request and on the variant of the slug (gaps 2.7). */
function serviceTier(
  endpoint: Endpoint,
  { serviceTier: wanted, preferences }: RoutedRequest,
  _policy: SelectionPolicy,
  target: ModelTarget,
): Exclusion | undefined {
  if (wanted === undefined && endpoint.tier === 'default') return undefined;
  const excluded: Exclusion = { reason: 'service_tier', detail: endpoint.tier };
  if (wanted === 'flex' && target.endpoints.some((one) => one.tier === 'flex')) {
    return endpoint.tier === 'flex' ? undefined : excluded;
  }
  if (endpoint.tier === 'default' || wanted === endpoint.tier) return undefined;
  const named = [preferences.order, ...preferences.only].flat();
  if (named.some((selector) => namesEndpoint(selector, endpoint))) return undefined;
  const admitted = wanted === undefined && preferences.order.length === 0 && target.admitTier === endpoint.tier;
  return admitted ? undefined : excluded;
}

function modalities(
  endpoint: Endpoint,
  { operation, needs }: RoutedRequest,
  policy: SelectionPolicy,
): Exclusion | undefined {
  const served = serves(endpoint, operation);
  // Chat is what models are for: only a declaration keeps one from it.
  const mayServe = served === 'yes' || (served === 'unknown' && (operation === 'chat' || isAllowed(served, policy)));
  if (!mayServe) return incapable('output_modality', operation === 'chat' ? 'text' : operation, served);
  for (const one of needs.inputModalities) {
    const known = capabilityIn(endpoint.inputModalities, one);
    if (!isAllowed(known, policy)) return incapable('input_modality', one, known);
  }
  for (const one of needs.outputModalities) {
    const known = capabilityIn(endpoint.outputModalities, one);
    if (!isAllowed(known, policy)) return incapable('output_modality', one, known);
  }
  return undefined;
}

/** Vectors of another length are of no use, so unlike other parameters this one is never left out. */
function dimensions(endpoint: Endpoint, { needs }: RoutedRequest, policy: SelectionPolicy): Exclusion | undefined {
  if (!needs.parameters.includes('dimensions')) return undefined;
  const known = parameterCapability(endpoint, 'dimensions');
  return isAllowed(known, policy) ? undefined : incapable('dimensions', 'they cannot be chosen there', known);
}

function tools(endpoint: Endpoint, { needs }: RoutedRequest, policy: SelectionPolicy): Exclusion | undefined {
  if (!needs.tools) return undefined;
  const known = parameterCapability(endpoint, 'tools');
  if (!isAllowed(known, policy)) {
    return policy.toolSupport === 'exclude' ? incapable('tools', undefined, known) : undefined;
  }
  if (needs.toolChoice === undefined) return undefined;
  const choosing = toolChoiceCapability(endpoint, needs.toolChoice);
  return isAllowed(choosing, policy) ? undefined : incapable('tool_choice', needs.toolChoice, choosing);
}

/** What an endpoint cannot do, or, under a strict policy, may be unable to do. */
function incapable(reason: ExclusionReason, detail: string | undefined, known: Capability): Exclusion {
  return { reason, detail, ...(known === 'unknown' ? { undeclared: true } : {}) };
}

/** A model that always reasons cannot be told not to; `~author/family-latest` takes the lowest effort instead. */
function mandatoryReasoning(
  endpoint: Endpoint,
  { reasoning }: RoutedRequest,
  _policy: SelectionPolicy,
  target: ModelTarget,
): Exclusion | undefined {
  if (reasoning?.effort !== 'none' || endpoint.reasoning?.mandatory !== true) return undefined;
  return target.strategy === 'latest' ? undefined : { reason: 'reasoning', detail: 'cannot be switched off' };
}

function requiredParameters(
  endpoint: Endpoint,
  { needs, preferences }: RoutedRequest,
  policy: SelectionPolicy,
): Exclusion | undefined {
  if (!preferences.requireParameters) return undefined;
  for (const name of needs.parameters) {
    const known = parameterCapability(endpoint, name);
    if (!isAllowed(known, policy)) return incapable('require_parameters', name, known);
  }
  return undefined;
}

function outputLimit(endpoint: Endpoint, { needs }: RoutedRequest): Exclusion | undefined {
  const { maxOutputTokens: limit } = endpoint;
  if (limit === undefined || needs.outputTokens === undefined || needs.outputTokens <= limit) return undefined;
  return { reason: 'max_output_tokens', detail: String(limit) };
}

function contextLength(
  endpoint: Endpoint,
  { needs }: RoutedRequest,
  _policy: SelectionPolicy,
  target: ModelTarget,
): Exclusion | undefined {
  if (isShortened(target, endpoint)) return undefined;
  const { contextLength: limit, maxPromptTokens } = endpoint;
  if (maxPromptTokens !== undefined && needs.promptTokens > maxPromptTokens) {
    return { reason: 'context_length', detail: String(maxPromptTokens) };
  }
  if (limit === undefined || needs.promptTokens + (needs.outputTokens ?? 0) <= limit) return undefined;
  return { reason: 'context_length', detail: String(limit) };
}

/** Abilities that are preferred: used when some endpoint has them, given up when none does (gaps 3.4). */
const PREFERRED: readonly ParameterName[] = ['response_format', 'structured_outputs', 'verbosity'];

/** The endpoints that have every preferred ability the request uses, or all of them where none has one. */
export function preferCapable(
  endpoints: readonly Endpoint[],
  { needs }: RoutedRequest,
  policy: SelectionPolicy,
): readonly Endpoint[] {
  let left = endpoints;
  const wanted = policy.toolSupport === 'prefer' && needs.tools ? [...PREFERRED, 'tools' as const] : PREFERRED;
  for (const name of wanted) {
    if (name !== 'tools' && !needs.parameters.includes(name)) continue;
    const able = left.filter((endpoint) => takesParameter(endpoint, name, policy));
    if (able.length > 0) left = able;
  }
  return left;
}
