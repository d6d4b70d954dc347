/** Documents every operation that a router answers. */
import type { ApiFormatName } from '../../protocol/api-format.ts';
import { type ComponentName, reference } from './component-schemas.ts';
import type { HttpOperation } from '../routes.ts';
import { KEY_OPERATIONS, LEDGER_OPERATIONS } from './management.ts';
import { STREAM_OPERATIONS } from './streams.ts';
import {
  ANTHROPIC_VERSION,
  BATCHES_QUERY,
  BATCH_PATH,
  CALL_HEADERS,
  COUNTING_HEADERS,
  COUNT_QUERY,
  CREATE_BATCH_HEADERS,
  FILES_QUERY,
  FILE_FORM,
  FILE_PATH,
  IF_NONE_MATCH,
  MESSAGES_HEADERS,
  MODELS_QUERY,
  MODEL_PATH,
  TEXT_HEADERS,
} from './parameters.ts';
import {
  BODY_ERRORS,
  COMMON_ERRORS,
  describedResponse,
  errors,
  plain,
  success,
  tagged,
  UPSTREAM_ERRORS,
} from './responses.ts';
import type { DocumentedOperation } from './documented-operation.ts';

const MODEL_ERRORS = [...COMMON_ERRORS, ...BODY_ERRORS, ...UPSTREAM_ERRORS];
const BATCH_ERRORS = [...COMMON_ERRORS, 401, 403, 409, 429] as const;

/** Says that an operation may be called without credentials. */
const PUBLIC = { security: [] };

function body(schema: ComponentName): object {
  return { requestBody: { required: true, content: { 'application/json': { schema: reference(schema) } } } };
}

/** What differs between operations that ask models. */
interface ModelOperation {
  readonly request: ComponentName;
  readonly answer: ComponentName;
  /** Events of a streamed answer. Default: it does not stream. */
  readonly events?: ComponentName;
  readonly error?: 'Error' | 'MessagesError' | 'ResponsesError';
  readonly parameters?: readonly object[];
}

function asks(operationId: string, summary: string, operation: ModelOperation): object {
  const { request, answer, error = 'Error', parameters = TEXT_HEADERS, ...streamed } = operation;
  return {
    operationId,
    summary,
    parameters,
    ...body(request),
    responses: {
      200: success('The answer.', answer, { ...streamed, generated: true }),
      ...errors(MODEL_ERRORS, error),
    },
  };
}

function reads(
  operationId: string,
  summary: string,
  schema: ComponentName,
  parameters: readonly object[] = [],
): object {
  const responses = { 200: success('What was asked for.', schema), ...errors(COMMON_ERRORS, 'Error') };
  return { operationId, summary, ...PUBLIC, parameters, responses };
}

function manages(operationId: string, summary: string, schema: ComponentName, parameters: readonly object[]): object {
  const responses = { 200: success('The batch, or the batches.', schema), ...errors(BATCH_ERRORS, 'Error') };
  return { operationId, summary, parameters, responses };
}

/** Chat, and the shapes besides it in which callers may send requests. */
const API_FORMAT_OPERATIONS: Readonly<Record<ApiFormatName, DocumentedOperation>> = {
  messages: {
    method: 'post',
    path: '/messages',
    operation: asks('createMessage', 'Call a model in the API format of Anthropic’s Messages.', {
      request: 'MessagesRequest',
      answer: 'MessagesResult',
      events: 'MessagesEvent',
      error: 'MessagesError',
      parameters: MESSAGES_HEADERS,
    }),
  },
  responses: {
    method: 'post',
    path: '/responses',
    operation: asks('createResponse', 'Call a model in the API format of OpenAI’s Responses. Nothing is stored.', {
      request: 'ResponsesRequest',
      answer: 'ResponsesResult',
      events: 'ResponsesEvent',
      error: 'ResponsesError',
    }),
  },
};

