import { describe, expect, it } from 'vitest';
import type { FinishReason, Logprobs, TokenLogprob } from '../../../src/protocol/chat-result.ts';
import type { Delta, ToolCallDelta } from '../../../src/protocol/chunk.ts';
import type { VendorQuirks } from '../../../src/providers/openai-compatible/vendor-quirks.ts';
import { VENDOR_PRESETS } from '../../../src/providers/openai-compatible/presets.ts';
import { decodeStream, fixture } from '../../support/wire.ts';
import type { FailurePiece, FinishPiece, StreamPiece } from '../../../src/contracts/stream-piece.ts';
import type { ToolCallExtra } from '../../../src/protocol/tools.ts';

const END: StreamPiece = { type: 'end' };

const OPENAI_FACTS: StreamPiece = {
  type: 'facts',
  upstreamId: 'chatcmpl-B1',
  systemFingerprint: 'fp_44709d6fcb',
  serviceTier: 'default',
};
const OPENAI_USAGE = usage(19, 4, {
  prompt_tokens_details: { cached_tokens: 8, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
});
const DEEPSEEK_USAGE = usage(30, 11, {
  prompt_tokens_details: { cached_tokens: 24 },
  completion_tokens_details: { reasoning_tokens: 7 },
});

/** What must come out of each recorded stream. Plain text stands as it stood between the quotes of its JSON. */
const STREAMS: Readonly<Record<string, readonly StreamPiece[]>> = {
  'openai/text.sse': [
    OPENAI_FACTS,
    'Signal',
    ' box 🚦',
    String.raw` “ready”.\nOver`,
    finish('stop'),
    OPENAI_USAGE,
    END,
  ],
  'openai/tools.sse': [
    OPENAI_FACTS,
    tool({ index: 0, id: 'call_a1', name: 'get_weather', arguments: '' }),
    tool({ index: 0, arguments: '{"ci' }),
    tool({ index: 0, arguments: 'ty":"Łódź"}' }),
    tool({ index: 1, id: 'call_b2', name: 'get_time', arguments: '' }),
    tool({ index: 1, arguments: '{"zone":"CET"}' }),
    tool({ index: 2, id: 'call_c3', name: 'ring_bell', arguments: '' }),
    finish('tool_calls'),
    OPENAI_USAGE,
    END,
  ],
  'openai/refusal.sse': [
    OPENAI_FACTS,
    said({ refusal: 'I cannot' }),
    said({ refusal: ' help with that.' }),
    finish('stop'),
    OPENAI_USAGE,
    END,
  ],
  'openai/logprobs.sse': [
    OPENAI_FACTS,
    said({ content: 'Yes' }, [
      token(
        'Yes',
        -0.02,
        [89, 101, 115],
        [likelihood('Yes', -0.02, [89, 101, 115]), likelihood('No', -4.1, [78, 111])],
      ),
    ]),
    said({ content: '🚦' }, [token('\uFFFD', -0.5, [240, 159]), token('\uFFFD', -0.1, [154, 166])]),
    finish('stop'),
    OPENAI_USAGE,
    END,
  ],
  'openai/two-choices.sse': [
    OPENAI_FACTS,
    'Left',
    { type: 'delta', index: 1, delta: { content: 'Right' }, logprobs: undefined },
    ' hand',
    { type: 'delta', index: 1, delta: { content: ' hand' }, logprobs: undefined },
    finish('stop', 'stop', 1),
    finish('length'),
    OPENAI_USAGE,
    END,
  ],
  'openai/function-call.sse': [
    OPENAI_FACTS,
    tool({ index: 0, id: 'call_test_0_0', name: 'get_weather', arguments: '' }),
    tool({ index: 0, arguments: '{"city":' }),
    tool({ index: 0, arguments: '"Graz"}' }),
    finish('tool_calls', 'function_call'),
    OPENAI_USAGE,
    END,
  ],
  'openai/audio.sse': [
    OPENAI_FACTS,
    said({ audio: { id: 'audio_9' } }),
    said({ audio: { transcript: 'Mind the' } }),
    said({ audio: { data: 'UklGRg==' } }),
    said({ audio: { transcript: ' gap' } }),
    said({ audio: { expires_at: 1_793_003_600 } }),
    finish('stop'),
    OPENAI_USAGE,
    END,
  ],
  'openai/error-first.sse': [
    failed({
      kind: 'server',
      status: 500,
      providerCode: 'server_error',
      message: 'The server had an error while processing your request.',
    }),
    END,
  ],
  'openai/error-event.sse': [
    OPENAI_FACTS,
    'Half an',
    failed({
      kind: 'rate_limited',
      status: 429,
      retryAfterMs: 1_500,
      providerCode: 'rate_limit_exceeded',
      message: 'Rate limit reached. Please try again in 1.5s.',
      evidence: ['try again in 1.5s'],
    }),
  ],
  'groq/text.sse': [
    facts('chatcmpl-g1', 'fp_g'),
    said({ reasoning: 'Brief is best.' }),
    'Clear',
    ' ahead',
    finish('stop'),
    usage(40, 3, { prompt_tokens_details: { cached_tokens: 32 } }),
    END,
  ],
  'groq/error.sse': [
    facts('chatcmpl-g1', 'fp_g'),
    'Clear',
    failed({ kind: 'server', status: 502, message: 'over_capacity: the model stopped early' }),
    END,
  ],
  'together/eos.sse': [
    facts('tg-1'),
    said({ reasoning: 'Count first.' }),
    'Three',
    ' trains',
    beside(finish('stop', 'eos')),
    usage(9, 5, { prompt_tokens_details: { cached_tokens: 4 } }),
    END,
  ],
  'fireworks/text.sse': [
    facts('fw-1'),
    'All',
    ' clear',
    '.',
    beside(finish('stop')),
    usage(12, 3, { prompt_tokens_details: { cached_tokens: 0 } }),
    END,
  ],
  'deepseek/reasoning.sse': [
    facts('ds-1', 'fp_ds'),
    said({ reasoning: 'A lever' }),
    said({ reasoning: ' moves it.' }),
    'Pull',
    ' it',
    finish('stop'),
    DEEPSEEK_USAGE,
    END,
  ],
  'deepseek/no-capacity.sse': [
    facts('ds-1', 'fp_ds'),
    'Pull',
    finish('error', 'insufficient_system_resource'),
    DEEPSEEK_USAGE,
    END,
  ],
  'mistral/thinking.sse': [
    facts('mi-1'),
    said({ reasoning: 'Which line' }),
    said({ reasoning: ' is free?' }),
    'Line',
    ' two',
    finish('stop'),
    usage(14, 9),
    END,
  ],
  'mistral/tools.sse': [
    facts('mi-1'),
    tool(
      { index: 0, id: 'D681PevKs', name: 'get_weather', arguments: '{"city": "Lyon"}' },
      { index: 1, id: '9aBcDeF12', name: 'get_time', arguments: '{"zone": "CET"}' },
    ),
    beside(finish('tool_calls')),
    usage(90, 30),
    END,
  ],
  'xai/citations.sse': [
    facts('xai-1', 'fp_x'),
    said({ reasoning: 'Searching' }),
    'Two',
    ' lines',
    beside(finish('stop')),
    {
      type: 'delta',
      index: 0,
      delta: {
        annotations: [
          { type: 'url_citation', url_citation: { url: 'https://example.org/a' } },
          { type: 'url_citation', url_citation: { url: 'https://example.org/b' } },
        ],
      },
    },
    usage(20, 46, {
      prompt_tokens_details: { text_tokens: 20, audio_tokens: 0, image_tokens: 0, cached_tokens: 20 },
      completion_tokens_details: { reasoning_tokens: 40, audio_tokens: 0 },
    }),
    END,
  ],
  'openrouter/reasoning.sse': [
    facts('gen-1'),
    said({
      reasoning: 'First the',
      reasoning_details: [{ type: 'reasoning.text', text: 'First the', format: 'anthropic-claude-v1', index: 0 }],
    }),
    said({
      reasoning: ' points.',
      reasoning_details: [{ type: 'reasoning.text', text: ' points.', format: 'anthropic-claude-v1', index: 0 }],
    }),
    said({
      reasoning_details: [{ type: 'reasoning.text', signature: 'c2lnbmVk', format: 'anthropic-claude-v1', index: 0 }],
    }),
    'Set',
    ' the points',
    finish('stop'),
    usage(50, 20, {
      prompt_tokens_details: { cached_tokens: 10, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 12, image_tokens: 0 },
      reportedCost: 0.00045,
      reportedCostDetails: {
        upstream_inference_cost: null,
        upstream_inference_prompt_cost: 0.00015,
        upstream_inference_completions_cost: 0.0003,
      },
    }),
    END,
  ],
  'openrouter/error.sse': [
    facts('gen-1'),
    'Set',
    failed({ kind: 'server', status: 502, message: 'Provider disconnected' }),
    END,
  ],
  'azure/filtered.sse': [
    facts('az-1', 'fp_az'),
    'Hold',
    ' the line',
    finish('stop'),
    finish('content_filter'),
    usage(8, 3),
    END,
  ],
  'ollama/tools-without-index.sse': [
    facts('chatcmpl-7', 'fp_ollama'),
    said({ reasoning: 'Both cities.' }),
    tool({ index: 0, id: 'call_1', name: 'get_weather', arguments: '{"city":"Oslo"}' }),
    tool({ index: 1, id: 'call_2', name: 'get_weather', arguments: '{"city":"Bergen"}' }),
    finish('stop'),
    END,
  ],
  'ollama/tools-index-zero.sse': [
    facts('chatcmpl-7', 'fp_ollama'),
    tool({ index: 0, id: 'call_1', name: 'get_weather', arguments: '{"city":"Oslo"}' }),
    tool(
      { index: 1, id: 'call_2', name: 'get_weather', arguments: '{"city":"Bergen"}' },
      { index: 2, id: 'call_3', name: 'ring_bell', arguments: '{}' },
    ),
    finish('stop'),
    END,
  ],
  'vllm/usage-on-every-chunk.sse': [
    facts('chatcmpl-v1'),
    usage(7, 0),
    said({ reasoning: 'Hm.' }),
    usage(7, 1),
    'Green',
    usage(7, 2),
    ' light',
    usage(7, 3),
    finish('stop'),
    usage(7, 4),
    usage(7, 4),
    END,
  ],
  'vllm/error.sse': [
    facts('chatcmpl-v1'),
    usage(7, 0),
    'Green',
    usage(7, 1),
    failed({
      kind: 'server',
      status: 500,
      providerCode: 'InternalServerError',
      message: 'EngineCore encountered an issue. See stack trace for the root cause.',
    }),
    END,
  ],
  'vllm/cut.sse': [facts('chatcmpl-v1'), usage(7, 0), 'Green', usage(7, 1)],
  'lmstudio/role-on-every-chunk.sse': [facts('chatcmpl-lm', 'gemma'), 'Mind', ' the', ' gap', finish('stop'), END],
  'llama-cpp/timings.sse': [facts('chatcmpl-lc', 'b9000'), 'Stop', ' here', finish('stop'), usage(9, 2)],
  'google/tools.sse': [
    facts('go-1'),
    'Looking.',
    tool(
      {
        index: 0,
        id: 'function-call-1',
        name: 'get_weather',
        arguments: '{"city":"Rome"}',
        extra: { google: { thought_signature: 'Q2hhaW4=' } },
      },
      { index: 1, id: 'function-call-2', name: 'get_weather', arguments: '{"city":"Bari"}' },
    ),
    finish('stop'),
    usage(41, 49),
    END,
  ],
  'moonshot/usage-in-choice.sse': [facts('ms-1'), 'Go', finish('stop'), usage(3, 1), END],
};

/** Dialects that change how answers are read. */
const DIALECTS: Readonly<Record<string, VendorQuirks>> = {
  xai: VENDOR_PRESETS.xai.quirks,
  google: { reasoningOutsideCompletion: true },
};

describe.each(Object.entries(STREAMS))('the stream %s', (path, expected) => {
  const quirks = DIALECTS[path.split('/')[0] ?? ''];

  it('is decoded to exactly these pieces', async () => {
    expect(await decodeStream([fixture(path)], quirks)).toEqual(expected);
  });

  it('means the same wherever its bytes are cut', async () => {
    const bytes = fixture(path);
    const whole = JSON.stringify(await decodeStream([bytes], quirks));
    for (let position = 0; position <= bytes.length; position += 1) {
      const pieces = await decodeStream([bytes.subarray(0, position), bytes.subarray(position)], quirks);
      if (JSON.stringify(pieces) !== whole) expect.fail(`cut at byte ${position} it means something else`);
    }
  });

  it('means the same byte by byte', async () => {
    const bytes = fixture(path);
    const parts = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
    expect(await decodeStream(parts, quirks)).toEqual(expected);
  });

  it.each([
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('means the same with %s line ends', async (_name, lineEnd) => {
    const text = new TextDecoder().decode(fixture(path)).replaceAll('\n', lineEnd);
    expect(await decodeStream([text], quirks)).toEqual(expected);
  });

  it('means the same behind a byte order mark, without spaces after colons and without a last blank line', async () => {
    const text = new TextDecoder().decode(fixture(path)).replaceAll('data: ', 'data:').trimEnd();
    expect(await decodeStream([`\uFEFF${text}`], quirks)).toEqual(expected);
  });
});

function facts(upstreamId: string, systemFingerprint?: string): StreamPiece {
  return { type: 'facts', upstreamId, systemFingerprint, serviceTier: undefined };
}

function finish(reason: FinishReason, native: string = reason, index = 0): FinishPiece {
  return { type: 'finish', index, reason, native };
}

function beside(one: FinishPiece): FinishPiece {
  return { ...one, besideContent: true };
}

function usage(prompt: number, completion: number, rest: Readonly<Record<string, unknown>> = {}): StreamPiece {
  const counts = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  return { type: 'usage', usage: { ...counts, ...rest } };
}

function said(delta: Delta, content?: readonly TokenLogprob[]): StreamPiece {
  const logprobs: Logprobs | undefined = content && { content };
  return { type: 'delta', index: 0, delta, logprobs };
}

interface Told {
  readonly index: number;
  readonly id?: string;
  readonly name?: string;
  readonly arguments: string;
  readonly extra?: ToolCallExtra;
}

function tool(...calls: readonly Told[]): StreamPiece {
  const deltas = calls.map(({ index, id, name, arguments: text, extra }): ToolCallDelta =>
    id === undefined || name === undefined
      ? { index, function: { arguments: text } }
      : {
          index,
          id,
          type: 'function',
          function: { name, arguments: text },
          ...(extra === undefined ? {} : { extra_content: extra }),
        },
  );
  return { type: 'delta', index: 0, delta: { tool_calls: deltas }, logprobs: undefined };
}

function failed(failure: FailurePiece['failure']): StreamPiece {
  return { type: 'failure', failure: { ...failure, raw: failure.message } };
}

function likelihood(text: string, logprob: number, bytes: readonly number[]): Omit<TokenLogprob, 'top_logprobs'> {
  return { token: text, logprob, bytes };
}

function token(
  text: string,
  logprob: number,
  bytes: readonly number[],
  others: TokenLogprob['top_logprobs'] = [],
): TokenLogprob {
  return { ...likelihood(text, logprob, bytes), top_logprobs: others };
}
