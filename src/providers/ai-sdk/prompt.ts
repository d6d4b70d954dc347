/** Writes messages as a prompt of the AI SDK. */
import type { CacheControl, ContentPart, TextPart } from '../../protocol/content-part.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import type { AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage } from '../../protocol/message.ts';
import { parseJson } from '../upstream-failure.ts';
import { ToolIds } from '../tool-ids.ts';
import type {
  AssistantPrompt,
  FilePrompt,
  UpstreamMessage,
  ProviderOptions,
  PromptResultPart,
  SpecVersion,
  TextPrompt,
  PromptToolOutput,
  ToolResultPrompt,
} from './model.ts';
import type { AiSdkFamily } from './families.ts';
import { fileData, fromAddress, type Media, type MediaPart, mediaTypeFor, readMedia } from './media.ts';
import { reasoningHistory, signedCall, type SignedText } from './reasoning-history.ts';

/** What a prompt is written for. */
interface PromptTarget {
  readonly version: SpecVersion;
  readonly family: AiSdkFamily;
  /** Key of the provider's options. */
  readonly key: string;
  /** What was fetched, by address, for models that do not fetch. */
  readonly fetched: ReadonlyMap<string, Media>;
  /** Marks the last block that can be cached. */
  readonly cacheControl?: CacheControl | undefined;
}

/**
 * Writes messages as a prompt of the AI SDK: text in parts, inputs of tool calls as values, results with the name of
 * their tool, neighbouring results in one message. Nothing is added that the caller did not say.
 */
export function writePrompt(messages: readonly Message[], target: PromptTarget): readonly UpstreamMessage[] {
  const writer = new PromptWriter(target);
  for (const [index, message] of messages.entries()) writer.add(message, `messages[${index}]`);
  return writer.end();
}

interface CacheMarks {
  readonly cache_control?: CacheControl | null | undefined;
  readonly prompt_cache_breakpoint?: unknown;
}

class PromptWriter {
  readonly #target: PromptTarget;
  readonly #prompt: UpstreamMessage[] = [];
  readonly #toolNames = new Map<string, string>();
  readonly #ids: ToolIds | undefined;
  #results: ToolResultPrompt[] = [];
  #media: FilePrompt[] = [];
  #resultMark: CacheControl | undefined;

  constructor(target: PromptTarget) {
    this.#target = target;
    const { toolIds } = target.family;
    this.#ids = toolIds && new ToolIds(toolIds);
  }

  add(message: Message, where: string): void {
    if (message.role !== 'tool') this.#endResults();
    switch (message.role) {
      case 'system':
      case 'developer':
        return this.#system(message);
      case 'user':
        return this.#user(message, where);
      case 'assistant':
        return this.#assistant(message, where);
      case 'tool':
        return this.#tool(message, where);
    }
  }

  end(): readonly UpstreamMessage[] {
    this.#endResults();
    const last = this.#prompt.at(-1);
    const { cacheControl } = this.#target;
    if (last !== undefined && cacheControl !== undefined)
      this.#prompt[this.#prompt.length - 1] = this.#marked(last, cacheControl);
    return this.#prompt;
  }

