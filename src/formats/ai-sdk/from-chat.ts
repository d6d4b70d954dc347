/** Answers of the router as the AI SDK reads them: parts of content, why an answer ended, and what it used. */
import type {
  Annotation,
  Choice,
  ChatResult,
  FinishReason,
  OutputAudio,
  OutputImage,
  ResultToolCall,
} from '../../protocol/chat-result.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import { likelyType } from './media-types.ts';
import type { ServerToolNames } from './server-tools.ts';
import type { AnswerPart, CallPart, CallWarning, Carried, ResultOfProvider, SourcePart, SpecVersion } from './spec.ts';
import type { Usage } from '../../protocol/usage.ts';

/**
 * The parts of a response: what was thought, said, shown, cited and called.
 *
 * @param names - What the program calls the tools that the router runs.
 */
export function contentOf(
  { message }: Choice,
  version: SpecVersion,
  names: ServerToolNames,
  nextId: () => string,
): readonly AnswerPart[] {
  const {
    content,
    refusal,
    reasoning,
    reasoning_details: details,
    annotations,
    images,
    audio,
    tool_calls: calls,
  } = message;
  const text = [content, refusal, transcriptAlone(audio)].filter(Boolean).join('\n');
  return [
    ...reasoningParts(reasoning, details),
    ...(details ?? []).flatMap((detail, index) => serverToolParts(detail, index, names)),
    ...(text === '' ? [] : [{ type: 'text', text } as const]),
    ...(images ?? []).flatMap((image) => imagePart(image, version)),
    ...(audio === undefined ? [] : audioPart(audio, version)),
    ...(annotations ?? []).flatMap((annotation) => sourcePart(annotation, nextId)),
    ...(calls ?? []).map(callPart),
  ];
}

/** What the turns to come need of a part, under our name. */
export function carried(members: JsonObject): Carried {
  return { providerMetadata: { signalbox: members } };
}

function reasoningParts(
  reasoning: string | null,
  details: readonly ReasoningDetail[] | undefined,
): readonly AnswerPart[] {
  const own = (details ?? []).filter(({ type }) => type !== 'reasoning.server_tool_call');
  if (own.length === 0) return reasoning ? [{ type: 'reasoning', text: reasoning }] : [];
  // One part of the SDK for each of ours: signatures belong to their piece of text, and come back with it.
  return own.map((detail) => ({
    type: 'reasoning',
    text: textOfDetail(detail),
    ...carried({ reasoningDetails: [detail as unknown as JsonObject] }),
  }));
}

/** The readable text of a piece of reasoning. */
export function textOfDetail(detail: ReasoningDetail): string {
  if (detail.type === 'reasoning.text') return detail.text ?? '';
  return detail.type === 'reasoning.summary' ? detail.summary : '';
}

/** A tool that the router or a provider of it ran, as a call and its result. Under a name of no tool, it is dynamic. */
export function serverToolParts(
  detail: ReasoningDetail,
  index: number,
  names: ServerToolNames,
): readonly (CallPart | ResultOfProvider)[] {
  if (detail.type !== 'reasoning.server_tool_call') return [];
  const { tool_name: requestedName, arguments: input, result: text, tool_call_id: id } = detail;
  const own = names.get(requestedName);
  const call = {
    toolCallId: id || `${requestedName}_${index}`,
    toolName: own ?? requestedName,
    providerExecuted: true,
    ...(own === undefined ? { dynamic: true } : {}),
  };
  const result = parsed(text);
  return [
    {
      type: 'tool-call',
      ...call,
      input: input === '' ? '{}' : input,
      ...carried({ reasoningDetails: [detail as unknown as JsonObject] }),
    },
    { type: 'tool-result', ...call, result, ...(isFailure(result) ? { isError: true } : {}) },
  ];
}

function parsed(text: string): JsonValue {
  try {
    return (JSON.parse(text) as JsonValue) ?? text;
  } catch {
    return text;
  }
}

/** What models read of a call that came to nothing. */
function isFailure(result: JsonValue): boolean {
  return isJsonObject(result) && result['status'] === 'error' && typeof result['error'] === 'string';
}

/** A call of one of the program's functions. */
export function callPart({ id, function: { name, arguments: input }, extra_content: extra }: ResultToolCall): CallPart {
  return {
    type: 'tool-call',
    toolCallId: id,
    toolName: name,
    input: input === '' ? '{}' : input,
    ...(extra === undefined ? {} : carried({ extraContent: extra as JsonObject })),
  };
}

