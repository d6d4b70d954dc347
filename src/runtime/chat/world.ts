import type { RoutedRequest } from '../../core/normalize/normalized-request.ts';
import type { ServedBy } from '../../core/selection/adaptive/expected-cost.ts';
import type { World } from '../../core/selection/performance.ts';
import type { RuntimeServices } from './services.ts';
import type { Endpoint } from '../../catalog/endpoint.ts';
import { planSeen } from '../../core/ledger/plan-seen.ts';
import { planRoute } from '../../core/selection/plan-route.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import type { RecordMap } from './endpoint-records.ts';

/** What is known of a request besides itself when it is planned. */
export interface KnownOfRequest {
  readonly request?: RoutedRequest | undefined;
  readonly served?: ServedBy | undefined;
  readonly roll?: number | undefined;
}

/** The world as it is now, for planning. */
export function worldOf(services: RuntimeServices, { request, served, roll }: KnownOfRequest = {}): World {
  const { environment, records, selection, strategy, adaptive, answerLengths } = services;
  return {
    record: records.record,
    sticky: served?.[0]?.endpoint,
    served,
    admission: records.admission,
    usualAnswerTokens: request && answerLengths.usual(request.account.id, request.targets[0]?.model),
    now: environment.now(),
    roll: roll ?? environment.random(),
    policy: selection,
    strategy,
    adaptive,
  };
}

/** Plans a request on a world, and keeps what the plan depended on where a ledger wants it. */
export function planOn({ ledger }: RuntimeServices, request: RoutedRequest, world: World): RoutePlan {
  return ledger === undefined ? planRoute(request, world) : planSeen(request, world);
}

/** Endpoints in the order of a plan; those that are asked nothing at the moment come last. */
export function endpointsNow({ records }: Pick<RuntimeServices, 'records'>, plan: RoutePlan): readonly Endpoint[] {
  const endpoints = plan.steps.map(({ endpoint }) => endpoint);
  const open = endpoints.filter((endpoint) => records.admission(endpoint).ok);
  return [...open, ...endpoints.filter((endpoint) => !open.includes(endpoint))];
}

/** Slug of the provider that is asked first by a plan as things are; empty when there is none. */
export function firstProvider(services: Pick<RuntimeServices, 'records'>, plan: RoutePlan): string {
  return endpointsNow(services, plan)[0]?.provider ?? '';
}

/** Weight of a new answer in the mean. */
const GAIN = 0.05;

/** How long the answers usually are that an account gets from a model. */
export class AnswerLengths {
  readonly #means: RecordMap<{ readonly tokens: number }>;

  constructor(means: RecordMap<{ readonly tokens: number }>) {
    this.#means = means;
  }

  /** Mean tokens of an answer; undefined where there was none yet. */
  usual(account: string, model: string | undefined): number | undefined {
    return model === undefined ? undefined : this.#means.get(`${account}\n${model}`)?.tokens;
  }

  note(account: string, model: string, tokens: number): void {
    const key = `${account}\n${model}`;
    const mean = this.#means.get(key)?.tokens;
    this.#means.set(key, { tokens: mean === undefined ? tokens : mean + GAIN * (tokens - mean) });
  }
}
