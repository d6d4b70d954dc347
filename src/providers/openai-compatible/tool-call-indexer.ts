/** Puts fragments of tool calls in order, whatever index their server gives. */
import type { ToolCallDelta } from '../../protocol/chunk.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { OriginalId } from '../tool-ids.ts';
import { JsonProgress } from '../../core/stream/json-progress.ts';
import * as read from '../../platform/json.ts';
import type { ToolCallExtra } from '../../protocol/tools.ts';

/** One fragment as a server sent it, read as far as it makes sense. */
interface Fragment {
  readonly wireIndex: number | undefined;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly text: string;
  /** What the server requires back with the call. */
  readonly extra: ToolCallExtra | undefined;
}

/** A call, as the caller knows it, and what its server requires back with it. */
export interface CallWithExtra {
  readonly id: string;
  readonly name: string;
  readonly extra: ToolCallExtra;
}

interface KnownCall {
  /** Index that we gave it. */
  readonly index: number;
  /** Id that the caller knows; empty until it was announced. */
  id: string;
  /** Id that the server gave it, if it did. */
  wireId: string | undefined;
  name: string;
  /** All arguments so far. */
  text: string;
  /** Arguments that came before the name did. */
  held: string[];
  announced: boolean;
  extra: ToolCallExtra | undefined;
  readonly progress: JsonProgress;
}

/** Calls in one answer; a server that sends more is out of its mind. */
const MAX_CALLS = 1_000;

/**
 * Brings the tool call fragments of one choice in order. Servers leave the index out, send 0 for every call, repeat
 * names and ids or send them late; afterwards each call has an index of ours, counted from 0, and its id and name
 * come once, with its first fragment. A call that never got a name is not passed on.
 */
export class ToolCallIndexer {
  readonly #byWireIndex = new Map<number, KnownCall>();
  readonly #calls: KnownCall[] = [];
  readonly #ids = new Set<string>();
  readonly #newId: (index: number) => string;
  readonly #originalId: OriginalId;
  readonly #onExtra: ((call: CallWithExtra) => void) | undefined;

  /**
   * @param newId - Makes an id for a call that came without one.
   * @param originalId - The caller's id for one that came. Default: the same.
   * @param onExtra - Gets what the server requires back with a call.
   */
  constructor(
    newId: (index: number) => string,
    originalId: OriginalId = (id) => id,
    onExtra?: (call: CallWithExtra) => void,
  ) {
    this.#newId = newId;
    this.#originalId = originalId;
    this.#onExtra = onExtra;
  }

  /** Reads the fragments of one chunk; undefined when they break the limits of any sane answer. */
  read(fragments: unknown): readonly ToolCallDelta[] | undefined {
    if (!Array.isArray(fragments)) return [];
    const deltas: ToolCallDelta[] = [];
    let found: KnownCall[] | undefined;
    for (const value of fragments) {
      if (!isJsonObject(value)) continue;
      const wireIndex = value['index'];
      if (typeof wireIndex === 'number' && wireIndex > MAX_CALLS) return undefined;
      const fragment = readFragment(value);
      const call = this.#find(fragment, found);
      if (call === undefined || isRepetition(call, fragment)) continue;
      if (this.#calls.length > MAX_CALLS) return undefined;
      if (fragments.length > 1) (found ??= []).push(call);
      const delta = this.#advance(call, fragment);
      if (delta !== undefined) deltas.push(delta);
    }
    return deltas;
  }

  /** Whether arguments came of which it is not known what they are for. */
  get isNameless(): boolean {
    return this.#calls.some(({ announced, held }) => !announced && held.length > 0);
  }

  /** @param found - The calls of the fragments before it in the same list. */
  #find(fragment: Fragment, found: readonly KnownCall[] | undefined): KnownCall | undefined {
    const { wireIndex, id, name, text } = fragment;
    const known = wireIndex === undefined ? this.#withoutIndex(fragment) : this.#withIndex(wireIndex, id);
    const isSecond = known !== undefined && name !== undefined && found?.includes(known) === true;
    if (known !== undefined && isRepetition(known, fragment)) return known;
    if (known !== undefined && !(isSecond && id === undefined) && !isAnotherCall(known, fragment)) return known;
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
    const call: KnownCall = {
      index,
      id: '',
      wireId: undefined,
      name: '',
      text: '',
      held: [],
      announced: false,
      extra: undefined,
      progress,
    };
    this.#calls.push(call);
    return call;
  }

  #advance(call: KnownCall, { id, name, text, extra }: Fragment): ToolCallDelta | undefined {
    const late = call.announced && call.extra === undefined ? extra : undefined;
    call.extra ??= extra;
    call.wireId ??= id;
    if (name !== undefined && call.name === '') call.name = name;
    call.text += text;
    call.progress.read(text);
    if (call.announced) {
      if (late !== undefined) this.#onExtra?.({ id: call.id, name: call.name, extra: late });
      if (late !== undefined) return { index: call.index, function: { arguments: text }, extra_content: late };
      return text === '' ? undefined : { index: call.index, function: { arguments: text } };
    }
    if (call.name !== '') return this.#announce(call, text);
    if (text !== '') call.held.push(text);
    return undefined;
  }

  #announce(call: KnownCall, text: string): ToolCallDelta {
    call.announced = true;
    call.id = this.#uniqueId(call);
    if (call.extra !== undefined) this.#onExtra?.({ id: call.id, name: call.name, extra: call.extra });
    const held = call.held.join('');
    call.held = [];
    return {
      index: call.index,
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: held + text },
      ...(call.extra === undefined ? {} : { extra_content: call.extra }),
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
 * 0. A second name says so, and so do arguments that begin anew where those of the known call are complete, and a name
 * under another id unless the arguments are half there. Names and ids that are only repeated, or left out, or changed in
 * the middle, are noise.
 */
function isAnotherCall(known: KnownCall, { id, name, text }: Fragment): boolean {
  if (name === undefined || known.name === '') return false;
  if (name !== known.name) return true;
  if (isMidway(known)) return false;
  const otherId = id !== undefined && known.wireId !== undefined && id !== known.wireId;
  const opensValue = /^\s*[{[]/.test(text);
  return known.progress.complete ? opensValue || (otherId && text === '') : otherId && (opensValue || text === '');
}

/** Some servers say a whole call once more, with its id, when it is over. */
function isRepetition(known: KnownCall, { id, name, text }: Fragment): boolean {
  return (
    text !== '' &&
    id !== undefined &&
    id === known.wireId &&
    name === known.name &&
    known.progress.complete &&
    known.text === text
  );
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
    extra: extraOf(value, parts),
  };
}

function validIndex(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/** Arguments are a string of JSON; some servers send the object itself, which may be empty before it is there. */
function argumentsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return '';
  return JSON.stringify(value);
}

/** Servers in front of Google's models put its signature into a member of Google's, and LiteLLM into one of its own. */
function extraOf(call: JsonObject, parts: JsonObject): ToolCallExtra | undefined {
  const { extra_content: extra } = call;
  if (isJsonObject(extra)) return Object.keys(extra).length > 0 ? extra : undefined;
  const own = call['provider_specific_fields'] ?? parts['provider_specific_fields'];
  const signature = own === undefined ? undefined : read.text(read.object(own)['thought_signature']);
  return signature === undefined ? undefined : { google: { thought_signature: signature } };
}

/** Blank names and ids on continuations say nothing. */
function visibleText(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
