import type { ServerResponse } from 'node:http';
import { type ReceivedRequest, type UpstreamHandler, chunkEvent, dataEvent, sendJson } from './upstream.ts';

/** A tool call that the model of {@link agentUpstream} makes. `input` is free text, for tools that take that. */
export interface PlannedCall {
  readonly name: string;
  readonly args?: object;
  readonly input?: string;
}

/** What the model thinks before it calls tools. */
export const THOUGHT = 'Both files have to be looked at first.';
/** What it says when it has the results. */
export const DONE = 'The signal is green in both.';
/** What the wires that sign or encrypt thoughts want back. */
export const SIGNATURE = 'EqQBCgIYAhIM+/agent=';
export const ENCRYPTED = 'gAAAAABo+/agent=';
export const THOUGHT_SIGNATURE = 'CpQBAdHtim8agent==';

/**
 * Plays a model that thinks and calls tools at the same time, and answers when it has their results: on the wires of
 * chat completions, Messages, Responses and `generateContent`, by the path. Requests without tools get a title.
 */
export function agentUpstream(calls: readonly PlannedCall[]): UpstreamHandler {
  return (request, response) => {
    const { path } = request;
    if (path.endsWith('/count_tokens')) return sendJson(response, 200, { input_tokens: 4_321 });
    if (path.endsWith(':countTokens')) return sendJson(response, 200, { totalTokens: 4_321 });
    const wire =
      path.includes('generateContent') || path.includes('streamGenerateContent')
        ? GOOGLE
        : (WIRES[endOf(path)] ?? CHAT);
    const act = wire.hasResults(request.body) ? 'answer' : wire.hasTools(request.body) ? 'call' : 'title';
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of wire.events(request, act, calls)) write(response, event);
    response.end();
  };
}

type Act = 'call' | 'answer' | 'title';

interface AgentWire {
  hasTools(body: ReceivedRequest['body']): boolean;
  hasResults(body: ReceivedRequest['body']): boolean;
  events(request: ReceivedRequest, act: Act, calls: readonly PlannedCall[]): Iterable<string>;
}

function write(response: ServerResponse, event: string): void {
  response.write(event);
}

function endOf(path: string): string {
  return path.replace(/\?.*$/, '').split('/').at(-1) ?? '';
}

const argumentsOf = ({ args, input }: PlannedCall): string => JSON.stringify(args ?? { input });
const idOf = (at: number): string => `call_agent_${at}`;
const halves = (text: string): readonly [string, string] => [
  text.slice(0, text.length / 2),
  text.slice(text.length / 2),
];
const TITLE = '{"title":"Signals"}';
const hasList = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

const CHAT: AgentWire = {
  hasTools: ({ tools }) => hasList(tools),
  hasResults: ({ messages }) => (messages as readonly { role: string }[]).at(-1)?.role === 'tool',
  *events(_request, act, calls) {
    yield chunkEvent({ role: 'assistant', content: '' });
    if (act === 'title') yield chunkEvent({ content: TITLE });
    else for (const half of halves(THOUGHT)) yield chunkEvent({ reasoning_content: half });
    if (act === 'answer') for (const half of halves(DONE)) yield chunkEvent({ content: half });
    if (act === 'call') {
      for (const [index, call] of calls.entries()) {
        const head = { index, id: idOf(index), type: 'function', function: { name: call.name, arguments: '' } };
        yield chunkEvent({ tool_calls: [head] });
      }
      // Side by side, as some servers do.
      for (const half of [0, 1] as const) {
        for (const [index, call] of calls.entries()) {
          yield chunkEvent({ tool_calls: [{ index, function: { arguments: halves(argumentsOf(call))[half] } }] });
        }
      }
    }
    yield chunkEvent({}, act === 'call' ? 'tool_calls' : 'stop');
    const usage = { prompt_tokens: 4_000, completion_tokens: 50, total_tokens: 4_050 };
    yield dataEvent({
      id: 'chatcmpl-test',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [],
      usage,
    });
    yield 'data: [DONE]\n\n';
  },
};

