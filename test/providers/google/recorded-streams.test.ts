import { describe, expect, it } from 'vitest';
import { ResultCollector } from '../../../src/core/stream/collect.ts';
import { StreamTracker } from '../../../src/core/stream/stream-tracker.ts';
import type { FinishReason } from '../../../src/protocol/chat-result.ts';
import type { Delta, ToolCallDelta } from '../../../src/protocol/chunk.ts';
import type { ReasoningDetail } from '../../../src/protocol/reasoning.ts';
import { type Asked, answerContextOf, decodeGoogleStream, googleFixture } from '../../support/google-wire.ts';
import type { FinishPiece, StreamPiece } from '../../../src/contracts/stream-piece.ts';

const FACTS: StreamPiece = { type: 'facts', upstreamId: 'r-7f1', serviceTier: undefined };
const STOP = { ...finish('stop', 'STOP'), besideContent: true };

/** What must come out of each stream. Plain text stands as it stood between the quotes of its JSON. */
const STREAMS: Readonly<Record<string, readonly StreamPiece[]>> = {
  'text.sse': [
    FACTS,
    usage(12, 0),
    'Signal',
    usage(12, 3),
    ' box 🚦',
    { ...FACTS, serviceTier: 'default' },
    usage(12, 7),
    String.raw` “ready”.\nOver`,
    STOP,
  ],
  'thoughts.sse': [
    FACTS,
    usage(12, 20, 20),
    thought('**Looking**\n\nThe line', 0),
    usage(12, 31, 31),
    thought(' is free.', 0),
    usage(12, 33, 31),
    'Line 4',
    usage(12, 36, 31),
    ' is free.',
    usage(12, 36, 31),
    said({ reasoning_details: [signature('text:15-15', 'EtQBCtEB+sig/of=text==', 1)] }),
    STOP,
  ],
  'tools.sse': [
    FACTS,
    usage(12, 40, 40),
    thought('I need both.', 0),
    usage(12, 58, 40),
    said({
      reasoning_details: [signature('call_test_0_0', 'EvIBCu8BAf+weather/sig==', 1)],
      tool_calls: [call(0, 'call_test_0_0', 'get_weather', '{"city":"Łódź","days":2}', 'EvIBCu8BAf+weather/sig==')],
    }),
    said({ tool_calls: [call(1, 'call_test_0_1', 'get_time', '{"zone":"CET"}')] }),
    usage(12, 64, 40),
    said({ tool_calls: [call(2, 'fc-9', 'ring_bell', '{}')] }),
    { ...finish('tool_calls', 'STOP'), besideContent: true },
  ],
  'audio.sse': [
    FACTS,
    said({ audio: { data: 'AAAB' } }),
    {
      type: 'usage',
      usage: {
        prompt_tokens: 12,
        completion_tokens: 50,
        total_tokens: 62,
        completion_tokens_details: { audio_tokens: 50 },
      },
    },
    said({ audio: { data: 'AAIB' } }),
    STOP,
  ],
  'blocked-prompt.sse': [FACTS, usage(9, 0), finish('content_filter', 'PROMPT_BLOCKED:SAFETY')],
  'safety-midway.sse': [FACTS, usage(12, 0), 'Once upon', usage(12, 2), finish('content_filter', 'SAFETY')],
  'malformed-call.sse': [
    FACTS,
    usage(12, 0),
    {
      type: 'failure',
      failure: {
        kind: 'server',
        message: 'The provider ended its answer with MALFORMED_FUNCTION_CALL',
        providerCode: 'MALFORMED_FUNCTION_CALL',
      },
    },
  ],
  'error-midway.sse': [
    FACTS,
    usage(12, 0),
    'Once upon',
    {
      type: 'failure',
      failure: {
        kind: 'overloaded',
        message: 'The model is overloaded. Please try again later.',
        raw: 'The model is overloaded. Please try again later.',
        status: 503,
        providerCode: 'UNAVAILABLE',
        retryAfterMs: undefined,
      },
    },
  ],
  'error-without-code.sse': [
    {
      type: 'failure',
      failure: {
        kind: 'rate_limited',
        message: 'Resource has been exhausted (e.g. check quota).',
        raw: 'Resource has been exhausted (e.g. check quota).',
        status: 429,
        providerCode: 'RESOURCE_EXHAUSTED',
        retryAfterMs: 27_500,
      },
    },
  ],
  'cut.sse': [FACTS, usage(12, 0), 'Once upon'],
};

