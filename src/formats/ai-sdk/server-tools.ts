/** Tools that the router runs, as the AI SDK has them: tools of a provider, with calls and results that the provider made. */
import type { ServerToolDefinition } from '../../contracts/server-tool.ts';
import { functionNameFor } from '../../core/pipeline/replay.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../protocol/json.ts';
import type { ReasoningDetail } from '../../protocol/reasoning.ts';
import type { ServerTool } from '../../protocol/tools.ts';
import { type CallPart, carried, type ResultOfProvider, type ToolOption } from './spec.ts';

/** What a program calls the tools of its request that the router runs, by the names of their functions. */
export type ServerToolNames = ReadonlyMap<string, string>;

/** The tool of ours that has this id, such as `signalbox.web_search`. */
export function serverToolType(id: string): ServerTool['type'] | undefined {
  const [, name] = /^signalbox\.(\w+)$/.exec(id) ?? [];
  return name === undefined ? undefined : `router:${name}`;
}

/**
 * The names under which a program expects calls of its server tools. One that becomes several functions, as a server of
 * MCP does, has no name for each: its calls keep those of the functions.
 *
 * @param definitions - By type, as the router has registered them.
 */
export function serverToolNames(
  tools: readonly ToolOption[] = [],
  definitions: ReadonlyMap<string, Pick<ServerToolDefinition, 'nameOf' | 'expand'>>,
): ServerToolNames {
  const names = new Map<string, string>();
  const taken = new Set(tools.flatMap((tool) => (tool.type === 'function' ? [tool.name] : [])));
  for (const tool of tools) {
    const type = tool.type === 'function' ? undefined : serverToolType(tool.id);
    if (tool.type === 'function' || type === undefined) continue;
    const { nameOf, expand } = definitions.get(type) ?? {};
    if (expand !== undefined) continue;
    const name = functionNameFor(nameOf?.(tool.args) ?? type, taken);
    taken.add(name);
    names.set(name, tool.name);
  }
  return names;
}

/** A tool that the router or a provider of it ran, as a call and its result. Under a name of no tool, it is dynamic. */
export function serverToolParts(
  detail: ReasoningDetail,
  index: number,
  names: ServerToolNames,
): readonly (CallPart | ResultOfProvider)[] {
  if (detail.type !== 'reasoning.server_tool_call') return [];
  const { tool_name: requestedName, arguments: input, result: text, tool_call_id: id } = detail;
  const own = names.get(requestedName);
  const call = {
    toolCallId: id || `${requestedName}_${index}`,
    toolName: own ?? requestedName,
    providerExecuted: true,
    ...(own === undefined ? { dynamic: true } : {}),
  };
  const result = parsed(text);
  return [
    {
      type: 'tool-call',
      ...call,
      input: input === '' ? '{}' : input,
      ...carried({ reasoningDetails: [detail as unknown as JsonObject] }),
    },
    { type: 'tool-result', ...call, result, ...(isFailure(result) ? { isError: true } : {}) },
  ];
}

function parsed(text: string): JsonValue {
  try {
    return (JSON.parse(text) as JsonValue) ?? text;
  } catch {
    return text;
  }
}

/** What models read of a call that came to nothing. */
function isFailure(result: JsonValue): boolean {
  return isJsonObject(result) && result['status'] === 'error' && typeof result['error'] === 'string';
}
