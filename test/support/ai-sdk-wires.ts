import type { ScriptedAnswer } from 'signalbox/testing';
import { CHAT_WIRE } from './chat-harness.ts';
import type { ScriptedWire } from './wire-harness.ts';

/** Scripted answers as Anthropic's messages API writes them. */
export const MESSAGES_WIRE: ScriptedWire = {
  whole(answer) {
    const content = [
      ...thinkingBlocks(answer).map(({ text, signature }) => ({ type: 'thinking', thinking: text, signature })),
      ...(answer.text === undefined ? [] : [{ type: 'text', text: answer.text.join('') }]),
      ...(answer.toolCalls ?? []).map((call) => ({
        type: 'tool_use',
        id: call.id,
        name: call.name,
        input: JSON.parse(call.arguments.join('') || '{}') as unknown,
      })),
    ];
    return JSON.stringify({ ...MESSAGE, content, stop_reason: stopReason(answer), usage: messageUsage(answer) });
  },
  events(answer) {
    let index = 0;
    const block = (start: object, deltas: readonly object[]): string => {
      const events = [
        named({ type: 'content_block_start', index, content_block: start }),
        ...deltas.map((delta) => named({ type: 'content_block_delta', index, delta })),
        named({ type: 'content_block_stop', index }),
      ];
      index += 1;
      return events.join('');
    };
    const { input_tokens: input, cache_read_input_tokens: read } = messageUsage(answer);
    const usage = { input_tokens: input, cache_read_input_tokens: read, output_tokens: 1 };
    return [
      named({ type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null, usage } }),
      named({ type: 'ping' }),
      ...thinkingBlocks(answer).map(({ pieces, signature }) =>
        block({ type: 'thinking', thinking: '', signature: '' }, [
          ...pieces.map((thinking) => ({ type: 'thinking_delta', thinking })),
          { type: 'signature_delta', signature },
        ]),
      ),
      answer.text === undefined
        ? ''
        : block(
            { type: 'text', text: '' },
            answer.text.map((text) => ({ type: 'text_delta', text })),
          ),
      ...(answer.toolCalls ?? []).map(({ id, name, arguments: pieces }) =>
        block(
          { type: 'tool_use', id, name, input: {} },
          pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
        ),
      ),
    ].join('');
  },
  ending: (answer) =>
    named({
      type: 'message_delta',
      delta: { stop_reason: stopReason(answer), stop_sequence: null },
      usage: { output_tokens: messageUsage(answer).output_tokens },
    }) + named({ type: 'message_stop' }),
  error: (message, status) => JSON.stringify({ type: 'error', error: { type: errorType(status), message } }),
  streamError: (message) => named({ type: 'error', error: { type: 'overloaded_error', message } }),
};

/** Scripted answers as Google's Gemini API writes them. */
export const GEMINI_WIRE: ScriptedWire = {
  whole: (answer) =>
    JSON.stringify({ ...geminiChunk(geminiParts(inOnePiece(answer)), geminiReason(answer)), ...geminiUsage(answer) }),
  events: (answer) =>
    geminiParts(answer)
      .map((part) => plain(geminiChunk([part])))
      .join(''),
  ending: (answer) => plain({ ...geminiChunk([], geminiReason(answer)), ...geminiUsage(answer) }),
  error: (message, status) => JSON.stringify({ error: { code: status, message, status: 'SOME_ERROR' } }),
  streamError: (message) => plain({ error: { code: 503, message, status: 'UNAVAILABLE' } }),
};

/** Scripted answers as Mistral writes chat completions: thoughts are content, and usage comes with the finish, always. */
export const MISTRAL_WIRE: ScriptedWire = {
  ...CHAT_WIRE,
  whole({ reasoning, ...answer }) {
    const body = JSON.parse(CHAT_WIRE.whole({ usage: NO_USAGE, ...answer })) as MistralBody;
    const [choice] = body.choices;
    if (reasoning !== undefined && choice?.message !== undefined) {
      const text = { type: 'text', text: choice.message.content };
      choice.message.content = [thought(reasoning.join('')), text];
    }
    return JSON.stringify(body);
  },
  events: ({ reasoning = [], ...answer }) =>
    reasoning
      .map((piece) => plain({ ...MISTRAL_HEAD, choices: [{ index: 0, delta: { content: [thought(piece)] } }] }))
      .join('') + CHAT_WIRE.events(answer),
  ending(answer) {
    const { choices, usage } = JSON.parse(CHAT_WIRE.whole({ usage: NO_USAGE, ...answer })) as MistralBody;
    const finish = { index: 0, delta: { content: '' }, finish_reason: choices[0]?.finish_reason };
    return `${plain({ ...MISTRAL_HEAD, choices: [finish], usage })}data: [DONE]\n\n`;
  },
  error: (message, status) =>
    JSON.stringify({ object: 'error', message, type: 'some_error', param: null, code: status }),
};

