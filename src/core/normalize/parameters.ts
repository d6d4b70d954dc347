import type { ChatRequest } from '../../protocol/chat-request.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { RequestParameters } from './normalized-request.ts';

/** Parameters that are copied as they are when they are set. */
const COPIED = new Set([
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'top_a',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'seed',
  'prediction',
  'parallel_tool_calls',
  'web_search_options',
  'verbosity',
]);

/** Fields that this contract knows; all others pass through to the provider. */
const KNOWN = new Set<string>([
  ...COPIED,
  'messages',
  'model',
  'models',
  'stream',
  'stream_options',
  'max_completion_tokens',
  'max_tokens',
  'stop',
  'user',
  'session_id',
  'metadata',
  'modalities',
  'audio',
  'tools',
  'tool_choice',
  'max_tool_calls',
  'response_format',
  'reasoning',
  'reasoning_effort',
  'include_reasoning',
  'service_tier',
  'cache_control',
  'prompt_cache_key',
  'prompt_cache_options',
  'image_config',
  'debug',
  'provider',
  'plugins',
  'preset',
  'route',
  'stop_server_tools_when',
  'trace',
  'transforms',
  // Accepted from older clients and without effect: one choice is made, usage is always sent.
  'n',
  'usage',
  'structured_outputs',
  'prompt',
]);

/** Collects the parameters that were set. What was left out stays out: no default is ever put in its place. */
export function collectParameters(request: ChatRequest): RequestParameters {
  const parameters: Record<string, unknown> = {};
  for (const name in request) {
    if (!COPIED.has(name)) continue;
    const value = request[name as keyof ChatRequest];
    if (value != null) parameters[name] = value;
  }
  const limit = request.max_completion_tokens ?? request.max_tokens;
  if (limit != null) parameters['max_completion_tokens'] = limit;
  if (request.stop != null && request.stop.length > 0) {
    parameters['stop'] = typeof request.stop === 'string' ? [request.stop] : request.stop;
  }
  return parameters;
}

/** Collects the fields that only some provider understands. */
export function collectExtra(request: ChatRequest): JsonObject {
  let extra: Record<string, unknown> | undefined;
  for (const key in request) {
    if (KNOWN.has(key)) continue;
    extra ??= Object.create(null) as Record<string, unknown>;
    extra[key] = (request as unknown as Record<string, unknown>)[key];
  }
  return (extra ?? NONE) as JsonObject;
}

const NONE: JsonObject = Object.freeze({});
