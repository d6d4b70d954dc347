/** Request normalization: `normalizeChatRequest` turns a checked body into the one form behind it. */
import { CHAT_FIELDS, type ChatRequest, type ServiceTier } from '../../protocol/chat-request.ts';
import { type Checked, failed, faultAt } from '../../protocol/fault.ts';
import { gatewayFieldsLeftOut, isGatewayField } from '../../protocol/gateway-fields.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { Message } from '../../protocol/message.ts';
import { MAX_SERVER_TOOL_STEPS } from '../../protocol/limits.ts';
import { PLUGIN_SHORT_FORMS, type PluginEntry } from '../../protocol/plugins.ts';
import type { ToolChoice } from '../../protocol/tools.ts';
import type { Account, RoutingPolicy } from '../../contracts/account.ts';
import { type RequestedModel, chatTargets, knownTargets, type Meaning } from './targets.ts';
import { normalizeMessages, normalizeReasoning } from './messages.ts';
import type { NormalizedRequest, RequestedTier, RequestParameters, Needs } from '../../contracts/request.ts';
import { applyPreset, cacheOfPreset, namesPreset, normalizePreferences } from './preset.ts';
import { serverToolType, sortTools } from './server-tools.ts';
import { conversationKey, findSession, NO_SESSION } from './session.ts';
import { type ParameterName, SUPPORTED_PARAMETERS, type ToolChoiceKind } from '../../catalog/model.ts';
import { fewestTokens, type PromptContent, surveyPrompt } from '../tokens/token-estimate.ts';
import type { RouterFacts, RequestContext } from './context.ts';

/** Turns a checked request into the form that everything behind it works with. */
export function normalizeChatRequest(
  body: ChatRequest,
  context: RequestContext,
  facts: RouterFacts,
): Checked<NormalizedRequest> {
  const known = usualMeaning(body, context, facts);
  const preset = known === undefined && namesPreset(body) ? applyPreset(body, facts.presets) : undefined;
  if (preset?.ok === false) return preset;
  const request = preset?.value ?? body;
  const models = known === undefined ? requestedModels(request, defaultModel(context, facts)) : NOTHING;
  if (known === undefined && models.length === 0) return failed(faultAt('model', 'is required: No models provided'));
  const requested = models[0]?.slug ?? request.model ?? defaultModel(context, facts) ?? '';
  const session = namesSession(request, context) ? findSession(request, context.sessionHeader) : NO_SESSION;
  if (!session.ok) return session;
  const applying = facts.applying?.(context, facts, {
    requested,
    metadata: request.metadata,
    session: () => session.value.key ?? conversationKey(normalizeMessages(request.messages)),
  });
  const refused = applying?.fault();
  if (refused !== undefined) return failed(refused);
  const resolved =
    known ??
    chatTargets(models, {
      catalog: facts.catalog,
      routerModels: facts.routerModels,
      docsUrl: facts.docsUrl,
      batch: context.batch,
      pro: request.reasoning?.mode === 'pro',
      ...applying?.targets,
    });
  if (!resolved.ok) return resolved;
  const { targets, online } = resolved.value;
  const prompt = surveyPrompt(request.messages);
  const isRewritten = context.onlyTexts !== true || prompt.system;
  const input = modelInput(request, isRewritten ? normalizeMessages(request.messages) : request.messages);
  const { route, provider } = request;
  const { policy } = context.account;
  const isUsual = provider == null && route == null && policy === undefined && context.policies === undefined;
  const preferences =
    (isUsual && applying === undefined ? facts.preferences : undefined) ??
    normalizePreferences(
      { route, provider: applying === undefined ? provider : applying.provider(provider, requested) },
      policiesOf(context.account, facts, context.policies),
    );
  const applied = applying?.record({
    functions: input.tools.length > 0,
    effects: online || mayHaveEffects(request, input, context),
  });
  // Written out, not spread: an object of this size that grows member by member costs as much as the whole routing.
  const value: NormalizedRequest = {
    messages: input.messages,
    parameters: input.parameters,
    tools: input.tools,
    toolChoice: input.toolChoice,
    responseFormat: input.responseFormat,
    reasoning: input.reasoning,
    outputModalities: input.outputModalities,
    operation: 'chat',
    id: context.id,
    created: context.created,
    stream: request.stream ?? false,
    requested,
    targets,
    serverTools: input.serverTools,
    maxToolSteps: request.max_tool_calls ?? MAX_SERVER_TOOL_STEPS,
    stopConditions: request.stop_server_tools_when == null ? NOTHING : [request.stop_server_tools_when].flat(),
    audio: request.audio ?? undefined,
    imageConfig: (request.image_config ?? undefined) as JsonObject | undefined,
    cache: requestedCache(request),
    responseCache: preset && cacheOfPreset(body, facts.presets),
    serviceTier: request.service_tier == null ? undefined : tierOf(request.service_tier),
    needs: deriveNeeds(input, input.messages === request.messages ? prompt : undefined),
    preferences: applying?.preferences(preferences) ?? preferences,
    plugins: requestedPlugins(request, online),
    session: session.value,
    endUser: context.endUser,
    account: context.account,
    metadata: request.metadata ?? undefined,
    trace: (request.trace ?? undefined) as JsonObject | undefined,
    wantsMetadata: context.wantsMetadata,
    echoUpstreamBody: request.debug?.echo_upstream_body === true && request.stream === true,
    native: context.native,
    format: context.format,
    batched: context.batch,
    anthropicBetas: context.anthropicBeta === undefined ? undefined : betas(context.anthropicBeta),
    extra: input.extra,
    adjustments: input.adjustments,
    applied,
    within: context.within,
    traceContext: context.traceContext,
    verbatim: context.verbatim,
  };
  return { ok: true, value };
}

