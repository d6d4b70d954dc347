import type { Endpoint } from '../../catalog/endpoint.ts';
import type { ParameterName } from '../../catalog/parameters.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import type { Dialect } from '../openai-compatible/dialect.ts';
import { type EncodedBody, encodeTier } from '../openai-compatible/encode-request.ts';
import { encodeItems } from './encode-items.ts';

/** Fields by the parameter that an endpoint must take for them. */
const PARAMETERS: ReadonlyMap<string, readonly ParameterName[]> = new Map<string, readonly ParameterName[]>([
  ['temperature', ['temperature']],
  ['top_p', ['top_p']],
  ['top_k', ['top_k']],
  ['frequency_penalty', ['frequency_penalty']],
  ['presence_penalty', ['presence_penalty']],
  ['top_logprobs', ['top_logprobs']],
  ['parallel_tool_calls', ['parallel_tool_calls']],
  ['max_output_tokens', ['max_tokens', 'max_completion_tokens']],
  ['reasoning', ['reasoning', 'reasoning_effort']],
]);

/** Fields of this API that only other routers know besides us. */
const EXTENSIONS: ReadonlySet<string> = new Set([
  'top_k',
  'min_p',
  'top_a',
  'repetition_penalty',
  'frequency_penalty',
  'presence_penalty',
  'modalities',
  'image_config',
  'cache_control',
]);

/**
 * Writes the caller's own body for an endpoint that speaks Responses. Nothing is stored there either, and the end user
 * is a stand-in; parameters that the endpoint does not take are left out as in the chat form.
 */
export function encodeResponses(request: NormalizedRequest, endpoint: Endpoint, dialect: Dialect): EncodedBody {
  const { native, stream, endUser } = request;
  if (native === undefined) throw new RangeError('only a native request is sent as it is');
  const { service_tier: _, stream_options: options, input, ...body } = native.body;
  const extended = dialect.responsesExtensions === true;
  const kept = Object.entries(body).filter(
    ([name]) => (extended || !EXTENSIONS.has(name)) && takes(name, endpoint, dialect),
  );
  return {
    ...Object.fromEntries(kept),
    model: endpoint.upstreamModel,
    input: Array.isArray(input) ? encodeItems(input, extended) : input,
    store: false,
    ...encodeTier(request, endpoint, dialect),
    ...(dialect.userField === 'none' ? {} : { [dialect.userField ?? 'user']: endUser }),
    ...(stream ? encodeStream(options, dialect) : { stream: false }),
  };
}

function takes(field: string, endpoint: Endpoint, dialect: Dialect): boolean {
  const names = PARAMETERS.get(field);
  return (
    names === undefined ||
    names.some((name) => dialect.unsupported?.includes(name) !== true && endpoint.parameters?.has(name) !== false)
  );
}

function encodeStream(options: JsonValue | undefined, { padsChunks }: Dialect): EncodedBody {
  const wanted: JsonObject = isJsonObject(options) ? options : {};
  const all = { ...(padsChunks === true ? { include_obfuscation: false } : {}), ...wanted };
  return { stream: true, ...(Object.keys(all).length === 0 ? {} : { stream_options: all }) };
}
