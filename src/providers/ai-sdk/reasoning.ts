/** Reads reasoning and its signatures from answers of the AI SDK. */
import * as read from '../../platform/json.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import type { Delta } from '../../protocol/chunk.ts';
import type { SignatureStyle } from './families.ts';
import { parseJson } from '../upstream-failure.ts';
import type { ProviderOptions } from './model.ts';

interface Block {
  readonly index: number;
  /** The proof was told already: providers repeat it on every part of a block. */
  readonly sentProofs: Set<string>;
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
  readonly #sentProofs = new Set<string>();
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
    if (itemId !== undefined && !hasText && !this.#sentProofs.has(itemId)) {
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
    if (!isNews(this.#sentProofs, `${id}\0${signature}`)) return undefined;
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
      sentProofs: new Set<string>(),
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
    if (signature !== undefined && isNews(block.sentProofs, signature)) {
      return [{ type: 'reasoning.text', signature, format, index }];
    }
    if (
      encrypted === undefined ||
      !isNews(itemId === undefined ? block.sentProofs : this.#sentProofs, itemId ?? encrypted)
    )
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
function foreignProof({ index, sentProofs }: Block, metadata: unknown): readonly ReasoningDetail[] {
  if (!isJsonObject(metadata)) return [];
  const members = Object.entries(metadata).filter(([, value]) => isJsonObject(value) && saysAnything(value));
  if (members.length === 0) return [];
  const data = writeForeign(Object.fromEntries(members));
  return isNews(sentProofs, data) ? [{ type: 'reasoning.encrypted', data, format: FORMATS.unknown, index }] : [];
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
export const FORMATS = {
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
export function parseForeign(text: string): ProviderOptions | undefined {
  const value = parseJson(text);
  const metadata = isJsonObject(value) ? value[FOREIGN] : undefined;
  if (!isJsonObject(metadata)) return undefined;
  const known = Object.entries(metadata).filter((entry): entry is [string, JsonObject] => isJsonObject(entry[1]));
  return Object.fromEntries(known);
}

const FOREIGN = 'ai_sdk_provider_metadata';