const named = (data: { readonly type: string; readonly [member: string]: unknown }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

const MESSAGES: AgentWire = {
  hasTools: ({ tools }) => hasList(tools),
  hasResults({ messages }) {
    const last = (messages as readonly { content: unknown }[]).at(-1)?.content;
    return Array.isArray(last) && last.some((block: { type?: string }) => block.type === 'tool_result');
  },
  *events({ body }, act, calls) {
    const usage = {
      input_tokens: 10,
      cache_creation_input_tokens: 90,
      cache_read_input_tokens: 3_900,
      output_tokens: 1,
    };
    const head = { id: 'msg_agent', type: 'message', role: 'assistant', model: body['model'], content: [] };
    yield named({ type: 'message_start', message: { ...head, stop_reason: null, stop_sequence: null, usage } });
    let index = 0;
    function* block(start: object, deltas: readonly object[]): Generator<string> {
      yield named({ type: 'content_block_start', index, content_block: start });
      for (const delta of deltas) yield named({ type: 'content_block_delta', index, delta });
      yield named({ type: 'content_block_stop', index });
      index += 1;
    }
    const said = (text: string): readonly object[] => halves(text).map((half) => ({ type: 'text_delta', text: half }));
    if (act === 'title') yield* block({ type: 'text', text: '' }, said(TITLE));
    else {
      yield* block({ type: 'thinking', thinking: '', signature: '' }, [
        ...halves(THOUGHT).map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature: SIGNATURE },
      ]);
    }
    if (act === 'answer') yield* block({ type: 'text', text: '' }, said(DONE));
    if (act === 'call') {
      for (const [at, call] of calls.entries()) {
        yield* block(
          { type: 'tool_use', id: `toolu_agent_${at}`, name: call.name, input: {} },
          halves(argumentsOf(call)).map((half) => ({ type: 'input_json_delta', partial_json: half })),
        );
      }
    }
    const delta = { stop_reason: act === 'call' ? 'tool_use' : 'end_turn', stop_sequence: null };
    yield named({ type: 'message_delta', delta, usage: { ...usage, output_tokens: 50 } });
    yield named({ type: 'message_stop' });
  },
};

const GOOGLE: AgentWire = {
  hasTools: ({ tools }) => hasList(tools),
  hasResults({ contents }) {
    const last = (contents as readonly { parts: readonly object[] }[]).at(-1)?.parts ?? [];
    return last.some((part) => 'functionResponse' in part);
  },
  *events(_request, act, calls) {
    const event = (parts: readonly object[], finishReason?: string): string =>
      dataEvent({
        candidates: [{ content: { role: 'model', parts }, ...(finishReason && { finishReason }), index: 0 }],
        modelVersion: 'one',
        usageMetadata: { promptTokenCount: 4_000, candidatesTokenCount: 50, totalTokenCount: 4_050 },
      });
    if (act === 'title') yield event([{ text: TITLE }]);
    else yield event([{ text: THOUGHT, thought: true }]);
    if (act === 'answer') yield event(halves(DONE).map((text) => ({ text })));
    if (act === 'call') {
      for (const [at, { name, args, input }] of calls.entries()) {
        const part = { functionCall: { name, args: args ?? { input } } };
        yield event([at === 0 ? { ...part, thoughtSignature: THOUGHT_SIGNATURE } : part]);
      }
    }
    yield event([], 'STOP');
  },
};

const RESPONSES: AgentWire = {
  hasTools: ({ tools }) => hasList(tools),
  hasResults: ({ input }) =>
    Array.isArray(input) && String((input.at(-1) as { type?: unknown } | undefined)?.type).endsWith('_call_output'),
  *events({ body }, act, calls) {
    let sequence = -1;
    const event = (type: string, members: object): string => {
      sequence += 1;
      return named({ type, sequence_number: sequence, ...members });
    };
    const response = (status: string, output: readonly object[], usage: object | null) => ({
      response: {
        id: 'resp_agent',
        object: 'response',
        created_at: 1,
        status,
        model: body['model'],
        output,
        usage,
        error: null,
      },
    });
    const items: readonly object[] = [
      {
        type: 'reasoning',
        id: 'rs_agent',
        summary: [{ type: 'summary_text', text: THOUGHT }],
        encrypted_content: ENCRYPTED,
      },
      ...(act === 'call'
        ? calls.map((call, at) => {
            const own = { status: 'completed', call_id: idOf(at), name: call.name };
            return call.input === undefined
              ? { type: 'function_call', id: `fc_agent_${at}`, ...own, arguments: argumentsOf(call) }
              : { type: 'custom_tool_call', id: `ctc_agent_${at}`, ...own, input: call.input };
          })
        : [
            {
              type: 'message',
              id: 'msg_agent',
              status: 'completed',
              role: 'assistant',
              content: [{ type: 'output_text', text: act === 'title' ? TITLE : DONE, annotations: [], logprobs: [] }],
            },
          ]),
    ];
    yield event('response.created', response('in_progress', [], null));
    yield event('response.in_progress', response('in_progress', [], null));
    for (const [index, item] of items.entries()) {
      yield event('response.output_item.added', { output_index: index, item });
      if ((item as { type: string }).type === 'message') {
        for (const delta of halves(act === 'title' ? TITLE : DONE)) {
          yield event('response.output_text.delta', {
            item_id: 'msg_agent',
            output_index: index,
            content_index: 0,
            delta,
          });
        }
      }
      yield event('response.output_item.done', { output_index: index, item });
    }
    const usage = {
      input_tokens: 4_000,
      input_tokens_details: { cached_tokens: 3_900 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 20 },
      total_tokens: 4_050,
    };
    yield event('response.completed', response('completed', items, usage));
  },
};

const WIRES: Readonly<Record<string, AgentWire>> = { completions: CHAT, messages: MESSAGES, responses: RESPONSES };
