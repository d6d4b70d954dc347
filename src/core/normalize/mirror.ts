/** Decides whether a request is mirrored. */
import type { Mirror } from '../../options/rules.ts';
import type { AppliedConfiguration, NormalizedRequest } from '../../contracts/request.ts';
import { fractionOf } from './split.ts';

/** What a request requires beside an answer. */
export interface RequestedBeside {
  /** Whether it offers functions of its caller. */
  readonly functions: boolean;
  /** Whether answering it may do more than make an answer: tools that run, searches, fields that only a provider knows. */
  readonly effects: boolean;
}

/**
 * Whether a request is copied: the same key always is or never is, in every instance, and a larger share copies
 * what a smaller one did and more.
 */
export function isDrawn(alias: string, { model, share }: Mirror, key: string): boolean {
  return fractionOf(`mirror\n${alias}\n${model}\n${key}`) < share;
}

/** Whether nothing but an answer comes of a request, so that two may answer it. */
export function mayBeCopied({ functions, effects }: RequestedBeside, { functionTools = false }: Mirror): boolean {
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
