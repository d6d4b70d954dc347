import type { Endpoint } from '../../catalog/endpoint.ts';
import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { JsonValue } from '../../protocol/json.ts';
import type { Dialect } from '../openai-compatible/dialect.ts';
import { encodeRequest } from '../openai-compatible/encode-request.ts';

/** A server that understands everything. */
const DIALECT: Dialect = {
  maxTokensField: 'max_completion_tokens',
  developerRole: true,
  reasoning: 'reasoning',
  reasoningHistory: 'reasoning_details',
  cacheMarks: 'cache_control',
  promptCacheFields: true,
  serviceTiers: ['default', 'flex', 'priority', 'scale'],
};

/** The body that a real provider of the chat completions wire would have got. */
export function upstreamBody(request: NormalizedRequest, endpoint: Endpoint): JsonValue {
  return JSON.parse(JSON.stringify(encodeRequest(request, endpoint, DIALECT))) as JsonValue;
}
