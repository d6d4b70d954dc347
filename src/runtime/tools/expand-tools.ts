import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import {
  type ExpandableTool,
  expandableTools,
  type ExpandedTools,
  type PathOfTool,
} from '../../core/pipeline/offer-tools.ts';
import { RouterError } from '../../protocol/router-error.ts';
import { warn } from '../chat/events.ts';
import { errorOfFault } from '../chat/router-errors.ts';
import type { RuntimeServices } from '../chat/services.ts';
import { runBounded } from '../pipeline/inner-call.ts';

/**
 * Asks the server tools of a request that become several functions what these are, all at the same time.
 *
 * @throws {@link RouterError} when one cannot say, or not in time: a model must not answer as if it had no tools.
 */
export async function expandTools(
  services: RuntimeServices,
  request: NormalizedRequest,
  pathOf: PathOfTool,
  signal: AbortSignal,
): Promise<ExpandedTools> {
  const found = expandableTools(request, services.registry, pathOf);
  if (!found.ok) throw errorOfFault(found.fault);
  if (found.value.length === 0) return NONE;
  const options = await Promise.all(
    found.value.map(async (tool) => [tool.index, await expand(services, tool, signal)] as const),
  );
  return new Map(options);
}

const NONE: ExpandedTools = new Map();

async function expand(
  services: RuntimeServices,
  { definition, options }: ExpandableTool,
  caller: AbortSignal,
): Promise<readonly unknown[]> {
  const { environment, timeouts, tellNotice, events } = services;
  const outcome = await runBounded(environment, caller, definition.timeoutMs ?? timeouts.serverToolMs, (signal) =>
    definition.expand?.(options, { signal, now: environment.now, warn: tellNotice }),
  );
  if (outcome.type === 'value' && Array.isArray(outcome.value) && outcome.value.length > 0) return outcome.value;
  const thrown = outcome.type === 'threw' ? outcome.thrown : undefined;
  if (RouterError.isInstance(thrown) && thrown.status < 500) throw thrown;
  const why = outcome.type === 'late' ? 'did not say in time what it offers' : 'could not say what it offers';
  warn(events, {
    code: 'server_tool_failed',
    message: `The server tool "${definition.type}" ${why}`,
    ...(thrown === undefined ? {} : { thrown }),
  });
  if (RouterError.isInstance(thrown)) throw thrown;
  throw new RouterError({
    status: 502,
    errorType: 'provider_unavailable',
    message: `The server tool "${definition.type}" ${why}`,
  });
}
