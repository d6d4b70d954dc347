import { echo } from '../echo.ts';
import { type RequestFault, faultAt } from '../fault.ts';
import type { InputItem } from './input-item.ts';
import type { ResponsesRequest } from './responses-request.ts';
import type { ToolChoiceEntry, ToolEntry } from './tool.ts';

/** Finds statements of a body that cannot all be true. */
export function checkItems({ input, tools, tool_choice: choice }: ResponsesRequest): RequestFault | undefined {
  const fault = typeof input === 'string' ? undefined : checkResults(input);
  return fault ?? checkChoice(choice ?? undefined, tools ?? []);
}

/** The results of a call must follow the call itself: providers refuse them otherwise. */
function checkResults(items: readonly InputItem[]): RequestFault | undefined {
  const calls = new Set<string>();
  for (const [index, item] of items.entries()) {
    if (item.type === 'function_call' || item.type === 'custom_tool_call') calls.add(item.call_id);
    const isResult = item.type === 'function_call_output' || item.type === 'custom_tool_call_output';
    if (isResult && !calls.has(item.call_id)) {
      return faultAt(`input[${index}].call_id`, 'answers a call that no earlier item of input made', 422);
    }
  }
  return undefined;
}

function checkChoice(choice: ToolChoiceEntry | undefined, tools: readonly ToolEntry[]): RequestFault | undefined {
  if (choice === undefined || choice === 'none' || choice === 'auto') return undefined;
  if (tools.length === 0) return faultAt('tool_choice', 'asks for a tool call, but the request has no tools', 422);
  if (typeof choice === 'string') return undefined;
  if ('mode' in choice) {
    const index = choice.tools.findIndex((wanted) => !tools.some((tool) => matches(tool, wanted)));
    return index < 0 ? undefined : unknownTool(`tool_choice.tools[${index}]`, choice.tools[index] ?? { type: '' });
  }
  return 'name' in choice && !tools.some((tool) => matches(tool, choice))
    ? unknownTool('tool_choice', choice)
    : undefined;
}

function matches(tool: ToolEntry, wanted: { readonly type: string; readonly name?: string | undefined }): boolean {
  if (wanted.type !== 'function' && wanted.type !== 'custom') return true;
  return tool.type === wanted.type && tool['name' as keyof ToolEntry] === wanted.name;
}

function unknownTool(
  path: string,
  { type, name = '' }: { readonly type: string; readonly name?: string | undefined },
): RequestFault {
  return faultAt(`${path}.name`, `must be the name of a ${type} tool in tools, not ${echo(name)}`, 422);
}
