import { deriveNeeds } from '../normalize/needs.ts';
import type { Needs, NormalizedRequest } from '../normalize/normalized-request.ts';
import { frozenCopy, frozenRequest } from './frozen.ts';
import { withoutNative } from './without-native.ts';
import { CHANGEABLE, type RequestChange } from './request-change.ts';

/** A request after a change, and what plugins said about its needs so far. */
export interface ChangedRequest {
  readonly request: NormalizedRequest;
  readonly needs: Partial<Needs>;
}

/** Puts a checked change into a request and derives again what an endpoint must be able to do. */
export function applyChange(before: ChangedRequest, change: RequestChange): ChangedRequest {
  const { request } = before;
  const changed: Record<string, unknown> = {};
  for (const name of CHANGEABLE) if (change[name] !== undefined) changed[name] = frozenCopy(change[name]);
  if (Object.keys(changed).length === 0 && change.needs === undefined) return before;
  const after = withoutNative({ ...request, ...changed }, 'a plugin that changes the request');
  const needs = { ...before.needs, ...change.needs };
  return { request: frozenRequest({ ...after, needs: { ...deriveNeeds(after), ...needs } }), needs };
}

/** Names of what a change changes, for a stage; empty for a change that changes nothing. */
export function changedMembers(change: RequestChange): readonly string[] {
  return [...CHANGEABLE, 'needs' as const].filter((name) => change[name] !== undefined);
}
