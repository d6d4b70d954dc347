/** Refuses JSON that is too deep, too large or otherwise dangerous. */
import { formatPath } from './issues.ts';
import { tooDeep, tooManyNames, tooManyNodes } from './scan-json.ts';

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
 * Walks values and refuses what would hurt later: nesting that overflows the stack of a serialiser, more values than a
 * request can need, NUL characters in keys, and anything that is not JSON (from in-process callers).
 */
export class JsonWalk {
  readonly #limits: InspectionLimits;
  /** Values that were seen, containers included. */
  nodes = 0;
  /** Members of objects among them. */
  members = 0;
  /** Characters in all keys and strings of what was walked. */
  characters = 0;
  /** Steps to the place of a problem, the innermost first. */
  path: (string | number)[] | undefined;

  constructor(limits: InspectionLimits) {
    this.#limits = limits;
  }

  /**
   * What is wrong with a value; undefined when nothing is. Nothing more can be walked after a problem.
   *
   * @param depth - Containers that it is in.
   */
  problemOf(value: unknown, depth: number): string | undefined {
    this.nodes += 1;
    if (typeof value === 'string' || typeof value === 'boolean') return undefined;
    if (typeof value !== 'object') return problemOfScalar(value);
    if (value === null) return undefined;
    if (depth >= this.#limits.depth) return tooDeep(this.#limits);
    return Array.isArray(value)
      ? this.#problemOfItems(value, depth + 1)
      : this.#problemOfMembers(value as Record<string, unknown>, depth + 1);
  }

  #problemOfItems(items: readonly unknown[], depth: number): string | undefined {
    const { nodes } = this.#limits;
    // Before its items are looked at: a list may be much longer than what is looked at.
    if (this.nodes + items.length > nodes) return TOO_MANY;
    for (let index = 0; index < items.length; index += 1) {
      const item = items[index];
      if (typeof item === 'string') {
        this.nodes += 1;
        this.characters += item.length;
        continue;
      }
      const problem = this.problemOf(item, depth);
      if (problem !== undefined) return this.#at(index, problem);
    }
    return this.nodes > nodes ? TOO_MANY : undefined;
  }

  #problemOfMembers(object: Record<string, unknown>, depth: number): string | undefined {
    const { nodes } = this.#limits;
    for (const key in object) {
      if (key.includes('\0')) return 'has a key with a NUL character in it';
      const member = object[key];
      this.members += 1;
      if (this.nodes > nodes) return TOO_MANY;
      this.characters += key.length;
      if (typeof member === 'string') {
        this.nodes += 1;
        this.characters += member.length;
        continue;
      }
      const problem = this.problemOf(member, depth);
      if (problem !== undefined) return this.#at(key, problem);
    }
    return this.nodes > nodes ? TOO_MANY : undefined;
  }

  #at(step: string | number, problem: string): string {
    (this.path ??= []).push(step);
    return problem;
  }
}

/** Walks a value once, and says where the first problem is. */
export function inspectJson(value: unknown, limits: InspectionLimits): Inspection {
  const walk = new JsonWalk(limits);
  const problem = walk.problemOf(value, 0);
  if (problem === TOO_MANY) return { ok: false, path: '', problem: tooManyNodes(limits) };
  if (problem !== undefined) {
    const path = walk.path?.toReversed() ?? [];
    return { ok: false, path: formatPath(path.slice(0, SHOWN_STEPS)), problem };
  }
  const { names = Infinity } = limits;
  if (walk.members > names && hasMoreNames(value, names)) {
    return { ok: false, path: '', problem: tooManyNames({ names }) };
  }
  return { ok: true, characters: walk.characters, nodes: walk.nodes };
}

/** Whether a value that was walked before has more different names of members than this. */
export function hasMoreNames(value: unknown, limit: number): boolean {
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
