import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { parseJson } from '../parse-json.ts';
import type { ProviderOptions } from './call-options.ts';

/** Formats of `reasoning_details` by who made them (gaps 6.4). */
export const FORMATS = {
  anthropic: 'anthropic-claude-v1',
  google: 'google-gemini-v1',
  openai: 'openai-responses-v1',
  azure: 'azure-openai-responses-v1',
  unknown: 'unknown',
} as const;

/** What a provider attached to a piece of reasoning, read as far as it is known. */
export interface ReasoningProof {
  readonly format: string;
  /** Signature of the text. */
  readonly signature?: string | undefined;
  /** Reasoning that is only given in encrypted form. */
  readonly encrypted?: string | undefined;
  /** The provider's id of the piece. */
  readonly itemId?: string | undefined;
}

/** Reads `providerMetadata` of a reasoning part. The members tell the provider, whatever name it was given. */
export function readProof(metadata: unknown): ReasoningProof | undefined {
  if (!isJsonObject(metadata)) return undefined;
  for (const [name, members] of Object.entries(metadata)) {
    if (!isJsonObject(members)) continue;
    const { signature, redactedData, redactedContent, thoughtSignature, itemId } = members;
    const { reasoningEncryptedContent: sealed } = members;
    if (isText(signature)) return { format: FORMATS.anthropic, signature };
    if (isText(redactedData)) return { format: FORMATS.anthropic, encrypted: redactedData };
    if (isText(redactedContent)) return { format: FORMATS.anthropic, encrypted: redactedContent };
    if (isText(thoughtSignature)) return { format: FORMATS.google, signature: thoughtSignature };
    if (isText(itemId)) {
      const format = name === 'azure' ? FORMATS.azure : FORMATS.openai;
      return { format, itemId, encrypted: isText(sealed) ? sealed : undefined };
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
export function writeForeign(metadata: JsonObject): string {
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

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
