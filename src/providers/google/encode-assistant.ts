import type { ContentPart, RefusalPart } from '../../protocol/content-part.ts';
import type { AssistantMessage, ToolCall } from '../../protocol/message.ts';
import { parseJson } from '../parse-json.ts';
import { isJsonObject } from '../../protocol/json.ts';
import { wireName } from './function-names.ts';
import { type MediaContext, encodeAddress, encodeMedia } from './media-parts.ts';
import { NO_SIGNATURE, type SignedText, type Signatures, readSignatures } from './thought-signatures.ts';
import type { Part } from './wire.ts';

/** What an assistant's turn is written with. */
export interface AssistantContext extends MediaContext {
  /** The signature of a call whose message came back without it. */
  readonly recall: (callId: string) => string | undefined;
}

/**
 * Writes what the model said earlier: thoughts, text, images, calls, each with the signature it came with. A turn with
 * nothing but thoughts is left out, because Google refuses turns without content.
 *
 * @param path - Where the message stands in the caller's body.
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
      encodeAddress(url, 'image', `${path}.images[${index}].image_url.url`, context),
      signatures.images.get(index),
    ),
  );
}

/** Of parallel calls only the first one carries a signature; where it has none, it says so. */
function encodeCalls(
  calls: readonly ToolCall[],
  signatures: Signatures,
  { family, surface, recall }: AssistantContext,
): readonly Part[] {
  return calls.map(({ id, function: { name, arguments: text }, extra_content: extra }, index) => {
    const given = signatures.calls.get(id) ?? extra?.google?.thought_signature ?? recall(id);
    const signature = given ?? (family.needsSignatures && index === 0 ? NO_SIGNATURE : undefined);
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
