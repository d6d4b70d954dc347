/** Starts a request through the response cache. */
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { RequestedCache } from '../../contracts/state-store.ts';
import { type MaybePromise, onDemand } from '../../platform/wait.ts';
import type { CachedExecutionOptions } from './cached-execution.ts';
import type { RuntimeServices } from '../chat/services.ts';
import type { Execution } from '../chat/answer.ts';

/** What the response cache needs of a request besides the request itself. */
interface CachedStart extends Pick<CachedExecutionOptions, 'signal' | 'start' | 'plugins'> {
  /** As it came: equal bodies have equal answers. */
  readonly body: unknown;
  readonly requestedCache: RequestedCache | undefined;
}

/** Starts a request, with the response cache before it where that takes part. */
export function throughCache(
  services: RuntimeServices,
  request: NormalizedRequest,
  { body, requestedCache = NOTHING_REQUESTED, ...rest }: CachedStart,
): MaybePromise<Execution> {
  const { responses } = services;
  const rule = responses.ruleFor(request, requestedCache);
  if (rule === undefined) return rest.start();
  return answeredThroughCache(services, { request, body, rule, ...rest });
}

/** What answers from the cache is loaded by the first request that uses it. */
async function answeredThroughCache(
  services: RuntimeServices,
  { body, ...use }: Omit<CachedExecutionOptions, 'key'> & Pick<CachedStart, 'body'>,
): Promise<Execution> {
  const { CachedExecution } = await loadCachedExecution();
  const key = await services.responses.keyOf(use.request, body, use.plugins, services.facts.presets);
  return new CachedExecution(services, { ...use, key });
}

const loadCachedExecution = onDemand(() => import('./cached-execution.ts'));

const NOTHING_REQUESTED: RequestedCache = {};
