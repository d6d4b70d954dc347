/** Decides which requests a batch may hold, and which errors their outcomes have. */
import type { BatchEndpoint, BatchItemError } from '../../protocol/batch.ts';
import { faultAt, type RequestFault } from '../../protocol/fault.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import type { ErrorType } from '../../protocol/error.ts';
import { canonical } from '../../platform/json.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { ActivePlugin } from '../pipeline/choose-plugins.ts';

/** Tools that a provider runs itself where the body is one of Anthropic's. Its other typed tools are run by callers. */
const HOSTED_TOOLS = /^(?:(?:open)?router:|web_search|web_fetch|code_execution|tool_search|mcp)/;

/**
 * What requests in a batch may not have, although the operation itself takes it: streams, other output than text,
 * and tools that the service runs (gaps 8.4). The rest is checked by the operation's own rules, and by {@link
 * checkParticipants}.
 */
export function checkItemRules(endpoint: BatchEndpoint, body: JsonObject): RequestFault | undefined {
  if (body['stream'] === true) {
    return faultAt('stream', 'must be false or left out: the answers of a batch are fetched when it is completed');
  }
  if (endpoint === '/v1/embeddings') return checkEmbedding(body);
  return checkOutput(body) ?? checkTools(endpoint, body['tools']);
}

/**
 * Refuses tools that the service runs and that a request has without naming them: by a plugin, a preset, or the model of
 * the batch. Defaults of the account and the router are left to whoever has set them.
 *
 * @param pathOf - Where in the request a plugin was requested.
 */
export function checkParticipants(
  plugins: readonly ActivePlugin[],
  { serverTools }: NormalizedRequest,
  pathOf: (id: string) => string,
): RequestFault | undefined {
  const found = plugins.find(
    ({ plugin, because }) => plugin.usesServerTools === true && (because === 'request' || because === 'model'),
  );
  if (found !== undefined) return faultAt(found.because === 'model' ? 'model' : pathOf(found.plugin.id), TOOLS_OF_OURS);
  return serverTools.length > 0 ? faultAt('tools', TOOLS_OF_OURS) : undefined;
}

const TOOLS_OF_OURS = 'uses tools that the service runs, which batches do not have';

/**
 * All requests of a batch have one model, so that none may fall back to another (gaps 8.2): a list of models that says
 * the same is taken, and one that says something else is refused.
 *
 * @param names - Ways to name the batch's model.
 */
export function checkOtherModels(body: JsonObject, names: readonly string[]): RequestFault | undefined {
  for (const field of ['models', 'fallbacks']) {
    const list: unknown = body[field];
    if (!Array.isArray(list)) continue;
    const index = list.findIndex((one) => {
      const name: unknown = isJsonObject(one) ? one['model'] : one;
      return typeof name === 'string' && !names.includes(name);
    });
    if (index < 0) continue;
    const problem = `must not name another model than "${names[0]}": every request of a batch is answered by the model of the batch; leave it out, or create a batch of its own for the other model`;
    return faultAt(`${field}[${index}]`, problem);
  }
  return undefined;
}

/**
 * What all requests of a batch for Google's models have in common: no response format, any JSON, or the same schema
 * (gaps 8.4). Undefined for requests to other models.
 */
export function formatInCommon({
  targets,
  responseFormat,
}: Pick<NormalizedRequest, 'targets' | 'responseFormat'>): string | undefined {
  if (!targets.some(({ model }) => model.startsWith('google/'))) return undefined;
  return responseFormat === undefined || responseFormat.type === 'text'
    ? 'text'
    : canonical(responseFormat as unknown as JsonValue);
}

