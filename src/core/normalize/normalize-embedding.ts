/** Normalizes requests for embeddings. */
import type { ParameterName } from '../../catalog/model.ts';
import { type EmbeddingRequest, embeddingItems } from '../../protocol/embedding.ts';
import { type Checked, failed, faultAt, passed } from '../../protocol/fault.ts';
import { isGatewayField } from '../../protocol/gateway-fields.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { checkOperation, resolveTargets } from './targets.ts';
import { objectIfGiven, policiesOf, requestedModels } from './normalize.ts';
import { normalizePreferences } from './preset.ts';
import { findSession } from './session.ts';
import { type SurveyedInputs, surveyInputs } from '../tokens/token-estimate.ts';
import type { NormalizedEmbeddingRequest } from '../../contracts/request.ts';
import { asEmbeddingEndpoint } from '../../catalog/endpoint.ts';
import type { RequestContext, RouterFacts } from './context.ts';

/** Fields that this contract knows; all others pass through to the provider. */
const KNOWN = new Set<string>([
  'input',
  'model',
  'models',
  'encoding_format',
  'dimensions',
  'input_type',
  'user',
  'session_id',
  'metadata',
  'provider',
  'trace',
  'stream',
] satisfies (keyof EmbeddingRequest)[]);

/** Turns a checked request for embeddings into the form that everything behind it works with. */
export function normalizeEmbeddingRequest(
  request: EmbeddingRequest,
  context: RequestContext,
  facts: RouterFacts,
): Checked<NormalizedEmbeddingRequest> {
  const models = requestedModels(request, undefined);
  if (models.length === 0) return failed(faultAt('model', 'is required: No models provided'));
  const session = findSession(request, context.sessionHeader);
  if (!session.ok) return session;
  const { metadata } = request;
  const applying = facts.applying?.(context, facts, {
    requested: models[0]?.slug ?? '',
    metadata,
    session: () => session.value.key,
  });
  const refused = applying?.fault();
  if (refused !== undefined) return failed(refused);
  const resolved = resolveTargets(models, { ...facts, ...applying?.targets, batch: context.batch });
  if (!resolved.ok) return resolved;
  if (resolved.value.online) {
    return failed(faultAt('model', 'must not end in :online, because nothing is searched for embeddings'));
  }
  const wrong = checkOperation(resolved.value.targets, 'embeddings', models, facts);
  if (wrong !== undefined) return failed(wrong);
  const inputs = embeddingItems(request.input);
  const survey = surveyInputs(inputs);
  const provider = applying?.provider(request.provider, models[0]?.slug ?? '') ?? request.provider;
  const preferences = normalizePreferences({ provider }, policiesOf(context.account, facts, context.policies));
  const applied = applying?.record();
  return passed({
    operation: 'embeddings',
    id: context.id,
    created: context.created,
    stream: false,
    requested: models[0]?.slug ?? '',
    inputs,
    encodingFormat: request.encoding_format ?? 'float',
    dimensions: request.dimensions ?? undefined,
    inputType: request.input_type ?? undefined,
    likelyTokens: survey.likelyTokens,
    targets: resolved.value.targets.map((target) => ({
      ...target,
      endpoints: target.endpoints.map(asEmbeddingEndpoint),
    })),
    needs: needsOf(request, survey),
    preferences: applying?.preferences(preferences) ?? preferences,
    session: session.value,
    endUser: context.endUser,
    account: context.account,
    metadata: request.metadata ?? undefined,
    trace: objectIfGiven(request.trace),
    ...(applied && { applied }),
    ...(context.traceContext === undefined ? {} : { traceContext: context.traceContext }),
    wantsMetadata: context.wantsMetadata,
    extra: extraOf(request),
  });
}

function needsOf(request: EmbeddingRequest, survey: SurveyedInputs): NormalizedEmbeddingRequest['needs'] {
  const parameters: ParameterName[] = [];
  if (request.dimensions != null) parameters.push('dimensions');
  if (request.input_type != null) parameters.push('input_type');
  return {
    inputModalities: survey.modalities,
    outputModalities: [],
    tools: false,
    parameters,
    promptTokens: survey.longest,
    images: survey.images,
  };
}

function extraOf(request: EmbeddingRequest): JsonObject {
  const extra = Object.create(null) as Record<string, unknown>;
  for (const [name, value] of Object.entries(request)) {
    if (!KNOWN.has(name) && !isGatewayField(name)) extra[name] = value;
  }
  return extra as JsonObject;
}
