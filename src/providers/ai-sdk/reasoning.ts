import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import type { Delta } from '../../protocol/chunk.ts';
import type { AiSdkFamily, SignatureStyle } from './families.ts';
import { parseJson } from '../upstream-failure.ts';
import type { ProviderOptions, ReasoningPrompt } from './model.ts';
import * as read from '../../platform/json.ts';
import { joinReasoningDetails } from '../../core/stream/reasoning-details.ts';
import type { AssistantMessage } from '../../protocol/message.ts';
import { readSignedPart } from '../signed-parts.ts';

interface Block {
  readonly index: number;
  /** The proof was told already: providers repeat it on every part of a block. */
  readonly told: Set<string>;
  itemId: string | undefined;
  format: string;
  hasText: boolean;
}

/**
 * Follows the blocks of reasoning in one answer. Each gets an index of its own, under which its text and its proof
 * travel through `reasoning_details`; text is also told plainly.
 */
export class ReasoningBlocks {
  readonly #open = new Map<unknown, Block>();
  readonly #format: string;
  readonly #told = new Set<string>();
  #next = 0;

  /** @param style - How the provider signs its reasoning, which tells the format before a signature comes. */
  constructor(style: SignatureStyle | undefined) {
    this.#format = style === undefined ? FORMATS.unknown : FORMATS[style];
  }

