/** Calls of the AI SDK as chat requests: the prompt as messages, settings as parameters, tools, and routing fields. */
import { toBase64 } from '../../platform/data-url.ts';
import type { ChatRequest } from '../../protocol/chat-request.ts';
import type { CacheControl, ContentPart } from '../../protocol/content-part.ts';
import type { AssistantMessage, Message, ToolCall, ToolMessage } from '../../protocol/message.ts';
import { REASONING_EFFORTS, type ReasoningDetail, type ResponseFormat } from '../../protocol/reasoning.ts';
import type { Tool, ToolChoice } from '../../protocol/tools.ts';
import { likelyType } from './media-types.ts';
import { serverToolType } from './server-tools.ts';
import type {
  AssistantPart,
  CallWarning,
  FileData,
  PromptFile,
  LanguageCall,
  PromptMessage,
  ProviderOptions,
  ResultPart,
  SpecVersion,
  ToolOption,
  ToolOutput,
} from './spec.ts';

/** A chat request, and what of the call it does not say. */
export interface TranslatedCall {
  readonly request: ChatRequest;
  readonly warnings: readonly CallWarning[];
}

/**
 * The chat request that a call of a model stands for. Members of `providerOptions.signalbox` are fields of the request,
 * and win over what settings of the call say.
 *
 * @throws {@link UnsupportedCall} for a file that is only a reference to another provider's store.
 */
export function chatRequestOf(model: string, call: LanguageCall, version: SpecVersion): TranslatedCall {
  const warnings: CallWarning[] = [];
  const tools = (call.tools ?? []).flatMap((tool) => encodeTool(tool, warnings, version));
  const { responseFormat: format, reasoning, stopSequences: stop } = call;
  const isEffort = (REASONING_EFFORTS as readonly unknown[]).includes(reasoning);
  const request: ChatRequest = {
    model,
    messages: call.prompt.flatMap(encodeMessage),
    ...present({
      max_tokens: call.maxOutputTokens,
      temperature: call.temperature,
      top_p: call.topP,
      top_k: call.topK,
      presence_penalty: call.presencePenalty,
      frequency_penalty: call.frequencyPenalty,
      seed: call.seed,
      stop: stop === undefined || stop.length === 0 ? undefined : stop,
      response_format: format === undefined ? undefined : encodeFormat(format),
      tools: tools.length === 0 ? undefined : tools,
      tool_choice: tools.length === 0 ? undefined : encodeChoice(call),
      reasoning: isEffort ? { effort: reasoning } : undefined,
    }),
    ...call.providerOptions?.['signalbox'],
  };
  for (const kind of unsaidParts(call.prompt)) {
    warnings.push(
      unsupported(version, `part ${kind}`, `parts of type ${kind} belong to another provider, and are not sent`),
    );
  }
  return { request, warnings };
}

/** Types of parts that only another provider can read. */
function unsaidParts(prompt: LanguageCall['prompt']): ReadonlySet<string> {
  const unsaid = new Set<string>();
  const look = ({ type }: { readonly type: string }): void => {
    if (OF_ANOTHER_PROVIDER.has(type)) unsaid.add(type);
  };
  for (const { content } of prompt) {
    if (typeof content === 'string') continue;
    for (const part of content) {
      look(part);
      if (part.type === 'tool-result' && part.output.type === 'content') part.output.value.forEach(look);
    }
  }
  return unsaid;
}

const OF_ANOTHER_PROVIDER: ReadonlySet<string> = new Set(['custom', 'reasoning-file', 'file-id', 'image-file-id']);

/** Something in a call that a chat request cannot say. */
export class UnsupportedCall extends Error {
  override readonly name = 'UnsupportedCall';
  /** What it is, as the AI SDK's error names it. */
  readonly functionality: string;

  constructor(functionality: string, message: string) {
    super(message);
    this.functionality = functionality;
  }
}

/** Something of a call that is left out, in the words of a version. */
export function unsupported(version: SpecVersion, feature: string, details: string): CallWarning {
  return version === 'v2'
    ? { type: 'unsupported-setting', setting: feature, details }
    : { type: 'unsupported', feature, details };
}

