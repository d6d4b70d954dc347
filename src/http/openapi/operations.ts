import { BATCH_STATUSES } from '../../protocol/batch.ts';
import { MAX_SESSION_ID_LENGTH } from '../../protocol/limits.ts';
import { MODEL_FILTERS, MODEL_ORDERS } from '../list-models.ts';
import type { DialectName } from '../../protocol/dialect.ts';
import { type ComponentName, reference } from '../../protocol/openapi/component-schemas.ts';
import type { Operation } from '../routes.ts';
import { LEDGER_OPERATIONS } from './ledger.ts';
import {
  BODY_ERRORS,
  COMMON_ERRORS,
  described,
  errors,
  type ErrorStatus,
  success,
  UPSTREAM_ERRORS,
} from './responses.ts';

/** A part of a request besides its body. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description: string;
  readonly required?: boolean;
  readonly schema: object;
}

const TEXT = { type: 'string' } as const;
const COUNT = { type: 'integer', minimum: 0 } as const;

/** Headers of every operation that asks models. Those with `Router` in their name have a second spelling. */
const CALL_HEADERS: readonly Parameter[] = [
  {
    name: 'X-Router-Metadata',
    in: 'header',
    description:
      '`enabled` adds `router_metadata` to the answer. `X-Router-Experimental-Metadata` is an older name of it; ' +
      '`X-OpenRouter-Metadata` asks for `openrouter_metadata`.',
    schema: TEXT,
  },
  {
    name: 'X-Session-Id',
    in: 'header',
    description: 'Session of the request, when its body names none. Requests of a session stick to a provider.',
    schema: { ...TEXT, maxLength: MAX_SESSION_ID_LENGTH },
  },
  {
    name: 'Traceparent',
    in: 'header',
    description: 'Trace that the request belongs to (W3C Trace Context), for routers that are observed.',
    schema: TEXT,
  },
  {
    name: 'Tracestate',
    in: 'header',
    description: 'What tracing systems add to `Traceparent`.',
    schema: TEXT,
  },
];

/** Headers of operations that make text. */
const TEXT_HEADERS: readonly Parameter[] = [
  ...CALL_HEADERS,
  {
    name: 'X-Router-Cache',
    in: 'header',
    description:
      '`true`: the answer may come from the response cache and is kept there; `false`: neither. Default: as the preset ' +
      'or the router says. `X-OpenRouter-…` is understood too, here and in the two below.',
    schema: { enum: ['true', 'false'] },
  },
  {
    name: 'X-Router-Cache-TTL',
    in: 'header',
    description: 'Seconds that the answer is kept.',
    schema: { type: 'integer' },
  },
  {
    name: 'X-Router-Cache-Clear',
    in: 'header',
    description: '`true`: what is kept for this request is forgotten, and the answer made anew.',
    schema: { enum: ['true', 'false'] },
  },
  {
    name: 'X-Anthropic-Beta',
    in: 'header',
    description: 'Beta features of Anthropic, separated by commas, for endpoints there.',
    schema: TEXT,
  },
];

/** Headers of `POST /messages`. */
const MESSAGES_HEADERS: readonly Parameter[] = [
  ...TEXT_HEADERS,
  {
    name: 'Anthropic-Beta',
    in: 'header',
    description: 'The same as `X-Anthropic-Beta`, which wins.',
    schema: TEXT,
  },
];

/** Headers of `POST /messages/count_tokens`. */
const COUNTING_HEADERS = MESSAGES_HEADERS.filter(({ name }) => /beta$|session/i.test(name));

/** Headers of `POST /batches`. */
const CREATE_BATCH_HEADERS: readonly Parameter[] = [
  {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'The same key with the same body gives the same batch.',
    schema: TEXT,
  },
];

/** A model in a path. */
const MODEL_PATH: readonly Parameter[] = [
  { name: 'author', in: 'path', required: true, description: 'Author of the model.', schema: TEXT },
  { name: 'slug', in: 'path', required: true, description: 'Name of the model below its author.', schema: TEXT },
];

/** A batch in a path. */
const BATCH_PATH: readonly Parameter[] = [
  { name: 'id', in: 'path', required: true, description: 'Id of the batch.', schema: { ...TEXT, pattern: '^batch_' } },
];

const filters: readonly Parameter[] = MODEL_FILTERS.map((name) => ({
  name,
  in: 'query',
  description: 'Leaves out models that do not fit. Lists are separated by commas.',
  schema: TEXT,
}));

/** Query of `GET /models/count`. */
const COUNT_QUERY = filters;

/** Header of the lists of models. */
const ANTHROPIC_VERSION: Parameter = {
  name: 'Anthropic-Version',
  in: 'header',
  description:
    'Any version: the answer has the shape of Anthropic’s Models API, with its `limit`, `after_id` and `before_id`.',
  schema: TEXT,
};

/** Query of `GET /models`. */
const MODELS_QUERY: readonly Parameter[] = [
  ...filters,
  { name: 'sort', in: 'query', description: 'Order of the list.', schema: { enum: MODEL_ORDERS } },
  { name: 'offset', in: 'query', description: 'Models to pass over.', schema: COUNT },
  { name: 'limit', in: 'query', description: 'Models on a page.', schema: COUNT },
];

