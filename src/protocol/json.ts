import { formatPath } from './issues.ts';
import { tooDeep, tooManyNames, tooManyNodes } from './scan-json.ts';

/** Anything that JSON can say. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;

/** A JSON object. Members may be `undefined`, which `JSON.stringify` leaves out. */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** True for a plain JSON object: neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a walk over a value found. `ok` values are plain JSON within the limits. */
type Inspection =
  | {
      readonly ok: true;
      /** Characters in all keys and strings. */
      readonly characters: number;
      /** Values, containers included. */
      readonly nodes: number;
    }
  | { readonly ok: false; readonly path: string; readonly problem: string };

/** What a value may hold. */
interface InspectionLimits {
  readonly depth: number;
  readonly nodes: number;
  /** Different names of members. Default: any number. */
  readonly names?: number | undefined;
}

/**
 * Walks a value once and refuses what would hurt later: nesting that overflows the stack of a serialiser, more values
 * than a request can need, NUL characters in keys, and anything that is not JSON (from in-process callers).
 */
export function inspectJson(value: unknown, limits: InspectionLimits): Inspection {
  const path: (string | number)[] = [];
  let nodes = 0;
  let members = 0;
  let characters = 0;

  function visit(current: unknown): string | undefined {
    nodes += 1;
    if (typeof current !== 'object') return problemOfScalar(current);
    if (current === null) return undefined;
    if (path.length >= limits.depth) return tooDeep(limits);
    return Array.isArray(current) ? visitItems(current) : visitMembers(current as Record<string, unknown>);
  }

  function visitItems(items: readonly unknown[]): string | undefined {
    // Before its items are looked at: a list may be much longer than what is looked at.
    if (nodes + items.length > limits.nodes) return TOO_MANY;
    for (let index = 0; index < items.length; index += 1) {
      const item = items[index];
      if (typeof item === 'string') {
        nodes += 1;
        characters += item.length;
        continue;
      }
      path.push(index);
      const problem = visit(item);
      if (problem !== undefined) return problem;
      path.pop();
    }
    return nodes > limits.nodes ? TOO_MANY : undefined;
  }

  function visitMembers(object: Record<string, unknown>): string | undefined {
    for (const key in object) {
      if (key.includes('\0')) return 'has a key with a NUL character in it';
      const member = object[key];
      members += 1;
      if (nodes > limits.nodes) return TOO_MANY;
      characters += key.length;
      if (typeof member === 'string') {
        nodes += 1;
        characters += member.length;
        continue;
      }
      path.push(key);
      const problem = visit(member);
      if (problem !== undefined) return problem;
      path.pop();
    }
    return nodes > limits.nodes ? TOO_MANY : undefined;
  }

  const problem = visit(value);
  if (problem === TOO_MANY) return { ok: false, path: '', problem: tooManyNodes(limits) };
  if (problem !== undefined) return { ok: false, path: formatPath(path.slice(0, SHOWN_STEPS)), problem };
  const { names = Infinity } = limits;
  if (members > names && hasMoreNames(value, names)) return { ok: false, path: '', problem: tooManyNames({ names }) };
  return { ok: true, characters, nodes };
}

/** Whether a value that was walked before has more different names of members than this. */
function hasMoreNames(value: unknown, limit: number): boolean {
  const seen = new Set<string>();
  const visit = (current: unknown): boolean => {
    if (typeof current !== 'object' || current === null) return false;
    if (Array.isArray(current)) return current.some(visit);
    for (const key in current) {
      seen.add(key);
      if (seen.size > limit || visit((current as Record<string, unknown>)[key])) return true;
    }
    return false;
  };
  return visit(value);
}

const TOO_MANY = 'holds too much';

/** Steps of a path that are shown: enough to find the place, and little of what the caller sent. */
const SHOWN_STEPS = 3;

function problemOfScalar(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : `must be a finite number, not ${value}`;
    default:
      return `must be JSON, not a ${typeof value}`;
  }
}
