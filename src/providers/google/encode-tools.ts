/** Writes functions and Google's own search for Gemini. */
import type { NormalizedRequest } from '../../contracts/request.ts';
import type { FunctionTool, ToolChoice } from '../../protocol/tools.ts';
import { toolArgumentsSchema } from '../../core/schema/rewrite-schema.ts';
import type { SchemaRules } from '../../core/schema/schema-rules.ts';
import { ChangedSchemas, type Note } from '../adjustments.ts';
import { isJsonObject } from '../../protocol/json.ts';

/** `tools` and `toolConfig` of a request. */
export interface EncodedTools {
  readonly tools?: readonly object[] | undefined;
  readonly toolConfig?: object | undefined;
}

/** Writes the functions that the model may call, and whether it must. */
export function encodeFunctions(
  tools: readonly FunctionTool[],
  choice: ToolChoice | undefined,
  rules: SchemaRules,
  note: Note,
): EncodedTools {
  const functionCallingConfig = encodeChoice(choice, tools);
  const changed = new ChangedSchemas(note);
  const functionDeclarations = tools.map((tool, index) => encodeFunction(tool, index, rules, changed));
  changed.end();
  return {
    tools: [{ functionDeclarations }],
    ...(functionCallingConfig === undefined ? {} : { toolConfig: { functionCallingConfig } }),
  };
}

/** Google's own search, which is what `web_search_options` require. It cannot be combined with functions. */
export function encodeSearch({ parameters }: NormalizedRequest): EncodedTools {
  return parameters.web_search_options === undefined ? {} : { tools: [{ googleSearch: {} }] };
}

function encodeFunction(
  { function: { name, description, parameters } }: FunctionTool,
  index: number,
  rules: SchemaRules,
  changed: ChangedSchemas,
): object {
  const schema = parameters == null || takesNothing(parameters) ? undefined : toolArgumentsSchema(parameters, rules);
  if (schema !== undefined) changed.seen(index, parameters, undefined, { parameters: schema });
  return {
    name: wireName(name),
    ...(description == null ? {} : { description }),
    ...(schema === undefined ? {} : { parametersJsonSchema: schema }),
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

/** True for the schema of a function that takes nothing: older models refuse an object without properties. */
export function takesNothing(schema: FunctionTool['function']['parameters']): boolean {
  if (schema == null) return true;
  const { type, properties, ...rest } = schema;
  if (type !== undefined && type !== 'object') return false;
  if (isJsonObject(properties) && Object.keys(properties).length > 0) return false;
  return Object.entries(rest).every(
    ([keyword, value]) => SAYS_NOTHING.has(keyword) || value === false || isEmpty(value),
  );
}

/** Keywords that add no parameter. */
const SAYS_NOTHING = new Set(['$schema', '$id', '$comment', 'title', 'description', '$defs', 'definitions', 'strict']);

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
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
