import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { readSignedPart } from '../signed-parts.ts';

/** The `format` of reasoning details that Google's models made. Those of others never go to Google. */
export const GOOGLE_FORMAT = 'google-gemini-v1';

/** Google's documented stand-in for the signature of a call that its model did not make, or that was lost. */
export const NO_SIGNATURE = 'skip_thought_signature_validator';

/** A signed stretch of an answer's text, in UTF-16 units. */
export interface SignedText {
  readonly start: number;
  readonly end: number;
  readonly signature: string;
}

/** A summary of thoughts, and its signature if it had one. */
export interface SignedThought {
  readonly text: string;
  readonly signature?: string | undefined;
}

/** All that an earlier answer's reasoning details say, by the part that they belong to. */
export interface Signatures {
  readonly thoughts: readonly SignedThought[];
  readonly texts: readonly SignedText[];
  readonly images: ReadonlyMap<number, string>;
  /** By the id of the call. */
  readonly calls: ReadonlyMap<string, string>;
}

/**
 * The detail that carries a signature. Its id says which part the signature came with: the id of a tool call,
 * `text:START-END` for a stretch of the content, or `image:N`.
 */
export function signatureDetail(id: string, data: string, index: number): ReasoningDetail {
  return { type: 'reasoning.encrypted', id, data, format: GOOGLE_FORMAT, index };
}

/** Sorts the reasoning details of a message by what they belong to. Details of other vendors are left out. */
export function readSignatures(details: readonly ReasoningDetail[] | null | undefined): Signatures {
  const thoughts: SignedThought[] = [];
  const texts: SignedText[] = [];
  const images = new Map<number, string>();
  const calls = new Map<string, string>();
  for (const detail of details ?? []) {
    if (detail.format !== GOOGLE_FORMAT) continue;
    if (detail.type === 'reasoning.text') {
      const { text, signature } = detail;
      if (typeof text === 'string') thoughts.push({ text, signature: stringOf(signature) });
    } else if (detail.type === 'reasoning.encrypted') {
      const { id, data } = detail;
      if (typeof id !== 'string' || typeof data !== 'string') continue;
      const part = readSignedPart(id);
      if (part === undefined) calls.set(id, data);
      else if (part.type === 'image') images.set(part.position, data);
      else texts.push({ start: part.start, end: part.end, signature: data });
    }
  }
  return { thoughts, texts, images, calls };
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
