import type { NormalizedRequest } from '../normalize/normalized-request.ts';

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
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, frozenCopy(member)]));
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
