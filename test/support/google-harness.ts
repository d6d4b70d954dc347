import { type Transport, google } from 'signalbox';
import { type ScriptedAnswer, scriptedVector } from 'signalbox/testing';
import { CHECKED_KEY, type ScriptedWire, type WireHarness, wireHarness } from './wire-harness.ts';

/** Starts a {@link WireHarness} of Google's own wire. */
export function googleHarness(transport?: Transport): Promise<WireHarness> {
  return wireHarness(GOOGLE_WIRE, (baseURL) =>
    google({
      slug: 'checked',
      baseURL,
      apiKey: CHECKED_KEY,
      models: { 'google/gemini-3-flash': { upstreamModel: 'gemini-3-flash' } },
      transport,
    }),
  );
}

/** Scripted answers in Google's own wire. */
export const GOOGLE_WIRE: ScriptedWire = {
  whole: (answer) => JSON.stringify({ ...candidate(partsOf(answer), finishOf(answer)), ...usageOf(answer), ...HEAD }),
  events: (answer) =>
    partsOf(answer, true)
      .map((part) => data({ ...candidate([part]), ...HEAD }))
      .join(''),
  ending: (answer) => data({ ...candidate([{ text: '' }], finishOf(answer)), ...usageOf(answer), ...HEAD }),
  error: (message, status) =>
    JSON.stringify({ error: { code: status, message, status: STATUSES[status] ?? 'UNKNOWN' } }),
  streamError: (message) => data({ error: { code: 503, message, status: 'UNAVAILABLE' } }),
  embeddings: ({ body, tokensPerInput }) => {
    const { requests } = body as { readonly requests: readonly EmbedContentRequest[] };
    if (requests.length > 100) throw new RangeError('Google takes at most 100 inputs');
    return JSON.stringify({
      embeddings: requests.map(({ content, outputDimensionality: length }) => ({
        values: scriptedVector(content.parts.map(({ text }) => text).join(''), length),
      })),
      usageMetadata: { promptTokenCount: requests.length * tokensPerInput },
    });
  },
};

interface EmbedContentRequest {
  readonly content: { readonly parts: readonly { readonly text: string }[] };
  readonly outputDimensionality?: number;
}

const HEAD = { modelVersion: 'gemini-3-flash', responseId: 'check' };

const STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

const FINISHES = { stop: 'STOP', length: 'MAX_TOKENS', tool_calls: 'STOP', content_filter: 'SAFETY' } as const;

function finishOf({ finish = 'stop' }: ScriptedAnswer): string {
  return FINISHES[finish];
}

/** Google's streams have spaces where JSON allows them, and `\r\n` between lines. */
function data(value: unknown): string {
  return `data: ${JSON.stringify(value)}\r\n\r\n`;
}

function candidate(parts: readonly object[], finishReason?: string): object {
  return { candidates: [{ content: { parts, role: 'model' }, ...(finishReason && { finishReason }), index: 0 }] };
}

/** Calls come complete, whether the answer is streamed or not; pieces of text are events of their own. */
function partsOf({ reasoning = [], text = [], toolCalls = [] }: ScriptedAnswer, streamed = false): readonly object[] {
  const calls = toolCalls.map((call) => ({
    functionCall: {
      id: call.id,
      name: call.name,
      ...(call.arguments.length > 0 ? { args: JSON.parse(call.arguments.join('')) as object } : {}),
    },
  }));
  const said = (pieces: readonly string[]): readonly string[] =>
    streamed || pieces.length === 0 ? pieces : [pieces.join('')];
  return [
    ...said(reasoning).map((piece) => ({ text: piece, thought: true })),
    ...said(text).map((piece) => ({ text: piece })),
    ...calls,
  ];
}

function usageOf({ usage }: ScriptedAnswer): object {
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
