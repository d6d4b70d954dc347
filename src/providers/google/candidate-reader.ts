/** Reads the parts of one candidate in a response of Gemini. */
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { Delta } from '../../protocol/chunk.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { originalName } from './encode-tools.ts';
import { imageId, textId } from '../signed-parts.ts';
import { PartialArguments } from './partial-arguments.ts';
import { GOOGLE_FORMAT, signatureDetail } from './encode-assistant.ts';
import type { Annotation } from '../../protocol/chat-result.ts';
import * as read from '../../platform/json.ts';

/** What one candidate is read with. */
export interface CandidateContext {
  readonly request: NormalizedRequest;
  /** Beginning of ids for calls that came without one. */
  readonly idPrefix: string;
  /** Keeps the signature of a call for clients that lose it. */
  readonly remember: (callId: string, signature: string) => void;
}

/** Reads the parts of one candidate, as they come: what each adds to the message. Holds what was counted so far. */
export class CandidateReader {
  readonly #context: CandidateContext;
  readonly #index: number;
  readonly #ids = new Set<string>();
  /** Text so far, where citations point into it. */
  #text = '';
  #length = 0;
  #images = 0;
  #details = 0;
  /** Index of the thought that further thoughts continue. */
  #thought: number | undefined;
  #starts: readonly (number | undefined)[] = [];
  #said = false;
  /** The call whose arguments come value by value. */
  #open: OpenCall | undefined;
  #broken = false;

  constructor(index: number, context: CandidateContext) {
    this.#index = index;
    this.#context = context;
  }