/** Query of `GET /batches`. */
const BATCHES_QUERY: readonly Parameter[] = [
  { name: 'limit', in: 'query', description: 'Batches on a page.', schema: COUNT },
  { name: 'after', in: 'query', description: '`last_id` of the page before.', schema: TEXT },
  {
    name: 'status',
    in: 'query',
    description: 'Only these; may be given several times.',
    schema: { type: 'array', items: { enum: BATCH_STATUSES } },
  },
  { name: 'created_after', in: 'query', description: 'Unix seconds.', schema: COUNT },
  { name: 'created_before', in: 'query', description: 'Unix seconds.', schema: COUNT },
];

/** One operation of the document, and where it stands. */
export interface DocumentedOperation {
  readonly method: 'get' | 'post' | 'delete';
  readonly path: string;
  readonly operation: object;
}

const MODEL_ERRORS = [...COMMON_ERRORS, ...BODY_ERRORS, ...UPSTREAM_ERRORS];
const BATCH_ERRORS = [...COMMON_ERRORS, 401, 403, 409, 429] as const;

/** Says that an operation may be called without credentials. */
const PUBLIC = { security: [] };

function body(schema: ComponentName): object {
  return { requestBody: { required: true, content: { 'application/json': { schema: reference(schema) } } } };
}

/** What differs between operations that ask models. */
interface Asking {
  readonly error?: 'Error' | 'MessagesError' | 'ResponsesError';
  readonly parameters?: readonly object[];
}

function asks(
  operationId: string,
  summary: string,
  request: ComponentName,
  answer: { readonly schema: ComponentName; readonly events?: ComponentName },
  { error = 'Error', parameters = TEXT_HEADERS }: Asking = {},
): object {
  const { schema, ...streamed } = answer;
  return {
    operationId,
    summary,
    parameters,
    ...body(request),
    responses: {
      200: success('The answer.', schema, { ...streamed, generated: true }),
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

function manages(
  operationId: string,
  summary: string,
  schema: ComponentName,
  parameters: readonly object[],
  statuses: readonly ErrorStatus[] = BATCH_ERRORS,
): object {
  const responses = { 200: success('The batch, or the batches.', schema), ...errors(statuses, 'Error') };
  return { operationId, summary, parameters, responses };
}

/** Chat, and the shapes besides it in which callers may ask. */
const DIALECT_OPERATIONS: Readonly<Record<DialectName, DocumentedOperation>> = {
  messages: {
    method: 'post',
    path: '/messages',
    operation: asks(
      'createMessage',
      'Ask a model in the shape of Anthropic’s Messages.',
      'MessagesRequest',
      { schema: 'MessagesResult', events: 'MessagesEvent' },
      { error: 'MessagesError', parameters: MESSAGES_HEADERS },
    ),
  },
  responses: {
    method: 'post',
    path: '/responses',
    operation: asks(
      'createResponse',
      'Ask a model in the shape of OpenAI’s Responses. Nothing is stored.',
      'ResponsesRequest',
      { schema: 'ResponsesResult', events: 'ResponsesEvent' },
      { error: 'ResponsesError' },
    ),
  },
};

/** Every operation of {@link Operation}: one that is missing does not compile. */
const OPERATIONS: Readonly<Record<Operation['name'], DocumentedOperation>> = {
  chat: {
    method: 'post',
    path: '/chat/completions',
    operation: asks('createChatCompletion', 'Ask a model.', 'ChatRequest', {
      schema: 'ChatResult',
      events: 'ChatChunk',
    }),
  },
  embeddings: {
    method: 'post',
    path: '/embeddings',
    operation: asks(
      'createEmbeddings',
      'Turn texts into vectors.',
      'EmbeddingRequest',
      { schema: 'EmbeddingResult' },
      { parameters: CALL_HEADERS },
    ),
  },
  count_tokens: {
    method: 'post',
    path: '/messages/count_tokens',
    operation: {
      operationId: 'countTokens',
      summary: 'Count the tokens of a prompt in the shape of Anthropic’s Messages. Costs nothing.',
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
      summary: 'Ask many things at once. All other fields come before `requests`.',
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
    operation: manages('retrieveBatch', 'Get a batch, with its results when it is completed.', 'Batch', BATCH_PATH),
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
  ...LEDGER_OPERATIONS,
  models: {
    method: 'get',
    path: '/models',
    operation: reads(
      'listModels',
      'List models; with the header `anthropic-version`, in the shape of Anthropic’s Models API.',
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
    operation: reads('listEndpoints', 'List who serves a model.', 'EndpointList', MODEL_PATH),
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
        200: described('This document.', { type: 'object' }),
        ...errors(COMMON_ERRORS, 'Error'),
      },
    },
  },
};

/** Everything that the router answers. */
export const DOCUMENTED: readonly DocumentedOperation[] = [
  OPERATIONS.chat,
  ...Object.values(DIALECT_OPERATIONS),
  ...Object.values(OPERATIONS).filter((one) => one !== OPERATIONS.chat),
  {
    method: 'get',
    path: '/model/{author}/{slug}',
    operation: reads('retrieveModelToo', 'Get a model; another spelling of the path.', 'OneModel', [
      ...MODEL_PATH,
      ANTHROPIC_VERSION,
    ]),
  },
];
