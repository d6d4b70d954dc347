/** Small valid responses of each API, non-streaming and streaming, for requests that break no rule. */
import type { JsonObject } from '../../protocol/json.ts';
import * as read from '../../platform/json.ts';
import { sampleOf } from './schema.ts';

/** What a response says: a text, or one call. */
interface Said {
  readonly text: string;
  readonly call: { readonly name: string; readonly input: unknown } | undefined;
}

/** How one API writes a response. */
export interface AnswerWire {
  /** Whether a request is for a stream. */
  streams(body: JsonObject, path: string): boolean;
  /** What a request forces, or allows: the call or the text of the response. */
  saidFor(body: JsonObject, text: string): Said;
  /** A non-streaming response. */
  completion(said: Said, model: string, body: JsonObject): unknown;
  /** All events of a stream. */
  stream(said: Said, model: string, body: JsonObject): string;
}

const ID = 'strict-upstream';
const CALL_ID = 'call_Strict00000001';
const CREATED = 1_790_000_000;

function event(data: unknown, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** A text in the form of a schema, or an object for any JSON. */
function inForm(schema: unknown): string {
  return JSON.stringify(sampleOf(schema));
}

interface Tool {
  readonly name: string;
  readonly schema: unknown;
}

/** A call of the tool that is chosen by its name, or of the first one. */
function callOf(tools: readonly Tool[], name: string | undefined): Said['call'] {
  const tool = tools.find((one) => one.name === name) ?? tools[0];
  return tool === undefined ? undefined : { name: tool.name, input: sampleOf(tool.schema ?? {}) };
}

/** Chat completions. */
export const CHAT_ANSWERS: AnswerWire = {
  streams: (body) => body['stream'] === true,
  saidFor(body, text) {
    const tools = read.objects(body['tools']).flatMap(({ type, function: fields }) => {
      const { name, parameters } = read.object(fields);
      return type === 'function' && typeof name === 'string' ? [{ name, schema: parameters }] : [];
    });
    const choice = body['tool_choice'];
    const named = read.string(read.object(read.object(choice)['function'])['name']);
    if (choice === 'required' || choice === 'any' || named !== undefined)
      return { text: '', call: callOf(tools, named) };
    const format = read.object(body['response_format']);
    if (format['type'] === 'json_schema') {
      return { text: inForm(read.object(format['json_schema'])['schema']), call: undefined };
    }
    return { text: format['type'] === 'json_object' ? '{}' : text, call: undefined };
  },
  completion({ text, call }, model) {
    const answered = {
      role: 'assistant',
      content: call === undefined ? text : null,
      ...(call === undefined ? {} : { tool_calls: [{ id: CALL_ID, type: 'function', function: written(call) }] }),
    };
    return {
      id: `chatcmpl-${ID}`,
      object: 'chat.completion',
      created: CREATED,
      model,
      choices: [
        {
          index: 0,
          message: answered,
          finish_reason: call === undefined ? 'stop' : 'tool_calls',
        },
      ],
      usage: CHAT_USAGE,
    };
  },
  stream({ text, call }, model, body) {
    const head = { id: `chatcmpl-${ID}`, object: 'chat.completion.chunk', created: CREATED, model };
    const chunk = (delta: object, finish: string | null = null, more: object = {}): string =>
      event({ ...head, choices: [{ index: 0, delta, finish_reason: finish }], ...more });
    // In an event of its own where it was asked for; with the finish, as Mistral has it, otherwise.
    const apart = read.object(body['stream_options'])['include_usage'] === true;
    const said =
      call === undefined
        ? { content: text }
        : { tool_calls: [{ index: 0, id: CALL_ID, type: 'function', function: written(call) }] };
    return [
      chunk({ role: 'assistant', content: call === undefined ? '' : null }),
      chunk(said),
      chunk({}, call === undefined ? 'stop' : 'tool_calls', apart ? {} : { usage: CHAT_USAGE }),
      ...(apart ? [event({ ...head, choices: [], usage: CHAT_USAGE })] : []),
      'data: [DONE]\n\n',
    ].join('');
  },
};

const CHAT_USAGE = { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 };

function written({ name, input }: NonNullable<Said['call']>): { readonly name: string; readonly arguments: string } {
  return { name, arguments: JSON.stringify(input) };
}

/** OpenAI's Responses. */
export const RESPONSES_ANSWERS: AnswerWire = {
  streams: (body) => body['stream'] === true,
  saidFor(body, text) {
    const tools = read
      .objects(body['tools'])
      .flatMap(({ type, name, parameters }) =>
        type === 'function' && typeof name === 'string' ? [{ name, schema: parameters }] : [],
      );
    const choice = body['tool_choice'];
    const named = read.object(choice)['type'] === 'function' ? read.string(read.object(choice)['name']) : undefined;
    if (choice === 'required' || named !== undefined) return { text: '', call: callOf(tools, named) };
    const format = read.object(read.object(body['text'])['format']);
    if (format['type'] === 'json_schema') return { text: inForm(format['schema']), call: undefined };
    return { text: format['type'] === 'json_object' ? '{}' : text, call: undefined };
  },
  completion: (said, model) => response(model, 'completed', [responseItem(said, 'completed')]),
  stream(said, model) {
    const item = responseItem(said, 'completed');
    const place = { output_index: 0, item_id: item['id'] };
    const part = { ...place, content_index: 0 };
    const { text, call } = said;
    const inner: readonly object[] =
      call === undefined
        ? [
            { type: 'response.content_part.added', ...part, part: { type: 'output_text', text: '', annotations: [] } },
            { type: 'response.output_text.delta', ...part, delta: text },
            { type: 'response.output_text.done', ...part, text },
            { type: 'response.content_part.done', ...part, part: { type: 'output_text', text, annotations: [] } },
          ]
        : [
            { type: 'response.function_call_arguments.delta', ...place, delta: written(call).arguments },
            { type: 'response.function_call_arguments.done', ...place, arguments: written(call).arguments },
          ];
    const opened = responseItem({ text: '', call: call && { ...call, input: undefined } }, 'in_progress');
    const events: readonly object[] = [
      { type: 'response.created', response: response(model, 'in_progress', []) },
      { type: 'response.in_progress', response: response(model, 'in_progress', []) },
      { type: 'response.output_item.added', output_index: 0, item: opened },
      ...inner,
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: response(model, 'completed', [item]) },
    ];
    return events
      .map((one, index) => event({ ...one, sequence_number: index }, (one as { readonly type: string }).type))
      .join('');
  },
};

