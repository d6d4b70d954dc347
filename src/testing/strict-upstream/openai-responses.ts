/** What OpenAI refuses in the input of Responses. */
import type { JsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';
import { openaiFamily } from './openai-models.ts';
import { type Finding, type StrictRequest, type StrictRule, shown } from './rule.ts';

const REFERENCE = 'OpenAI, API reference "Create a model response"';
const LONGEST_ID = 64;

const PART_TYPES: Readonly<Record<string, readonly string[]>> = {
  assistant: ['output_text', 'refusal'],
  user: ['input_text', 'input_image', 'input_file', 'input_audio'],
  system: ['input_text', 'input_image', 'input_file'],
  developer: ['input_text', 'input_image', 'input_file'],
};

const IDS: Readonly<Record<string, string>> = { message: 'msg', reasoning: 'rs', function_call: 'fc' };

function itemsOf({ body }: StrictRequest): readonly JsonObject[] {
  return read.objects(body['input']);
}

function kindOf(item: JsonObject): string {
  return read.string(item['type']) ?? 'message';
}

/** Ids of the calls, or of the results, in the input. */
function callIds(items: readonly JsonObject[], kinds: readonly string[]): readonly string[] {
  return items.flatMap((item) => (kinds.includes(kindOf(item)) ? [read.string(item['call_id']) ?? ''] : []));
}

const CALLS = ['function_call', 'custom_tool_call'];
const RESULTS = ['function_call_output', 'custom_tool_call_output'];

function firstItem(
  request: StrictRequest,
  fits: (item: JsonObject, at: number) => Finding | undefined,
): Finding | undefined {
  for (const [at, item] of itemsOf(request).entries()) {
    const finding = fits(item, at);
    if (finding !== undefined) return { at, ...finding };
  }
  return undefined;
}

/** Rules of the input. */
export const OPENAI_RESPONSES_RULES: readonly StrictRule[] = [
  {
    id: 'openai-responses/input-missing',
    checks: 'a request without input',
    words: 'One of "input" or "previous_response_id" or \'prompt\' or \'conversation_id\' must be provided.',
    code: 'missing_required_parameter',
    param: 'input',
    source: REFERENCE,
    date: '2026-11',
    find: (request) =>
      read.isText(request.body['input']) || itemsOf(request).length > 0 || 'previous_response_id' in request.body
        ? undefined
        : {},
  },
  {
    id: 'openai-responses/call-without-output',
    checks: 'a call that has no output in the input',
    words: 'No tool output found for function call {id}.',
    param: 'input',
    source: 'bytedance/trae-agent, issue 245',
    date: '2025-08-04',
    find(request) {
      const items = itemsOf(request);
      const answered = callIds(items, RESULTS);
      const id = callIds(items, CALLS).find((one) => !answered.includes(one));
      return id === undefined ? undefined : { id };
    },
  },
  {
    id: 'openai-responses/output-without-call',
    checks: 'an output whose call is not before it in the input',
    words: 'No tool call found for function call output with call_id {id}.',
    param: 'input',
    source: 'continuedev/continue, issue 10092; vercel/ai, issue 8216',
    date: '2026-02-01',
    find(request) {
      if (request.body['previous_response_id'] !== undefined) return undefined;
      const items = itemsOf(request);
      return firstItem(request, (item, at) => {
        const id = read.string(item['call_id']) ?? '';
        return RESULTS.includes(kindOf(item)) && !callIds(items.slice(0, at), CALLS).includes(id) ? { id } : undefined;
      });
    },
  },
  {
    id: 'openai-responses/output-twice',
    checks: 'a second output of a call',
    words: 'Duplicate function call output found for call_id {id}.',
    param: 'input',
    source: REFERENCE,
    date: '2026-11',
    find(request) {
      const ids = callIds(itemsOf(request), RESULTS);
      const id = ids.find((one, index) => ids.indexOf(one) !== index);
      return id === undefined ? undefined : { id };
    },
  },
  {
    id: 'openai-responses/call-id-length',
    checks: 'a call_id of more than 64 characters',
    words:
      "Invalid 'input[{at}].call_id': string too long. Expected a string with maximum length 64, but got a string with length {length} instead.",
    code: 'string_above_max_length',
    param: 'input[{at}].call_id',
    source: 'AnswerDotAI/fastllm, issue 45',
    date: '2026-06-08',
    find: (request) =>
      firstItem(request, ({ call_id: id }) =>
        typeof id === 'string' && id.length > LONGEST_ID ? { length: id.length } : undefined,
      ),
  },
  {
    id: 'openai-responses/item-id',
    checks: 'an id of an item that does not begin as ids of its kind do',
    words: "Invalid 'input[{at}].id': '{id}'. Expected an ID that begins with '{prefix}'.",
    code: 'invalid_value',
    param: 'input[{at}].id',
    source: 'openai/codex, issue 33176; mastra-ai/mastra, issue 10815',
    date: '2026-07-14',
    find: (request) =>
      firstItem(request, (item) => {
        const { id } = item;
        const prefix = IDS[kindOf(item)];
        return typeof id === 'string' && prefix !== undefined && !id.startsWith(prefix) ? { id, prefix } : undefined;
      }),
  },
  {
    id: 'openai-responses/part-type',
    checks: 'a part of a type that its role does not take',
    words: "Invalid value: '{type}'. Supported values are: {known}.",
    code: 'invalid_value',
    param: 'input[{at}].content[{part}]',
    source: 'jeremychone/rust-genai, pull request 119',
    date: '2026-01-17',
    find: (request) =>
      firstItem(request, (item) => {
        const known = PART_TYPES[shown(item['role'])];
        if (kindOf(item) !== 'message' || known === undefined) return undefined;
        const parts = read.objects(item['content']);
        const part = parts.findIndex(({ type }) => !known.includes(shown(type)));
        if (part < 0) return undefined;
        return { part, type: shown(parts[part]?.['type']), known: known.map((one) => `'${one}'`).join(', ') };
      }),
  },
  {
    id: 'openai-responses/reasoning-not-stored',
    checks: 'a reasoning item by its id alone where nothing is stored',
    words:
      "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
    status: 404,
    param: 'input',
    source: 'vercel/ai, issue 7543',
    date: '2025-07-25',
    find: (request) =>
      firstItem(request, (item) => {
        const { id, encrypted_content: content } = item;
        return kindOf(item) === 'reasoning' &&
          typeof id === 'string' &&
          !read.isText(content) &&
          request.body['store'] === false
          ? { id }
          : undefined;
      }),
  },
  {
    id: 'openai-responses/encrypted-include',
    checks: 'include of encrypted reasoning for a model that does not reason',
    words: 'Encrypted content is not supported with this model.',
    param: 'include',
    source: 'OpenAI, guide "Reasoning models", encrypted reasoning items',
    date: '2026-11',
    find: ({ body, model }) =>
      read.list(body['include']).includes('reasoning.encrypted_content') && openaiFamily(model).efforts.length === 0
        ? {}
        : undefined,
  },
  {
    id: 'openai-responses/tool-nested',
    checks: 'a function in the form of chat completions',
    words: "Missing required parameter: 'tools[{at}].name'.",
    code: 'missing_required_parameter',
    param: 'tools[{at}].name',
    source: REFERENCE,
    date: '2026-11',
    find({ body }) {
      const at = read
        .objects(body['tools'])
        .findIndex((tool) => tool['type'] === 'function' && !read.isText(tool['name']));
      return at < 0 ? undefined : { at };
    },
  },
  {
    id: 'openai-responses/file-name-missing',
    checks: 'a file by its data without a name',
    words: "Missing required parameter: 'input[{at}].content[{part}].file_id'.",
    code: 'missing_required_parameter',
    param: 'input[{at}].content[{part}].file_id',
    source: 'openai/openai-agents-python, issue 1513; laravel/ai, issue 321',
    date: '2025-08',
    find: (request) =>
      firstItem(request, ({ content, output }) => {
        const part = [...read.objects(content), ...read.objects(output)].findIndex(
          ({ type, file_id: id, file_url: url, file_data: data, filename }) =>
            type === 'input_file' &&
            !read.isText(id) &&
            !read.isText(url) &&
            !(read.isText(data) && read.isText(filename)),
        );
        return part < 0 ? undefined : { part };
      }),
  },
  {
    id: 'openai-responses/json-word',
    checks: 'the format json_object where no input says JSON',
    words:
      "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
    param: 'input',
    source: 'OpenAI, guide "Structured model outputs", JSON mode',
    date: '2026-11',
    find: ({ body }) =>
      read.object(read.object(body['text'])['format'])['type'] === 'json_object' &&
      !/json/i.test(JSON.stringify(body['input']))
        ? {}
        : undefined,
  },
  {
    id: 'openai-responses/too-long',
    checks: 'more than the context window holds',
    words: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    code: 'context_length_exceeded',
    param: 'input',
    source: 'the-open-agent/openagent, issue 2344',
    date: '2026-06-06',
    find: ({ length, contextTokens }) => (Math.ceil(length / 4) > contextTokens ? {} : undefined),
  },
];
