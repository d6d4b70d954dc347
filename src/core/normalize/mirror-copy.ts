/** Makes the copy of a request that a mirror sends. */
import type { Mirror } from '../../options/rules.ts';
import type { ModelTarget, NormalizedRequest, MirrorChoice } from '../../contracts/request.ts';

/** Id of the account that copies of an alias belong to. */
export function accountOfMirror(alias: string): string {
  return `mirror/${alias}`;
}

/** What is new about a copy. */
interface CopyParts extends Pick<NormalizedRequest, 'id' | 'created'> {
  readonly targets: readonly ModelTarget[];
  readonly choice: MirrorChoice;
  readonly budget: Mirror['budget'];
}

/**
 * The copy of a request. It belongs to an account of its own, whose budget is that of the mirror, so nothing of it is
 * counted for the caller: neither rate limits nor budgets, and none of the caller's own keys is used. What the caller
 * may not use, or does not want, the copy does not use either; only the order of providers is not for the candidate.
 * One endpoint is called once.
 */
export function copyOf(
  request: NormalizedRequest,
  { id, created, targets, choice, budget }: CopyParts,
): NormalizedRequest {
  const { native: _, rateTicket: __, applied: ___, ...rest } = request;
  const { policy } = request.account;
  return {
    ...rest,
    id,
    created,
    targets,
    stream: false,
    requested: choice.model,
    account: { id: accountOfMirror(choice.alias), budget, ...(policy && { policy }) },
    preferences: { ...request.preferences, order: [], allowFallbacks: false },
    within: { parent: request.id, depth: 0, by: [], mirror: choice.alias },
    wantsMetadata: false,
    echoUpstreamBody: false,
  };
}
