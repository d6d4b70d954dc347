import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Admission } from '../fallback/health.ts';
import type { RoutedRequest } from '../../contracts/request.ts';
import { areComparable, hasSchema } from './exacto.ts';
import type { Timing } from './adaptive/speed.ts';
import type { World } from './world.ts';
import { mayBeTight, planRoute } from './plan-route.ts';
import { hasThresholds } from './rank.ts';
import type { Rejection, RoutePlan, ObservedAnswer } from './route-plan.ts';
import { type ObservedState, observedState } from './observed-endpoint.ts';

/** Plans a request as {@link planRoute} does, and keeps what the plan depended on. */
export function planObserved(request: RoutedRequest, world: World): RoutePlan {
  let admissions: ObservedAnswer[] | undefined;
  let timings: Map<Endpoint, Timing> | undefined;
  const { admission: ask, timing: time } = world;
  const watched =
    ask === undefined
      ? world
      : {
          ...world,
          timing:
            time &&
            ((endpoint: Endpoint): Timing | undefined => {
              const timing = time(endpoint);
              if (timing !== undefined) (timings ??= new Map()).set(endpoint, timing);
              return timing;
            }),
          admission: (endpoint: Endpoint): Admission => {
            const admission = ask(endpoint);
            if (!isPlain(admission)) (admissions ??= []).push({ endpoint, admission });
            return admission;
          },
        };
  const plan = planRoute(request, watched);
  const { now, roll, served, prompts, usualAnswerTokens, promptRatio } = world;
  const isExact = looksAtMeasures(request, world);
  // What may not be fallen back to was compared all the same.
  const cut = plan.rejected.filter(({ reason }) => reason === 'allow_fallbacks');
  const compared = cut.length === 0 ? plan.steps : [...plan.steps, ...cut];
  // Where endpoints are compared with each other, all counts; else only what they have shown.
  const toolsFrom = looksAtTools(request) ? toolsCountFrom(compared) : undefined;
  const countsTokens = mayBeTight(compared, request);
  const when = { now, isExact, toolsFrom, countsTokens };
  const states: ObservedState[] = [];
  for (const { endpoint } of compared) {
    const record = world.record(endpoint);
    if (record !== undefined) states.push(observedState(endpoint, record, when, timings?.get(endpoint)));
  }
  const seen = { now, roll, served, prompts, usualAnswerTokens, promptRatio, states, admissions: admissions ?? NONE };
  const { requested, applied, adjustments, native, steps, rejected, origins } = plan;
  return { requested, applied, adjustments, native, steps, rejected, origins, seen };
}

const NONE: readonly ObservedAnswer[] = [];

/** Whether the order may hang on how fast endpoints are, or on how often they failed in half an hour. */
function looksAtMeasures({ preferences, targets, serviceTier }: RoutedRequest, { strategy }: World): boolean {
  const isSorted = preferences.sort !== undefined || serviceTier !== undefined || hasThresholds(preferences);
  return isSorted || strategy !== 'adaptive' || targets.some(({ sort }) => sort !== undefined);
}

function looksAtTools({ needs, preferences, targets }: RoutedRequest): boolean {
  return (
    needs.tools || hasSchema(needs) || preferences.sort === 'exacto' || targets.some(({ sort }) => sort === 'exacto')
  );
}

/** Answers with tool calls from which on what is known of them may decide: the best endpoint may have had few. */
function toolsCountFrom(compared: readonly Pick<Rejection, 'endpoint'>[]): number {
  return areComparable(compared.map(({ endpoint }) => endpoint)) ? 0 : 1;
}

function isPlain(admission: Admission): boolean {
  return admission.ok && admission.probe !== true && admission.headroom === undefined;
}
