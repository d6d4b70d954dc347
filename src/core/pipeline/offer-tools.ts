import { echo } from '../../protocol/echo.ts';
import { type Checked, type RequestFault, failed, faultAt, passed } from '../../protocol/fault.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { nearName } from '../../protocol/near-name.ts';
import { type FunctionTool, REFUSED_SERVER_TOOLS, type ToolChoice } from '../../protocol/tools.ts';
import { deriveNeeds } from '../normalize/needs.ts';
import type { NormalizedRequest } from '../normalize/normalized-request.ts';
import { checkOptions, pathBelow } from './check-options.ts';
import { foreign } from './foreign.ts';
import type { PluginRegistry } from './registry.ts';
import { replayServerToolCalls } from './replay.ts';
import type { ServerToolDefinition } from './server-tool.ts';
import { functionNameFor } from './tool-names.ts';
import { withoutNative } from './without-native.ts';

/** A server tool as this request offers it. */
export interface OfferedTool {
  readonly definition: ServerToolDefinition;
  readonly options: unknown;
  /** Name of the function that the model sees. */
  readonly name: string;
  /** Calls that this request may make; Infinity without a limit. */
  readonly maxUses: number;
}

/** A request with its server tools as functions, as it goes to providers. */
export interface ToolOffer {
  readonly request: NormalizedRequest;
  /** By function name. */
  readonly tools: ReadonlyMap<string, OfferedTool>;
  /** Types of the tools whose work the provider does by itself. */
  readonly native: readonly string[];
}

/** Where a server tool stands in the body: by its type and how many of that type stand before it. */
export type PathOfTool = (type: string, occurrence: number) => string;

/**
 * Turns the server tools of a request into functions for the model (gaps 2.1), and brings calls of earlier turns back
 * into the conversation. A tool that this operation refuses, or that nobody registered, is a 400.
 */
export function offerTools(
  request: NormalizedRequest,
  registry: PluginRegistry,
  pathOf: PathOfTool,
): Checked<ToolOffer> {
  const tools = new Map<string, OfferedTool>();
  const functions: FunctionTool[] = [...request.tools];
  const taken = new Set(functions.map((tool) => tool.function.name));
  const seen = new Map<string, number>();
  const native: string[] = [];
  let { parameters: wanted } = request;
  for (const { type, parameters } of request.serverTools) {
    const occurrence = seen.get(type) ?? 0;
    seen.set(type, occurrence + 1);
    const path = pathOf(type, occurrence);
    const definition = registry.serverTools.get(type);
    if (definition === undefined || REFUSED_SERVER_TOOLS.includes(type))
      return failed(unknownTool(type, path, registry));
    if (occurrence > 0 && definition.repeatable !== true) {
      return failed(faultAt(`${path}.type`, `must not repeat ${echo(type)}`));
    }
    const owner = `server tool "${type}"`;
    const checked = foreign(owner, () => checkOptions(definition.parseOptions, { ...parameters } as JsonObject));
    if (!checked.ok) return failed(faultAt(pathBelow(`${path}.parameters`, checked.path), checked.problem));
    const { options } = checked;
    const own = foreign(owner, () => definition.native?.(options, request));
    if (own !== undefined) {
      native.push(type);
      wanted = { ...wanted, ...own };
      continue;
    }
    const name = functionNameFor(foreign(owner, () => definition.nameOf?.(options)) ?? type, taken);
    taken.add(name);
    const maxUses = foreign(owner, () => definition.maxUses?.(options)) ?? Infinity;
    tools.set(name, { definition, options, name, maxUses });
    const described = foreign(owner, () => definition.describe(options, request));
    functions.push({ type: 'function', function: { name, ...described } });
  }
  const choice = choiceFor(request.toolChoice, tools, native);
  if (!choice.ok) return choice;
  const offered = {
    ...(tools.size + native.length === 0 ? request : withoutNative(request, 'server tools')),
    tools: functions,
    parameters: wanted,
    serverTools: [],
    toolChoice: choice.value,
    messages: replayServerToolCalls(request.messages, new Set(tools.keys())),
  };
  return passed({ request: { ...offered, needs: deriveNeeds(offered) }, tools, native });
}

/** A server tool is forced by naming its type; the model is told the name of its function (gaps 2.3). */
function choiceFor(
  choice: ToolChoice | undefined,
  tools: ReadonlyMap<string, OfferedTool>,
  native: readonly string[],
): Checked<ToolChoice | undefined> {
  if (typeof choice !== 'object' || choice.type === 'function') return passed(choice);
  // What a provider does by itself cannot be forced from outside.
  if (native.includes(choice.type)) return passed(undefined);
  const forced = [...tools.values()].find((tool) => tool.definition.type === choice.type);
  if (forced === undefined) {
    return failed(faultAt('tool_choice.type', `must be the type of a tool in tools, not ${echo(choice.type)}`, 422));
  }
  return passed({ type: 'function', function: { name: forced.name } });
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