/**
 * What the models of a request mean, where it was looked up for an earlier one that named the same one and nothing else
 * that counts: nearly always.
 */
function usualMeaning(
  { model, models, preset, reasoning }: ChatRequest,
  context: RequestContext,
  facts: RouterFacts,
): Meaning | undefined {
  if (models != null || preset != null || reasoning?.mode === 'pro') return undefined;
  if (facts.applying !== undefined || context.batch === true) return undefined;
  const slug = model ?? defaultModel(context, facts);
  return slug === undefined ? undefined : knownTargets(facts.catalog, slug);
}

function defaultModel({ account }: RequestContext, facts: RouterFacts): string | undefined {
  return account.defaultModel ?? facts.defaultModel;
}

/** Whether anything in a request may name its session. */
function namesSession({ session_id: id, prompt_cache_key: key, user }: ChatRequest, context: RequestContext): boolean {
  return id != null || key != null || user != null || context.sessionHeader !== undefined;
}

/** What the model gets, and fields that only some provider understands. */
type ModelInput = Asking & Pick<NormalizedRequest, 'serverTools' | 'extra' | 'adjustments'>;

function modelInput(request: ChatRequest, messages: readonly Message[]): ModelInput {
  const { functions, server } = request.tools == null ? NO_TOOLS : sortTools(request.tools);
  const { parameters, extra, adjustments } = collectFields(request);
  return {
    messages,
    parameters,
    tools: functions,
    serverTools: server,
    toolChoice: request.tool_choice == null ? undefined : neutralChoice(request.tool_choice),
    responseFormat: request.response_format ?? undefined,
    reasoning: namesReasoning(request) ? normalizeReasoning(request) : undefined,
    outputModalities: request.modalities ?? undefined,
    extra,
    adjustments,
  };
}

/** Whether a request says anything of reasoning. */
function namesReasoning({ reasoning, reasoning_effort: effort, include_reasoning: include }: ChatRequest): boolean {
  return reasoning != null || effort != null || include != null;
}

