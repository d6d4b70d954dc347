import { type Transport, anthropic } from 'signalbox';
import type { ScriptedAnswer } from 'signalbox/testing';
import { CHECKED_KEY, type ScriptedWire, type WireHarness, wireHarness } from './wire-harness.ts';

/** Starts a {@link WireHarness} of the Messages API. */
export function anthropicHarness(transport?: Transport): Promise<WireHarness> {
  return wireHarness(ANTHROPIC_WIRE, (baseURL) =>
    anthropic({ slug: 'checked', baseURL, apiKey: CHECKED_KEY, models: { 'acme/one': {} }, transport }),
  );
}

/** Scripted answers in the Messages API. */
export const ANTHROPIC_WIRE: ScriptedWire = {
  whole: (answer) => JSON.stringify({ ...head(answer), content: blocksOf(answer), ...stopOf(answer) }),
  events,
  ending,
  error: (message) =>
    JSON.stringify({ type: 'error', error: { type: 'some_error', message }, request_id: 'req_check' }),
  streamError: (message) => event({ type: 'error', error: { type: 'overloaded_error', message } }),
};

const STOP_REASONS = { stop: 'end_turn', length: 'max_tokens', content_filter: 'refusal', tool_calls: 'tool_use' };

function event(data: { readonly type: string; readonly [member: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}

function head({ usage }: ScriptedAnswer): object {
  const counted = usage === undefined ? {} : { usage: usageOf(usage) };
  return { id: 'msg_check', type: 'message', role: 'assistant', model: 'one', ...counted };
}

function blocksOf({ reasoning, text, toolCalls = [] }: ScriptedAnswer): readonly object[] {
  return [
    ...(reasoning === undefined ? [] : [{ type: 'thinking', thinking: reasoning.join(''), signature: 'c2lnbmVk' }]),
    ...(text === undefined ? [] : [{ type: 'text', text: text.join('') }]),
    ...toolCalls.map((call) => ({
      type: 'tool_use',
      id: call.id,
      name: call.name,
      input: JSON.parse(call.arguments.join('') || '{}') as unknown,
    })),
  ];
}

/** Everything of a stream but its end: the last block stays open. */
function events(answer: ScriptedAnswer): string {
  const { reasoning, text, toolCalls = [] } = answer;
  const blocks = [
    ...(reasoning === undefined
      ? []
      : [
          {
            start: { type: 'thinking', thinking: '', signature: '' },
            deltas: [
              ...reasoning.map((thinking) => ({ type: 'thinking_delta', thinking })),
              { type: 'signature_delta', signature: 'c2lnbmVk' },
            ],
          },
        ]),
    ...(text === undefined
      ? []
      : [{ start: { type: 'text', text: '' }, deltas: text.map((piece) => ({ type: 'text_delta', text: piece })) }]),
    ...toolCalls.map((call) => ({
      start: { type: 'tool_use', id: call.id, name: call.name, input: {} },
      deltas: ['', ...call.arguments].map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
    })),
  ];
  const body = blocks.map(({ start, deltas }, index) => {
    const opened = event({ type: 'content_block_start', index, content_block: start });
    const said = deltas.map((delta) => event({ type: 'content_block_delta', index, delta }));
    const closed = index === blocks.length - 1 ? [] : [event({ type: 'content_block_stop', index })];
    return [opened, ...said, ...closed].join('');
  });
  const message = { ...head(answer), content: [], stop_reason: null, stop_sequence: null };
  return [event({ type: 'message_start', message }), event({ type: 'ping' }), ...body].join('');
}

function ending(answer: ScriptedAnswer): string {
  const { reasoning, text, toolCalls = [], usage } = answer;
  const blocks = (reasoning === undefined ? 0 : 1) + (text === undefined ? 0 : 1) + toolCalls.length;
  const counted = usage === undefined ? {} : { usage: { output_tokens: usage.completionTokens } };
  return [
    event({ type: 'content_block_stop', index: blocks - 1 }),
    event({ type: 'message_delta', delta: stopOf(answer), ...counted }),
    event({ type: 'message_stop' }),
  ].join('');
}

function stopOf({ finish, toolCalls }: ScriptedAnswer): object {
  const reason = finish ?? (toolCalls === undefined ? 'stop' : 'tool_calls');
  return { stop_reason: STOP_REASONS[reason], stop_sequence: null };
}

function usageOf({ promptTokens, completionTokens, cachedTokens }: NonNullable<ScriptedAnswer['usage']>): object {
  return {
    input_tokens: promptTokens - (cachedTokens ?? 0),
    ...(cachedTokens === undefined ? {} : { cache_read_input_tokens: cachedTokens }),
    output_tokens: completionTokens,
  };
}
