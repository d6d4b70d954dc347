/** Gives plugins a request that they cannot change, and applies the changes that they return. */
import type { Needs, NormalizedRequest } from '../../contracts/request.ts';
import { deriveNeeds } from '../normalize/normalize.ts';
import { type RequestChange, CHANGEABLE } from '../../contracts/plugin.ts';
import { RouterError } from '../../protocol/router-error.ts';

/**
 * A deep copy that nobody can change. Objects that are not plain (sets, for example) are kept as they are, and so is
 * what is frozen already: only this function freezes.
 */
export function frozenCopy<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || FROZEN.has(value)) return value;
  const copy = Array.isArray(value) ? value.map(frozenCopy) : isPlain(value) ? copyOf(value) : undefined;
  if (copy === undefined) return value;
  FROZEN.add(copy);
  return Object.freeze(copy) as Value;
}

/** Copies that were made here. Weak: they live as long as their request. */
const FROZEN = new WeakSet<object>();

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function copyOf(value: object): object {
  // A spread also copies a member named __proto__ as one that is the object's own, so setting it changes no prototype.
  const copy: Record<string, unknown> = { ...value };
  for (const key of Object.keys(copy)) {
    const member = copy[key];
    if (typeof member === 'object' && member !== null) copy[key] = frozenCopy(member);
  }
  return copy;
}

/**
 * A request as plugins see it. Its targets keep their endpoints, which are the catalog's and compared by identity;
 * everything else is a frozen copy, so that a plugin can change neither the request nor what the caller passed in.
 */
export function frozenRequest(request: NormalizedRequest): NormalizedRequest {
  const { targets, account, ...rest } = request;
  const frozen = frozenCopy(rest);
  const copy: NormalizedRequest = {
    ...frozen,
    account,
    targets: Object.freeze(targets.map((target) => Object.freeze({ ...target }))),
  };
  return Object.freeze(copy);
}

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

/**
 * A request that endpoints get in the chat form, because the caller's own body no longer says what it says.
 *
 * @param because - What changes the request or its answer, for the error.
 * @throws {@link RouterError} 400 when the caller's body says something that only its API format can say.
 */
export function withoutNative(request: NormalizedRequest, because: string): NormalizedRequest {
  const { native, ...rest } = request;
  if (native === undefined) return request;
  if (native.requiredBy === undefined) return rest;
  throw new RouterError({
    status: 400,
    errorType: 'invalid_request',
    message: `${native.requiredBy} goes to a provider as it is, so it cannot be combined with ${because}`,
    metadata: { path: native.requiredBy },
  });
}
