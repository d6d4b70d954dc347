/** Finds the endpoints that a request may use, and caches the answer per kind of request. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ModelTarget, Preferences, RoutedRequest } from '../../contracts/request.ts';
import { areOfPolicy } from '../normalize/preset.ts';
import type { Account } from '../../contracts/account.ts';
import { exclusionsFor, preferCapable } from './filters.ts';
import type { SelectionPolicy } from './world.ts';
import type { Rejection } from './route-plan.ts';
import type { UsableTarget } from '../../contracts/plugin-context.ts';
import { withoutKey } from '../../catalog/endpoint-keys.ts';

/**
 * Leaves out every endpoint that breaks a hard filter of the request or lacks an ability that another one has
 * (gaps 3.4), notes why, and drops the models that have none left. The order stays.
 */
export function usableTargets(
  targets: readonly ModelTarget[],
  request: RoutedRequest,
  policy: SelectionPolicy,
  rejected: Rejection[],
): readonly UsableTarget[] {
  const exclusionOf = exclusionsFor(request, policy);
  const passed = targets.map((target) =>
    accountEndpoints(target.endpoints, request.account).filter((endpoint) => {
      const exclusion = exclusionOf(endpoint, target);
      if (exclusion !== undefined) rejected.push({ endpoint, ...exclusion });
      return exclusion === undefined;
    }),
  );
  const all = passed.flat();
  const preferred = preferCapable(all, request, policy);
  if (preferred.length === all.length) {
    return targets.flatMap((target, index) => {
      const endpoints = passed[index] ?? [];
      return endpoints.length === 0 ? [] : [{ target, endpoints }];
    });
  }
  const capable = new Set(preferred);
  for (const endpoint of all) {
    if (!capable.has(endpoint)) rejected.push({ endpoint, reason: 'response_format', detail: 'another has it' });
  }
  return targets.flatMap((target, index) => {
    const endpoints = (passed[index] ?? []).filter((endpoint) => capable.has(endpoint));
    return endpoints.length === 0 ? [] : [{ target, endpoints }];
  });
}

/**
 * The endpoints of one model that a request may use, as {@link usableTargets} finds them. For requests of one kind it
 * finds the same each time, unless their length makes a difference, so that is remembered.
 */
export function usableEndpoints(
  target: ModelTarget,
  request: RoutedRequest,
  policy: SelectionPolicy,
  rejected: Rejection[],
): readonly Endpoint[] {
  const { kinds, shortest } = knownOf(target.endpoints);
  if (!isShared(target, request, shortest)) return filtered(target, request, policy, rejected);
  let known: Usable | undefined;
  for (let index = 0; known === undefined && index < kinds.length; index += 1) {
    const one = kinds[index];
    if (one !== undefined && isOfKind(one, target, request)) known = one;
  }
  const { preferences } = request;
  if (known?.policy !== policy || known.preferences !== preferences) {
    if (!areOfPolicy(preferences)) return filtered(target, request, policy, rejected);
    const out: Rejection[] = [];
    const endpoints = filtered(target, request, policy, out);
    if (known !== undefined) kinds.splice(kinds.indexOf(known), 1);
    else if (kinds.length >= MOST_KINDS) kinds.length = 0;
    known = { policy, preferences, ...kindOf(target, request), endpoints, rejected: out };
    kinds.push(known);
  }
  for (const one of known.rejected) rejected.push(one);
  return known.endpoints;
}

/** What requests of one kind may use. */
interface Usable extends Kind {
  readonly policy: SelectionPolicy;
  readonly preferences: Preferences;
  readonly endpoints: readonly Endpoint[];
  readonly rejected: readonly Rejection[];
}

/** What is known of the endpoints of one model. */
interface KnownOfModel {
  readonly shortest: Limits;
  readonly kinds: Usable[];
}

/** The lowest limits of some endpoints. */
interface Limits {
  readonly input: number;
  readonly output: number;
  readonly total: number;
}

/** Tokens of the shortest context of some endpoints, as far as they are known. */
export function leastContext(endpoints: readonly Endpoint[]): number {
  return knownOf(endpoints).shortest.total;
}

const KNOWN = new WeakMap<readonly Endpoint[], KnownOfModel>();