/** Batches embed text alone, and route as a whole (gaps 8.4). */
function checkEmbedding({ input, input_type: type, provider }: JsonObject): RequestFault | undefined {
  if (type != null) return faultAt('input_type', 'cannot be used in a batch of embeddings; leave it out');
  if (provider != null) return faultAt('provider', 'must be left out: the provider of a batch holds for all of it');
  const index = Array.isArray(input) ? (input as readonly JsonValue[]).findIndex(isJsonObject) : -1;
  return index < 0 ? undefined : faultAt(`input[${index}]`, 'must be text or tokens: batches embed no other content');
}

function checkOutput(body: JsonObject): RequestFault | undefined {
  const { modalities } = body;
  if (Array.isArray(modalities)) {
    const index = modalities.findIndex((one) => one !== 'text');
    if (index >= 0) return faultAt(`modalities[${index}]`, `must be "text": batches make text only`);
  }
  for (const name of ['audio', 'image_config']) {
    if (body[name] != null) return faultAt(name, 'cannot be used in a batch: batches make text only');
  }
  return undefined;
}

function checkTools(endpoint: BatchEndpoint, tools: JsonValue | undefined): RequestFault | undefined {
  if (!Array.isArray(tools)) return undefined;
  const index = (tools as readonly JsonValue[]).findIndex(
    (tool) => isJsonObject(tool) && isServerTool(endpoint, tool['type']),
  );
  return index < 0
    ? undefined
    : faultAt(
        `tools[${index}]`,
        'is a tool that the service runs, which batches do not have; send it as a request of its own',
      );
}

function isServerTool(endpoint: BatchEndpoint, type: JsonValue | undefined): boolean {
  if (type == null || type === 'function' || type === 'custom') return false;
  return endpoint !== '/v1/messages' || (typeof type === 'string' && HOSTED_TOOLS.test(type));
}

/** An error of a request, as far as a batch tells of it. */
interface ItemFailure {
  /** HTTP status that the request would have been answered with. */
  readonly status: number;
  readonly errorType: ErrorType;
  readonly message: string;
  /** Where in the body the mistake is. */
  readonly path?: string | undefined;
  /** The answer that did not fit its schema, and where. */
  readonly mismatch?: JsonValue | undefined;
}

/** Broad kinds of errors, by the names that clients of batches know. */
const KINDS: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  524: 'timeout_error',
  529: 'overloaded_error',
};

/** Statuses after which the same request may work later. Others are answers that stay as they are. */
const TRANSIENT: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 524, 529]);

/** What is in the result of a request that failed (contract: batch result item; gaps 8.5). */
export function itemError({ status, errorType, message, path, mismatch }: ItemFailure): BatchItemError {
  const type = KINDS[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error');
  const kept = mismatch === undefined ? {} : { metadata: { schema_mismatch: mismatch } };
  return { message, param: path === undefined || path === '' ? null : path, type, error_type: errorType, ...kept };
}

/** True when a request that failed like this is worth another try: its error says so, or else its status. */
export function isTransient(status: number, { retryable }: { readonly retryable: boolean | undefined }): boolean {
  return retryable ?? TRANSIENT.has(status);
}

/** The outcome of requests that did not run before the batch's time was over. */
export const EXPIRED_ITEM: BatchItemError = {
  message: 'The batch expired before this request was completed',
  param: null,
  type: null,
  error_type: 'batch_expired',
};

/** The outcome of requests that did not run before the batch was cancelled. */
export const CANCELLED_ITEM: BatchItemError = {
  message: 'The batch was cancelled before this request was completed',
  param: null,
  type: null,
  error_type: 'batch_cancelled',
};

/** The outcome of a request that brought down whoever ran it, time and again. */
export const POISONED_ITEM: BatchItemError = {
  message: 'This request was started several times and never came to an end',
  param: null,
  type: 'server_error',
  error_type: 'server',
};

/** The outcome of a request that a provider's own batch API took and never gave back. */
export const MISSING_ITEM: BatchItemError = {
  message: 'The provider ended its batch without an answer to this request',
  param: null,
  type: 'server_error',
  error_type: 'provider_unavailable',
};