function responseItem({ text, call }: Said, status: string): Record<string, unknown> {
  if (call !== undefined) {
    const { name, input } = call;
    const given = input === undefined ? '' : JSON.stringify(input);
    return { type: 'function_call', id: `fc_${ID}`, call_id: CALL_ID, name, arguments: given, status };
  }
  const parts = status === 'completed' ? [{ type: 'output_text', text, annotations: [] }] : [];
  return { type: 'message', id: `msg_${ID}`, role: 'assistant', status, content: parts };
}

function response(model: string, status: string, output: readonly object[]): object {
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 3,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 13,
  };
  return {
    id: `resp_${ID}`,
    object: 'response',
    created_at: CREATED,
    model,
    status,
    output,
    error: null,
    incomplete_details: null,
    usage: status === 'completed' ? usage : null,
  };
}

const MESSAGE_USAGE = { input_tokens: 10, output_tokens: 3 };

/** Anthropic's Messages. */
export const MESSAGES_ANSWERS: AnswerWire = {
  streams: (body) => body['stream'] === true,
  saidFor(body, text) {
    const tools = read
      .objects(body['tools'])
      .flatMap(({ name, input_schema: schema }) =>
        typeof name === 'string' && schema !== undefined ? [{ name, schema }] : [],
      );
    const { type, name } = read.object(body['tool_choice']);
    if (type === 'any' || type === 'tool') return { text: '', call: callOf(tools, read.string(name)) };
    const format = read.object(read.object(body['output_config'])['format']);
    return { text: format['type'] === 'json_schema' ? inForm(format['schema']) : text, call: undefined };
  },
  completion: (said, model) => message(model, [block(said)], stopOf(said)),
  stream(said, model) {
    const { text, call } = said;
    const opened = call === undefined ? { type: 'text', text: '' } : { ...block(said), input: {} };
    const delta =
      call === undefined
        ? { type: 'text_delta', text }
        : { type: 'input_json_delta', partial_json: JSON.stringify(call.input) };
    return [
      { type: 'message_start', message: message(model, [], null) },
      { type: 'content_block_start', index: 0, content_block: opened },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: stopOf(said), stop_sequence: null }, usage: MESSAGE_USAGE },
      { type: 'message_stop' },
    ]
      .map((one) => event(one, one.type))
      .join('');
  },
};

function block({ text, call }: Said): object {
  return call === undefined
    ? { type: 'text', text }
    : { type: 'tool_use', id: 'toolu_Strict00000001', name: call.name, input: read.object(call.input) };
}

function stopOf({ call }: Said): string {
  return call === undefined ? 'end_turn' : 'tool_use';
}

function message(model: string, blocks: readonly object[], stop: string | null): object {
  return {
    id: `msg_${ID}`,
    type: 'message',
    role: 'assistant',
    model,
    content: blocks,
    stop_reason: stop,
    stop_sequence: null,
    usage: MESSAGE_USAGE,
  };
}

/** Google's `generateContent` and `streamGenerateContent`. */
export const GEMINI_ANSWERS: AnswerWire = {
  streams: (_body, path) => path.includes(':streamGenerateContent'),
  saidFor(body, text) {
    const tools = read
      .objects(body['tools'])
      .flatMap(({ functionDeclarations: functions }) =>
        read
          .objects(functions)
          .map(({ name, parametersJsonSchema: schema }) => ({ name: read.string(name) ?? '', schema })),
      );
    const { mode, allowedFunctionNames: names } = read.object(read.object(body['toolConfig'])['functionCallingConfig']);
    if (mode === 'ANY') return { text: '', call: callOf(tools, read.string(read.list(names)[0])) };
    const { responseJsonSchema: schema, responseMimeType: type } = read.object(body['generationConfig']);
    if (schema !== undefined) return { text: inForm(schema), call: undefined };
    return { text: type === 'application/json' ? '{}' : text, call: undefined };
  },
  completion: (said, model) => content(said, model),
  stream: (said, model) => event(content(said, model)),
};

function content({ text, call }: Said, model: string): object {
  const part =
    call === undefined
      ? { text }
      : { functionCall: { name: call.name, args: call.input }, thoughtSignature: 'c3RyaWN0' };
  return {
    candidates: [
      {
        content: {
          role: 'model',
          parts: [part],
        },
        finishReason: 'STOP',
        index: 0,
      },
    ],
    usageMetadata: {
      promptTokenCount: 10,
      candidatesTokenCount: 3,
      totalTokenCount: 13,
    },
    modelVersion: model,
    responseId: ID,
  };
}