  /** What was said so far, for the meaning of its end. */
  get said(): { readonly anything: boolean; readonly calls: boolean } {
    return { anything: this.#said, calls: this.#ids.size > 0 };
  }

  /** True when the last content was not the last of a call. */
  get isCalling(): boolean {
    return this.#open?.goesOn === true;
  }

  /** True once there was a call of which it is not known what it calls. */
  get isBroken(): boolean {
    return this.#broken;
  }

  /** The text so far; empty unless the request has a search, whose citations point into it. */
  get text(): string {
    return this.#text;
  }

  /** Where the parts of the last content begin. A stream counts from the beginning of everything. */
  get partStart(): PartStart {
    return (part) => (part === 0 ? 0 : this.#starts[part]);
  }

  /** Reads the parts of one content; what each adds, in order. */
  read(content: unknown): readonly Delta[] {
    const parts = isJsonObject(content) && Array.isArray(content['parts']) ? content['parts'] : [];
    const starts: (number | undefined)[] = [];
    const deltas: Delta[] = [];
    if (this.#open !== undefined) this.#open.goesOn = false;
    for (const part of parts) {
      const isText = isJsonObject(part) && typeof part['text'] === 'string' && part['thought'] !== true;
      starts.push(isText ? this.#length : undefined);
      const delta = isJsonObject(part) ? this.#part(part) : {};
      if (Object.keys(delta).length > 0) deltas.push(delta);
    }
    this.#starts = starts;
    return deltas;
  }

  #part(part: JsonObject): Delta {
    const { text, functionCall: call, inlineData: data } = part;
    const signature = read.text(part['thoughtSignature']);
    if (part['thought'] === true) return typeof text === 'string' ? this.#thoughtOf(text, signature) : {};
    this.#thought = undefined;
    if (isJsonObject(call)) return this.#call(call, signature);
    if (isJsonObject(data)) return this.#data(data, signature);
    return typeof text === 'string' ? this.#textOf(text, signature) : {};
  }

  #thoughtOf(text: string, signature: string | undefined): Delta {
    if (this.#context.request.reasoning?.exclude === true) return {};
    const index = this.#thought ?? this.#nextDetail();
    // What is signed is complete: further thoughts have a signature of their own.
    this.#thought = signature === undefined ? index : undefined;
    const detail: ReasoningDetail = {
      type: 'reasoning.text',
      text,
      ...(signature === undefined ? {} : { signature }),
      format: GOOGLE_FORMAT,
      index,
    };
    return { ...(text === '' ? {} : { reasoning: text }), reasoning_details: [detail] };
  }

  #textOf(text: string, signature: string | undefined): Delta {
    const start = this.#length;
    this.#length += text.length;
    if (this.#context.request.parameters.web_search_options !== undefined) this.#text += text;
    this.#said ||= text !== '';
    return { ...(text === '' ? {} : { content: text }), ...this.#signed(textId(start, this.#length), signature) };
  }

  /** A call comes whole, or its name comes first and its arguments value by value. */
  #call(call: JsonObject, signature: string | undefined): Delta {
    const { id: wireId, name, args, partialArgs: values } = call;
    const goesOn = call['willContinue'] === true;
    if (!read.isText(name)) return this.#continueCall(call);
    const before = this.finishCall()?.tool_calls ?? [];
    const index = this.#ids.size;
    const id = this.#uniqueId(read.text(wireId) ?? `${this.#context.idPrefix}_${this.#index}_${index}`);
    this.#said = true;
    if (signature !== undefined) this.#context.remember(id, signature);
    const isOpen = goesOn || values !== undefined;
    if (isOpen) {
      this.#open = { index, values: new PartialArguments(isJsonObject(args) ? args : {}), goesOn };
      this.#open.values.add(read.objects(values));
    }
    const rest = isOpen && !goesOn ? (this.finishCall()?.tool_calls ?? []) : [];
    return {
      ...this.#signed(id, signature),
      tool_calls: [
        ...before,
        {
          index,
          id,
          type: 'function',
          function: {
            name: originalName(name, this.#context.request.tools),
            arguments: isOpen ? '' : JSON.stringify(args ?? {}),
          },
          ...(signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } }),
        },
        ...rest,
      ],
    };
  }

  #continueCall({ args, partialArgs, willContinue }: JsonObject): Delta {
    const values = read.objects(partialArgs);
    const goesOn = willContinue === true;
    const open = this.#open;
    if (open === undefined) {
      // What ends a call that has ended says nothing.
      this.#broken ||= values.length > 0 || args !== undefined || goesOn;
      return {};
    }
    open.goesOn = goesOn;
    if (isJsonObject(args)) open.values.fill(args);
    open.values.add(values);
    return goesOn ? {} : (this.finishCall() ?? {});
  }

  /** The arguments of the call that was open, which is over; undefined where none was. */
  finishCall(): Delta | undefined {
    const open = this.#open;
    if (open === undefined) return undefined;
    this.#open = undefined;
    return { tool_calls: [{ index: open.index, function: { arguments: JSON.stringify(open.values.whole) } }] };
  }

  /** Images and sound; other files have no place in a message. */
  #data({ mimeType, data }: JsonObject, signature: string | undefined): Delta {
    if (typeof mimeType !== 'string' || typeof data !== 'string') return {};
    if (mimeType.startsWith('audio/')) {
      this.#said = true;
      return { audio: { data } };
    }
    if (!mimeType.startsWith('image/')) return {};
    this.#said = true;
    const url = `data:${mimeType};base64,${data}`;
    const position = this.#images;
    this.#images += 1;
    return { images: [{ type: 'image_url', image_url: { url } }], ...this.#signed(imageId(position), signature) };
  }

  #signed(id: string, signature: string | undefined): Pick<Delta, 'reasoning_details'> {
    return signature === undefined ? {} : { reasoning_details: [signatureDetail(id, signature, this.#nextDetail())] };
  }

  #nextDetail(): number {
    this.#details += 1;
    return this.#details - 1;
  }

  #uniqueId(wanted: string): string {
    let unique = wanted;
    for (let copy = 2; this.#ids.has(unique); copy += 1) unique = `${wanted}_${copy}`;
    this.#ids.add(unique);
    return unique;
  }
}

/** A call whose arguments come value by value. */
interface OpenCall {
  readonly index: number;
  readonly values: PartialArguments;
  /** Whether the last that was said of it was that more comes. */
  goesOn: boolean;
}

/** What a source's address may be under. */
const SOURCES = ['web', 'retrievedContext', 'maps'] as const;

/** Where a part of an answer begins in its text, in UTF-16 units; undefined for a part that is not text. */
type PartStart = (part: number) => number | undefined;

/** Queries that Google's own search answered for a candidate. */
export function searchesOf(metadata: unknown): number {
  return isJsonObject(metadata) ? read.list(metadata['webSearchQueries']).length : 0;
}

/**
 * Reads `groundingMetadata` as citations: one for each passage and each source that supports it, and one for each
 * source that supports no passage in particular.
 *
 * @param text - The text that passages are counted in; empty when nobody kept it, and then they have no places.
 */
export function decodeGrounding(metadata: unknown, text: string, partStart: PartStart): readonly Annotation[] {
  if (!isJsonObject(metadata)) return [];
  const sources = read.list(metadata['groundingChunks']).map(readSource);
  const cited = new Set<number>();
  const annotations: Annotation[] = [];
  for (const support of read.list(metadata['groundingSupports'])) {
    if (!isJsonObject(support)) continue;
    const passage = readPassage(support['segment'], text, partStart);
    for (const index of read.list(support['groundingChunkIndices'])) {
      const source = typeof index === 'number' ? sources[index] : undefined;
      if (source === undefined) continue;
      cited.add(Number(index));
      annotations.push({ type: 'url_citation', url_citation: { ...source, ...passage } });
    }
  }
  for (const [index, source] of sources.entries()) {
    if (source !== undefined && !cited.has(index)) annotations.push({ type: 'url_citation', url_citation: source });
  }
  return annotations;
}

function readSource(chunk: unknown): { readonly url: string; readonly title?: string } | undefined {
  if (!isJsonObject(chunk)) return undefined;
  const source = SOURCES.map((name) => chunk[name]).find(isJsonObject);
  const url = source?.['uri'];
  if (typeof url !== 'string' || url === '') return undefined;
  const title = source?.['title'];
  return typeof title === 'string' ? { url, title } : { url };
}

function readPassage(segment: unknown, text: string, partStart: PartStart): object {
  if (!isJsonObject(segment)) return {};
  const content = typeof segment['text'] === 'string' ? { content: segment['text'] } : {};
  const begin = partStart(read.number(segment['partIndex']) ?? 0);
  if (text === '' || begin === undefined || typeof segment['endIndex'] !== 'number') return content;
  const bytes = new TextEncoder().encode(text.slice(begin));
  return {
    ...content,
    start_index: begin + lengthOf(bytes, read.number(segment['startIndex']) ?? 0),
    end_index: begin + lengthOf(bytes, segment['endIndex']),
  };
}

/** Google counts in bytes; callers count in UTF-16 units. */
function lengthOf(bytes: Uint8Array, count: number): number {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, Math.max(0, count))).length;
}
