import { formatPath } from './issues.ts';

/** What a walk over a value found. `ok` values are plain JSON within the limits. */
export type Inspection =
  | { readonly ok: true }
  | { readonly ok: false; readonly path: string; readonly problem: string };

/**
 * Walks a value once and refuses what would hurt later: nesting that overflows the stack of a serialiser, more values
 * than a request can need, NUL characters in keys, and anything that is not JSON (from in-process callers).
 */
export function inspectJson(value: unknown, limits: { readonly depth: number; readonly nodes: number }): Inspection {
  const path: (string | number)[] = [];
  let nodes = 0;

  function visit(current: unknown): string | undefined {
    nodes += 1;
    if (nodes > limits.nodes) return `must not hold more than ${limits.nodes.toLocaleString('en-US')} JSON values`;
    if (typeof current !== 'object') return isScalar(current) ? undefined : 'must be JSON';
    if (current === null) return undefined;
    if (path.length >= limits.depth) return `must not be nested more than ${limits.depth} levels deep`;
    return Array.isArray(current) ? visitItems(current) : visitMembers(current as Record<string, unknown>);
  }

  function visitItems(items: readonly unknown[]): string | undefined {
    for (let index = 0; index < items.length; index += 1) {
      const item = items[index];
      if (typeof item === 'string') {
        nodes += 1;
        continue;
      }
      path.push(index);
      const problem = visit(item);
      if (problem !== undefined) return problem;
      path.pop();
    }
    return undefined;
  }

  function visitMembers(members: Record<string, unknown>): string | undefined {
    for (const key in members) {
      if (key.includes('\0')) return 'has a key with a NUL character in it';
      const member = members[key];
      if (typeof member === 'string') {
        nodes += 1;
        continue;
      }
      path.push(key);
      const problem = visit(member);
      if (problem !== undefined) return problem;
      path.pop();
    }
    return undefined;
  }

  const problem = visit(value);
  return problem === undefined ? { ok: true } : { ok: false, path: formatPath(path.slice(0, 4)), problem };
}

function isScalar(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return true;
    case 'number':
      return Number.isFinite(value);
    default:
      return false;
  }
}