  /** Blocks of their own only matter to who marks them. */
  #system({ content }: SystemMessage): void {
    const parts: readonly TextPart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    const { cacheMark } = this.#target.family;
    const blocks =
      cacheMark !== undefined && parts.some((part) => markOf(part) !== undefined)
        ? parts
        : [{ type: 'text' as const, text: parts.map(({ text }) => text).join('\n\n') }];
    for (const block of blocks) {
      if (block.text === '') continue;
      this.#prompt.push({ role: 'system', content: block.text, ...this.#options(markOf(block), cacheMark?.on) });
    }
  }

  #user({ content, name }: UserMessage, where: string): void {
    const spoken = name == null ? '' : `${name}: `;
    const parts: readonly ContentPart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    const written = parts.flatMap((part, index): (TextPrompt | FilePrompt)[] => {
      if (part.type !== 'text') return [this.#file(part, `${where}.content[${index}]`)];
      // Empty blocks say nothing, and several providers refuse them.
      return part.text === '' && parts.length > 1 ? [] : [this.#text(part)];
    });
    const [first] = written;
    if (spoken !== '' && first?.type === 'text') written[0] = { ...first, text: spoken + first.text };
    else if (spoken !== '') written.unshift({ type: 'text', text: spoken.trimEnd() });
    this.#push({ role: 'user', content: written }, parts);
  }

  #assistant(message: AssistantMessage, where: string): void {
    const { content, refusal, images = [], tool_calls: calls } = message;
    const { family, key } = this.#target;
    const history = reasoningHistory(message, family, key);
    const said = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? []);
    const parts: AssistantPrompt[] = [...history.parts];
    if (parts.length === 0 && calls?.length && family.needsReasoning === true) {
      parts.push({ type: 'reasoning', text: NO_REASONING });
    }
    for (const [index, part] of said.entries()) {
      if (part.type === 'refusal') parts.push({ type: 'text', text: part.refusal });
      else if (part.type === 'text' && typeof content === 'string')
        parts.push(...signedTexts(part.text, history.texts));
      else if (part.type === 'text' && part.text !== '') parts.push(this.#text(part));
      else if (part.type !== 'text' && family.assistantMedia === true) {
        parts.push(this.#file(part, `${where}.content[${index}]`));
      }
    }
    if (refusal != null && refusal !== '') parts.push({ type: 'text', text: refusal });
    if (family.assistantMedia === true) {
      for (const [index, { image_url: image }] of (images ?? []).entries()) {
        const media = fromAddress(image.url, 'image', `${where}.images[${index}].image_url.url`);
        if (media.kind === 'data') parts.push({ ...this.#written(media), ...optional(history.images.get(index)) });
      }
    }
    for (const { id, function: called, extra_content: extra } of calls ?? []) {
      this.#toolNames.set(id, called.name);
      parts.push({
        type: 'tool-call',
        toolCallId: this.#ids?.call(id) ?? id,
        toolName: called.name,
        input: inputOf(called.arguments),
        ...optional(history.calls.get(id) ?? signedCall(extra, family, key)),
      });
    }
    if (parts.length > 0) this.#push({ role: 'assistant', content: parts }, said);
  }

  #tool(message: ToolMessage, where: string): void {
    const { tool_call_id: id, content } = message;
    const { output, media } = writeResult(message, where, {
      ...this.#target,
      writeFile: (part, path) => this.#file(part, path),
    });
    const mark = typeof content === 'string' ? undefined : content.map(markOf).findLast((one) => one !== undefined);
    const { cacheMark } = this.#target.family;
    this.#results.push({
      type: 'tool-result',
      toolCallId: this.#ids?.result(id) ?? id,
      toolName: this.#toolNames.get(id) ?? message.name ?? UNNAMED_TOOL,
      output,
      ...(cacheMark?.on === 'part' ? this.#options(mark, 'part') : {}),
    });
    this.#resultMark ??= mark;
    this.#media.push(...media);
  }

  /** Results that stand together belong to one message. */
  #endResults(): void {
    if (this.#results.length === 0) return;
    this.#prompt.push({ role: 'tool', content: this.#results, ...this.#options(this.#resultMark, 'message') });
    if (this.#media.length > 0) this.#prompt.push({ role: 'user', content: this.#media });
    this.#results = [];
    this.#media = [];
    this.#resultMark = undefined;
  }

  #push(message: UpstreamMessage, parts: readonly (CacheMarks & { readonly type: string })[]): void {
    const mark = parts.map(markOf).findLast((one) => one !== undefined);
    this.#prompt.push({ ...message, ...this.#options(mark, 'message') });
  }

  #text(part: TextPart): TextPrompt {
    return { type: 'text', text: part.text, ...this.#options(markOf(part), 'part') };
  }

  #file(part: MediaPart, where: string): FilePrompt {
    const media = readMedia(part, where);
    const fetched = media.kind === 'url' ? this.#target.fetched.get(media.url) : undefined;
    return { ...this.#written(fetched ?? media), ...this.#options(markOf(part), 'part') };
  }

  #written(media: Media): FilePrompt {
    const { version, key } = this.#target;
    return {
      type: 'file',
      data: fileData(media, version, key),
      mediaType: mediaTypeFor(media, version),
      ...(media.filename === undefined ? {} : { filename: media.filename }),
    };
  }

  /** The options that make a cache mark, where this family puts its marks. */
  #options(
    mark: CacheControl | undefined,
    place: 'part' | 'message' | undefined,
  ): { providerOptions?: ProviderOptions } {
    const { family, key } = this.#target;
    if (mark === undefined || family.cacheMark === undefined || family.cacheMark.on !== place) return {};
    return { providerOptions: { [key]: family.cacheMark.options(mark) } };
  }

  /** Marks a whole message: the mark of a message counts for its last block everywhere. */
  #marked(message: UpstreamMessage, mark: CacheControl): UpstreamMessage {
    const { family, key } = this.#target;
    const options: JsonObject | undefined = family.cacheMark?.options(mark);
    return options === undefined ? message : { ...message, providerOptions: { [key]: options } };
  }
}