describe.each(Object.entries(STREAMS))('the stream %s', (path, expected) => {
  it('means what it says', async () => {
    expect(await decodeGoogleStream([googleFixture(path)])).toEqual(expected);
  });

  it('means the same wherever its bytes are cut', async () => {
    const bytes = googleFixture(path);
    const whole = JSON.stringify(await decodeGoogleStream([bytes]));
    for (let cut = 1; cut < bytes.length; cut += 1) {
      const pieces = await decodeGoogleStream([bytes.subarray(0, cut), bytes.subarray(cut)]);
      if (JSON.stringify(pieces) !== whole) expect.fail(`cut at byte ${cut} it means something else`);
    }
  });

  it('means the same byte by byte', async () => {
    const bytes = googleFixture(path);
    expect(await decodeGoogleStream(Array.from(bytes, (_, index) => bytes.subarray(index, index + 1)))).toEqual(
      expected,
    );
  });

  it.each([
    ['LF', '\n'],
    ['CR', '\r'],
  ])('means the same with %s line ends', async (_name, lineEnd) => {
    const text = new TextDecoder().decode(googleFixture(path)).replaceAll('\r\n', lineEnd);
    expect(await decodeGoogleStream([new TextEncoder().encode(text)])).toEqual(expected);
  });
});

describe('the end of a stream', () => {
  it.each([
    ['text.sse', true],
    ['tools.sse', true],
    ['blocked-prompt.sse', true],
    ['safety-midway.sse', true],
    ['cut.sse', false],
  ])('is good in %s: %s', async (path, good) => {
    const tracker = new StreamTracker();
    for (const piece of await decodeGoogleStream([googleFixture(path)])) {
      if (typeof piece === 'string') tracker.countText(piece);
      else tracker.observe(piece);
    }
    expect(tracker.end().ok).toBe(good);
  });

  it('loses nothing that comes after a finish reason', async () => {
    const early = events({ candidates: [{ content: { parts: [{ text: 'On' }] }, finishReason: 'STOP' }] });
    const late = events({ candidates: [{ content: { parts: [{ text: 'ce' }] }, finishReason: 'STOP' }] });
    const pieces = await decodeGoogleStream([early, late]);
    expect(pieces.filter((piece) => typeof piece === 'string')).toEqual(['On', 'ce']);
  });
});

describe('a stream that is no event stream', () => {
  it('is read as the array of answers that Google sends without alt=sse', async () => {
    const { choices, usage: counts } = await collected('array.body');
    expect(choices[0]).toMatchObject({ message: { content: 'Once upon' }, finish_reason: 'stop' });
    expect(counts).toEqual({ prompt_tokens: 12, completion_tokens: 2, total_tokens: 14 });
  });
});

