/** Refusals of schemas as vendors give them, for fakes that answer as reports show. */
import type { ServerResponse } from 'node:http';
import { chunkEvent, dataEvent, type ReceivedRequest, sendJson, type UpstreamHandler } from './upstream.ts';

type Json = Readonly<Record<string, unknown>>;

const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const object = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};

/** Words of a schema that is held at Anthropic that are refused, by the report's wording. */
function refusedWord(schema: unknown, words: readonly string[]): string | undefined {
  if (Array.isArray(schema)) return schema.map((one) => refusedWord(one, words)).find((word) => word !== undefined);
  for (const [word, value] of Object.entries(object(schema))) {
    if (words.includes(word)) return word;
    const inner =
      word === 'properties' || word === '$defs'
        ? Object.values(object(value))
            .map((one) => refusedWord(one, words))
            .find((found) => found !== undefined)
        : refusedWord(value, words);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

const ROOT_UNIONS = ['oneOf', 'allOf', 'anyOf'];
const UNSUPPORTED = ['oneOf', 'not', 'if', 'then', 'else', 'minLength', 'maximum', 'patternProperties'];

/** What Anthropic says of the schemas in a body (claude-code#27337, litellm#34319); undefined where nothing is wrong. */
export function anthropicSchemaProblem({ tools, output_config: output }: Json): string | undefined {
  for (const [index, tool] of list(tools).entries()) {
    const schema = object(tool['input_schema']);
    const path = `tools.${index}.custom.input_schema`;
    if (schema['type'] !== 'object') return `${path}.type: Field required`;
    if (ROOT_UNIONS.some((word) => word in schema)) {
      return `${path}: input_schema does not support oneOf, allOf, or anyOf at the top level`;
    }
    const word = tool['strict'] === true ? refusedWord(schema, UNSUPPORTED) : undefined;
    if (word !== undefined) return `${path}: For 'object' type, property '${word}' is not supported`;
  }
  const word = refusedWord(object(object(output)['format'])['schema'], UNSUPPORTED);
  return word === undefined ? undefined : `output_config.format.schema: property '${word}' is not supported`;
}

/** What OpenAI says of the schemas of functions (langchain-mcp-adapters#137, langchainjs#9804). */
export function openaiSchemaProblem({ tools }: Json): string | undefined {
  for (const tool of list(tools)) {
    const { name, parameters } = object(tool['function'] ?? tool);
    if (parameters === undefined) continue;
    const schema = object(parameters);
    const said = `Invalid schema for function '${String(name)}'`;
    if (schema['type'] !== 'object') return `${said}: schema must be a JSON Schema of 'type: "object"'.`;
    if ([...ROOT_UNIONS, 'enum', 'not'].some((word) => word in schema)) {
      return `${said}: schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.`;
    }
    if (!('properties' in schema)) return `${said}: In context=(), object schema missing properties.`;
    for (const [property, one] of Object.entries(object(schema['properties']))) {
      if (object(one)['type'] === 'array' && !('items' in object(one))) {
        return `${said}: In context=('properties', '${property}'), array schema missing items.`;
      }
    }
  }
  return undefined;
}

/** An answer of one text, on whichever wire it was asked for. */
export const answerOnAnyWire: UpstreamHandler = ({ path, body }, response) => {
  const wire = path.endsWith('/messages') ? MESSAGES : path.endsWith('/responses') ? RESPONSES : CHAT;
  if (body['stream'] !== true) return sendJson(response, 200, wire.whole(String(body['model'])));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(wire.events.join(''));
};

/** Refuses with a status of 400 in the form of a wire. */
export function refuse(response: ServerResponse, { path }: ReceivedRequest, message: string, more: object = {}): void {
  const error = { type: 'invalid_request_error', message, ...more };
  sendJson(
    response,
    400,
    path.endsWith('/messages') ? { type: 'error', error } : { error: { param: null, code: null, ...error } },
  );
}

const named = (type: string, more: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const ITEM = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Fine.', annotations: [] }],
};
const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  output: [ITEM],
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
};

const CHAT = {
  whole: (model: string) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model,
    choices: [{ index: 0, message: { role: 'assistant', content: 'Fine.' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  }),
  events: [
    chunkEvent({ content: 'Fine.' }),
    chunkEvent({}, 'stop'),
    dataEvent({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } }),
    'data: [DONE]\n\n',
  ],
};
const MESSAGES = {
  whole: (model: string) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model,
    content: [{ type: 'text', text: 'Fine.' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 10, output_tokens: 5 },
  }),
  events: [
    named('message_start', {
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [],
        stop_reason: null,
        usage: { input_tokens: 10, output_tokens: 1 },
      },
    }),
    named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Fine.' } }),
    named('content_block_stop', { index: 0 }),
    named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } }),
    named('message_stop', {}),
  ],
};
const RESPONSES = {
  whole: (model: string) => ({ ...RESPONSE, model }),
  events: [
    named('response.created', { response: { ...RESPONSE, status: 'in_progress', output: [] } }),
    named('response.output_item.added', { output_index: 0, item: { ...ITEM, content: [] } }),
    named('response.output_text.delta', { output_index: 0, content_index: 0, item_id: 'msg_1', delta: 'Fine.' }),
    named('response.output_item.done', { output_index: 0, item: ITEM }),
    named('response.completed', { response: RESPONSE }),
  ],
};
