/** Writes requests for Gemini. */
import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import { type Accepts } from '../../core/accepts.ts';
import { type Note, UNNOTED } from '../adjustments.ts';
import { noteLeftOut, parametersTaken, type Takes } from '../taken-parameters.ts';
import { encodeGeneration } from './encode-generation.ts';
import { type EncodedTools, encodeFunctions, encodeSearch, wireName } from './encode-tools.ts';
import type { GoogleContent, FunctionResponse, GoogleSurface, InlineData, Part } from './wire.ts';
import { EncodeError, tierToAsk } from '../codec.ts';
import type { ContentPart } from '../../protocol/content-part.ts';
import type { Message, SystemMessage, ToolCall, ToolMessage, UserMessage } from '../../protocol/message.ts';
import { type AssistantContext, encodeAssistant } from './encode-assistant.ts';
import { encodeMedia, type MediaContext } from './media-parts.ts';
import { parseJson } from '../upstream-failure.ts';

/** Where a request goes, and what is remembered of earlier answers. */
export interface EncodeContext extends AssistantContext {
  /** Safety settings of every request that brings none. */
  readonly safetySettings?: readonly JsonObject[] | undefined;
}

/**
 * Fields of Google's that this contract does not know and that callers may set themselves, in both spellings that
 * Google accepts. All other unknown fields are left out, because Google refuses a request with one.
 */
const PASSED_ON: Readonly<Record<string, string>> = {
  safetySettings: 'safetySettings',
  safety_settings: 'safetySettings',
  cachedContent: 'cachedContent',
  cached_content: 'cachedContent',
  labels: 'labels',
};

/** Google's names of the tiers. Vertex AI has none. */
const TIERS: Readonly<Record<string, string>> = { default: 'standard', flex: 'flex', priority: 'priority' };

/**
 * Writes a request for `generateContent`. Parameters that Google or the endpoint does not take are left out; those the
 * client left out stay out.
 *
 * @param note - Is called with what is changed because the model does not take it. Default: nobody is.
 * @throws {@link EncodeError} for what Google cannot be told, and for a parameter that the model does not take and the
 * request requires.
 */
export function encodeGenerateRequest(
  request: NormalizedRequest,
  endpoint: Endpoint,
  context: EncodeContext,
  note: Note = UNNOTED,
): JsonObject {
  const { accepts } = context;
  const takes = parametersTaken(request, endpoint, accepts, { reasons: accepts.reasoning.byDefault });
  noteLeftOut(request, takes, note);
  const extra = passedOn(request.extra);
  const conversation = encodeConversation(request.messages, context);
  const tools = chooseTools(request, accepts, takes, note);
  const generationConfig = encodeGeneration(request, endpoint, {
    accepts,
    takes,
    note,
    formatAllowed: accepts.schemas.formatsWithTools || tools.tools === undefined,
  });
  const body = {
    ...(context.safetySettings === undefined ? {} : { safetySettings: context.safetySettings }),
    ...extra,
    contents: conversation.contents,
    // What is cached holds instructions and tools already, and Google refuses to be told them twice.
    ...(extra['cachedContent'] === undefined ? { systemInstruction: conversation.systemInstruction, ...tools } : {}),
    ...(Object.keys(generationConfig).length > 0 ? { generationConfig } : {}),
    ...encodeTier(request, endpoint, context.surface),
  };
  return body as unknown as JsonObject;
}

/** Where a model takes tools or a form of the answer but not both, tools win unless none may be called. */
function chooseTools(request: NormalizedRequest, { schemas }: Accepts, takes: Takes, note: Note): EncodedTools {
  const { tools, toolChoice: choice, responseFormat } = request;
  const formWanted = responseFormat?.type === 'json_object' || responseFormat?.type === 'json_schema';
  if (tools.length > 0 && takes('tools')) {
    if (choice === 'none' && formWanted && !schemas.formatsWithTools) return {};
    return encodeFunctions(tools, takes('tool_choice') ? choice : undefined, schemas.tools, note);
  }
  return takes('web_search_options') ? encodeSearch(request) : {};
}

function passedOn(extra: JsonObject): JsonObject {
  const known = Object.entries(extra).filter(([name]) => Object.hasOwn(PASSED_ON, name));
  return Object.fromEntries(known.map(([name, value]) => [PASSED_ON[name] ?? name, value]));
}

/** A tier endpoint requires its own tier; where nobody declared tiers, Google decides about the wanted one. */
function encodeTier({ serviceTier }: NormalizedRequest, endpoint: Endpoint, { vertex }: GoogleSurface): object {
  if (vertex) return {};
  const tier = tierToAsk(endpoint, endpoint.parameters === undefined ? serviceTier : undefined);
  return tier !== undefined && Object.hasOwn(TIERS, tier) ? { serviceTier: TIERS[tier] } : {};
}

