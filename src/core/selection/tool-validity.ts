import type { ResultToolCall } from '../../protocol/chat-result.ts';
import type { FunctionTool } from '../../protocol/tools.ts';

/**
 * Whether every tool call names a function of the request and has arguments that are a JSON object (gaps 2.1).
 * Undefined when there is nothing to judge.
 */
export function judgeToolCalls(
  calls: readonly ResultToolCall[] | undefined,
  tools: readonly FunctionTool[],
): 'valid' | 'invalid' | undefined {
  if (tools.length === 0 || calls === undefined || calls.length === 0) return undefined;
  return calls.every((call) => isValid(call, tools)) ? 'valid' : 'invalid';
}

function isValid({ function: { name, arguments: text } }: ResultToolCall, tools: readonly FunctionTool[]): boolean {
  const tool = tools.find((one) => one.function.name === name);
  if (tool === undefined) return false;
  const value = parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const required = tool.function.parameters?.['required'];
  return !Array.isArray(required) || required.every((key) => typeof key !== 'string' || Object.hasOwn(value, key));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
