import type { Availability, AvailabilityCode, ErrorType } from '../../protocol/error.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { RoutedRequest } from '../../contracts/request.ts';
import { unknownProviders } from '../normalize/unknown-providers.ts';
import { progressOf } from './filters.ts';
import type { Rejection, RoutePlan } from './route-plan.ts';
import type { ExclusionReason } from '../../contracts/exclusion-reason.ts';

/** Why a request has no endpoint at all, as data. */
export interface NoRoute {
  readonly status: 400 | 403 | 404;
  readonly errorType: ErrorType;
  readonly message: string;
  readonly availability?: Availability | undefined;
  readonly metadata: JsonObject;
}

/** Explains an empty plan by the last obstacle of the endpoint that came furthest (gaps 3.7, 7.4, 7.5). */
export function explainNoRoute(plan: RoutePlan, request: RoutedRequest, docsUrl: string, catalog?: Catalog): NoRoute {
  const furthest = plan.rejected.reduce<Rejection | undefined>(
    (best, one) => (best === undefined || progressOf(one.reason) > progressOf(best.reason) ? one : best),
    undefined,
  );
  if (furthest?.reason === 'context_length') return contextTooLong(plan, request);
  if (furthest?.reason === 'allowed_models' || furthest?.reason === 'rule') return modelNotAllowed(plan, furthest);
  const { code, message, metadata = {} } = describe(furthest, plan, request, catalog);
  return {
    status: isFaulty(furthest) ? 400 : 404,
    errorType: isFaulty(furthest) ? 'invalid_request' : 'not_found',
    message,
    metadata,
    availability: {
      code,
      retryable: false,
      requested_models: requestedModels(plan, request),
      docs_url: `${docsUrl}#${code}`,
      ...(plan.rejected.length === 0
        ? {}
        : { affected_providers: providersOf(plan.rejected), excluded_by: reasonsOf(plan.rejected) }),
      ...(code === 'constraint_filtered' && furthest !== undefined
        ? { constraint: { field: fieldOf(furthest.reason), detail: furthest.detail ?? furthest.reason } }
        : {}),
    },
  };
}

/** Every model that the request leads to is one that its account may not use. */
function modelNotAllowed({ requested, rejected }: RoutePlan, { reason, detail }: Rejection): NoRoute {
  if (reason === 'rule') return { status: 403, errorType: 'permission_denied', message: detail ?? '', metadata: {} };
  const models = [...new Set(rejected.map(({ endpoint }) => endpoint.model))];
  const [model = requested] = models;
  const meant = models.length === 1 && model !== requested ? `${requested} (${model})` : requested;
  return {
    status: 403,
    errorType: 'permission_denied',
    message: `This account may not use ${meant}. GET /models lists what it may use.`,
    metadata: {},
  };
}

/** As they were sent. A router model that leads to several models is told once. */
function requestedModels({ requested }: RoutePlan, { targets }: RoutedRequest): readonly string[] {
  return targets.length === 0 ? [requested] : [...new Set(targets.map((target) => target.requested))];
}

/** True when the request says something that no endpoint of the model could ever do. */
function isFaulty(furthest: Rejection | undefined): boolean {
  return furthest?.reason === 'reasoning' || furthest?.reason === 'dialect';
}

interface Described {
  readonly code: AvailabilityCode;
  readonly message: string;
  readonly metadata?: JsonObject;
}