function present(members: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function encodeMessage(message: PromptMessage): readonly Message[] {
  const mark = cacheMark(message);
  switch (message.role) {
    case 'system':
      return [{ role: 'system', content: message.content, ...mark }];
    case 'user':
      return [{ role: 'user', content: message.content.map(encodePart), ...mark }];
    case 'assistant':
      return [{ ...encodeAssistant(message.content), ...mark }];
    case 'tool':
      return message.content.flatMap((part): readonly ToolMessage[] =>
        part.type !== 'tool-result'
          ? []
          : [
              {
                role: 'tool',
                tool_call_id: part.toolCallId,
                content: encodeOutput(part.output),
                ...(part.output.type.startsWith('error') ? { is_error: true } : {}),
                ...(cacheMark(part) ?? mark),
              },
            ],
      );
  }
}

/** A mark for the prompt cache, in our own words or in those of Anthropic's package, which programs have already. */
function cacheMark({
  providerOptions = {},
}: {
  readonly providerOptions?: ProviderOptions | undefined;
}): { readonly cache_control: CacheControl } | undefined {
  const { signalbox = {}, anthropic = {} } = providerOptions;
  const mark = signalbox['cacheControl'] ?? anthropic['cacheControl'] ?? anthropic['cache_control'];
  return mark == null ? undefined : { cache_control: mark as unknown as CacheControl };
}

function encodePart(part: PromptMessage['content'][number] & object): ContentPart {
  const mark = cacheMark(part as PromptFile);
  if (part.type === 'text') return { type: 'text', text: part.text, ...mark };
  return { ...encodeFile(part as PromptFile), ...mark };
}

function encodeFile({ data, mediaType, filename }: PromptFile): ContentPart {
  if (isText(data)) return { type: 'text', text: data.text };
  const address = addressOf(data, mediaType);
  const [kind] = mediaType.split('/');
  if (kind === 'image') return { type: 'image_url', image_url: { url: address } };
  if (kind === 'video') return { type: 'video_url', video_url: { url: address } };
  if (kind === 'audio' && address.startsWith('data:')) {
    return {
      type: 'input_audio',
      input_audio: {
        data: address.slice(address.indexOf(',') + 1),
        format: audioFormat(address.slice('data:'.length, address.indexOf(';'))),
      },
    };
  }
  return { type: 'file', file: { ...(filename === undefined ? {} : { filename }), file_data: address } };
}

function isText(data: FileData): data is { readonly type: 'text'; readonly text: string } {
  return typeof data === 'object' && 'type' in data && data.type === 'text';
}

/** A file's address: its own, or its bytes in a data URL. */
function addressOf(data: FileData, mediaType: string): string {
  if (data instanceof URL) return data.href;
  if (data instanceof Uint8Array) return dataUrl(toBase64(data), mediaType);
  if (typeof data === 'string') return /^(?:https?|data):/i.test(data) ? data : dataUrl(data, mediaType);
  if (data.type === 'url') return data.url.href;
  if (data.type === 'data') return addressOf(data.data, mediaType);
  throw new UnsupportedCall(
    'file references of other providers',
    'A file of the prompt is a reference to the files of another provider, which no other provider can read: give its ' +
      'data or its address',
  );
}

function dataUrl(base64: string, mediaType: string): string {
  return `data:${likelyType(base64, mediaType)};base64,${base64}`;
}

function audioFormat(mediaType: string): string {
  const subtype = mediaType.slice(mediaType.indexOf('/') + 1).replace(/^x-/, '');
  return subtype === 'mpeg' ? 'mp3' : subtype === 'wave' ? 'wav' : subtype;
}

function encodeAssistant(parts: readonly AssistantPart[]): AssistantMessage {
  const texts: string[] = [];
  const reasoning: string[] = [];
  const details: ReasoningDetail[] = [];
  const calls: ToolCall[] = [];
  const images: { readonly image_url: { readonly url: string } }[] = [];
  for (const part of parts) {
    const { reasoningDetails, extraContent } = ownMetadata(part);
    if (Array.isArray(reasoningDetails)) details.push(...(reasoningDetails as unknown as readonly ReasoningDetail[]));
    if (part.type === 'text') texts.push(part.text);
    else if (part.type === 'reasoning') reasoning.push(part.text);
    else if (part.type === 'file') images.push({ image_url: { url: addressOf(part.data, part.mediaType) } });
    else if (part.type === 'tool-call' && part.providerExecuted !== true) {
      const { toolCallId: id, toolName: name, input } = part;
      const text = typeof input === 'string' ? input : JSON.stringify(input ?? {});
      const extra = extraContent === undefined ? {} : { extra_content: extraContent as ToolCall['extra_content'] };
      calls.push({ id, type: 'function', function: { name, arguments: text }, ...extra });
    }
  }
  return {
    role: 'assistant',
    content: texts.length === 0 ? null : texts.join(''),
    ...(reasoning.length === 0 ? {} : { reasoning: reasoning.join('') }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(images.length === 0 ? {} : { images }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** What parts of our answers carry, as it comes back with them. */
function ownMetadata({
  providerOptions,
}: {
  readonly providerOptions?: ProviderOptions | undefined;
}): Readonly<Record<string, unknown>> {
  return providerOptions?.['signalbox'] ?? {};
}

function encodeOutput(output: ToolOutput): ToolMessage['content'] {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'json':
    case 'error-json':
      return JSON.stringify(output.value);
    case 'execution-denied':
      return output.reason === undefined ? 'The call was not allowed.' : `The call was not allowed: ${output.reason}`;
    case 'content':
      return output.value.flatMap(encodeResultPart);
  }
}

function encodeResultPart(part: ResultPart): readonly ContentPart[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }];
    case 'file':
      return [encodeFile(part)];
    case 'media':
    case 'image-data':
    case 'file-data':
      return [encodeFile({ ...part, type: 'file' })];
    case 'image-url':
      return [{ type: 'image_url', image_url: { url: part.url } }];
    case 'file-url':
      return [{ type: 'file', file: { file_data: part.url } }];
    default:
      return [];
  }
}

function encodeFormat(format: NonNullable<LanguageCall['responseFormat']>): ResponseFormat | undefined {
  if (format.type !== 'json') return undefined;
  const { schema, name = 'response', description } = format;
  if (schema == null) return { type: 'json_object' };
  return {
    type: 'json_schema',
    json_schema: {
      name,
      ...(description === undefined ? {} : { description }),
      schema: schema as Readonly<Record<string, unknown>>,
      strict: true,
    },
  };
}

/** Tools of ours have ids such as `signalbox.web_search`; those of other providers cannot be run here. */
function encodeTool(tool: ToolOption, warnings: CallWarning[], version: SpecVersion): readonly Tool[] {
  if (tool.type === 'function') {
    const { name, description, inputSchema, strict } = tool;
    return [
      {
        type: 'function',
        function: {
          name,
          ...(description === undefined ? {} : { description }),
          parameters: inputSchema as Readonly<Record<string, unknown>>,
          ...(strict === undefined ? {} : { strict }),
        },
        ...cacheMark(tool),
      },
    ];
  }
  const type = serverToolType(tool.id);
  if (type !== undefined) {
    return [Object.keys(tool.args).length === 0 ? { type } : { type, parameters: tool.args }];
  }
  const details = `${tool.id} is a tool of another provider; tools that the router runs are signalbox.web_search and so on`;
  warnings.push(unsupported(version, `tool ${tool.id}`, details));
  return [];
}

function encodeChoice({ toolChoice: choice, tools = [] }: LanguageCall): ToolChoice | undefined {
  if (choice?.type !== 'tool') return choice?.type;
  // A program names its tools as it likes; those that the router runs are chosen by their type.
  const chosen = tools.find(({ name }) => name === choice.toolName);
  const type = chosen === undefined || chosen.type === 'function' ? undefined : serverToolType(chosen.id);
  return type === undefined ? { type: 'function', function: { name: choice.toolName } } : { type };
}
