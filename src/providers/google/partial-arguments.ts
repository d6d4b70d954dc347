/** Joins tool arguments that Gemini streams value by value. */
import type { JsonObject } from '../../protocol/json.ts';

/** What a place may be in; the members of both are set by name. */
type Place = Record<string, unknown>;

/** Items of one list; a place beyond them is no answer's. */
const MAX_ITEMS = 100_000;
/** Places inside each other. */
const MAX_DEPTH = 64;

/** One step of a path: `.name`, `["name"]` or `[3]`. */
const STEP = /\.([^.[\]]+)|\["((?:[^"\\]|\\.)*)"\]|\['((?:[^'\\]|\\.)*)'\]|\[(\d+)\]/y;

/**
 * The arguments of a call that Google streams value by value, each with the path of its place (`$.items[0].name`).
 * Texts come in pieces. What has no readable place is left out.
 */
export class PartialArguments {
  readonly whole: Place;
  /** Path of the text that goes on. */
  #text: string | undefined;

  /** @param known - Arguments that came whole. */
  constructor(known: JsonObject) {
    this.whole = { ...known };
  }

  /** Adds arguments that came whole. */
  fill(args: JsonObject): void {
    Object.assign(this.whole, args);
  }

  /** Adds values, each of the form `{ jsonPath, stringValue, willContinue }`. */
  add(values: readonly JsonObject[]): void {
    for (const value of values) {
      const { jsonPath: path } = value;
      if (typeof path !== 'string') continue;
      const steps = stepsOf(path);
      if (steps !== undefined) this.#set(path, steps, value);
    }
  }

  #set(path: string, steps: readonly (string | number)[], value: JsonObject): void {
    let place = this.whole;
    for (const [position, step] of steps.slice(0, -1).entries()) {
      const inner = place[step];
      if (!Object.hasOwn(place, step) || typeof inner !== 'object' || inner === null) {
        put(place, step, typeof steps[position + 1] === 'number' ? [] : {});
      }
      place = place[step] as Place;
    }
    const last = steps.at(-1);
    if (last === undefined) return;
    const { stringValue: text } = value;
    if (typeof text !== 'string') {
      put(place, last, valueOf(value));
      return;
    }
    const before = this.#text === path ? place[last] : '';
    put(place, last, `${typeof before === 'string' ? before : ''}${text}`);
    this.#text = value['willContinue'] === true ? path : undefined;
  }
}

function valueOf({ numberValue, boolValue }: JsonObject): unknown {
  return numberValue ?? boolValue ?? null;
}

/** As an own member, also under the names that every object has. */
function put(place: Place, step: string | number, value: unknown): void {
  Object.defineProperty(place, step, { value, configurable: true, enumerable: true, writable: true });
}

function stepsOf(path: string): readonly (string | number)[] | undefined {
  if (!path.startsWith('$')) return undefined;
  const steps: (string | number)[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < path.length) {
    const at = STEP.lastIndex;
    const [, name, double, single, item] = STEP.exec(path) ?? [];
    if (STEP.lastIndex <= at || steps.length >= MAX_DEPTH) return undefined;
    if (item === undefined) steps.push(name ?? (double ?? single ?? '').replace(/\\(.)/g, '$1'));
    else if (Number(item) < MAX_ITEMS) steps.push(Number(item));
    else return undefined;
  }
  return steps.length === 0 ? undefined : steps;
}
