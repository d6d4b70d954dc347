/** The body of `POST /responses`, and its schema. */
import { nullish } from '../../../schema/modifiers.ts';
import { union, discriminatedUnion } from '../../../schema/choices.ts';
import { jsonObject, array } from '../../../schema/collections.ts';
import { looseObject } from '../../../schema/object.ts';
import { literal, boolean, integer, string, enumeration } from '../../../schema/scalars.ts';
import type { AnySchema } from '../../../schema/form.ts';
import { functionName, identifier } from '../../../protocol/fields.ts';
import { MAX_TOP_LOGPROBS, MAX_USER_LENGTH, type RequestLimits } from '../../../protocol/limits.ts';
import { reasoningMembers, type ReasoningOptions } from '../../../protocol/reasoning.ts';
import { type InputItem, schemaOfItem } from './input-item.ts';
import { type ToolChoiceEntry, type ToolEntry, schemaOfChoice, schemaOfTool } from './tool.ts';
import { type Checked, echo, failed, faultAt, passed, type RequestFault } from '../../../protocol/fault.ts';
import { isJsonObject, type JsonObject } from '../../../protocol/json.ts';
import { read, shownValue } from '../../../protocol/issues.ts';
import { inspectJson } from '../../../protocol/inspect-json.ts';

/** The form of the text that is answered. */
export type TextFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly name: string;
      readonly description?: string | null | undefined;
      readonly schema?: Readonly<Record<string, unknown>> | null | undefined;
      readonly strict?: boolean | null | undefined;
    };

/** What a caller may want to have in the answer that is not in every answer. */
const INCLUDABLE = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
] as const;

/**
 * Body of `POST /responses` (gaps 10; upstreams 7.2). Fields that chat completions have as well, such as `model`,
 * `provider` and `plugins`, are not listed: they are passed on and checked there. Nothing is stored, so everything that
 * refers to an earlier answer is refused.
 */
export interface ResponsesRequest {
  readonly input: string | readonly InputItem[];
  /** Becomes the first message. */
  readonly instructions?: string | null | undefined;
  readonly tools?: readonly ToolEntry[] | null | undefined;
  readonly tool_choice?: ToolChoiceEntry | null | undefined;
  readonly text?:
    | { readonly format?: TextFormat | null | undefined; readonly verbosity?: string | null | undefined }
    | null
    | undefined;
  /** `generate_summary` is the deprecated name of `summary`. */
  readonly reasoning?:
    | (ReasoningOptions & { readonly generate_summary?: ReasoningOptions['summary'] })
    | null
    | undefined;
  readonly include?: readonly (typeof INCLUDABLE)[number][] | null | undefined;
  /** Tokens of the answer, reasoning included. */
  readonly max_output_tokens?: number | null | undefined;
  /** 0 to 20. */
  readonly top_logprobs?: number | null | undefined;
  /** `auto` lets the middle of a conversation that is too long be left out. */
  readonly truncation?: 'auto' | 'disabled' | null | undefined;
  /** Stable id of the end user; wins over `user`. Never leaves raw. */
  readonly safety_identifier?: string | null | undefined;
  readonly user?: string | null | undefined;
  readonly stream_options?: { readonly include_obfuscation?: boolean | null | undefined } | null | undefined;
  readonly stream?: boolean | null | undefined;
  readonly [other: string]: unknown;
}

const textFormat = discriminatedUnion('type', [
  looseObject({ type: literal('text') }),
  looseObject({ type: literal('json_object') }),
  looseObject({
    type: literal('json_schema'),
    name: functionName,
    description: nullish(string()),
    schema: nullish(jsonObject),
    strict: nullish(boolean),
  }),
]);

const endUser = nullish(identifier(0, MAX_USER_LENGTH));

/** Schema of everything in a {@link ResponsesRequest} but its items and tools, which are checked one by one. */
export const responsesRequestSchema = looseObject({
  input: union([string(), array(looseObject({}), { least: 1 })]),
  instructions: nullish(string()),
  tools: nullish(array(looseObject({}))),
  text: nullish(
    looseObject({
      format: nullish(textFormat),
      verbosity: nullish(enumeration(['low', 'medium', 'high', 'xhigh', 'max'])),
    }),
  ),
  reasoning: nullish(
    looseObject({ ...reasoningMembers, generate_summary: nullish(enumeration(['auto', 'concise', 'detailed'])) }),
  ),
  include: nullish(array(enumeration(INCLUDABLE))),
  max_output_tokens: nullish(integer({ least: 1 })),
  top_logprobs: nullish(integer({ least: 0, most: MAX_TOP_LOGPROBS })),
  truncation: nullish(enumeration(['auto', 'disabled'])),
  safety_identifier: endUser,
  user: endUser,
  stream: nullish(boolean),
  stream_options: nullish(looseObject({ include_obfuscation: nullish(boolean) })),
  modalities: nullish(array(enumeration(['text', 'image']), { most: 2 })),
});

/**
 * Checks what is peculiar to the body of `POST /responses` (gaps 10). What it shares with chat completions is checked
 * there, under the same names. 400 for syntax, shape, range and for what needs stored answers, 422 for a body that
 * contradicts itself.
 */
export function parseResponsesRequest(body: unknown, limits: RequestLimits): Checked<ResponsesRequest> {
  if (!isJsonObject(body)) return failed(faultAt('', `must be a JSON object with an "input", not ${shownValue(body)}`));
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
  const given = body[name];
  if (!Array.isArray(given)) return undefined;
  if (given.length > most) return faultAt(name, `must have at most ${most} items, not ${given.length}`);
  for (const [index, entry] of (given as readonly JsonObject[]).entries()) {
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
