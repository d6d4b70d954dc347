import type { AnySchema } from '../accept/form.ts';
import { read } from '../accept/schema.ts';
import { type Checked, echo, failed, faultAt, passed, type RequestFault } from '../fault.ts';
import { inspectJson, isJsonObject, type JsonObject } from '../json.ts';
import { nameOf } from '../issues.ts';
import type { RequestLimits } from '../limits.ts';
import { type InputItem, schemaOfItem } from './input-item.ts';
import { type ResponsesRequest, responsesRequestSchema } from './responses-request.ts';
import { schemaOfChoice, schemaOfTool, type ToolChoiceEntry, type ToolEntry } from './tool.ts';

/**
 * Checks what is peculiar to the body of `POST /responses` (gaps 10). What it shares with chat completions is checked
 * there, under the same names. 400 for syntax, shape, range and for what needs stored answers, 422 for a body that
 * contradicts itself.
 */
export function parseResponsesRequest(body: unknown, limits: RequestLimits): Checked<ResponsesRequest> {
  if (!isJsonObject(body)) return failed(faultAt('', `must be a JSON object with an "input", not ${nameOf(body)}`));
  const inspection = inspectJson(body, limits);
  if (!inspection.ok) return failed(faultAt(inspection.path, inspection.problem));
  const fault =
    checkStateless(body) ??
    mismatch(responsesRequestSchema, body, '') ??
    mismatchInList(body, 'input', schemaOfItem, limits.messages) ??
    mismatchInList(body, 'tools', schemaOfTool, limits.tools) ??
    (body['tool_choice'] == null
      ? undefined
      : mismatch(schemaOfChoice(body['tool_choice']), body['tool_choice'], 'tool_choice'));
  if (fault !== undefined) return failed(fault);
  const request = body as unknown as ResponsesRequest;
  const contradiction = checkItems(request);
  return contradiction === undefined ? passed(request) : failed(contradiction);
}

/** What is wrong with one value, if anything, told under its path in the body. */
function mismatch(schema: AnySchema, value: unknown, path: string): RequestFault | undefined {
  const parsed = read(schema, value);
  if (parsed.ok) return undefined;
  const { path: inner, problem } = parsed;
  const joint = path === '' || inner === '' || inner.startsWith('[') ? '' : '.';
  return faultAt(`${path}${joint}${inner}`, problem);
}

function mismatchInList(
  body: JsonObject,
  name: 'input' | 'tools',
  schemaOf: (entry: JsonObject) => AnySchema,
  most: number,
): RequestFault | undefined {
  const list = body[name];
  if (!Array.isArray(list)) return undefined;
  if (list.length > most) return faultAt(name, `must have at most ${most} items, not ${list.length}`);
  for (const [index, entry] of (list as readonly JsonObject[]).entries()) {
    const fault = mismatch(schemaOf(entry), entry, `${name}[${index}]`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Fields that refer to something stored, with what to do instead. */
const STORED: readonly (readonly [string, string])[] = [
  ['previous_response_id', 'is not supported, because no answers are stored: send the whole conversation in input'],
  ['conversation', 'is not supported, because no conversations are stored: send the whole conversation in input'],
  ['prompt', 'is not supported, because no prompts are stored: send instructions and input'],
];

/** Finds what would need answers that are stored: this service keeps none (gaps 10). */
function checkStateless(body: JsonObject): RequestFault | undefined {
  for (const [name, problem] of STORED) if (body[name] != null) return faultAt(name, problem);
  if (body['store'] != null && body['store'] !== false) {
    return faultAt('store', 'must be false or left out, because no answers are stored');
  }
  if (body['background'] != null && body['background'] !== false) {
    return faultAt(
      'background',
      'must be false or left out: an answer can only be given to the request that waits for it',
    );
  }
  const { input } = body;
  if (!Array.isArray(input)) return undefined;
  const index = input.findIndex(isReference);
  if (index < 0) return undefined;
  const problem = 'refers to an item of an earlier answer, but no answers are stored: send the item itself';
  return faultAt(`input[${index}]`, problem);
}

function isReference(item: unknown): boolean {
  if (!isJsonObject(item)) return false;
  if (item['type'] === 'item_reference') return true;
  return item['type'] == null && typeof item['id'] === 'string' && item['role'] === undefined;
}

/** Finds statements of a body that cannot all be true. */
function checkItems({ input, tools, tool_choice: choice }: ResponsesRequest): RequestFault | undefined {
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