/** Every operation of {@link HttpOperation}: one that is missing does not compile. */
const OPERATIONS: Readonly<Record<HttpOperation['name'], DocumentedOperation>> = {
  chat: {
    method: 'post',
    path: '/chat/completions',
    operation: asks('createChatCompletion', 'Call a model.', {
      request: 'ChatRequest',
      answer: 'ChatResult',
      events: 'ChatChunk',
    }),
  },
  embeddings: {
    method: 'post',
    path: '/embeddings',
    operation: asks('createEmbeddings', 'Create embeddings of texts.', {
      request: 'EmbeddingRequest',
      answer: 'EmbeddingResult',
      parameters: CALL_HEADERS,
    }),
  },
  count_tokens: {
    method: 'post',
    path: '/messages/count_tokens',
    operation: {
      operationId: 'countTokens',
      summary: 'Count the tokens of a prompt in the API format of Anthropic’s Messages. Costs nothing.',
      parameters: COUNTING_HEADERS,
      ...body('TokenCountRequest'),
      responses: { 200: success('The count.', 'TokenCount'), ...errors(MODEL_ERRORS, 'MessagesError') },
    },
  },
  batch_create: {
    method: 'post',
    path: '/batches',
    operation: {
      operationId: 'createBatch',
      summary: 'Create a batch: `requests`, after all other fields, or an uploaded file.',
      parameters: CREATE_BATCH_HEADERS,
      ...body('NewBatch'),
      responses: {
        202: success('The batch, which is about to be validated.', 'Batch'),
        ...errors([...COMMON_ERRORS, ...BODY_ERRORS, 502], 'Error'),
      },
    },
  },
  batch_list: {
    method: 'get',
    path: '/batches',
    operation: manages('listBatches', 'List batches, the newest first.', 'BatchList', BATCHES_QUERY),
  },
  batch_retrieve: {
    method: 'get',
    path: '/batches/{id}',
    operation: {
      operationId: 'retrieveBatch',
      summary: 'Get a batch, with its results when it is completed. What a client has already is not sent again.',
      parameters: [...BATCH_PATH, IF_NONE_MATCH],
      responses: { ...tagged(success('The batch.', 'Batch')), ...errors(BATCH_ERRORS, 'Error') },
    },
  },
  batch_delete: {
    method: 'delete',
    path: '/batches/{id}',
    operation: manages('deleteBatch', 'Delete a batch that has ended.', 'DeletedBatch', BATCH_PATH),
  },
  batch_cancel: {
    method: 'post',
    path: '/batches/{id}/cancel',
    operation: manages('cancelBatch', 'Stop a batch.', 'Batch', BATCH_PATH),
  },
  ...KEY_OPERATIONS,
  ...LEDGER_OPERATIONS,
  ...STREAM_OPERATIONS,
  file_create: {
    method: 'post',
    path: '/files',
    operation: {
      operationId: 'createFile',
      summary: 'Upload the requests of a batch: JSON lines, one request per line.',
      requestBody: { required: true, content: { 'multipart/form-data': { schema: FILE_FORM } } },
      responses: {
        200: success('The file.', 'File'),
        ...errors([...COMMON_ERRORS, ...BODY_ERRORS, 403], 'Error'),
      },
    },
  },
  file_list: {
    method: 'get',
    path: '/files',
    operation: manages('listFiles', 'List files that were uploaded, the newest first.', 'FileList', FILES_QUERY),
  },
  file_retrieve: {
    method: 'get',
    path: '/files/{id}',
    operation: manages('retrieveFile', 'Get the metadata of a file.', 'File', FILE_PATH),
  },
  file_content: {
    method: 'get',
    path: '/files/{id}/content',
    operation: {
      operationId: 'retrieveFileContent',
      summary: 'Get the content of a file.',
      parameters: [...FILE_PATH, IF_NONE_MATCH],
      responses: {
        ...tagged(plain('The file, as JSON lines.', 'application/octet-stream')),
        ...errors(BATCH_ERRORS, 'Error'),
      },
    },
  },
  file_delete: {
    method: 'delete',
    path: '/files/{id}',
    operation: manages('deleteFile', 'Delete a file that was uploaded.', 'DeletedFile', FILE_PATH),
  },
  batch_redeliver: {
    method: 'post',
    path: '/batches/{id}/redeliver',
    operation: manages(
      'redeliverWebhook',
      'Send the webhook of a batch to its `callback_url` again.',
      'Batch',
      BATCH_PATH,
    ),
  },
  models: {
    method: 'get',
    path: '/models',
    operation: reads(
      'listModels',
      'List models; with the header `anthropic-version`, in the API format of Anthropic’s Models API.',
      'ModelList',
      [...MODELS_QUERY, ANTHROPIC_VERSION],
    ),
  },
  models_count: {
    method: 'get',
    path: '/models/count',
    operation: reads('countModels', 'Count models.', 'ModelCount', COUNT_QUERY),
  },
  model: {
    method: 'get',
    path: '/models/{author}/{slug}',
    operation: reads('retrieveModel', 'Get a model.', 'OneModel', [...MODEL_PATH, ANTHROPIC_VERSION]),
  },
  endpoints: {
    method: 'get',
    path: '/models/{author}/{slug}/endpoints',
    operation: reads('listEndpoints', 'List the endpoints of a model.', 'EndpointList', MODEL_PATH),
  },
  endpoints_private: {
    method: 'get',
    path: '/endpoints/zdr',
    operation: reads('listPrivateEndpoints', 'List endpoints that keep nothing of a request.', 'PrivateEndpointList'),
  },
  providers: {
    method: 'get',
    path: '/providers',
    operation: reads('listProviders', 'List providers.', 'ProviderList'),
  },
  openapi: {
    method: 'get',
    path: '/openapi.json',
    operation: {
      operationId: 'getOpenApi',
      summary: 'This document.',
      ...PUBLIC,
      responses: {
        200: describedResponse('This document.', { type: 'object' }),
        ...errors(COMMON_ERRORS, 'Error'),
      },
    },
  },
};

/** Everything that the router answers. */
export const DOCUMENTED: readonly DocumentedOperation[] = [
  OPERATIONS.chat,
  ...Object.values(API_FORMAT_OPERATIONS),
  ...Object.values(OPERATIONS).filter((one) => one !== OPERATIONS.chat),
  {
    method: 'get',
    path: '/models/user',
    operation: reads('listModelsToo', 'List models; another spelling of the path.', 'ModelList', [
      ...MODELS_QUERY,
      ANTHROPIC_VERSION,
    ]),
  },
  {
    method: 'get',
    path: '/model/{author}/{slug}',
    operation: reads('retrieveModelToo', 'Get a model; another spelling of the path.', 'OneModel', [
      ...MODEL_PATH,
      ANTHROPIC_VERSION,
    ]),
  },
];