  /** `reasoning-start`. */
  start({ id, providerMetadata }: JsonObject): Delta | undefined {
    const block = this.#begin(id);
    return deltaOf('', this.#prove(block, providerMetadata));
  }

  /** `reasoning-delta`. */
  delta({ id, delta, providerMetadata }: JsonObject): Delta | undefined {
    const block = this.#open.get(id) ?? this.#begin(id);
    const text = read.text(delta) ?? '';
    const details: ReasoningDetail[] = [];
    const proof = readProof(providerMetadata);
    if (proof !== undefined) learn(block, proof);
    if (text !== '') {
      block.hasText = true;
      details.push(textDetail(block, text));
    }
    details.push(...this.#prove(block, providerMetadata));
    return deltaOf(text, details);
  }

  /** `reasoning-end`. */
  end({ id, providerMetadata }: JsonObject): Delta | undefined {
    const block = this.#open.get(id);
    if (block === undefined) return undefined;
    this.#open.delete(id);
    const details = [...this.#prove(block, providerMetadata)];
    const { index, itemId, format, hasText } = block;
    // The id alone may be worth something: the provider can have kept the rest.
    if (itemId !== undefined && !hasText && !this.#told.has(itemId)) {
      details.push({ type: 'reasoning.summary', summary: '', id: itemId, format, index });
    }
    return deltaOf('', details);
  }

  /**
   * A proof that stands on something else than reasoning.
   *
   * @param id - Says on what: the id of a tool call, or of a text or an image.
   */
  elsewhere(signature: string, id: string): Delta | undefined {
    if (!isNews(this.#told, `${id}\0${signature}`)) return undefined;
    const detail = {
      type: 'reasoning.encrypted',
      data: signature,
      format: FORMATS.google,
      index: this.#next,
      id,
    } as const;
    this.#next += 1;
    return { reasoning_details: [detail] };
  }

  #begin(id: unknown): Block {
    const block = {
      index: this.#next,
      told: new Set<string>(),
      itemId: undefined,
      format: this.#format,
      hasText: false,
    };
    this.#next += 1;
    this.#open.set(id, block);
    return block;
  }

  #prove(block: Block, metadata: unknown): readonly ReasoningDetail[] {
    const proof = readProof(metadata);
    if (proof === undefined) return foreignProof(block, metadata);
    learn(block, proof);
    const { index } = block;
    const { format, signature, encrypted, itemId } = proof;
    if (signature !== undefined && isNews(block.told, signature)) {
      return [{ type: 'reasoning.text', signature, format, index }];
    }
    if (encrypted === undefined || !isNews(itemId === undefined ? block.told : this.#told, itemId ?? encrypted))
      return [];
    return [{ type: 'reasoning.encrypted', data: encrypted, format, index, ...idOf(proof) }];
  }
}

function learn(block: Block, { format, itemId }: ReasoningProof): void {
  block.format = format;
  block.itemId ??= itemId;
}

function textDetail({ format, index, itemId }: Block, text: string): ReasoningDetail {
  if (format !== FORMATS.openai && format !== FORMATS.azure) return { type: 'reasoning.text', text, format, index };
  return { type: 'reasoning.summary', summary: text, format, index, ...idOf({ itemId }) };
}

/** What a provider of no known format attached goes along whole, for the same provider to read. */
function foreignProof({ index, told }: Block, metadata: unknown): readonly ReasoningDetail[] {
  if (!isJsonObject(metadata)) return [];
  const members = Object.entries(metadata).filter(([, value]) => isJsonObject(value) && saysAnything(value));
  if (members.length === 0) return [];
  const data = writeForeign(Object.fromEntries(members));
  return isNews(told, data) ? [{ type: 'reasoning.encrypted', data, format: FORMATS.unknown, index }] : [];
}

function saysAnything(members: JsonObject): boolean {
  return Object.values(members).some((value) => value !== undefined);
}

function deltaOf(text: string, details: readonly ReasoningDetail[]): Delta | undefined {
  if (text === '' && details.length === 0) return undefined;
  return {
    ...(text === '' ? {} : { reasoning: text }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
  };
}

function idOf({ itemId }: Pick<ReasoningProof, 'itemId'>): { id?: string } {
  return itemId === undefined ? {} : { id: itemId };
}

function isNews(known: Set<string>, value: string): boolean {
  if (known.has(value)) return false;
  known.add(value);
  return true;
}

/** Formats of `reasoning_details` by who made them (gaps 6.4). */
const FORMATS = {
  anthropic: 'anthropic-claude-v1',
  google: 'google-gemini-v1',
  openai: 'openai-responses-v1',
  azure: 'azure-openai-responses-v1',
  unknown: 'unknown',
} as const;

/** What a provider attached to a piece of reasoning, read as far as it is known. */
interface ReasoningProof {
  readonly format: string;
  /** Signature of the text. */
  readonly signature?: string | undefined;
  /** Reasoning that is only given in encrypted form. */
  readonly encrypted?: string | undefined;
  /** The provider's id of the piece. */
  readonly itemId?: string | undefined;
}

/** Reads `providerMetadata` of a reasoning part. The members tell the provider, whatever name it was given. */
function readProof(metadata: unknown): ReasoningProof | undefined {
  if (!isJsonObject(metadata)) return undefined;
  for (const [name, members] of Object.entries(metadata)) {
    if (!isJsonObject(members)) continue;
    const { signature, redactedData, redactedContent, thoughtSignature, itemId } = members;
    const { reasoningEncryptedContent: sealed } = members;
    if (read.isText(signature)) return { format: FORMATS.anthropic, signature };
    if (read.isText(redactedData)) return { format: FORMATS.anthropic, encrypted: redactedData };
    if (read.isText(redactedContent)) return { format: FORMATS.anthropic, encrypted: redactedContent };
    if (read.isText(thoughtSignature)) return { format: FORMATS.google, signature: thoughtSignature };
    if (read.isText(itemId)) {
      const format = name === 'azure' ? FORMATS.azure : FORMATS.openai;
      return { format, itemId, encrypted: read.isText(sealed) ? sealed : undefined };
    }
  }
  return undefined;
}

/** The signature that Google puts on texts and tool calls. */
export function readThoughtSignature(metadata: unknown): string | undefined {
  const proof = readProof(metadata);
  return proof?.format === FORMATS.google ? proof.signature : undefined;
}

/** Metadata of a provider that is not known, as text that can be read back. */
function writeForeign(metadata: JsonObject): string {
  return JSON.stringify({ [FOREIGN]: metadata });
}

/** Reads {@link writeForeign} back; undefined for anything else. */
function parseForeign(text: string): ProviderOptions | undefined {
  const value = parseJson(text);
  const metadata = isJsonObject(value) ? value[FOREIGN] : undefined;
  if (!isJsonObject(metadata)) return undefined;
  const known = Object.entries(metadata).filter((entry): entry is [string, JsonObject] => isJsonObject(entry[1]));
  return Object.fromEntries(known);
}

const FOREIGN = 'ai_sdk_provider_metadata';

/** Earlier reasoning, as a model gets it back. */
export interface ReasoningHistory {
  readonly parts: readonly ReasoningPrompt[];
  /** Stretches of the text that are signed, by where they begin. */
  readonly texts: readonly SignedText[];
  /** Options for images, by their position. */
  readonly images: ReadonlyMap<number, ProviderOptions>;
  /** Options for tool calls, by their ids. */
  readonly calls: ReadonlyMap<string, ProviderOptions>;
}

/** A stretch of text, in UTF-16 units, and its signature as options. */
export interface SignedText {
  readonly start: number;
  readonly end: number;
  readonly options: ProviderOptions;
}

const NOTHING: ReasoningHistory = { parts: [], texts: [], images: new Map(), calls: new Map() };

/**
 * Turns what `reasoning_details` kept into reasoning parts with their signatures, byte for byte. Reasoning that another
 * family signed goes back as text, where text alone is accepted, and not at all elsewhere.
 */
export function reasoningHistory(message: AssistantMessage, family: AiSdkFamily, key: string): ReasoningHistory {
  const details = joinReasoningDetails(message.reasoning_details ?? []);
  if (details.length === 0) {
    const text = message.reasoning ?? '';
    return text === '' || family.unsignedReasoning !== true ? NOTHING : { ...NOTHING, parts: [reasoning(text)] };
  }
  const history = new HistoryBuilder(family, key, new Set((message.tool_calls ?? []).map(({ id }) => id)));
  for (const detail of details) history.add(detail);
  return history.build();
}

class HistoryBuilder {
  readonly #family: AiSdkFamily;
  readonly #key: string;
  readonly #callIds: ReadonlySet<string>;
  readonly #parts: { text: string; key: string; options: JsonObject; index: number | undefined }[] = [];
  readonly #calls = new Map<string, ProviderOptions>();
  /** What is sealed in each item of OpenAI. */
  readonly #sealed = new Map<string, string>();
  readonly #images = new Map<number, ProviderOptions>();
  readonly #texts: SignedText[] = [];

  constructor(family: AiSdkFamily, key: string, callIds: ReadonlySet<string>) {
    this.#family = family;
    this.#key = key;
    this.#callIds = callIds;
  }

  add(detail: ReasoningDetail): void {
    const ours = this.#family.signature !== undefined && this.#isOurs(detail);
    switch (detail.type) {
      case 'reasoning.text': {
        const options = ours && detail.signature != null ? this.#signed(detail.signature) : undefined;
        if (options !== undefined) this.#push(detail, detail.text ?? '', options);
        else if (this.#family.unsignedReasoning === true && detail.text) this.#push(detail, detail.text, {});
        break;
      }
      case 'reasoning.summary':
        if (ours && this.#family.signature === 'openai' && detail.id != null) {
          this.#push(detail, detail.summary, { itemId: detail.id });
        } else if (this.#family.unsignedReasoning === true && detail.summary !== '') {
          this.#push(detail, detail.summary, {});
        }
        break;
      case 'reasoning.encrypted':
        if (ours) this.#encrypted(detail);
        else if (detail.format === FORMATS.unknown) this.#foreign(detail);
        break;
      case 'reasoning.server_tool_call':
        break;
    }
  }

  build(): ReasoningHistory {
    const parts = this.#parts.map(({ text, key, options }) => reasoning(text, key, this.#withSealed(options)));
    const texts = this.#texts.toSorted((left, right) => left.start - right.start);
    return { parts, texts, images: this.#images, calls: this.#calls };
  }

  /** A detail without a format is Claude's, as everybody assumes (gaps 6.4). */
  #isOurs({ format }: ReasoningDetail): boolean {
    switch (this.#family.signature) {
      case 'anthropic':
        return format == null || format === FORMATS.anthropic;
      case 'google':
        return format === FORMATS.google;
      case 'openai':
        return format === FORMATS.openai || format === FORMATS.azure;
      default:
        return false;
    }
  }

  /** An item of OpenAI may have come in several pieces, of which only one told what is sealed in it. */
  #withSealed(options: JsonObject): JsonObject {
    const { itemId } = options;
    const sealed = typeof itemId === 'string' ? this.#sealed.get(itemId) : undefined;
    return sealed === undefined ? options : { ...options, reasoningEncryptedContent: sealed };
  }

  #signed(signature: string): JsonObject | undefined {
    if (this.#family.signature === 'anthropic') return { signature };
    return this.#family.signature === 'google' ? { thoughtSignature: signature } : undefined;
  }

  #push({ index, format }: ReasoningDetail, text: string, options: JsonObject): void {
    // Azure reads the proof of its reasoning under its own name, and everything else under that of OpenAI too.
    const key = format === FORMATS.azure && this.#family.signature === 'openai' ? 'azure' : this.#key;
    this.#parts.push({ text, key, options, index });
  }

  #encrypted(detail: Extract<ReasoningDetail, { type: 'reasoning.encrypted' }>): void {
    const { data, id } = detail;
    if (this.#family.signature === 'anthropic') return this.#push(detail, '', { redactedData: data });
    if (this.#family.signature === 'google') {
      const options = { [this.#key]: { thoughtSignature: data } };
      const part = readSignedPart(id ?? '');
      const [first] = this.#callIds;
      if (id != null && this.#callIds.has(id)) this.#calls.set(id, options);
      // Clients such as Codex keep the detail and drop its id. Of calls that are made together, the first is signed.
      else if (part === undefined && first !== undefined && this.#calls.size === 0) this.#calls.set(first, options);
      else if (part?.type === 'image') this.#images.set(part.position, options);
      else if (part !== undefined) this.#texts.push({ start: part.start, end: part.end, options });
      return;
    }
    if (id == null) return this.#push(detail, '', { reasoningEncryptedContent: data });
    this.#sealed.set(id, data);
    if (this.#parts.every(({ options }) => options['itemId'] !== id)) this.#push(detail, '', { itemId: id });
  }

  /** What a provider without a format of its own attached to its reasoning. */
  #foreign(detail: Extract<ReasoningDetail, { type: 'reasoning.encrypted' }>): void {
    const options = parseForeign(detail.data)?.[this.#key];
    if (options === undefined) return;
    const known = this.#parts.find(({ index }) => index !== undefined && index === detail.index);
    if (known === undefined) this.#push(detail, '', options);
    else known.options = options;
  }
}

function reasoning(text: string, key = '', options: JsonObject = {}): ReasoningPrompt {
  return {
    type: 'reasoning',
    text,
    ...(Object.keys(options).length > 0 ? { providerOptions: { [key]: options } } : {}),
  };
}
