import type { Mirror } from '../../config/tables/rules.ts';
import type { AppliedConfiguration, ModelTarget, NormalizedRequest } from './normalized-request.ts';
import { fractionOf, type SplitChoice } from './split.ts';

/** Which candidate gets a copy of a request. */
export interface MirrorChoice {
  readonly alias: string;
  readonly model: string;
  readonly by: SplitChoice['by'];
}

/** What a request asks for beside an answer. */
export interface AskedBeside {
  /** Whether it offers functions of its caller. */
  readonly functions: boolean;
  /** Whether answering it may do more than make an answer: tools that run, searches, fields that only a provider knows. */
  readonly effects: boolean;
}

/**
 * Whether a request is copied: the same key always is or never is, wherever it is asked, and a larger share copies what
 * a smaller one did and more.
 */
export function isDrawn(alias: string, { model, share }: Mirror, key: string): boolean {
  return fractionOf(`mirror\n${alias}\n${model}\n${key}`) < share;
}

/** Whether nothing but an answer comes of a request, so that two may answer it. */
export function mayBeCopied({ functions, effects }: AskedBeside, { functionTools = false }: Mirror): boolean {
  return !effects && (functionTools || !functions);
}

/** A request that is not copied after all. */
export function withoutMirror(request: NormalizedRequest): NormalizedRequest {
  if (request.applied?.mirror === undefined) return request;
  const { applied, ...rest } = request;
  const { mirror: _, ...others } = applied;
  const left: AppliedConfiguration | undefined = Object.keys(others).length === 0 ? undefined : others;
  return { ...rest, ...(left && { applied: left }) };
}

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
 * One endpoint is asked once.
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
