import type { NormalizedRequest } from '../../core/normalize/normalized-request.ts';
import type { FunctionTool, ToolChoice } from '../../protocol/tools.ts';
import { functionSchema, takesNothing } from './json-schema.ts';

/** `tools` and `toolConfig` of a request. */
export interface EncodedTools {
  readonly tools?: readonly object[] | undefined;
  readonly toolConfig?: object | undefined;
}

/** Writes the functions that the model may call, and whether it must. */
export function encodeFunctions(tools: readonly FunctionTool[], choice: ToolChoice | undefined): EncodedTools {
  const functionCallingConfig = encodeChoice(choice, tools);
  return {
    tools: [{ functionDeclarations: tools.map(encodeFunction) }],
    ...(functionCallingConfig === undefined ? {} : { toolConfig: { functionCallingConfig } }),
  };
}

/** Google's own search, which is what `web_search_options` ask for. It cannot be combined with functions. */
export function encodeSearch({ parameters }: NormalizedRequest): EncodedTools {
  return parameters.web_search_options === undefined ? {} : { tools: [{ googleSearch: {} }] };
}

function encodeFunction({ function: { name, description, parameters } }: FunctionTool): object {
  return {
    name: wireName(name),
    ...(description == null ? {} : { description }),
    ...(parameters == null || takesNothing(parameters) ? {} : { parametersJsonSchema: functionSchema(parameters) }),
  };
}

/** A choice that names a tool of the router means nothing to a provider. */
function encodeChoice(choice: ToolChoice | undefined, tools: readonly FunctionTool[]): object | undefined {
  const strict = tools.some((tool) => tool.function.strict === true);
  if (choice === 'none') return { mode: 'NONE' };
  if (choice === 'required') return { mode: 'ANY' };
  if (typeof choice === 'object' && 'function' in choice) {
    return { mode: 'ANY', allowedFunctionNames: [wireName(choice.function.name)] };
  }
  if (strict) return { mode: 'VALIDATED' };
  return choice === 'auto' ? { mode: 'AUTO' } : undefined;
}

const MAX_LENGTH = 64;

/**
 * The name of a function as Google accepts it: it must begin with a letter or an underscore. Names that come from
 * another vendor's history may hold more than that.
 */
export function wireName(name: string): string {
  const plain = name.replace(/[^\w.:-]/g, '_');
  return (/^[A-Za-z_]/.test(plain) ? plain : `_${plain}`).slice(0, MAX_LENGTH);
}

/** The caller's name of the function that Google's model calls. */
export function originalName(wire: string, tools: readonly FunctionTool[]): string {
  const named =
    tools.find((tool) => tool.function.name === wire) ?? tools.find((tool) => wireName(tool.function.name) === wire);
  return named?.function.name ?? wire;
}
