import { acceptFields } from './accept-fields.ts';
import { type ChatRequest, chatRequestSchema } from './chat-request.ts';
import { checkConsistency } from './check-consistency.ts';
import { type Checked, type RequestFault, failed, faultAt, passed } from './fault.ts';
import { FIRST_PROBLEM } from './fields.ts';
import { inspectJson } from './inspect-json.ts';
import { describeIssues, nameOf } from './issues.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { DEFAULT_REQUEST_LIMITS, type RequestLimits } from './limits.ts';
import { type Tool, isFunctionTool } from './tools.ts';

/**
 * Checks the body of `POST /chat/completions` (contract: chat request, limits).
 * What is wrong comes back as data: 400 for syntax, shape and range, 422 for a body that contradicts itself.
 */
export function parseChatRequest(body: unknown, limits: RequestLimits = DEFAULT_REQUEST_LIMITS): Checked<ChatRequest> {
  if (!isJsonObject(body)) {
    return failed(faultAt('', `must be a JSON object with a "messages" array, not ${nameOf(body)}`));
  }
  const inspection = inspectJson(body, limits);
  if (!inspection.ok) return failed(faultAt(inspection.path, inspection.problem));
  const request = acceptFields(body) ?? explainFields(body);
  if ('message' in request) return failed(request);
  const fault = checkSizes(request, limits, inspection.characters) ?? checkConsistency(request);
  return fault === undefined ? passed(request) : failed(fault);
}

/** The request if the whole schema accepts it after all, or the problem that helps most. */
function explainFields(body: JsonObject): ChatRequest | RequestFault {
  const parsed = chatRequestSchema.safeParse(body, FIRST_PROBLEM);
  if (parsed.success) return parsed.data as ChatRequest;
  const { path, problem } = describeIssues(parsed.error.issues, body);
  return faultAt(path, problem);
}

function checkSizes(request: ChatRequest, limits: RequestLimits, characters: number): RequestFault | undefined {
  if (request.messages.length > limits.messages) {
    return faultAt('messages', `must have at most ${limits.messages} items, not ${request.messages.length}`);
  }
  if (!request.tools) return undefined;
  if (request.tools.length > limits.tools) {
    return faultAt('tools', `must have at most ${limits.tools} items, not ${request.tools.length}`);
  }
  // A body that is smaller than the limit as a whole need not be measured in parts.
  if (characters <= limits.toolSchemaLength) return undefined;
  const schemaLength = request.tools.reduce((total, tool) => total + lengthOf(schemaOf(tool)), 0);
  return schemaLength > limits.toolSchemaLength
    ? faultAt('tools', `must not hold schemas of more than ${limits.toolSchemaLength} characters in total`)
    : undefined;
}

function schemaOf(tool: Tool): unknown {
  return isFunctionTool(tool) ? tool.function.parameters : undefined;
}

/** Characters in all keys and strings of a value: what makes a schema large, without serialising it. */
function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let length = 0;
  for (const key in value) length += key.length + lengthOf((value as Readonly<Record<string, unknown>>)[key]);
  return length;
}
