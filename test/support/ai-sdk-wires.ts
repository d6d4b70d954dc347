import type { ScriptedAnswer } from 'signalbox/testing';
import { ANTHROPIC_WIRE } from './anthropic-harness.ts';
import { CHAT_WIRE } from './chat-harness.ts';
import { GOOGLE_WIRE } from './google-harness.ts';
import type { ScriptedWire } from './wire-harness.ts';

/** The Messages API with usage in every answer, as it is in truth. */
export const MESSAGES_WIRE: ScriptedWire = {
  ...ANTHROPIC_WIRE,
  whole: (answer) => ANTHROPIC_WIRE.whole({ usage: NO_USAGE, ...answer }),
  events: (answer) => ANTHROPIC_WIRE.events({ usage: NO_USAGE, ...answer }),
  ending: (answer) => ANTHROPIC_WIRE.ending({ usage: NO_USAGE, ...answer }),
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
  embeddings({ body, tokensPerInput }) {
    // A single text is asked for in another way, and comes back in another way.
    if ('requests' in body) return GOOGLE_WIRE.embeddings?.({ body, tokensPerInput }) ?? '{}';
    const answer = GOOGLE_WIRE.embeddings?.({ body: { requests: [body] }, tokensPerInput }) ?? '{}';
    const { embeddings } = JSON.parse(answer) as { readonly embeddings: readonly unknown[] };
    return JSON.stringify({ embedding: embeddings[0] });
  },
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
export const SIGNATURE = 'c2lnbmVk';

function plain(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`;
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
