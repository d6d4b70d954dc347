import type { ContentPart } from '../../protocol/content-part.ts';
import { isJsonObject, type JsonValue } from '../../protocol/json.ts';
import type { ToolCall, ToolMessage } from '../../protocol/message.ts';
import { parseJson } from '../parse-json.ts';
import { wireName } from './function-names.ts';
import { type MediaContext, encodeMedia } from './media-parts.ts';
import type { FunctionResponse, InlineData, Part } from './wire.ts';

/** A tool message and where it stands in the caller's body. */
export interface PlacedResult {
  readonly message: ToolMessage;
  readonly path: string;
}

/**
 * Writes the results of the calls of one turn, in the order of the calls. Google knows a result by the name of its
 * function, which only the call holds; images that a result cannot hold follow behind all of them.
 */
export function encodeToolResults(
  results: readonly PlacedResult[],
  calls: readonly ToolCall[],
  context: MediaContext,
): readonly Part[] {
  const places = new Map(calls.map((call, index) => [call.id, index]));
  const placeOf = ({ message }: PlacedResult): number => places.get(message.tool_call_id) ?? calls.length;
  const beside: Part[] = [];
  const responses = results
    .toSorted((left, right) => placeOf(left) - placeOf(right))
    .map((result): Part => {
      const name = calls[placeOf(result)]?.function.name ?? result.message.name ?? 'unknown';
      return { functionResponse: encodeResult(result, wireName(name), context, beside) };
    });
  return [...responses, ...beside];
}

function encodeResult(
  { message: { content, tool_call_id: id }, path }: PlacedResult,
  name: string,
  context: MediaContext,
  beside: Part[],
): FunctionResponse {
  const parts: { inlineData: InlineData }[] = [];
  let text = typeof content === 'string' ? content : '';
  for (const [index, part] of (typeof content === 'string' ? [] : content).entries()) {
    if (part.type === 'text') text += part.text;
    else addMedia(part, `${path}.content[${index}]`);
  }

  function addMedia(part: Exclude<ContentPart, { readonly type: 'text' }>, where: string): void {
    const written = encodeMedia(part, where, context);
    if (context.family.mediaInToolResults && written.inlineData !== undefined) {
      parts.push({ inlineData: written.inlineData });
    } else {
      if (text === '') text = `The result of ${name} follows.`;
      beside.push(written);
    }
  }

  return {
    ...(context.surface.vertex ? {} : { id }),
    name,
    response: responseOf(text),
    ...(parts.length > 0 ? { parts } : {}),
  };
}

/** Google takes an object only: one that the tool wrote, or one around what it wrote. */
function responseOf(text: string): FunctionResponse['response'] {
  const first = text.trimStart().charAt(0);
  const value = first === '{' || first === '[' ? parseJson(text) : undefined;
  // Long numbers would lose their last digits on the way.
  if (value === undefined || /\d{16}/.test(text) || holdsReference(value)) return { output: text };
  return isJsonObject(value) ? value : { output: value as JsonValue };
}

/** In a result `$ref` means one of its own images to Google, so a result that uses it otherwise goes as text. */
function holdsReference(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsReference);
  return isJsonObject(value) && Object.entries(value).some(([key, member]) => key === '$ref' || holdsReference(member));
}
