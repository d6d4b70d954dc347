/** Tools that the router runs, as the AI SDK has them: tools of a provider, under names that the program gives them. */
import type { ServerToolDefinition } from '../../contracts/server-tool.ts';
import { functionNameFor } from '../../core/pipeline/replay.ts';
import type { ServerTool } from '../../protocol/tools.ts';
import type { ToolOption } from './spec.ts';

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
