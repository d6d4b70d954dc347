import type { Endpoint } from '../../catalog/endpoint.ts';
import type { Message } from '../../protocol/message.ts';
import type { NormalizedEmbeddingRequest } from '../normalize/normalize-embedding.ts';
import type { NormalizedRequest, RoutedRequest } from '../normalize/normalized-request.ts';
import { mostTokens } from '../normalize/token-ceiling.ts';

/** Vocabularies of other makers than OpenAI cut finer; no more than this much. */
const MARGIN = 1.25;
/** What is around a message, a call or a tool. */
const AROUND = 16;
/** Tokens of an image that fills what models look at. */
const IMAGE = 5_000;
/** Characters of base64 per token of media that were sent along, at least. */
const MEDIA_CHARACTERS = 4;
/** Tokens of media behind a URL where the endpoint's context length is not known. */
const UNSEEN_MEDIA = 128_000;
/** Embeddings know their likely number of tokens; the truth is not more than so many times that. */
const EMBEDDING_MARGIN = 3;

/** Tokens that the prompt of a request has at most at any endpoint, before the endpoint's own bound. */
export function mostPromptTokens(request: RoutedRequest): number {
  if (isEmbedding(request)) return request.likelyTokens * EMBEDDING_MARGIN + AROUND;
  const { messages, tools, responseFormat } = request as NormalizedRequest;
  let tokens = AROUND;
  for (const message of messages) tokens += ofMessage(message);
  for (const tool of tools) tokens += AROUND + mostTokens(JSON.stringify(tool));
  if (responseFormat !== undefined) tokens += mostTokens(JSON.stringify(responseFormat));
  return Math.ceil(tokens * MARGIN);
}

/** Tokens that one answer of an endpoint has at most; undefined when unknown. */
export function mostAnswerTokens(request: RoutedRequest, endpoint: Endpoint): number | undefined {
  if (request.operation === 'embeddings') return 0;
  const { contextLength, maxOutputTokens } = endpoint;
  const asked = request.needs.outputTokens;
  // What is thought may come on top of what is said.
  if (asked !== undefined) return asked + (request.reasoning?.maxTokens ?? 0);
  return maxOutputTokens ?? contextLength;
}

function isEmbedding(request: RoutedRequest): request is NormalizedEmbeddingRequest {
  return request.operation === 'embeddings';
}

function ofMessage(message: Message): number {
  const { content } = message;
  let tokens = AROUND + mostTokens(message.name ?? '');
  if (typeof content === 'string') tokens += mostTokens(content);
  else for (const part of content ?? []) tokens += ofPart(part);
  if (message.role !== 'assistant') return tokens;
  for (const call of message.tool_calls ?? []) {
    tokens += AROUND + mostTokens(call.function.name) + mostTokens(call.function.arguments);
  }
  if (message.reasoning_details != null) tokens += mostTokens(JSON.stringify(message.reasoning_details));
  return (
    tokens +
    mostTokens(message.reasoning ?? message.reasoning_content ?? '') +
    mostTokens(message.refusal ?? '') +
    (message.images?.length ?? 0) * IMAGE
  );
}

type Part = Exclude<NonNullable<Message['content']>, string>[number];

function ofPart(part: Part): number {
  switch (part.type) {
    case 'text':
      return mostTokens(part.text);
    case 'refusal':
      return mostTokens(part.refusal);
    case 'image_url':
      return IMAGE;
    case 'input_audio':
      return Math.ceil(part.input_audio.data.length / MEDIA_CHARACTERS);
    case 'file':
      return ofMedia(part.file.file_data ?? '');
    default:
      return ofMedia(part.video_url.url);
  }
}

function ofMedia(url: string): number {
  return url.startsWith('data:') ? Math.ceil(url.length / MEDIA_CHARACTERS) : UNSEEN_MEDIA;
}
