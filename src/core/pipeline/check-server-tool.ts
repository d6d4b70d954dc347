import { echo } from '../../protocol/echo.ts';
import { type Checked, type RequestFault, failed, faultAt, passed } from '../../protocol/fault.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { nearName } from '../../protocol/near-name.ts';
import { REFUSED_SERVER_TOOLS, type ServerTool } from '../../protocol/tools.ts';
import { normalizeServerTool } from '../normalize/server-tools.ts';
import { checkOptions, pathBelow } from './check-options.ts';
import { foreign } from './foreign.ts';
import type { PluginRegistry } from './registry.ts';
import type { ServerToolDefinition } from './server-tool.ts';

/** A server tool of a request whose options are right. */
export interface CheckedTool {
  readonly definition: ServerToolDefinition;
  readonly options: unknown;
}

/**
 * Finds a server tool and checks its options, and those of the tools that it will offer to other models. A tool that
 * this operation refuses, or that nobody registered, is a 400.
 *
 * @param path - Where the tool stands in the body.
 */
export function checkServerTool(tool: ServerTool, path: string, registry: PluginRegistry): Checked<CheckedTool> {
  const { type, parameters } = tool;
  const definition = registry.serverTools.get(type);
  if (definition === undefined || REFUSED_SERVER_TOOLS.includes(type)) return failed(unknownTool(type, path, registry));
  const owner = `server tool "${type}"`;
  const checked = foreign(owner, () => checkOptions(definition.parseOptions, { ...parameters } as JsonObject));
  if (!checked.ok) return failed(faultAt(pathBelow(`${path}.parameters`, checked.path), checked.problem));
  const { options } = checked;
  const inner = foreign(owner, () => definition.innerTools?.(options)) ?? [];
  for (const [index, one] of inner.entries()) {
    const found = checkServerTool(normalizeServerTool(one), `${path}.parameters.tools[${index}]`, registry);
    if (!found.ok) return found;
  }
  return passed({ definition, options });
}

function unknownTool(type: string, path: string, { serverTools }: PluginRegistry): RequestFault {
  if (REFUSED_SERVER_TOOLS.includes(type)) {
    return faultAt(`${path}.type`, `must not be ${echo(type)}: that tool does not exist for chat completions`);
  }
  const known = [...serverTools.keys()];
  const near = nearName(type, known);
  const names = known.length === 0 ? 'this router has none' : `this router has ${known.join(', ')}`;
  const problem =
    `must be "function" or a server tool, not ${echo(type)}${near === undefined ? '' : ` (did you mean "${near}"?)`}; ` +
    `${names}. A program registers more with createRouter({ serverTools: [...] })`;
  return faultAt(`${path}.type`, problem);
}