function describe(
  furthest: Rejection | undefined,
  plan: RoutePlan,
  request: RoutedRequest,
  catalog: Catalog | undefined,
): Described {
  const none = `No endpoints found for ${plan.requested}`;
  if (furthest === undefined) return { code: 'no_endpoints', message: nothingAtAll(plan, request) };
  switch (furthest.reason) {
    case 'allowed_providers':
      return {
        code: 'no_endpoints',
        message: ['No allowed providers are available for the selected model.', ...unknownNames(request, catalog)].join(
          ' ',
        ),
        metadata: {
          available_providers: providersOf(plan.rejected),
          requested_providers: [...new Set([...request.preferences.only.flat(), ...request.preferences.order])],
        },
      };
    case 'data_policy:training':
    case 'data_policy:zdr':
      return {
        code: 'privacy_restricted',
        message: `No endpoints found matching your data policy for ${plan.requested}`,
      };
    case 'input_modality':
      return { code: 'no_endpoints', message: `No endpoints found that support ${furthest.detail} input` };
    case 'output_modality':
      return { code: 'no_endpoints', message: `No endpoints found that support ${furthest.detail} output` };
    case 'tools':
      return { code: 'no_endpoints', message: `No endpoints found that support tool use. ${disableTools(request)}` };
    case 'tool_choice':
      return {
        code: 'no_endpoints',
        message: `No endpoints found that support the provided 'tool_choice' value "${furthest.detail}"`,
      };
    case 'reasoning':
      return {
        code: 'constraint_filtered',
        message: `${plan.requested} always reasons: reasoning.effort must not be "none"`,
      };
    case 'dialect':
      return {
        code: 'no_endpoints',
        message: `${furthest.detail} can only be sent to a provider that supports this API natively, and none serves ${plan.requested}`,
      };
    case 'plugin':
      return { code: 'no_endpoints', message: RESTRICTED };
    default:
      return {
        code: 'constraint_filtered',
        message: `${none} that satisfy ${fieldOf(furthest.reason)} (${furthest.detail ?? 'no endpoint qualifies'})`,
      };
  }
}

/** Why none is allowed, where it is a name that nobody has. */
function unknownNames({ preferences }: RoutedRequest, catalog: Catalog | undefined): readonly string[] {
  return catalog === undefined ? [] : unknownProviders(preferences, catalog);
}

/** What a model router says when none of its candidates is left. */
const RESTRICTED = 'No models match your request and model restrictions';

/** There was nothing that a filter could have left out. */
function nothingAtAll({ requested }: RoutePlan, { targets }: RoutedRequest): string {
  const none = `No endpoints found for ${requested}`;
  if (targets.length === 0) return RESTRICTED;
  return targets[0]?.model === 'router/free' ? `${none}: none of the models here is known to cost nothing` : none;
}

function disableTools({ tools = [] }: RoutedRequest): string {
  const [tool] = tools;
  return tool === undefined ? '' : `Try disabling "${tool.function.name}".`;
}

/** Field of the request that a caller can change. */
function fieldOf(reason: ExclusionReason): string {
  const fields: Partial<Record<ExclusionReason, string>> = {
    distillable: 'provider.enforce_distillable_text',
    region: 'provider.regions',
    quantization: 'provider.quantizations',
    max_price: 'provider.max_price',
    require_parameters: 'provider.require_parameters',
    service_tier: 'service_tier',
    response_format: 'response_format',
    max_output_tokens: 'max_completion_tokens',
    reasoning: 'reasoning.effort',
    allow_fallbacks: 'provider.allow_fallbacks',
  };
  return fields[reason] ?? reason;
}

function contextTooLong(plan: RoutePlan, { needs, operation }: RoutedRequest): NoRoute {
  const limits = plan.rejected.filter((one) => one.reason === 'context_length').map((one) => Number(one.detail));
  const maximum = Math.max(...limits);
  const output = needs.outputTokens ?? 0;
  const advice =
    operation === 'chat'
      ? 'Shorten the messages, lower max_completion_tokens, or use the context-compression plugin.'
      : 'Split the longest input into several.';
  return {
    status: 400,
    errorType: 'context_length_exceeded',
    message:
      `The longest context of ${plan.requested} is ${maximum} tokens, but this request needs at least ` +
      `${needs.promptTokens + output} (${needs.promptTokens} of text input, ${output} in the output). ${advice}`,
    metadata: { provider_name: null },
  };
}

function providersOf(rejected: readonly Rejection[]): readonly string[] {
  return [...new Set(rejected.map(({ endpoint }) => endpoint.provider))];
}

function reasonsOf(rejected: readonly Rejection[]): readonly string[] {
  return [...new Set(rejected.map((one) => one.reason))];
}