/** A conversation as Google takes it. */
interface EncodedConversation {
  readonly systemInstruction?: { readonly parts: readonly Part[] } | undefined;
  readonly contents: readonly GoogleContent[];
}

/** Turns, neighbours of the same role in one: Google wants users and model to take turns. */
class Turns {
  readonly contents: { role: GoogleContent['role']; parts: Part[] }[] = [];

  add(role: GoogleContent['role'], parts: readonly Part[]): void {
    if (parts.length === 0) return;
    const last = this.contents.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else this.contents.push({ role, parts: [...parts] });
  }

  /** Puts parts in front of the first user turn, or makes one. */
  prefix(parts: readonly Part[]): void {
    if (parts.length === 0) return;
    const [first] = this.contents;
    if (first?.role === 'user') first.parts.unshift(...parts);
    else this.contents.unshift({ role: 'user', parts: [...parts] });
  }
}

/**
 * Writes the messages of a request. Instructions at the beginning have a place of their own; later ones stand as a
 * user's words where they came. The results of parallel calls share one turn.
 *
 * @throws {@link EncodeError} when nothing is said, or something that Google cannot be told.
 */
function encodeConversation(messages: readonly Message[], context: AssistantContext): EncodedConversation {
  const instructions: Part[] = [];
  const turns = new Turns();
  let calls: readonly ToolCall[] = [];
  let leading = true;
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (message === undefined) continue;
    const path = `messages[${index}]`;
    if (message.role === 'system' || message.role === 'developer') {
      if (leading) instructions.push(...encodeInstruction(message));
      else turns.add('user', encodeInstruction(message));
      continue;
    }
    leading = false;
    if (message.role === 'user') turns.add('user', encodeUser(message, path, context));
    else if (message.role === 'assistant') {
      calls = message.tool_calls ?? [];
      turns.add('model', encodeAssistant(message, path, context));
    } else {
      const results = resultsFrom(messages, index);
      turns.add('user', encodeToolResults(results, calls, context));
      index += results.length - 1;
    }
  }
  return placeInstructions(instructions, turns, context);
}

function placeInstructions(
  instructions: readonly Part[],
  turns: Turns,
  { accepts: { conversation } }: MediaContext,
): EncodedConversation {
  // Without a turn there is nothing to answer, so the instructions are what the user says.
  const ownPlace = conversation.systemTurns !== 'none' && turns.contents.length > 0;
  if (!ownPlace) turns.prefix(instructions);
  if (turns.contents.length === 0) {
    throw new EncodeError('messages must have content: Google refuses a conversation without any');
  }
  return {
    ...(ownPlace && instructions.length > 0 ? { systemInstruction: { parts: instructions } } : {}),
    contents: turns.contents,
  };
}

function encodeInstruction({ content }: SystemMessage): readonly Part[] {
  const texts = typeof content === 'string' ? [content] : content.map(({ text }) => text);
  return texts.filter((text) => text !== '').map((text) => ({ text }));
}

/** Google knows no names of users, so the text says who speaks. */
function encodeUser({ content, name }: UserMessage, path: string, context: MediaContext): readonly Part[] {
  const speaker = name == null ? '' : `${name}: `;
  if (typeof content === 'string') return content === '' ? [] : [{ text: `${speaker}${content}` }];
  const parts = content.flatMap((part: ContentPart, index): readonly Part[] => {
    if (part.type === 'text') return part.text === '' ? [] : [{ text: part.text }];
    return [encodeMedia(part, `${path}.content[${index}]`, context)];
  });
  return speaker === '' || parts.length === 0 ? parts : [{ text: speaker.trimEnd() }, ...parts];
}

/** The tool messages that follow one another from here on. */
function resultsFrom(messages: readonly Message[], start: number): readonly PlacedResult[] {
  const results: PlacedResult[] = [];
  for (let index = start; index < messages.length; index += 1) {
    const message = messages[index];
    if (message?.role !== 'tool') break;
    results.push({ message: message satisfies ToolMessage, path: `messages[${index}]` });
  }
  return results;
}

/** A tool message and where it is in the caller's body. */
interface PlacedResult {
  readonly message: ToolMessage;
  readonly path: string;
}

/**
 * Writes the results of the calls of one turn, in the order of the calls. Google knows a result by the name of its
 * function, which only the call holds; images that a result cannot hold follow behind all of them.
 */
function encodeToolResults(
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
    if (context.accepts.conversation.media.tool.length > 0 && written.inlineData !== undefined) {
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
