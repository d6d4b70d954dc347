/** Plans requests on the state of the endpoints at this moment. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest, RoutedRequest } from '../../contracts/request.ts';
import type { ReasoningOrigins } from '../../core/normalize/reasoning-origin.ts';
import type { RoutePlan } from '../../core/selection/route-plan.ts';
import type { ServedBy } from '../../core/selection/adaptive/expected-cost.ts';
import { LEAST_PROMPT_TOKENS } from './known-prompts.ts';
import type { RuntimeServices } from './services.ts';
import { type MaybePromise, valueWithin } from '../../platform/wait.ts';
import type { CachedPrompts, World } from '../../core/selection/world.ts';
import { planRoute } from '../../core/selection/plan-route.ts';
import { planObserved } from '../../core/selection/observe-plan.ts';

/** What is known already when a request is planned. */
interface KnownBefore {
  readonly roll?: number | undefined;
  /** Endpoints that served its session, the latest first. Left out: they are looked up. */
  readonly served?: ServedBy | undefined;
}

/** Plans a request on the world as it is now. */
export function planRequest(
  services: RuntimeServices,
  request: NormalizedRequest,
  known: KnownBefore = {},
): MaybePromise<RoutePlan> {
  const { roll } = known;
  const { cooldowns, origins: seals, sticky } = services;
  const news = cooldowns?.refresh();
  // What is empty is not entered: most requests are no part of a conversation that anything is known of.
  const isSession = sticky.isShared || sticky.local.size > 0;
  const served = known.served ?? (isSession ? servedBefore(services, request) : NOBODY);
  const origins = seals.isShared || seals.local.size > 0 ? seals.find(request) : undefined;
  if (news === undefined && !(served instanceof Promise) && !(origins instanceof Promise)) {
    const prompts = knownPrompts(services, request);
    return planOn(services, request, worldOf(services, { request, served, prompts, origins, roll }));
  }
  return planLater(services, request, { news, served, origins, roll });
}

/** Plans a request once the store has told. Everything was read at the same time, so a slow store is waited for once. */
async function planLater(
  services: RuntimeServices,
  request: NormalizedRequest,
  requested: StoreRequests,
): Promise<RoutePlan> {
  const { roll } = requested;
  const served = await requested.served;
  // One that is known to be slow is not worth a further wait.
  if (!services.sticky.isSlow) await requested.news;
  const origins = await requested.origins;
  const prompts = knownPrompts(services, request);
  return planOn(services, request, worldOf(services, { request, served, prompts, origins, roll }));
}

const NOBODY: ServedBy = [];

function knownPrompts({ prompts }: RuntimeServices, request: NormalizedRequest): CachedPrompts | undefined {
  return request.needs.promptTokens < LEAST_PROMPT_TOKENS ? undefined : prompts.find(request);
}

/** What is read of the store for a plan. */
interface StoreRequests {
  /** Cooldowns that other instances tell of. */
  readonly news: Promise<unknown> | undefined;
  readonly served: MaybePromise<ServedBy>;
  readonly origins: MaybePromise<ReasoningOrigins | undefined>;
  readonly roll: number | undefined;
}

/** The endpoints that served a request's session, if the store tells in time. */
export function servedBefore(
  { environment, sticky }: RuntimeServices,
  request: NormalizedRequest,
): Promise<ServedBy> | ServedBy {
  const found = sticky.find(request);
  if (!(found instanceof Promise)) return found;
  return valueWithin(environment, found, STICKY_WAIT_MS).then((served) => served ?? []);
}

/** A store that takes longer than this many milliseconds is not worth waiting for: stickiness only saves cost. */
const STICKY_WAIT_MS = 250;

/** What is known of a request besides itself when it is planned. */
interface KnownOfRequest {
  readonly request?: RoutedRequest | undefined;
  readonly served?: ServedBy | undefined;
  readonly prompts?: CachedPrompts | undefined;
  readonly roll?: number | undefined;
  readonly origins?: ReasoningOrigins | undefined;
}

/** The world as it is now, for planning. */
export function worldOf(
  services: RuntimeServices,
  { request, served, prompts, roll, origins }: KnownOfRequest = {},
): World {
  const { environment, records, selection, strategy, adaptive, usualTokens } = services;
  const now = environment.now();
  const usual = request && usualTokens.of(request.account.id, request.targets[0]?.model);
  return {
    record: records.record,
    sticky: served?.[0]?.endpoint,
    served,
    prompts,
    origins,
    admission: records.admissionAt(now),
    timing: records.timingAt(now, request?.stream === false ? 'whole' : 'streaming'),
    usualAnswerTokens: usual?.usualAnswerTokens,
    promptRatio: usual?.promptRatio,
    now,
    roll: roll ?? environment.random(),
    policy: selection,
    strategy,
    adaptive,
  };
}

/** Plans a request on a world, and keeps what the plan depended on where a ledger wants it. */
export function planOn({ ledger }: RuntimeServices, request: RoutedRequest, world: World): RoutePlan {
  return ledger === undefined ? planRoute(request, world) : planObserved(request, world);
}

/** Endpoints in the order of a plan; those that must not be called at the moment come last. */
export function endpointsNow({ records }: Pick<RuntimeServices, 'records'>, plan: RoutePlan): readonly Endpoint[] {
  const endpoints = plan.steps.map(({ endpoint }) => endpoint);
  const open = endpoints.filter((endpoint) => records.admission(endpoint).ok);
  return [...open, ...endpoints.filter((endpoint) => !open.includes(endpoint))];
}

/** Slug of the provider that is called first by a plan as things are; empty when there is none. */
export function firstProvider(services: Pick<RuntimeServices, 'records'>, plan: RoutePlan): string {
  return endpointsNow(services, plan)[0]?.provider ?? '';
}
