import type { FallbackPolicy } from '../../src/core/fallback/next-move.ts';
import type { Situation } from '../../src/core/fallback/situation.ts';
import type { PlanStep, RoutePlan } from '../../src/core/selection/route-plan.ts';
import { NOW, sceneOf } from './requests.ts';
import { type AttemptFailure, failure, FAILURE_RULES, type FailureKind } from '../../src/contracts/failure.ts';
import type { Attempt } from '../../src/core/fallback/attempt.ts';

/** All kinds of failure. */
export const FAILURE_KINDS = Object.keys(FAILURE_RULES) as FailureKind[];

/** The defaults of the router. */
export const FALLBACK_POLICY: FallbackPolicy = {
  maxAttempts: 8,
  triesPerEndpoint: 3,
  maxWaitMs: 2_000,
  afterFirstToken: 'error',
};

/** A plan over endpoints named `provider model`, in this order. */
export function planOver(...names: readonly string[]): RoutePlan {
  const models: string[] = [];
  const steps = names.map((name): PlanStep => {
    const [provider = '', model = 'acme/one'] = name.split(' ');
    if (!models.includes(model)) models.push(model);
    const scene = sceneOf({ providers: { [provider]: { [model]: {} } } });
    const [endpoint] = scene.catalog.endpoints(model);
    if (endpoint === undefined) throw new Error('was declared');
    return { endpoint, target: models.indexOf(model), strategy: 'direct', why: 'for a test' };
  });
  return { requested: models[0] ?? '', steps, rejected: [] };
}

/** What a failure is besides its kind. */
export type FailureDetails = Parameters<typeof failure>[2];

/** A failed attempt at the named endpoint of a plan. */
export function failedAt(
  plan: RoutePlan,
  provider: string,
  what: FailureKind | AttemptFailure,
  details: FailureDetails = {},
): Attempt {
  const step = plan.steps.find(({ endpoint }) => endpoint.provider === provider);
  if (step === undefined) throw new Error(`nobody is called ${provider}`);
  const reason = typeof what === 'string' ? failure(what, `${provider} failed`, details) : what;
  return { step, startedAt: NOW, endedAt: NOW, outcome: { ok: false, failure: reason } };
}

/** The circumstances of a move; everybody may be called unless said otherwise. */
export function situation(given: Partial<Situation> = {}): Situation {
  return {
    policy: FALLBACK_POLICY,
    now: NOW,
    deadlineAt: NOW + 600_000,
    admission: () => ({ ok: true }),
    mayRepeat: () => true,
    waited: false,
    roll: 0.5,
    ...given,
  };
}