/** Cuts a text where its signatures were made, so that each stands on the very part that it came with. */
function signedTexts(text: string, signed: readonly SignedText[]): readonly TextPrompt[] {
  const parts: TextPrompt[] = [];
  let from = 0;
  for (const { start, end, options } of signed) {
    if (start < from || end < start || end > text.length) continue;
    if (start > from) parts.push({ type: 'text', text: text.slice(from, start) });
    parts.push({ type: 'text', text: text.slice(start, end), providerOptions: options });
    from = end;
  }
  if (from < text.length) parts.push({ type: 'text', text: text.slice(from) });
  return parts;
}

/** Reasoning of a turn that another model made, or whose reasoning its client did not keep. */
const NO_REASONING = 'The reasoning of this turn was not kept.';

/** Name of a tool whose call is not in the conversation. */
const UNNAMED_TOOL = 'unknown_tool';

/** Both spellings of a cache mark mean the same; one without a lifetime lasts five minutes. */
function markOf(part: CacheMarks): CacheControl | undefined {
  if (part.cache_control != null) return part.cache_control;
  return part.prompt_cache_breakpoint == null ? undefined : { type: 'ephemeral' };
}

/** Inputs are objects; whatever else a model wrote is kept as text inside of one. */
function inputOf(text: string): JsonObject {
  if (text.trim() === '') return {};
  const value = parseJson(text);
  return isJsonObject(value) ? value : { arguments: text };
}

function optional(options: ProviderOptions | undefined): { providerOptions?: ProviderOptions } {
  return options === undefined ? {} : { providerOptions: options };
}

/** Writes a content part as a file of the prompt. */
type WriteFile = (part: Exclude<ContentPart, { readonly type: 'text' }>, where: string) => FilePrompt;

/** The output of one tool, and the media that have to follow in a message of their own. */
interface WrittenResult {
  readonly output: PromptToolOutput;
  readonly media: readonly FilePrompt[];
}

/** Writes what a tool gave back. Models that take media in results get them there; the others right behind. */
function writeResult(
  { content }: ToolMessage,
  where: string,
  { family, version, writeFile }: { family: AiSdkFamily; version: SpecVersion; writeFile: WriteFile },
): WrittenResult {
  if (typeof content === 'string') return { output: textOutput(content, family), media: [] };
  const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
  if (content.every((part) => part.type === 'text')) return { output: textOutput(text, family), media: [] };
  const files = content.flatMap((part, index) =>
    part.type === 'text' ? [] : [writeFile(part, `${where}.content[${index}]`)],
  );
  // Version 2 has no addresses in results.
  const inside =
    family.mediaInResults === true && (version !== 'v2' || files.every(({ data }) => !(data instanceof URL)));
  if (!inside) return { output: { type: 'text', value: text || FOLLOWS }, media: files };
  let next = 0;
  const value = content.flatMap((part): PromptResultPart[] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text }];
    const file = files[next];
    next += 1;
    return file === undefined ? [] : [resultPart(file, version)];
  });
  return { output: { type: 'content', value }, media: [] };
}

const FOLLOWS = 'The result follows in the next message.';

/** An object is passed as such where that is better understood, unless numbers in it would lose digits. */
function textOutput(text: string, { jsonResults }: AiSdkFamily): PromptToolOutput {
  if (jsonResults === true && text.trimStart().startsWith('{') && !/\d{16}/.test(text)) {
    const value = parseJson(text);
    if (isJsonObject(value)) return { type: 'json', value };
  }
  return { type: 'text', value: text };
}

function resultPart(file: FilePrompt, version: SpecVersion): PromptResultPart {
  if (version === 'v4') return file;
  const { data, mediaType, filename } = file;
  const kind = mediaType.startsWith('image/') ? 'image' : 'file';
  if (data instanceof URL) return { type: `${kind}-url`, url: data.href };
  const base64 = typeof data === 'string' ? data : '';
  if (version === 'v2') return { type: 'media', data: base64, mediaType };
  return { type: `${kind}-data`, data: base64, mediaType, ...(filename === undefined ? {} : { filename }) };
}