/** An image that a model made. Versions 2 and 3 have no word for one that is only an address. */
export function imagePart({ image_url: { url } }: OutputImage, version: SpecVersion): readonly AnswerPart[] {
  const [, mediaType = 'image/png', base64] = /^data:([^;,]+)[^,]*;base64,(.*)$/s.exec(url) ?? [];
  if (base64 !== undefined) return [filePart(mediaType, base64, version)];
  if (version !== 'v4' || !URL.canParse(url)) return [];
  return [{ type: 'file', mediaType: 'image/*', data: { type: 'url', url: new URL(url) } }];
}

/** Audio of an answer, with what is said in it. Samples alone, as in streams, have no first bytes that say what they are. */
export function audioPart({ data, transcript }: OutputAudio, version: SpecVersion): readonly AnswerPart[] {
  if (!data) return [];
  const part = filePart(likelyType(data, 'audio/*', 'pcm'), data, version);
  return [{ ...part, ...(transcript ? carried({ transcript }) : {}) }];
}

/** What is said in audio that is not there itself: then it is text. */
export function transcriptAlone(audio: OutputAudio | undefined): string | undefined {
  return audio?.data ? undefined : audio?.transcript;
}

function filePart(mediaType: string, base64: string, version: SpecVersion): AnswerPart {
  return { type: 'file', mediaType, data: version === 'v4' ? { type: 'data', data: base64 } : base64 };
}

/** A source that an answer cites. */
export function sourcePart(annotation: Annotation, nextId: () => string): readonly SourcePart[] {
  if (annotation.type !== 'url_citation') return [];
  const { url, title, content, start_index: start, end_index: end } = annotation.url_citation;
  const where = { ...(content && { content }), ...(start !== undefined && { start, end: end ?? start }) };
  return [
    {
      type: 'source',
      sourceType: 'url',
      id: nextId(),
      url,
      ...(title && { title }),
      ...(Object.keys(where).length > 0 && carried(where)),
    },
  ];
}

const REASONS = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool-calls',
  content_filter: 'content-filter',
  error: 'error',
} as const satisfies Readonly<Record<FinishReason, string>>;

/** Why an answer ended, in the words of a version. */
export function finishReasonOf(
  reason: FinishReason | null | undefined,
  native: string | null | undefined,
  version: SpecVersion,
): unknown {
  const unified = reason == null ? 'other' : REASONS[reason];
  return version === 'v2' ? unified : { unified, raw: native ?? undefined };
}

/** What an answer used, in the words of a version. */
export function usageOf(usage: Usage | undefined, version: SpecVersion): unknown {
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = usage ?? {};
  const { cached_tokens: cached, cache_write_tokens: written } = usage?.prompt_tokens_details ?? {};
  const { reasoning_tokens: reasoning } = usage?.completion_tokens_details ?? {};
  if (version === 'v2') {
    return {
      inputTokens: input,
      outputTokens: output,
      totalTokens: total,
      reasoningTokens: reasoning,
      cachedInputTokens: cached,
    };
  }
  return {
    inputTokens: {
      total: input,
      noCache: input === undefined ? undefined : input - (cached ?? 0) - (written ?? 0),
      cacheRead: cached,
      cacheWrite: written,
    },
    outputTokens: { total: output, text: output === undefined ? undefined : output - (reasoning ?? 0), reasoning },
    ...(usage === undefined ? {} : { raw: usage as unknown as JsonObject }),
  };
}

/** What the router says of an answer as a whole: who gave it, at what cost, and how that was decided. */
export function aboutAnswer(
  answer: Pick<ChatResult, 'id' | 'model' | 'provider' | 'service_tier' | 'router_metadata'> & {
    readonly usage?: { readonly cost?: number | undefined } | undefined;
  },
): JsonObject {
  const { id, model, provider, usage, service_tier: tier, router_metadata: decision } = answer;
  return {
    id,
    model,
    ...(provider === undefined ? {} : { provider }),
    ...(usage?.cost === undefined ? {} : { cost: usage.cost }),
    ...(tier == null ? {} : { serviceTier: tier }),
    ...(decision === undefined ? {} : { routerMetadata: decision as unknown as JsonObject }),
  };
}

/** What was changed in the request for the endpoint that answered, as warnings. */
export function adjustmentsOf({ router_metadata: decision }: Pick<ChatResult, 'router_metadata'>): CallWarning[] {
  const sentences = decision?.attempts?.at(-1)?.adjustments ?? [];
  return sentences.map((message) => ({ type: 'other', message }));
}