function requestedCache(request: ChatRequest): NormalizedRequest['cache'] {
  return {
    control: request.cache_control ?? undefined,
    key: request.prompt_cache_key ?? undefined,
    options: request.prompt_cache_options ?? undefined,
  };
}

/** Whether answering a request may do more than make an answer, so that it must not be copied. */
function mayHaveEffects(
  { web_search_options: search }: ChatRequest,
  { serverTools, extra }: ModelInput,
  { native, batch, within }: RequestContext,
): boolean {
  return (
    serverTools.length > 0 ||
    search != null ||
    Object.keys(extra).length > 0 ||
    native?.requiredBy !== undefined ||
    batch === true ||
    within !== undefined
  );
}

/** The rules that hold for an account's requests, and for one of them besides. */
export function policiesOf(
  account: Account,
  facts: RouterFacts,
  more?: readonly RoutingPolicy[],
): readonly RoutingPolicy[] {
  const own = account.policy === undefined ? [facts.policy] : [facts.policy, account.policy];
  return more === undefined ? own : [...own, ...more];
}

/** `model` first, then `models`; without either, the default. */
export function requestedModels(
  request: Pick<ChatRequest, 'model' | 'models'>,
  fallback: string | undefined,
): readonly RequestedModel[] {
  const { model, models } = request;
  const first = model == null ? [] : [{ slug: model, path: 'model' }];
  const list =
    models == null ? first : [...first, ...models.map((slug, index) => ({ slug, path: `models[${index}]` }))];
  return list.length === 0 && fallback !== undefined ? [{ slug: fallback, path: 'model' }] : list;
}

function neutralChoice(choice: ToolChoice): ToolChoice {
  if (typeof choice !== 'object' || choice.type === 'function') return choice;
  return { type: serverToolType(choice.type) };
}

function tierOf(tier: ServiceTier): RequestedTier | undefined {
  if (tier === 'auto') return undefined;
  return tier === 'fast' ? 'priority' : tier;
}

/** Plugins by entry; the deprecated `transforms` and `:online` stand for entries of their own. */
function requestedPlugins(request: ChatRequest, online: boolean): readonly PluginEntry[] {
  if (request.plugins == null && request.transforms == null && !online) return NOTHING;
  const entries = [...(request.plugins ?? [])];
  const has = (id: string): boolean => entries.some((entry) => entry.id === id);
  const { transforms, online: search } = PLUGIN_SHORT_FORMS;
  if (request.transforms != null && !has(transforms)) {
    entries.push({ id: transforms, enabled: request.transforms.length > 0 });
  }
  if (online && !has(search)) entries.push({ id: search });
  return entries;
}

/** Names in a comma list; what cannot be one must not get into a header of ours. */
function betas(list: string): readonly string[] {
  return list.split(',').flatMap((name) => /^[\w.-]{1,100}$/.exec(name.trim()) ?? []);
}

