import type { ServerResponse } from 'node:http';
import { STORY } from './scripted-upstream.ts';
import { type ReceivedRequest, type UpstreamHandler, sendJson } from './upstream.ts';

/** What a provider of OpenAI's Responses reports for every answer. */
export const NATIVE_USAGE = {
  input_tokens: 21,
  input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
  output_tokens: 13,
  output_tokens_details: { reasoning_tokens: 6 },
  total_tokens: 34,
};

/** Reasoning as OpenAI encrypts it; nobody but OpenAI can read it. */
export const ENCRYPTED = 'gAAAAABo+/encrypted=reasoning\\u0041"not ours"';

type Item = Readonly<Record<string, unknown>> & { readonly id: string; readonly type: string };

const REASONING: Item = {
  id: 'rs_0af1',
  type: 'reasoning',
  encrypted_content: ENCRYPTED,
  summary: [{ type: 'summary_text', text: 'A story is wanted.' }],
};

const CALLS: readonly Item[] = ['Paris', 'Rome'].map((city, index) => ({
  id: `fc_0af${index}`,
  type: 'function_call',
  status: 'completed',
  arguments: `{"city":"${city}"}`,
  call_id: `call_${city}`,
  name: 'get_weather',
}));

function message(text: string): Item {
  const content = [{ type: 'output_text', annotations: [], logprobs: [], text }];
  return { id: 'msg_0af2', type: 'message', status: 'completed', role: 'assistant', content };
}

/**
 * Plays a provider that speaks Responses itself: thinks and tells {@link STORY}, calls `get_weather` twice when it may
 * and was not answered yet, and gives `{"name":"Ada","age":36}` when JSON is asked for. `slow` goes on for seconds,
 * `break` fails in the middle, `search` uses a tool of its own.
 */