function knownOf(endpoints: readonly Endpoint[]): KnownOfModel {
  let known = KNOWN.get(endpoints);
  if (known === undefined) {
    let [input, output, total] = [Infinity, Infinity, Infinity];
    for (const { maxPromptTokens = Infinity, maxOutputTokens = Infinity, contextLength = Infinity } of endpoints) {
      input = Math.min(input, maxPromptTokens);
      output = Math.min(output, maxOutputTokens);
      total = Math.min(total, contextLength);
    }
    known = { shortest: { input, output, total }, kinds: [] };
    KNOWN.set(endpoints, known);
  }
  return known;
}

/** Kinds that are remembered of one model. */
const MOST_KINDS = 100;

/** Everything but the policies and lengths that the filters look at. */
interface Kind
  extends
    Pick<RoutedRequest, 'operation' | 'serviceTier'>,
    Pick<ModelTarget, 'strategy' | 'admitTier'>,
    Pick<RoutedRequest['needs'], 'tools' | 'toolChoice' | 'inputModalities' | 'outputModalities' | 'parameters'> {
  readonly requiredBy: string | undefined;
  readonly apiFormat: string | undefined;
  readonly effort: string | undefined;
}

function kindOf({ strategy, admitTier }: ModelTarget, request: RoutedRequest): Kind {
  const { operation, serviceTier, native, reasoning, needs } = request;
  const { tools, toolChoice, inputModalities, outputModalities, parameters } = needs;
  const [requiredBy, apiFormat, effort] = [native?.requiredBy, native?.apiFormat, reasoning?.effort];
  const ofTarget = { strategy, admitTier };
  const lists = { inputModalities, outputModalities, parameters };
  return { operation, serviceTier, requiredBy, apiFormat, effort, ...ofTarget, tools, toolChoice, ...lists };
}

/** Compares without making anything: every plan asks this. */
function isOfKind(kind: Kind, { strategy, admitTier }: ModelTarget, request: RoutedRequest): boolean {
  const { needs, native, reasoning } = request;
  return (
    kind.operation === request.operation &&
    kind.tools === needs.tools &&
    kind.strategy === strategy &&
    kind.serviceTier === request.serviceTier &&
    kind.toolChoice === needs.toolChoice &&
    kind.admitTier === admitTier &&
    kind.effort === reasoning?.effort &&
    kind.apiFormat === native?.apiFormat &&
    kind.requiredBy === native?.requiredBy &&
    // Lists of nothing are one and the same.
    (kind.parameters === needs.parameters || areEqual(kind.parameters, needs.parameters)) &&
    (kind.inputModalities === needs.inputModalities || areEqual(kind.inputModalities, needs.inputModalities)) &&
    (kind.outputModalities === needs.outputModalities || areEqual(kind.outputModalities, needs.outputModalities))
  );
}

function areEqual(one: readonly string[], other: readonly string[]): boolean {
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index += 1) if (one[index] !== other[index]) return false;
  return true;
}

/**
 * Whether a request may use what others of its kind may: not one that has keys or preferences of its own, or that is
 * long enough to be too long for somebody.
 */
function isShared(target: ModelTarget, { needs, preferences, account }: RoutedRequest, shortest: Limits): boolean {
  if (account.providerKeys !== undefined || target.shortened !== undefined || preferences.maxPrice !== undefined) {
    return false;
  }
  const { input, output, total } = shortest;
  const { promptTokens, outputTokens = 0 } = needs;
  return promptTokens <= input && outputTokens <= output && promptTokens + outputTokens <= total;
}

function filtered(
  target: ModelTarget,
  request: RoutedRequest,
  policy: SelectionPolicy,
  rejected: Rejection[],
): readonly Endpoint[] {
  return usableTargets([target], request, policy, rejected)[0]?.endpoints ?? [];
}

/**
 * Adds, for every provider that the account has its own key for, a second endpoint that uses this key. Its health
 * and cooldown are its own: what happens to one account's key says nothing about another's.
 */
function accountEndpoints(endpoints: readonly Endpoint[], account: Account): readonly Endpoint[] {
  const keys = account.providerKeys;
  if (keys === undefined) return endpoints;
  const ids = new Set<string>();
  return endpoints.flatMap((endpoint) => {
    const key = Object.hasOwn(keys, endpoint.provider) ? keys[endpoint.provider] : undefined;
    // What authenticate gives is not checked. An entry without its key would be called with ours, and not charged.
    if (!key?.apiKey) return [endpoint];
    const shared = withoutKey(endpoint);
    const id = `${shared.id}@${account.id}`;
    // However many keys the provider has, the account has one.
    if (ids.has(id)) return [endpoint];
    ids.add(id);
    return [{ ...shared, id, byok: { account: account.id, fallback: key.fallback ?? false } }, endpoint];
  });
}
