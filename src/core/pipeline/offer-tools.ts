/** Offers the server tools of a request to the model as functions. */
import { type Checked, echo, failed, faultAt, passed, type RequestFault } from '../../protocol/fault.ts';
import { type FunctionTool, REFUSED_SERVER_TOOLS, type ServerTool, type ToolChoice } from '../../protocol/tools.ts';
import { deriveNeeds } from '../normalize/normalize.ts';
import type { NormalizedRequest } from '../../contracts/request.ts';
import { foreign } from './choose-plugins.ts';
import { pathOfServerTool } from './locate-tool.ts';
import type { PluginRegistry } from './registry.ts';
import { functionNameFor, replayServerToolCalls } from './replay.ts';
import type { ServerToolDefinition } from '../../contracts/server-tool.ts';
import { withoutNative } from './frozen.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { nearName } from '../../protocol/near-name.ts';
import { normalizeServerTool } from '../normalize/server-tools.ts';
import { checkPluginOptions, pathBelow } from './plugin-options.ts';

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
interface ToolOffer {
  readonly request: NormalizedRequest;
  /** By function name. */
  readonly tools: ReadonlyMap<string, OfferedTool>;
  /** Types of the tools whose work the provider does by itself. */
  readonly native: readonly string[];
}

/** Options of the functions that entries of `serverTools` have become, by the place of the entry. */
export type ExpandedTools = ReadonlyMap<number, readonly unknown[]>;

/**
 * Turns the server tools of a request into functions for the model (gaps 2.1), and brings calls of earlier turns back
 * into the conversation. A tool that this operation refuses, or that nobody registered, is a 400.
 *
 * @param body - As the caller sent it: faults name its paths.
 * @param expanded - Without it, an entry that becomes several functions stands for one that is not described.
 */