export const responsesProvider: UpstreamHandler = (request, response) => {
  const { body } = request;
  const last = lastOf(body['input']);
  const output = outputFor(body, last);
  if (body['stream'] !== true) {
    if (last !== 'slow') sendJson(response, 200, responseOf(request, 'completed', output));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  const events = eventsOf(request, output);
  if (last === 'slow') return goOn(response, events);
  if (last === 'break') return breakOff(request, response, events);
  for (const event of events) response.write(event);
  response.end();
};

function outputFor(body: ReceivedRequest['body'], last: string): readonly Item[] {
  if (last === 'search') {
    const action = { type: 'search', query: 'signal boxes' };
    return [{ id: 'ws_0af3', type: 'web_search_call', status: 'completed', action }, message(STORY)];
  }
  if (Array.isArray(body['tools']) && last !== 'function_call_output') return CALLS;
  const text = body['text'] as { format?: { type: string } } | undefined;
  if (text?.format?.type === 'json_schema') return [message('{"name":"Ada","age":36}')];
  return [REASONING, message(STORY)];
}

/** The text of the last message, or the type of the last item. */
function lastOf(input: unknown): string {
  if (typeof input === 'string') return input;
  const item = (input as readonly Record<string, unknown>[]).at(-1) ?? {};
  return typeof item['content'] === 'string' ? item['content'] : String(item['type']);
}

/** The whole response of a provider of OpenAI's Responses. */
export function responseOf({ body }: Pick<ReceivedRequest, 'body'>, status: string, output: readonly Item[]): object {
  return {
    id: 'resp_0af0',
    object: 'response',
    created_at: 1_700_000_000,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    metadata: {},
    model: `${String(body['model'])}-2026-01-01`,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: 'medium', summary: null },
    safety_identifier: body['safety_identifier'] ?? null,
    service_tier: 'default',
    store: body['store'] ?? true,
    temperature: 1,
    text: body['text'] ?? { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: body['tools'] ?? [],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    usage: status === 'completed' ? NATIVE_USAGE : null,
    user: null,
  };
}

/** The events of a stream, numbered as OpenAI numbers them. */
function eventsOf(request: ReceivedRequest, output: readonly Item[]): string[] {
  let sequence = 0;
  const event = (type: string, members: object): string => {
    const data = JSON.stringify({ type, sequence_number: sequence, ...members });
    sequence += 1;
    return `event: ${type}\ndata: ${data}\n\n`;
  };
  const running = { response: responseOf(request, 'in_progress', []) };
  return [
    event('response.created', running),
    event('response.in_progress', running),
    ...output.map((item, index) => {
      const begun = { ...item, status: 'in_progress', ...(item.type === 'message' ? { content: [] } : {}) };
      const empty = item.type === 'function_call' ? { ...begun, arguments: '' } : begun;
      return event('response.output_item.added', {
        output_index: index,
        item: item.type === 'reasoning' ? { ...item, encrypted_content: '', summary: [] } : empty,
      });
    }),
    ...interleave(output.map((item, index) => growthOf(item, index))).map(([type, members]) => event(type, members)),
    ...output.map((item, index) => event('response.output_item.done', { output_index: index, item })),
    event('response.completed', { response: responseOf(request, 'completed', output) }),
  ];
}

type Step = readonly [type: string, members: object];

/** How an item grows. */
function growthOf(item: Item, index: number): readonly Step[] {
  const place = { item_id: item.id, output_index: index };
  if (item.type === 'function_call') {
    const text = String(item['arguments']);
    const pieces = text.match(/.{1,5}/g) ?? [];
    return [
      ...pieces.map((delta): Step => [
        'response.function_call_arguments.delta',
        { ...place, delta, obfuscation: 'x7' },
      ]),
      ['response.function_call_arguments.done', { ...place, arguments: text, name: item['name'] }],
    ];
  }
  if (item.type === 'reasoning') {
    const part = { type: 'summary_text', text: 'A story is wanted.' };
    const at = { ...place, summary_index: 0 };
    return [
      ['response.reasoning_summary_part.added', { ...at, part: { ...part, text: '' } }],
      ['response.reasoning_summary_text.delta', { ...at, delta: part.text }],
      ['response.reasoning_summary_text.done', { ...at, text: part.text }],
      ['response.reasoning_summary_part.done', { ...at, part }],
    ];
  }
  if (item.type === 'web_search_call') {
    return ['in_progress', 'searching', 'completed'].map((step) => [`response.web_search_call.${step}`, place]);
  }
  const [part] = item['content'] as readonly { text: string }[];
  const at = { ...place, content_index: 0 };
  return [
    ['response.content_part.added', { ...at, part: { ...part, text: '' } }],
    ...(part?.text.match(/\S+\s*/g) ?? []).map((delta): Step => [
      'response.output_text.delta',
      { ...at, delta, logprobs: [], obfuscation: 'x7' },
    ]),
    ['response.output_text.done', { ...at, text: part?.text, logprobs: [] }],
    ['response.content_part.done', { ...at, part }],
  ];
}

/** One step of each in turn, as parallel calls come. */
function interleave(lists: readonly (readonly Step[])[]): readonly Step[] {
  const longest = Math.max(...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, turn) => lists.flatMap((list) => list.slice(turn, turn + 1))).flat();
}

function goOn(response: ServerResponse, events: readonly string[]): void {
  const begin = events.findIndex((event) => event.includes('output_text.delta'));
  for (const event of events.slice(0, begin)) response.write(event);
  const timer = setInterval(() => response.write(events[begin]), 10);
  response.on('close', () => clearInterval(timer));
}

function breakOff(request: ReceivedRequest, response: ServerResponse, events: readonly string[]): void {
  const begin = events.findIndex((event) => event.includes('output_text.delta'));
  for (const event of events.slice(0, begin + 1)) response.write(event);
  const error = { code: 'server_error', message: 'The model produced invalid content.' };
  const failed = { ...responseOf(request, 'failed', []), error };
  const data = { type: 'response.failed', sequence_number: begin + 1, response: failed };
  response.end(`event: response.failed\ndata: ${JSON.stringify(data)}\n\n`);
}
