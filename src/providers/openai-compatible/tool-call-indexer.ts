import type { ToolCallDelta } from '../../protocol/chunk.ts';
import { isJsonObject } from '../../protocol/json.ts';

interface KnownCall {
  /** Index that we gave it. */
  readonly index: number;
  id: string;
  name: string;
  /** Arguments that came before the name did. */
  held: string[];
  announced: boolean;
  hasArguments: boolean;
}

/** Calls in one answer; a server that sends more is out of its mind. */
const MAX_CALLS = 1_000;

/**
 * Brings the tool call fragments of one choice in order. Servers leave the index out, send 0 for every call, repeat
 * names and ids or send them late; afterwards each call has an index of ours, counted from 0, and its id and name
 * come once, with its first fragment.
 */
export class ToolCallIndexer {
  readonly #byWireIndex = new Map<number, KnownCall>();
  readonly #calls: KnownCall[] = [];
  readonly #ids = new Set<string>();
  readonly #newId: (index: number) => string;

  /** @param newId - Makes an id for a call that came without one. */
  constructor(newId: (index: number) => string) {
    this.#newId = newId;
  }

  /** Reads the fragments of one chunk; undefined when they break the limits of any sane answer. */
  read(fragments: unknown): readonly ToolCallDelta[] | undefined {
    if (!Array.isArray(fragments)) return [];
    const deltas: ToolCallDelta[] = [];
    for (const fragment of fragments) {
      if (!isJsonObject(fragment)) continue;
      const parts = isJsonObject(fragment['function']) ? fragment['function'] : {};
      const wireIndex = fragment['index'];
      if (typeof wireIndex === 'number' && wireIndex > MAX_CALLS) return undefined;
      const name = textOf(parts['name']);
      const call = this.#find(validIndex(wireIndex), textOf(fragment['id']), name);
      if (call === undefined) continue;
      if (this.#calls.length > MAX_CALLS) return undefined;
      if (name !== undefined && call.name === '') call.name = name;
      const delta = this.#advance(call, argumentsOf(parts['arguments']));
      if (delta !== undefined) deltas.push(delta);
    }
    return deltas;
  }

  /** Fragments that are still owed at the end: calls that never got a name, and empty arguments. */
  finish(): readonly ToolCallDelta[] {
    const deltas: ToolCallDelta[] = [];
    for (const call of this.#calls) {
      const text = call.hasArguments ? '' : '{}';
      if (!call.announced) deltas.push(this.#announce(call, text));
      else if (text !== '') deltas.push({ index: call.index, function: { arguments: text } });
      call.hasArguments = true;
    }
    return deltas;
  }

  #find(wireIndex: number | undefined, id: string | undefined, name: string | undefined): KnownCall | undefined {
    const known = wireIndex === undefined ? this.#withoutIndex(id, name) : this.#byWireIndex.get(wireIndex);
    if (known !== undefined && !isAnotherCall(known, id, name)) return known;
    if (known === undefined && wireIndex === undefined && name === undefined) return undefined;
    const call = this.#open(id);
    if (wireIndex !== undefined) this.#byWireIndex.set(wireIndex, call);
    return call;
  }

  /** Without an index: a known id continues its call, a name begins one, anything else continues the newest. */
  #withoutIndex(id: string | undefined, name: string | undefined): KnownCall | undefined {
    const byId = id === undefined ? undefined : this.#calls.find((call) => call.id === id);
    if (byId !== undefined) return byId;
    return name === undefined ? this.#calls.at(-1) : undefined;
  }

  #open(id: string | undefined): KnownCall {
    const index = this.#calls.length;
    const wanted = id ?? this.#newId(index);
    let unique = wanted;
    for (let copy = 2; this.#ids.has(unique); copy += 1) unique = `${wanted}_${copy}`;
    this.#ids.add(unique);
    const call: KnownCall = { index, id: unique, name: '', held: [], announced: false, hasArguments: false };
    this.#calls.push(call);
    return call;
  }

  #advance(call: KnownCall, text: string): ToolCallDelta | undefined {
    if (text !== '') call.hasArguments = true;
    if (call.announced) return text === '' ? undefined : { index: call.index, function: { arguments: text } };
    if (call.name !== '') return this.#announce(call, text);
    if (text !== '') call.held.push(text);
    return undefined;
  }

  #announce(call: KnownCall, text: string): ToolCallDelta {
    call.announced = true;
    const held = call.held.join('');
    call.held = [];
    return {
      index: call.index,
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: held + text },
    };
  }
}

/** The same index with another id and a name is a new call of a server that always says 0. */
function isAnotherCall(known: KnownCall, id: string | undefined, name: string | undefined): boolean {
  if (name === undefined || known.name === '') return false;
  if (id !== undefined && id !== known.id) return true;
  return id === undefined && name !== known.name;
}

function validIndex(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/** Arguments are a string of JSON; some servers send the object itself. */
function argumentsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return isJsonObject(value) ? JSON.stringify(value) : '';
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
