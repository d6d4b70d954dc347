/** The schemas of chat and embedding results in the OpenAPI document. */
import * as z from 'zod';
import type { JsonObject, JsonValue } from '../../../protocol/json.ts';
import type {
  Annotation,
  ChatResult,
  Choice,
  FinishReason,
  Logprobs,
  OutputAudio,
  OutputImage,
  ResultMessage,
  ResultToolCall,
  TokenLogprob,
} from '../../../protocol/chat-result.ts';
import type { ChatChunk, ChunkChoice, Delta, ToolCallDelta } from '../../../protocol/chunk.ts';
import type { ReasoningDetail } from '../../../protocol/reasoning.ts';
import { errorDetailSchema, routerMetadataSchema } from './error.ts';
import { usageSchema, embeddingUsageSchema } from './usage.ts';
import { anyJson, anyObject, countSchema, secondsSchema, wireObject, words } from './wire-object.ts';
import type { Embedding, EmbeddingResult } from '../../../protocol/embedding.ts';
import type { ToolCallExtra } from '../../../protocol/tools.ts';

const finishReason = words<FinishReason>({
  stop: true,
  length: true,
  tool_calls: true,
  content_filter: true,
  error: true,
});

const likelihood = { token: z.string(), logprob: z.number(), bytes: z.array(z.int()).nullable() };
const tokenLogprob = wireObject<TokenLogprob>({ ...likelihood, top_logprobs: z.array(z.object(likelihood)) }, {});
const tokens = z.array(tokenLogprob).nullable();
const logprobs = wireObject<Logprobs>({ content: tokens }, { refusal: tokens });

const image = wireObject<OutputImage>({ type: z.literal('image_url'), image_url: z.object({ url: z.string() }) }, {});

const audio = wireObject<OutputAudio>(
  {},
  { id: z.string(), data: z.string(), transcript: z.string(), expires_at: secondsSchema },
);

type Citation = Extract<Annotation, { type: 'url_citation' }>;
type ParsedFile = Extract<Annotation, { type: 'file' }>;

const annotation: z.ZodType<Annotation> = z.union([
  wireObject<Citation>(
    {
      type: z.literal('url_citation'),
      url_citation: wireObject<Citation['url_citation']>(
        { url: z.string() },
        { title: z.string(), content: z.string(), start_index: countSchema, end_index: countSchema },
      ),
    },
    {},
  ),
  wireObject<ParsedFile>(
    {
      type: z.literal('file'),
      file: wireObject<ParsedFile['file']>(
        {
          hash: z.string(),
          content: z.array(z.union([z.object({ type: z.literal('text'), text: z.string() }), image])),
        },
        { name: z.string() },
      ),
    },
    {},
  ),
]);

const reasoningDetail: z.ZodType<ReasoningDetail> = z.looseObject({
  type: z.enum(['reasoning.summary', 'reasoning.text', 'reasoning.encrypted', 'reasoning.server_tool_call']),
  id: z.string().nullable().optional(),
  format: z.string().nullable().optional(),
  index: countSchema.optional(),
}) as unknown as z.ZodType<ReasoningDetail>;

const callExtra = anyObject as unknown as z.ZodType<ToolCallExtra>;

const toolCall = wireObject<ResultToolCall>(
  {
    id: z.string().min(1),
    index: countSchema,
    type: z.literal('function'),
    function: z.object({ name: z.string(), arguments: z.string() }),
  },
  { extra_content: callExtra },
);

const message = wireObject<ResultMessage>(
  {
    role: z.literal('assistant'),
    content: z.string().nullable(),
    refusal: z.string().nullable(),
    reasoning: z.string().nullable(),
  },
  {
    reasoning_details: z.array(reasoningDetail),
    annotations: z.array(annotation),
    images: z.array(image),
    audio,
    tool_calls: z.array(toolCall),
  },
);

const choice = wireObject<Choice>(
  {
    index: countSchema,
    finish_reason: finishReason.nullable(),
    native_finish_reason: z.string().nullable(),
    logprobs: logprobs.nullable(),
    message,
  },
  { error: errorDetailSchema },
);

/** Schema of {@link ChatResult}. */
export const chatResultSchema = wireObject<ChatResult>(
  {
    id: z.string().regex(/^gen-/),
    object: z.literal('chat.completion'),
    created: secondsSchema,
    model: z.string(),
    choices: z.array(choice),
    system_fingerprint: z.string().nullable(),
  },
  {
    provider: z.string(),
    service_tier: z.string().nullable(),
    usage: usageSchema,
    alignment: z.record(z.string(), z.unknown()) as z.ZodType<JsonObject>,
    safeguard_results: z.array(z.unknown()) as z.ZodType<readonly JsonValue[]>,
    router_metadata: routerMetadataSchema,
  },
);

const toolCallDelta = wireObject<ToolCallDelta>(
  { index: countSchema },
  {
    id: z.string().min(1),
    type: z.literal('function'),
    function: wireObject<NonNullable<ToolCallDelta['function']>>({}, { name: z.string(), arguments: z.string() }),
    extra_content: callExtra,
  },
);

const delta = wireObject<Delta>(
  {},
  {
    role: z.literal('assistant'),
    content: z.string().nullable(),
    refusal: z.string().nullable(),
    reasoning: z.string().nullable(),
    reasoning_details: z.array(reasoningDetail),
    tool_calls: z.array(toolCallDelta),
    audio,
    images: z.array(image),
    annotations: z.array(annotation),
  },
);

const chunkChoice = wireObject<ChunkChoice>(
  {
    index: countSchema,
    delta,
    finish_reason: finishReason.nullable(),
    native_finish_reason: z.string().nullable(),
    logprobs: logprobs.nullable(),
  },
  {},
);

/** Schema of {@link ChatChunk}, the data of one event of a stream. */
export const chatChunkSchema = wireObject<ChatChunk>(
  {
    id: z.string().regex(/^gen-/),
    object: z.literal('chat.completion.chunk'),
    created: secondsSchema,
    model: z.string(),
    choices: z.array(chunkChoice),
  },
  {
    provider: z.string(),
    system_fingerprint: z.string(),
    service_tier: z.string().nullable(),
    usage: usageSchema,
    error: errorDetailSchema,
    router_metadata: routerMetadataSchema,
    debug: z.object({ echo_upstream_body: anyJson }),
  },
);

const embedding = wireObject<Embedding>(
  { object: z.literal('embedding'), index: countSchema, embedding: z.union([z.array(z.number()), z.string()]) },
  {},
);

/** Schema of {@link EmbeddingResult}. */
export const embeddingResultSchema = wireObject<EmbeddingResult>(
  {
    id: z.string().regex(/^gen-/),
    object: z.literal('list'),
    model: z.string(),
    provider: z.string(),
    data: z.array(embedding),
    usage: embeddingUsageSchema,
  },
  { router_metadata: routerMetadataSchema },
);
