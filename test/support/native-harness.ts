import { type JsonObject, type NormalizedRequest, type Provider, anthropic, openaiCompatible } from 'signalbox';
import type { ScriptedAnswer } from 'signalbox/testing';
import { ANTHROPIC_WIRE } from './anthropic-harness.ts';
import { CHECKED_KEY, type ScriptedWire, type WireHarness, wireHarness } from './wire-harness.ts';

/** Has every call of a provider come from a caller who speaks a dialect that the provider speaks too. */
function askedIn(
  dialect: 'messages' | 'responses',
  bodyOf: (request: NormalizedRequest) => JsonObject,
  provider: Provider,
): Provider {
  return {
    ...provider,
    chat: ({ request, ...call }) =>
      provider.chat({ ...call, request: { ...request, native: { apiFormat: dialect, body: bodyOf(request) } } }),
  };
}

function promptOf({ messages }: NormalizedRequest): string {
  const content = messages.at(-1)?.content;
  return typeof content === 'string' ? content : '';
}

/** Starts a {@link WireHarness} of the Messages API, for callers who speak it. */
export function nativeMessagesHarness(): Promise<WireHarness> {
  const bodyOf = (request: NormalizedRequest): JsonObject => ({
    model: 'acme/one',
    max_tokens: 100,
    messages: [{ role: 'user', content: promptOf(request) }],
  });
  return wireHarness(ANTHROPIC_WIRE, (baseURL) =>
    askedIn(
      'messages',
      bodyOf,
      anthropic({ slug: 'checked', baseURL, apiKey: CHECKED_KEY, models: { 'acme/one': {} } }),
    ),
  );
}

/** Starts a {@link WireHarness} of OpenAI's Responses, for callers who speak them. */
export function nativeResponsesHarness(): Promise<WireHarness> {
  const bodyOf = (request: NormalizedRequest): JsonObject => ({ model: 'acme/one', input: promptOf(request) });
  return wireHarness(RESPONSES_WIRE, (baseURL) =>
    askedIn(
      'responses',
      bodyOf,
      openaiCompatible({
        slug: 'checked',
        baseURL,
        apiKey: CHECKED_KEY,
        models: { 'acme/one': {} },
        nativeApiFormats: ['responses'],
      }),
    ),
  );
}

/** Scripted answers in OpenAI's Responses. */
export const RESPONSES_WIRE: ScriptedWire = {
  whole: (answer) => JSON.stringify(responseOf(answer)),
  events: (answer) =>
    event({ type: 'response.created', response: { id: 'resp_check', status: 'in_progress' } }) +
    itemsOf(answer)
      .map((item, place) => eventsOf(item, place, answer))
      .join(''),
  ending(answer) {
    const response = responseOf(answer);
    return event({ type: `response.${response.status}`, response });
  },
  error: (message) => JSON.stringify({ error: { message, type: 'some_error', param: null, code: null } }),
  streamError: (message) => event({ type: 'error', code: 'server_error', message, param: null }),
};

interface Item {
  readonly id: string;
  readonly type: string;
  readonly [member: string]: unknown;
}

function event(data: { readonly type: string; readonly [member: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}

function itemsOf({ reasoning, text, toolCalls = [] }: ScriptedAnswer): readonly Item[] {
  const content = [{ type: 'output_text', text: text?.join(''), annotations: [], logprobs: [] }];
  return [
    ...(reasoning === undefined
      ? []
      : [{ id: 'rs_1', type: 'reasoning', summary: [{ type: 'summary_text', text: reasoning.join('') }] }]),
    ...(text === undefined ? [] : [{ id: 'msg_1', type: 'message', role: 'assistant', content }]),
    ...toolCalls.map(({ id, name, arguments: pieces }) => ({
      id: `fc_${id}`,
      type: 'function_call',
      call_id: id,
      name,
      arguments: pieces.join('') || '{}',
    })),
  ];
}

function eventsOf(item: Item, place: number, { reasoning = [], text = [] }: ScriptedAnswer): string {
  const at = { output_index: place, item_id: item.id };
  const begun = { ...item, ...(item.type === 'function_call' ? { arguments: '' } : {}) };
  const deltas: Readonly<Record<string, readonly [type: string, pieces: readonly string[]]>> = {
    reasoning: ['response.reasoning_summary_text.delta', reasoning],
    message: ['response.output_text.delta', text],
    function_call: ['response.function_call_arguments.delta', [String(item['arguments'])]],
  };
  const [type, pieces] = deltas[item.type] ?? ['', []];
  return [
    event({ type: 'response.output_item.added', output_index: place, item: begun }),
    ...pieces.map((delta) => event({ type, ...at, delta })),
    event({ type: 'response.output_item.done', output_index: place, item }),
  ].join('');
}

function responseOf(answer: ScriptedAnswer): { readonly status: string; readonly [member: string]: unknown } {
  const { finish = 'stop', usage } = answer;
  const reason = {
    length: 'max_output_tokens',
    content_filter: 'content_filter',
    stop: undefined,
    tool_calls: undefined,
  };
  const cut = reason[finish];
  return {
    id: 'resp_check',
    object: 'response',
    status: cut === undefined ? 'completed' : 'incomplete',
    ...(cut === undefined ? {} : { incomplete_details: { reason: cut } }),
    output: itemsOf(answer),
    ...(usage === undefined
      ? {}
      : {
          usage: {
            input_tokens: usage.promptTokens,
            input_tokens_details: { cached_tokens: usage.cachedTokens ?? 0 },
            output_tokens: usage.completionTokens,
            total_tokens: usage.promptTokens + usage.completionTokens,
          },
        }),
  };
}