describe('sources of a search', () => {
  const asked: Asked = { web_search_options: {} };

  it('become citations, with places in UTF-16 units where Google counts bytes', async () => {
    const { choices, usage: counts } = await collected('search.sse', asked);
    const { content, annotations } = choices[0]?.message ?? {};
    const first = { content: 'Zürich hat 434.000 Einwohner 🚦.', start_index: 0, end_index: 32 };
    const second = { content: 'Stand 2023.', start_index: 33, end_index: 44 };
    expect(annotations?.map((one) => (one.type === 'url_citation' ? one.url_citation : one))).toEqual([
      { url: 'https://example.com/a', title: 'example.com', ...first },
      { url: 'https://example.org/b', title: 'example.org', ...first },
      { url: 'https://example.org/b', title: 'example.org', ...second },
      { url: 'https://docs.example/c' },
    ]);
    expect(content?.slice(33, 44)).toBe('Stand 2023.');
    expect(counts).toEqual({
      prompt_tokens: 20,
      completion_tokens: 20,
      total_tokens: 40,
      server_tool_use: { web_search_requests: 2 },
    });
  });

  it('come once, although a stream repeats them', async () => {
    const metadata = { groundingChunks: [{ web: { uri: 'https://example.com' } }] };
    const event = events({ candidates: [{ content: { parts: [{ text: 'So' }] }, groundingMetadata: metadata }] });
    const pieces = await decodeGoogleStream([event, event], answerContextOf(asked));
    expect(pieces.filter((piece) => typeof piece === 'object' && piece.type === 'delta')).toHaveLength(1);
  });
});

describe('what makes no sense', () => {
  it.each([
    ['an event that is not JSON', 'data: {"candidates":\n\n', 'bad_response'],
    ['a candidate with an invalid index', 'data: {"candidates":[{"index":1e9}]}\n\n', 'bad_response'],
    ['an error event without a wrapper', 'event: error\ndata: {"message":"no","status":"INTERNAL"}\n\n', 'server'],
  ])('breaks the stream: %s', async (_name, text, kind) => {
    const pieces = await decodeGoogleStream([new TextEncoder().encode(`${text}data: {}\n\n`)]);
    expect(pieces).toEqual([{ type: 'failure', failure: expect.objectContaining({ kind }) as object }]);
  });

  it.each([
    ['an event of a kind that this wire does not know', 'event: ping\ndata: pong\n\n'],
    ['members of the wrong type', 'data: {"candidates":[{"content":{"parts":[1,{"text":2},{"functionCall":3}]}}]}\n\n'],
    ['an end mark of another wire', 'data: [DONE]\n\n'],
    ['keep-alive comments', ': ping\n\n'],
  ])('is passed over: %s', async (_name, text) => {
    expect(await decodeGoogleStream([new TextEncoder().encode(`: hi\n\n${text}`)])).toEqual([]);
  });
});

async function collected(path: string, asked: Asked = {}): Promise<ReturnType<ResultCollector['result']>> {
  const collector = new ResultCollector();
  for (const piece of await decodeGoogleStream([googleFixture(path)], answerContextOf(asked))) collector.add(piece);
  return collector.result();
}

function events(...responses: readonly object[]): Uint8Array {
  return new TextEncoder().encode(responses.map((response) => `data: ${JSON.stringify(response)}\n\n`).join(''));
}

function finish(reason: FinishReason, native: string): FinishPiece {
  return { type: 'finish', index: 0, reason, native };
}

function usage(prompt: number, completion: number, thoughts?: number): StreamPiece {
  const counts = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  const details = thoughts === undefined ? {} : { completion_tokens_details: { reasoning_tokens: thoughts } };
  return { type: 'usage', usage: { ...counts, ...details } };
}

function said(delta: Delta): StreamPiece {
  return { type: 'delta', index: 0, delta, logprobs: undefined };
}

function thought(text: string, index: number): StreamPiece {
  const detail: ReasoningDetail = { type: 'reasoning.text', text, format: 'google-gemini-v1', index };
  return said({ reasoning: text, reasoning_details: [detail] });
}

function signature(id: string, data: string, index: number): ReasoningDetail {
  return { type: 'reasoning.encrypted', id, data, format: 'google-gemini-v1', index };
}

function call(index: number, id: string, name: string, text: string, signed?: string): ToolCallDelta {
  const extra = signed === undefined ? {} : { extra_content: { google: { thought_signature: signed } } };
  return { index, id, type: 'function', function: { name, arguments: text }, ...extra };
}
