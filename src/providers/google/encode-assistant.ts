/** Writes assistant turns for Gemini, with their thought signatures. */
import type { ContentPart, RefusalPart } from '../../protocol/content-part.ts';
import type { AssistantMessage, ToolCall } from '../../protocol/message.ts';
import { parseJson } from '../upstream-failure.ts';
import { isJsonObject } from '../../protocol/json.ts';
import { wireName } from './encode-tools.ts';
import { encodeAddress, encodeMedia, type MediaContext } from './media-parts.ts';
import type { Part } from './wire.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { readSignedPart } from '../signed-parts.ts';
import * as read from '../../platform/json.ts';

/** What an assistant's turn is written with. */
export interface AssistantContext extends MediaContext {
  /** The signature of a call whose message came back without it. */
  readonly recall: (callId: string) => string | undefined;
}

/**
 * Writes what the model said earlier: thoughts, text, images, calls, each with the signature it came with. A turn with
 * nothing but thoughts is left out, because Google refuses turns without content.
 *
 * @param path - Where the message is in the caller's body.
 */
export function encodeAssistant(message: AssistantMessage, path: string, context: AssistantContext): readonly Part[] {
  const signatures = readSignatures(message.reasoning_details);
  const said = [
    ...encodeContent(message, signatures.texts, path, context),
    ...encodeImages(message, signatures, path, context),
    ...encodeCalls(message.tool_calls ?? [], signatures, context),
  ];
  if (said.length === 0) return [];
  const thoughts = signatures.thoughts.map(({ text, signature }) => signed({ text, thought: true }, signature));
  return [...thoughts, ...said];
}

function encodeContent(
  { content, refusal }: AssistantMessage,
  texts: readonly SignedText[],
  path: string,
  context: MediaContext,
): readonly Part[] {
  const whole = typeof content === 'string' ? content : joinTexts(content ?? []);
  if (whole !== undefined) return encodeText(whole === '' ? (refusal ?? '') : whole, texts);
  const parts = (Array.isArray(content) ? content : []).flatMap(
    (part: ContentPart | RefusalPart, index): readonly Part[] => {
      if (part.type === 'text') return part.text === '' ? [] : [{ text: part.text }];
      if (part.type === 'refusal') return [{ text: part.refusal }];
      return [encodeMedia(part, `${path}.content[${index}]`, context)];
    },
  );
  // Between images the places of signed texts are lost, so the signatures follow.
  return [...parts, ...texts.map(({ signature }) => ({ text: '', thoughtSignature: signature }))];
}

/** The text of parts that are nothing but text. */
function joinTexts(parts: readonly (ContentPart | RefusalPart)[]): string | undefined {
  let text = '';
  for (const part of parts) {
    if (part.type === 'text') text += part.text;
    else if (part.type === 'refusal') text += part.refusal;
    else return undefined;
  }
  return text;
}

/** Cuts a text where its signed stretches begin and end. A stretch that does not fit any more becomes an empty part. */
function encodeText(text: string, texts: readonly SignedText[]): readonly Part[] {
  const parts: Part[] = [];
  let begin = 0;
  for (const { start, end, signature } of texts.toSorted((left, right) => left.start - right.start)) {
    const fits = start >= begin && end >= start && end <= text.length;
    const [from, to] = fits ? [start, end] : [text.length, text.length];
    if (from > begin) parts.push({ text: text.slice(begin, from) });
    parts.push({ text: text.slice(from, to), thoughtSignature: signature });
    begin = Math.max(begin, to);
  }
  if (begin < text.length) parts.push({ text: text.slice(begin) });
  return parts;
}

function encodeImages(
  { images }: AssistantMessage,
  signatures: Signatures,
  path: string,
  context: MediaContext,
): readonly Part[] {
  return (images ?? []).map(({ image_url: { url } }, index) =>
    signed(
      encodeAddress({ url, kind: 'image' }, `${path}.images[${index}].image_url.url`, context),
      signatures.images.get(index),
    ),
  );
}

/** Of parallel calls only the first one carries a signature; where it has none, it says so. */
function encodeCalls(
  calls: readonly ToolCall[],
  signatures: Signatures,
  { accepts: { reasoning }, surface, recall }: AssistantContext,
): readonly Part[] {
  return calls.map(({ id, function: { name, arguments: text }, extra_content: extra }, index) => {
    const given = signatures.calls.get(id) ?? extra?.google?.thought_signature ?? recall(id);
    const signature = given ?? (reasoning.history === 'required' && index === 0 ? NO_SIGNATURE : undefined);
    return signed(
      { functionCall: { ...(surface.vertex ? {} : { id }), name: wireName(name), args: argumentsOf(text) } },
      signature,
    );
  });
}

/** Google takes an object only; whatever else a model wrote is put into one. */
function argumentsOf(text: string): Readonly<Record<string, unknown>> {
  if (text.trim() === '') return {};
  const value = parseJson(text);
  if (isJsonObject(value)) return value;
  return { arguments: value ?? text };
}

function signed(part: Part, signature: string | undefined): Part {
  return signature === undefined ? part : { ...part, thoughtSignature: signature };
}

/** The `format` of reasoning details that Google's models made. Those of others never go to Google. */
export const GOOGLE_FORMAT = 'google-gemini-v1';

/** Google's documented stand-in for the signature of a call that its model did not make, or that was lost. */
const NO_SIGNATURE = 'skip_thought_signature_validator';

/** A signed stretch of an answer's text, in UTF-16 units. */
interface SignedText {
  readonly start: number;
  readonly end: number;
  readonly signature: string;
}

/** A summary of thoughts, and its signature if it had one. */
interface SignedThought {
  readonly text: string;
  readonly signature?: string | undefined;
}

/** All that an earlier answer's reasoning details say, by the part that they belong to. */
interface Signatures {
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
function readSignatures(details: readonly ReasoningDetail[] | null | undefined): Signatures {
  const thoughts: SignedThought[] = [];
  const texts: SignedText[] = [];
  const images = new Map<number, string>();
  const calls = new Map<string, string>();
  for (const detail of details ?? []) {
    if (detail.format !== GOOGLE_FORMAT) continue;
    if (detail.type === 'reasoning.text') {
      const { text, signature } = detail;
      if (typeof text === 'string') thoughts.push({ text, signature: read.string(signature) });
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
