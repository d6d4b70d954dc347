import type { ReasoningOrigins } from '../../core/normalize/reasoning-origin.ts';
import type { RoutedRequest } from '../../core/normalize/normalized-request.ts';
import type { ServedBy } from '../../core/selection/adaptive/expected-cost.ts';
import type { World } from '../../core/selection/performance.ts';
import { promptRatio } from '../../core/selection/adaptive/expected-cost.ts';
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
  readonly origins?: ReasoningOrigins | undefined;
}

/** The world as it is now, for planning. */
export function worldOf(services: RuntimeServices, { request, served, roll, origins }: KnownOfRequest = {}): World {
  const { environment, records, selection, strategy, adaptive, usualTokens } = services;
  const now = environment.now();
  return {
    record: records.record,
    sticky: served?.[0]?.endpoint,
    served,
    origins,
    admission: records.admissionAt(now),
    ...(request && usualTokens.of(request.account.id, request.targets[0]?.model)),
    now,
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

/** Weight of a new answer in the means. */
const GAIN = 0.05;

/** How long the prompts of an account and the answers that it gets from a model usually are. */
interface UsualLengths {
  readonly answer: number;
  /** Tokens that prompts were reported to have, and those of the rough count of the same prompts. */
  readonly reported?: number | undefined;
  readonly rough?: number | undefined;
}

/** What a provider reported of the prompt of a request that is nothing but text, so that its length can be compared. */
interface ReportedPrompt {
  readonly reported: number;
  readonly rough: number;
}

/** What is usual of the lengths of prompts and answers, learned from answers. */
export class UsualTokens {
  readonly #means: RecordMap<UsualLengths>;

  constructor(means: RecordMap<UsualLengths>) {
    this.#means = means;
  }

  /** What plans look at; nothing where there was no answer yet. */
  of(account: string, model: string | undefined): Pick<World, 'usualAnswerTokens' | 'promptRatio'> {
    const known = model === undefined ? undefined : this.#means.get(`${account}\n${model}`);
    if (known === undefined) return NOTHING_USUAL;
    const { answer, reported, rough } = known;
    return { usualAnswerTokens: answer, promptRatio: promptRatio(reported, rough) };
  }

  note(account: string, model: string, answer: number, prompt: ReportedPrompt | undefined): void {
    const key = `${account}\n${model}`;
    const known = this.#means.get(key);
    this.#means.set(key, {
      answer: meanAfter(known?.answer, answer),
      reported: prompt === undefined ? known?.reported : meanAfter(known?.reported, prompt.reported),
      rough: prompt === undefined ? known?.rough : meanAfter(known?.rough, prompt.rough),
    });
  }
}

const NOTHING_USUAL = {};

function meanAfter(mean: number | undefined, value: number): number {
  return mean === undefined ? value : mean + GAIN * (value - mean);
}