interface MistralBody {
  readonly choices: readonly { message?: { content: unknown }; readonly finish_reason?: string }[];
  readonly usage?: object;
}

const MISTRAL_HEAD = { id: 'cmpl-check', object: 'chat.completion.chunk', created: 1, model: 'one' };
const NO_USAGE = { promptTokens: 0, completionTokens: 0 };

function thought(text: string): object {
  return { type: 'thinking', thinking: [{ type: 'text', text }] };
}

/** Signature of every scripted piece of reasoning. */
export const SIGNATURE = 'EqQBCkYIBRgC+/sig==';

const MESSAGE = {
  id: 'msg_check',
  type: 'message',
  role: 'assistant',
  model: 'claude-check',
  stop_sequence: null,
} as const;

function named(event: { readonly type: string; readonly [member: string]: unknown }): string {
  return `event: ${event.type}\n${plain(event)}`;
}

function plain(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

function thinkingBlocks({ reasoning }: ScriptedAnswer): readonly {
  readonly text: string;
  readonly pieces: readonly string[];
  readonly signature: string;
}[] {
  return reasoning === undefined ? [] : [{ text: reasoning.join(''), pieces: reasoning, signature: SIGNATURE }];
}

function stopReason({ finish, toolCalls }: ScriptedAnswer): string {
  if (finish === undefined) return toolCalls === undefined ? 'end_turn' : 'tool_use';
  return { stop: 'end_turn', length: 'max_tokens', content_filter: 'refusal', tool_calls: 'tool_use' }[finish];
}

/** Cached tokens stand beside the input here. */
function messageUsage({ usage }: ScriptedAnswer): {
  readonly input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly output_tokens: number;
} {
  const { promptTokens = 0, completionTokens = 0, cachedTokens = 0 } = usage ?? {};
  return {
    input_tokens: promptTokens - cachedTokens,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
  };
}

function errorType(status: number): string {
  return status === 529 ? 'overloaded_error' : status >= 500 ? 'api_error' : 'some_error';
}

function inOnePiece({ reasoning, text, ...answer }: ScriptedAnswer): ScriptedAnswer {
  return {
    ...answer,
    ...(reasoning === undefined ? {} : { reasoning: [reasoning.join('')] }),
    ...(text === undefined ? {} : { text: [text.join('')] }),
  };
}

function geminiParts({ reasoning = [], text = [], toolCalls = [] }: ScriptedAnswer): readonly object[] {
  return [
    ...reasoning.map((piece) => ({ text: piece, thought: true })),
    ...text.map((piece) => ({ text: piece })),
    ...toolCalls.map((call, index) => ({
      functionCall: { id: call.id, name: call.name, args: JSON.parse(call.arguments.join('') || '{}') as unknown },
      // Only the first of parallel calls is signed.
      ...(index === 0 ? { thoughtSignature: SIGNATURE } : {}),
    })),
  ];
}

function geminiChunk(parts: readonly object[], finishReason?: string): object {
  return { candidates: [{ content: { role: 'model', parts }, finishReason, index: 0 }], responseId: 'resp-check' };
}

function geminiReason({ finish }: ScriptedAnswer): string {
  return { stop: 'STOP', length: 'MAX_TOKENS', content_filter: 'SAFETY', tool_calls: 'STOP' }[finish ?? 'stop'];
}

function geminiUsage({ usage }: ScriptedAnswer): object {
  if (usage === undefined) return {};
  const { promptTokens, completionTokens, cachedTokens } = usage;
  return {
    usageMetadata: {
      promptTokenCount: promptTokens,
      candidatesTokenCount: completionTokens,
      totalTokenCount: promptTokens + completionTokens,
      ...(cachedTokens === undefined ? {} : { cachedContentTokenCount: cachedTokens }),
    },
  };
}
