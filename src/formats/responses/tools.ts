/** Translates tools of the Responses API into the chat form. */
import type { JsonObject, JsonValue } from '../../protocol/json.ts';
import {
  type CustomToolEntry,
  type FunctionToolEntry,
  type HostedToolEntry,
  isTranslatedTool,
  type ToolChoiceEntry,
  type ToolEntry,
} from './protocol/tool.ts';
import * as read from '../../platform/json.ts';

/** Tools and the choice among them, in the chat form. */
export function toolsOfResponses(tools: readonly ToolEntry[], choice: ToolChoiceEntry | undefined): JsonObject {
  const offered =
    typeof choice === 'object' && 'mode' in choice ? tools.filter((tool) => isAllowed(tool, choice.tools)) : tools;
  const translated = offered.flatMap((tool) => chatTool(tool));
  if (translated.length === 0) return {};
  const wanted = choice === undefined ? undefined : chatChoice(choice);
  return { tools: translated, ...(wanted === undefined ? {} : { tool_choice: wanted }) };
}

/** Names of the tools whose calls are sent as calls of custom tools. */
export function customToolNames(tools: unknown): ReadonlySet<string> {
  const custom = read.objects(tools).filter((tool) => tool['type'] === 'custom');
  return new Set((custom as unknown as readonly CustomToolEntry[]).map(({ name }) => name));
}

function isAllowed(
  tool: ToolEntry,
  allowed: readonly { readonly type: string; readonly name?: string | undefined }[],
): boolean {
  return allowed.some(
    ({ type, name }) => type === tool.type && (name === undefined || name === tool['name' as keyof ToolEntry]),
  );
}

function chatTool(tool: ToolEntry): readonly JsonObject[] {
  if (isFunction(tool)) return [functionTool(tool)];
  if (isCustom(tool)) return [customTool(tool)];
  return isTranslatedTool(tool.type) ? [serverTool(tool)] : [];
}

function functionTool({ name, description, parameters, strict, cache_control: mark }: FunctionToolEntry): JsonObject {
  return {
    type: 'function',
    function: {
      name,
      ...(description == null ? {} : { description }),
      ...(parameters == null ? {} : { parameters: parameters as JsonObject }),
      ...(strict == null ? {} : { strict }),
    },
    ...(mark == null ? {} : { cache_control: mark as JsonValue }),
  };
}

/** Free text becomes the one argument of a function: the chat form has no other tools. */
function customTool({ name, description, format }: CustomToolEntry): JsonObject {
  const grammar =
    format != null && format.type === 'grammar'
      ? { description: `Text that follows this ${format.syntax} grammar:\n${format.definition}` }
      : {};
  return {
    type: 'function',
    function: {
      name,
      ...(description == null ? {} : { description }),
      parameters: {
        type: 'object',
        properties: { input: { type: 'string', ...grammar } },
        required: ['input'],
        additionalProperties: false,
      },
    },
  };
}

/** Options of the hosted search that mean something to no other search. */
const OWN_SEARCH_OPTIONS = new Set(['type', 'filters', 'parameters', 'external_web_access', 'search_content_types']);

function serverTool(tool: HostedToolEntry): JsonObject {
  const { type, ...options } = tool as JsonObject & { readonly type: string };
  if (type === 'image_generation') return { type: 'router:image_generation', parameters: options };
  if (!type.startsWith('web_search')) return { type, ...options };
  const filters = read.object(tool['filters']);
  const kept = Object.fromEntries(
    Object.entries(options).filter(([name, value]) => value != null && !OWN_SEARCH_OPTIONS.has(name)),
  );
  return {
    type: 'router:web_search',
    parameters: {
      ...kept,
      ...(filters['allowed_domains'] == null ? {} : { allowed_domains: filters['allowed_domains'] }),
      ...(filters['blocked_domains'] == null ? {} : { excluded_domains: filters['blocked_domains'] }),
      ...read.object(options['parameters']),
    },
  };
}

/** A choice of a tool that only its provider has is that provider's business. */
function chatChoice(choice: ToolChoiceEntry): JsonValue | undefined {
  if (typeof choice === 'string') return choice;
  if ('mode' in choice) return choice.mode;
  if ('name' in choice) return { type: 'function', function: { name: choice.name } };
  if (!isTranslatedTool(choice.type)) return undefined;
  return { type: choice.type === 'image_generation' ? 'router:image_generation' : choice.type };
}

function isFunction(tool: ToolEntry): tool is FunctionToolEntry {
  return tool.type === 'function';
}

function isCustom(tool: ToolEntry): tool is CustomToolEntry {
  return tool.type === 'custom';
}
