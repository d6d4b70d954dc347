/** The JSON Schemas among the components of the OpenAPI document. */
import * as z from 'zod';
import { optional } from '../../schema/modifiers.ts';
import { union } from '../../schema/choices.ts';
import { jsonObject, array } from '../../schema/collections.ts';
import { looseObject } from '../../schema/object.ts';
import { integer, string } from '../../schema/scalars.ts';
import { chatRequestSchema } from '../../protocol/chat-request.ts';
import { batchFields, customIdSchema } from '../../protocol/create-batch.ts';
import { embeddingRequestFields, multimodalItemSchema } from '../../protocol/embedding.ts';
import { closed } from '../../protocol/fields.ts';
import { messageSchema } from '../../protocol/message.ts';
import { messagesRequestSchema } from '../../formats/messages/protocol/messages-request.ts';
import { pluginEntrySchema } from '../../protocol/plugins.ts';
import { providerPreferencesSchema } from '../../protocol/provider-preferences.ts';
import { reasoningOptionsSchema, responseFormatSchema } from '../../protocol/reasoning.ts';
import { responsesRequestSchema } from '../../formats/responses/protocol/responses-request.ts';
import { toolChoiceSchema, toolSchema } from '../../protocol/tools.ts';
import {
  batchListSchema,
  batchSchema,
  deletedBatchSchema,
  deletedFileSchema,
  fileListSchema,
  fileSchema,
} from './schemas/batch.ts';
import { chatChunkSchema, chatResultSchema, embeddingResultSchema } from './schemas/chat.ts';
import { availabilitySchema, errorBodySchema, errorDetailSchema, routerMetadataSchema } from './schemas/error.ts';
import {
  messagesErrorSchema,
  messagesEventSchema,
  messagesResultSchema,
  responsesErrorSchema,
  responsesEventSchema,
  responsesResultSchema,
  tokenCountSchema,
} from './schemas/api-formats.ts';
import {
  endpointListSchema,
  modelCardSchema,
  modelCountSchema,
  modelListSchema,
  oneModelSchema,
  privateEndpointListSchema,
  providerListSchema,
} from './schemas/models.ts';
import { usageSchema } from './schemas/usage.ts';
import { zodOf } from './zod-of.ts';

const tokens = array(integer({ least: 0 }), { least: 1 });

/** An embedding request with its input, which is checked by hand when it comes in: there may be very many tokens. */
const embeddingRequest = looseObject({
  ...embeddingRequestFields,
  input: union([
    string({ least: 1 }),
    array(string({ least: 1 }), { least: 1 }),
    tokens,
    array(tokens, { least: 1 }),
    array(multimodalItemSchema, { least: 1 }),
  ]),
});

/** A new batch with its requests, which are read one by one when it comes in, or with the file that they are in. */
const batchRequest = closed({
  ...batchFields,
  requests: optional(array(looseObject({ custom_id: customIdSchema, body: jsonObject }), { least: 1 })),
});

/** Bodies that callers send, and their parts that are told apart. */
const REQUESTS = {
  ChatRequest: zodOf(chatRequestSchema),
  Message: zodOf(messageSchema),
  Tool: zodOf(toolSchema),
  ToolChoice: zodOf(toolChoiceSchema),
  ResponseFormat: zodOf(responseFormatSchema),
  ReasoningOptions: zodOf(reasoningOptionsSchema),
  ProviderPreferences: zodOf(providerPreferencesSchema),
  PluginEntry: zodOf(pluginEntrySchema),
  MessagesRequest: zodOf(messagesRequestSchema),
  TokenCountRequest: z.looseObject({ model: z.string().optional(), messages: z.array(z.looseObject({})).min(1) }),
  ResponsesRequest: zodOf(responsesRequestSchema),
  EmbeddingRequest: zodOf(embeddingRequest),
  NewBatch: zodOf(batchRequest),
} satisfies Record<string, z.ZodType>;

/** Bodies that callers get, and their parts that are told apart. */
const ANSWERS = {
  ChatResult: chatResultSchema,
  ChatChunk: chatChunkSchema,
  Usage: usageSchema,
  RouterMetadata: routerMetadataSchema,
  Error: errorBodySchema,
  ErrorDetail: errorDetailSchema,
  Availability: availabilitySchema,
  MessagesResult: messagesResultSchema,
  MessagesEvent: messagesEventSchema,
  MessagesError: messagesErrorSchema,
  TokenCount: tokenCountSchema,
  ResponsesResult: responsesResultSchema,
  ResponsesEvent: responsesEventSchema,
  ResponsesError: responsesErrorSchema,
  EmbeddingResult: embeddingResultSchema,
  Batch: batchSchema,
  BatchList: batchListSchema,
  DeletedBatch: deletedBatchSchema,
  File: fileSchema,
  FileList: fileListSchema,
  DeletedFile: deletedFileSchema,
  Model: modelCardSchema,
  ModelList: modelListSchema,
  ModelCount: modelCountSchema,
  OneModel: oneModelSchema,
  EndpointList: endpointListSchema,
  PrivateEndpointList: privateEndpointListSchema,
  ProviderList: providerListSchema,
} satisfies Record<string, z.ZodType>;

/** Name of a schema among the components of the OpenAPI document. */
export type ComponentName = keyof typeof REQUESTS | keyof typeof ANSWERS;

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** The reference to a component. */
export function reference(name: ComponentName): { readonly $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

/** JSON Schemas (2020-12, as OpenAPI 3.1 has them) of everything that goes over the wire. */
export function componentSchemas(): Readonly<Record<ComponentName, JsonSchema>> {
  const schemas = { ...written(REQUESTS, 'input'), ...written(ANSWERS, 'output') };
  return schemas as Record<ComponentName, JsonSchema>;
}

function written(schemas: Readonly<Record<string, z.ZodType>>, io: 'input' | 'output'): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const { schemas: all } = z.toJSONSchema(registry, {
    io,
    // A rule that is a function has no words here; what it refuses is answered with a 400 that says so.
    unrepresentable: 'any',
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ jsonSchema }) => {
      // Answers may get new members in minor versions: clients must pass over what they do not know.
      if (io === 'output' && jsonSchema.additionalProperties === false) {
        delete jsonSchema.additionalProperties;
      }
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return Object.fromEntries(
    Object.entries(all).map(([id, { $schema: _apiFormat, $id: _place, ...schema }]) => [id, schema as JsonSchema]),
  );
}