export function offerTools(
  request: NormalizedRequest,
  registry: PluginRegistry,
  body: unknown,
  expanded?: ExpandedTools,
): Checked<ToolOffer> {
  const tools = new Map<string, OfferedTool>();
  const functions: FunctionTool[] = [...request.tools];
  const taken = new Set(functions.map((tool) => tool.function.name));
  const seen = new Map<string, number>();
  const requestedOptions = new Set<string>();
  const native: string[] = [];
  let { parameters: wanted } = request;
  for (const [index, { type, parameters }] of request.serverTools.entries()) {
    const occurrence = seen.get(type) ?? 0;
    seen.set(type, occurrence + 1);
    const path = pathOfServerTool(body, type, occurrence);
    const checked = checkServerTool({ type, parameters }, path, registry);
    if (!checked.ok) return checked;
    const { definition, options } = checked.value;
    if (occurrence > 0 && definition.repeatable !== true) {
      return failed(faultAt(`${path}.type`, `must not repeat ${echo(type)}`));
    }
    const owner = `server tool "${type}"`;
    const own = foreign(owner, () => definition.native?.(options, request));
    if (own !== undefined) {
      native.push(type);
      wanted = { ...wanted, ...own };
      continue;
    }
    for (const one of expanded?.get(index) ?? [options]) {
      const requestedName = foreign(owner, () => definition.nameOf?.(one)) ?? type;
      if (requestedOptions.has(`${type} ${requestedName}`))
        return failed(sameName(path, type, requestedName, definition));
      requestedOptions.add(`${type} ${requestedName}`);
      const name = functionNameFor(requestedName, taken);
      taken.add(name);
      const maxUses = foreign(owner, () => definition.maxUses?.(one)) ?? Infinity;
      tools.set(name, { definition, options: one, name, maxUses });
      const isKnown = definition.expand === undefined || expanded !== undefined;
      const described = isKnown ? foreign(owner, () => definition.describe(one, request)) : undefined;
      functions.push({ type: 'function', function: { name, ...described } });
    }
  }
  const choice = choiceFor(request, tools, native);
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

/**
 * Whether providers run the tools of a request that are not its caller's: it is one of OpenAI's Responses, names them in
 * the words of that API, and everybody who may answer speaks it. As with a search everywhere, the provider's own comes
 * first where all have it (gaps 2.2).
 */
export function leavesToolsToProviders({ native, targets, toolChoice }: NormalizedRequest): boolean {
  const forced = typeof toolChoice === 'object' && toolChoice.type !== 'function';
  return (
    native?.apiFormat === 'responses' &&
    !forced &&
    targets.every(
      ({ endpoints }) => endpoints.length > 0 && endpoints.every(({ apiFormats }) => apiFormats.includes('responses')),
    )
  );
}

/** The request without the tools that its own body names, and that the chat form has no words for. */
export function withOwnTools(request: NormalizedRequest): NormalizedRequest {
  const { native } = request;
  const own = {
    ...request,
    serverTools: [],
    native: native && { ...native, requiredBy: native.requiredBy ?? 'tools' },
  };
  return { ...own, needs: deriveNeeds(own) };
}

/** A server tool is forced by naming its type; the model is told the name of its function (gaps 2.3). */
function choiceFor(
  { toolChoice: choice, tools: own }: NormalizedRequest,
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
  if (forced.definition.expand === undefined) return passed({ type: 'function', function: { name: forced.name } });
  // Several functions cannot be forced unless the model has no others.
  const isAlone = own.length === 0 && [...tools.values()].every(({ definition }) => definition === forced.definition);
  if (isAlone) return passed('required');
  const problem = `must not be ${echo(choice.type)}, which is several functions, while there are others; use "required"`;
  return failed(faultAt('tool_choice.type', problem, 422));
}

function sameName(path: string, type: string, name: string, definition: ServerToolDefinition): RequestFault {
  if (definition.expand !== undefined) return faultAt(`${path}.parameters`, `must not ask for ${echo(name)} again`);
  const others = name === type ? `at most one ${echo(type)} may be without a name` : 'another one has it already';
  const problem = `must be a name that no other ${echo(type)} of this request has; ${others}`;
  return faultAt(`${path}.parameters.name`, problem);
}

/** A server tool of a request whose options are right. */
interface CheckedTool {
  readonly definition: ServerToolDefinition;
  readonly options: unknown;
}

/** An entry of `serverTools` that becomes several functions. */
export interface ExpandableTool extends CheckedTool {
  /** Its place in `serverTools`. */
  readonly index: number;
}

/**
 * Entries that must be expanded before their functions can be offered.
 *
 * @param body - As the caller sent it: faults name its paths.
 */
export function expandableTools(
  { serverTools }: NormalizedRequest,
  registry: PluginRegistry,
  body: unknown,
): Checked<readonly ExpandableTool[]> {
  const found: ExpandableTool[] = [];
  for (const [index, tool] of serverTools.entries()) {
    if (registry.serverTools.get(tool.type)?.expand === undefined) continue;
    const occurrence = serverTools.slice(0, index).filter(({ type }) => type === tool.type).length;
    const checked = checkServerTool(tool, pathOfServerTool(body, tool.type, occurrence), registry);
    if (!checked.ok) return checked;
    found.push({ index, ...checked.value });
  }
  return passed(found);
}

/**
 * Finds a server tool and checks its options, and those of the tools that it will offer to other models. A tool that
 * this operation refuses, or that nobody registered, is a 400.
 *
 * @param path - Where the tool is in the body.
 */
function checkServerTool(tool: ServerTool, path: string, registry: PluginRegistry): Checked<CheckedTool> {
  const { type, parameters } = tool;
  const definition = registry.serverTools.get(type);
  if (definition === undefined || REFUSED_SERVER_TOOLS.includes(type)) return failed(unknownTool(type, path, registry));
  const owner = `server tool "${type}"`;
  const checked = foreign(owner, () => checkPluginOptions(definition, { ...parameters } as JsonObject));
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
