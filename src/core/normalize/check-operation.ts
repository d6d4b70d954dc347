import { type Operation, serves } from '../../catalog/model.ts';
import { type RequestFault, shortened } from '../../protocol/fault.ts';
import type { ModelTarget } from './normalized-request.ts';
import { type RequestedModel, type TargetContext, targetFault } from './targets.ts';

/**
 * Finds a model that nobody serves for this operation at all (gaps 7.4, `wrong_endpoint`). A 400 also among the
 * fallbacks: it is a mistake that would otherwise show only in an outage.
 */
export function checkOperation(
  targets: readonly ModelTarget[],
  operation: Operation,
  models: readonly RequestedModel[],
  context: TargetContext,
): RequestFault | undefined {
  const wrong = targets.find((target) => isWrong(target, operation, context));
  if (wrong === undefined) return undefined;
  const { requested } = wrong;
  const fault = targetFault('wrong_endpoint', sentence(requested, operation), requested, context);
  return { ...fault, path: models.find(({ slug }) => slug === requested)?.path ?? 'model' };
}

function isWrong({ model, strategy, endpoints }: ModelTarget, operation: Operation, context: TargetContext): boolean {
  // Vectors of different models cannot be compared, so a model that somebody else chooses is of no use for them.
  const choosesAnother = strategy === 'free' || context.routerModels.has(model);
  if (choosesAnother) return operation === 'embeddings';
  return endpoints.length > 0 && endpoints.every((endpoint) => serves(endpoint, operation) === 'no');
}

function sentence(requested: string, operation: Operation): string {
  const name = shortened(requested);
  return operation === 'chat'
    ? `${name} only makes embeddings: use POST /embeddings, or a chat model here`
    : `${name} makes no embeddings: use a model whose output_modalities name them (GET /models?output_modalities=embeddings)`;
}
