import { type ChatRequest, chatRequestSchema } from './chat-request.ts';
import { type Checked, type RequestFault, failed, faultAt, passed } from './fault.ts';
import { inspectJson } from './inspect-json.ts';
import { describeIssues, suggest } from './issues.ts';
import { isJsonObject } from './json.ts';
import { DEFAULT_REQUEST_LIMITS, type RequestLimits } from './limits.ts';
import type { Message } from './message.ts';
import { providerPreferencesSchema } from './provider-preferences.ts';
import { type Tool, isFunctionTool } from './tools.ts';

/**
 * Checks the body of `POST /chat/completions` (contract: chat request, limits).
 * What is wrong comes back as data: 400 for syntax, shape and range, 422 for a body that contradicts itself.
 */
export function parseChatRequest(body: unknown, limits: RequestLimits = DEFAULT_REQUEST_LIMITS): Checked<ChatRequest> {
  if (!isJsonObject(body)) return failed(faultAt('', 'must be a JSON object with a "messages" array'));
  const inspection = inspectJson(body, limits);
  if (!inspection.ok) return failed(faultAt(inspection.path, inspection.problem));
  const parsed = chatRequestSchema.safeParse(body);
  if (!parsed.success) {
    const { path, problem } = describeIssues(parsed.error.issues, body);
    return failed(faultAt(path, withSuggestion(path, problem, body.provider)));
  }
  const request = parsed.data as ChatRequest;
  const fault = checkSizes(request, limits) ?? checkConsistency(request);
  return fault === undefined ? passed(request) : failed(fault);
}

function withSuggestion(path: string, problem: string, provider: unknown): string {
  if (path !== 'provider' || !isJsonObject(provider)) return problem;
  const accepted = Object.keys(providerPreferencesSchema.shape);
  const unknown = Object.keys(provider).find((key) => !accepted.includes(key));
  return unknown === undefined ? problem : suggest(problem, unknown, accepted);
}

function checkSizes(request: ChatRequest, limits: RequestLimits): RequestFault | undefined {
  if (request.messages.length > limits.messages) {
    return faultAt('messages', `must have at most ${limits.messages} items, not ${request.messages.length}`);
  }
  if (!request.tools) return undefined;
  if (request.tools.length > limits.tools) {
    return faultAt('tools', `must have at most ${limits.tools} items, not ${request.tools.length}`);
  }
  const schemaLength = request.tools.reduce((total, tool) => total + schemaLengthOf(tool), 0);
  return schemaLength > limits.toolSchemaLength
    ? faultAt('tools', `must not hold schemas of more than ${limits.toolSchemaLength} characters in total`)
    : undefined;
}

function schemaLengthOf(tool: Tool): number {
  return isFunctionTool(tool) && tool.function.parameters ? JSON.stringify(tool.function.parameters).length : 0;
}

/** Finds statements of the body that cannot all be true. */
function checkConsistency(request: ChatRequest): RequestFault | undefined {
  return (
    checkToolResults(request.messages) ??
    checkConfigurationUpdates(request.messages) ??
    checkReasoning(request) ??
    checkToolChoice(request) ??
    checkLogprobs(request)
  );
}

function checkToolResults(messages: readonly Message[]): RequestFault | undefined {
  const calls = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === 'assistant') for (const call of message.tool_calls ?? []) calls.add(call.id);
    if (message.role === 'tool' && !calls.has(message.tool_call_id)) {
      const problem = 'answers a tool call that no earlier assistant message made';
      return faultAt(`messages[${index}].tool_call_id`, problem, 422);
    }
  }
  return undefined;
}

function checkConfigurationUpdates(messages: readonly Message[]): RequestFault | undefined {
  const index = messages.findIndex((message, at) => hasUpdate(message) && hasUpdate(messages[at + 1]));
  if (index < 0) return undefined;
  return faultAt(`messages[${index + 1}].configuration_update`, 'must not follow another one directly', 422);
}

function hasUpdate(message: Message | undefined): boolean {
  if (message?.role !== 'system' && message?.role !== 'developer') return false;
  return message.configuration_update != null;
}

function checkReasoning({ reasoning, reasoning_effort: short }: ChatRequest): RequestFault | undefined {
  if (short != null && reasoning?.effort != null && short !== reasoning.effort) {
    return faultAt('reasoning_effort', `must not differ from reasoning.effort ("${short}" and "${reasoning.effort}")`);
  }
  if (reasoning?.max_tokens != null && (reasoning.effort ?? short) != null) {
    return faultAt('reasoning', 'must have either an effort or max_tokens, not both');
  }
  return undefined;
}

function checkToolChoice({ tools, tool_choice: choice }: ChatRequest): RequestFault | undefined {
  if (choice == null || choice === 'none' || choice === 'auto') return undefined;
  if (!tools?.length) return faultAt('tool_choice', 'asks for a tool call, but the request has no tools', 422);
  if (typeof choice === 'string' || choice.type !== 'function' || !('function' in choice)) return undefined;
  const wanted = choice.function.name;
  const known = tools.some((tool) => isFunctionTool(tool) && tool.function.name === wanted);
  if (known) return undefined;
  return faultAt('tool_choice.function.name', `must be the name of a function in tools, not "${wanted}"`, 422);
}

function checkLogprobs({ logprobs, top_logprobs: top }: ChatRequest): RequestFault | undefined {
  return top != null && top > 0 && logprobs !== true ? faultAt('top_logprobs', 'needs logprobs: true', 422) : undefined;
}
