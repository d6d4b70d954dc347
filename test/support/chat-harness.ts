import { type VendorQuirks, type Transport, openaiCompatible } from 'signalbox';
import { type ScriptedAnswer, scriptedVector } from 'signalbox/testing';
import { base64Of } from './embedding-upstream.ts';
import { CHECKED_KEY, type ScriptedWire, type WireHarness, wireHarness } from './wire-harness.ts';

/** Starts a {@link WireHarness} of the chat completions wire. */
export function chatHarness(transport?: Transport, dialect?: VendorQuirks): Promise<WireHarness> {
  return wireHarness(CHAT_WIRE, (baseURL) =>
    openaiCompatible({
      slug: 'checked',
      baseURL,
      apiKey: CHECKED_KEY,
      models: { 'acme/one': {} },
      transport,
      quirks: dialect,
    }),
  );
}

/** Scripted answers in chat completions. */
export const CHAT_WIRE: ScriptedWire = {
  whole: wholeAnswer,
  events,
  ending: (answer) => `${finishEvent(answer)}data: [DONE]\n\n`,
  error: (message) => JSON.stringify({ error: { message, type: 'some_error', param: null, code: null } }),
  streamError: (message) => data({ error: { message, type: 'server_error', code: null } }),
  embeddings: ({ body, tokensPerInput }) => {
    const { input, dimensions, output_dimension: other, encoding_format: format } = body as unknown as EmbeddingsBody;
    const tokens = input.length * tokensPerInput;
    const items = input.map((text, index) => {
      const vector = scriptedVector(text, dimensions ?? other);
      return { object: 'embedding', index, embedding: format === 'base64' ? base64Of(vector) : vector };
    });
    // In any order: the index counts.
    return JSON.stringify({ object: 'list', data: items.toReversed(), usage: { prompt_tokens: tokens } });
  },
};

interface EmbeddingsBody {
  readonly input: readonly string[];
  readonly dimensions?: number;
  readonly output_dimension?: number;
  readonly encoding_format?: string;
}

const HEAD = { id: 'chatcmpl-check', created: 1, model: 'one', system_fingerprint: 'fp' };

function data(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function delta(value: object): string {
  const choices = [{ index: 0, delta: value, logprobs: null, finish_reason: null }];
  return data({ ...HEAD, object: 'chat.completion.chunk', choices });
}

/** Everything of a stream but its end. */
function events({ reasoning = [], text = [], toolCalls = [] }: ScriptedAnswer): string {
  return [
    delta({ role: 'assistant', content: '' }),
    ...reasoning.map((piece) => delta({ reasoning_content: piece })),
    ...text.map((piece) => delta({ content: piece })),
    ...toolCalls.flatMap((call, index) => [
      delta({
        tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }],
      }),
      ...call.arguments.map((piece) => delta({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
  ].join('');
}

function finishEvent(answer: ScriptedAnswer): string {
  const choices = [{ index: 0, delta: {}, finish_reason: finishOf(answer) }];
  const last = data({ ...HEAD, object: 'chat.completion.chunk', choices });
  return answer.usage === undefined ? last : last + data({ ...HEAD, choices: [], usage: usageOf(answer.usage) });
}

function wholeAnswer(answer: ScriptedAnswer): string {
  const message = {
    role: 'assistant',
    content: answer.text?.join('') ?? null,
    ...(answer.reasoning === undefined ? {} : { reasoning_content: answer.reasoning.join('') }),
    ...(answer.toolCalls === undefined
      ? {}
      : {
          tool_calls: answer.toolCalls.map((call) => ({
            id: call.id,
            type: 'function',
            function: { name: call.name, arguments: call.arguments.join('') },
          })),
        }),
  };
  return JSON.stringify({
    ...HEAD,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(answer) }],
    ...(answer.usage === undefined ? {} : { usage: usageOf(answer.usage) }),
  });
}

function finishOf({ finish, toolCalls }: ScriptedAnswer): string {
  return finish ?? (toolCalls === undefined ? 'stop' : 'tool_calls');
}

function usageOf({ promptTokens, completionTokens, cachedTokens }: NonNullable<ScriptedAnswer['usage']>): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...(cachedTokens === undefined ? {} : { prompt_tokens_details: { cached_tokens: cachedTokens } }),
  };
}