/** A JSON object, or nothing. */
export function objectIfGiven(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

/** Parameters that a normalised request has in a form of its own. */
const APART = [
  'max_tokens',
  'max_completion_tokens',
  'response_format',
  'structured_outputs',
  'stop',
  'tools',
  'tool_choice',
  'include_reasoning',
  'reasoning',
  'reasoning_effort',
] as const satisfies readonly ParameterName[];

const READ_APART: ReadonlySet<string> = new Set(APART);

/** The others have a member of their name in {@link RequestParameters}: the compiler names one that has none. */
type Copied = Pick<RequestParameters, Exclude<(typeof SUPPORTED_PARAMETERS)[number], (typeof APART)[number]>>;

/**
 * Fields that this contract knows, and whether they are copied as they are when they are set; all others pass through
 * to the provider.
 */
const KNOWN: ReadonlyMap<string, boolean> = new Map<string, boolean>([
  ...[...CHAT_FIELDS].map((name) => [name, false] as const),
  // Accepted from older clients and without effect: one choice is made, usage is always sent.
  ...['n', 'usage', 'structured_outputs', 'prompt'].map((name) => [name, false] as const),
  ...SUPPORTED_PARAMETERS.map((name) => [name, !READ_APART.has(name)] as const),
]);

/**
 * Collects the parameters that were set, and the fields that only some provider understands. What was left out stays
 * out: no default is ever put in its place.
 */
function collectFields(
  request: ChatRequest,
): { readonly parameters: RequestParameters } & Pick<ModelInput, 'extra' | 'adjustments'> {
  const parameters: Copied & Record<string, unknown> = {};
  let extra: Record<string, unknown> | undefined;
  let leftOut: string[] | undefined;
  for (const name in request) {
    const isCopied = KNOWN.get(name);
    if (isCopied === false) continue;
    const value = request[name as keyof ChatRequest];
    if (isCopied === undefined) {
      if (isGatewayField(name)) (leftOut ??= []).push(name);
      else (extra ??= Object.create(null) as Record<string, unknown>)[name] = value;
    } else if (value != null) parameters[name] = value;
  }
  const limit = request.max_completion_tokens ?? request.max_tokens;
  if (limit != null) parameters['max_completion_tokens'] = limit;
  if (request.stop != null && request.stop.length > 0) {
    parameters['stop'] = typeof request.stop === 'string' ? [request.stop] : request.stop;
  }
  if (extra !== undefined && isJsonObject(extra['extra_body'])) {
    const kept = Object.entries(extra['extra_body']).filter(([name]) => !isGatewayField(name));
    extra['extra_body'] = Object.fromEntries(kept);
  }
  return {
    parameters,
    extra: (extra ?? NONE) as JsonObject,
    adjustments: leftOut && [gatewayFieldsLeftOut(leftOut)],
  };
}

const NONE: JsonObject = Object.freeze({});

type Asking = Pick<
  NormalizedRequest,
  'messages' | 'parameters' | 'tools' | 'toolChoice' | 'responseFormat' | 'reasoning' | 'outputModalities'
>;

/** Shared, because a ledger keeps it with each request. */
const NOTHING: readonly never[] = Object.freeze([]);
const NO_TOOLS = { functions: NOTHING, server: NOTHING };

/** Derives what an endpoint must be able to do from what the request uses. */
export function deriveNeeds(asking: Asking, prompt: PromptContent = surveyPrompt(asking.messages)): Needs {
  return {
    inputModalities: prompt.modalities,
    outputModalities: asking.outputModalities?.filter((modality) => modality !== 'text') ?? NOTHING,
    tools: asking.tools.length > 0,
    toolChoice: asking.tools.length > 0 ? kindOf(asking.toolChoice) : undefined,
    parameters: usedParameters(asking),
    promptTokens: fewestTokens(prompt.characters, prompt.dense),
    outputTokens: asking.parameters.max_completion_tokens,
    images: prompt.images,
    files: prompt.files || undefined,
    serverCalls: prompt.serverCalls || undefined,
  };
}

function kindOf(choice: ToolChoice | undefined): ToolChoiceKind | undefined {
  if (choice === undefined) return undefined;
  return typeof choice === 'string' ? choice : 'function';
}

/** Names of the vocabulary of supported parameters, as `require_parameters` compares them. */
function usedParameters(asking: Asking): readonly ParameterName[] {
  const used = Object.keys(asking.parameters) as ParameterName[];
  if (asking.tools.length > 0) used.push('tools');
  if (asking.toolChoice !== undefined) used.push('tool_choice');
  if (asking.reasoning !== undefined) used.push('reasoning');
  const format = asking.responseFormat?.type;
  if (format === 'json_schema') used.push('structured_outputs');
  else if (format !== undefined && format !== 'text') used.push('response_format');
  return used.length === 0 ? NOTHING : used;
}
