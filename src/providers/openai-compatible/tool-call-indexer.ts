import type { ToolCallDelta } from '../../protocol/chunk.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { OriginalId } from '../tool-ids.ts';
import { JsonProgress } from '../../core/stream/json-progress.ts';
import * as read from '../../platform/json.ts';

/** One fragment as a server sent it, read as far as it makes sense. */
interface Fragment {
  readonly wireIndex: number | undefined;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly text: string;
}

interface KnownCall {
  /** Index that we gave it. */
  readonly index: number;
  /** Id that the server gave it, if it did. */
  wireId: string | undefined;
  name: string;
  /** Arguments that came before the name did. */
  held: string[];
  announced: boolean;
  readonly progress: JsonProgress;
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
  readonly #originalId: OriginalId;

  /**
   * @param newId - Makes an id for a call that came without one.
   * @param originalId - The caller's id for one that came. Default: the same.
   */
  constructor(newId: (index: number) => string, originalId: OriginalId = (id) => id) {
    this.#newId = newId;
    this.#originalId = originalId;
  }

  /** Reads the fragments of one chunk; undefined when they break the limits of any sane answer. */
  read(fragments: unknown): readonly ToolCallDelta[] | undefined {
    if (!Array.isArray(fragments)) return [];
    const deltas: ToolCallDelta[] = [];
    for (const value of fragments) {
      if (!isJsonObject(value)) continue;
      const wireIndex = value['index'];
      if (typeof wireIndex === 'number' && wireIndex > MAX_CALLS) return undefined;
      const fragment = readFragment(value);
      const call = this.#find(fragment);
      if (call === undefined) continue;
      if (this.#calls.length > MAX_CALLS) return undefined;
      const delta = this.#advance(call, fragment);
      if (delta !== undefined) deltas.push(delta);
    }
    return deltas;
  }

  /** Fragments that are still owed at the end: calls that never got a name, and empty arguments. */
  finish(): readonly ToolCallDelta[] {
    const deltas: ToolCallDelta[] = [];
    for (const call of this.#calls) {
      const text = call.progress.empty ? '{}' : '';
      call.progress.read(text);
      if (!call.announced) deltas.push(this.#announce(call, text));
      else if (text !== '') deltas.push({ index: call.index, function: { arguments: text } });
    }
    return deltas;
  }

  #find(fragment: Fragment): KnownCall | undefined {
    const { wireIndex, id, name, text } = fragment;
    const known = wireIndex === undefined ? this.#withoutIndex(fragment) : this.#withIndex(wireIndex, id);
    if (known !== undefined && !isAnotherCall(known, fragment)) return known;
    if (id === undefined && name === undefined && text === '') return undefined;
    const call = this.#open();
    if (wireIndex !== undefined) this.#byWireIndex.set(wireIndex, call);
    return call;
  }

  /** With an index: the call that is there, unless the id is that of another one. */
  #withIndex(wireIndex: number, id: string | undefined): KnownCall | undefined {
    const known = this.#byWireIndex.get(wireIndex);
    return known === undefined || known.wireId === id ? known : (this.#withId(id) ?? known);
  }

  #withId(id: string | undefined): KnownCall | undefined {
    return id === undefined ? undefined : this.#calls.findLast((call) => call.wireId === id);
  }

  /**
   * Without an index: a known id continues its call, a name begins one unless it only repeats that of a call whose
   * arguments are half there, and anything else continues the newest.
   */
  #withoutIndex({ id, name }: Fragment): KnownCall | undefined {
    const byId = this.#withId(id);
    if (byId !== undefined) return byId;
    const newest = this.#calls.at(-1);
    if (newest === undefined || name === undefined) return newest;
    return id === undefined && newest.name === name && isMidway(newest) ? newest : undefined;
  }

  #open(): KnownCall {
    const progress = new JsonProgress();
    const index = this.#calls.length;
    const call: KnownCall = { index, wireId: undefined, name: '', held: [], announced: false, progress };
    this.#calls.push(call);
    return call;
  }

  #advance(call: KnownCall, { id, name, text }: Fragment): ToolCallDelta | undefined {
    call.wireId ??= id;
    if (name !== undefined && call.name === '') call.name = name;
    call.progress.read(text);
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
      id: this.#uniqueId(call),
      type: 'function',
      function: { name: call.name, arguments: held + text },
    };
  }

  #uniqueId({ wireId, index }: KnownCall): string {
    const wanted = wireId === undefined ? this.#newId(index) : this.#originalId(wireId);
    let unique = wanted;
    for (let copy = 2; this.#ids.has(unique); copy += 1) unique = `${wanted}_${copy}`;
    this.#ids.add(unique);
    return unique;
  }
}

/**
 * Whether a fragment in the place of a known call begins another one, as with servers whose index is always
 * 0. A second name says so, and so do arguments that begin anew where those of the known call are complete. Names and
 * ids that are only repeated, or left out, or changed in the middle, are noise.
 */
function isAnotherCall(known: KnownCall, { id, name, text }: Fragment): boolean {
  if (name === undefined || known.name === '') return false;
  if (name !== known.name) return true;
  if (isMidway(known)) return false;
  const otherId = id !== undefined && known.wireId !== undefined && id !== known.wireId;
  const opensValue = /^\s*[{[]/.test(text);
  return known.progress.complete ? opensValue || (otherId && text === '') : opensValue && otherId;
}

function isMidway({ progress }: KnownCall): boolean {
  return !progress.empty && !progress.complete;
}

function readFragment(value: JsonObject): Fragment {
  const parts = read.object(value['function']);
  return {
    wireIndex: validIndex(value['index']),
    id: visibleText(value['id']),
    name: visibleText(parts['name']),
    text: argumentsOf(parts['arguments']),
  };
}

function validIndex(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/** Arguments are a string of JSON; some servers send the object itself. */
function argumentsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return isJsonObject(value) ? JSON.stringify(value) : '';
}

/** Blank names and ids on continuations say nothing. */
function visibleText(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
