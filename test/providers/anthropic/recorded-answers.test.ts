import { describe, expect, it } from 'vitest';
import { failureInBand, failureOfResponse } from '../../../src/providers/upstream-failure.ts';
import { anthropicFixture, decodeContext, decodeMessage, messageResult } from '../../support/anthropic.ts';
import type { AttemptFailure } from '../../../src/contracts/failure.ts';

function read(name: string): string {
  return new TextDecoder().decode(anthropicFixture(name));
}

const THINKING = { type: 'reasoning.text', format: 'anthropic-claude-v1' } as const;

describe('a whole answer', () => {
  it('keeps thinking with its signature, text, citations and tool calls, and counts each token once', () => {
    expect(messageResult(read('whole.json'))).toEqual({
      upstreamId: 'msg_01Whole',
      serviceTier: 'default',
      usage: {
        prompt_tokens: 1_304,
        completion_tokens: 60,
        total_tokens: 1_364,
        prompt_tokens_details: { cached_tokens: 1_000, cache_write_tokens: 300 },
        cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
        completion_tokens_details: { reasoning_tokens: 31 },
      },
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          native_finish_reason: 'tool_use',
          logprobs: null,
          message: {
            role: 'assistant',
            content: 'Line two',
            refusal: null,
            reasoning: 'Which line is free?',
            reasoning_details: [
              { ...THINKING, text: 'Which line is free?', signature: 'EqQBCkYIBxgC+/==', index: 0 },
              { ...THINKING, type: 'reasoning.encrypted', data: 'EmwK', index: 1 },
            ],
            annotations: [
              {
                type: 'url_citation',
                url_citation: { url: 'https://example.org/b', content: 'c', start_index: 5, end_index: 8 },
              },
            ],
            tool_calls: [
              {
                id: 'toolu_01D',
                index: 0,
                type: 'function',
                function: { name: 'set_points', arguments: '{"line":2}' },
              },
              { id: 'toolu_01E', index: 1, type: 'function', function: { name: 'ring_bell', arguments: '{}' } },
            ],
          },
        },
      ],
    });
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['pause_turn', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'stop'],
    ['refusal', 'content_filter'],
    ['compaction', 'stop'],
    ['constructor', 'stop'],
  ])('that stopped for %s ends with %s', (stop, reason) => {
    const { choices } = messageResult({ content: [{ type: 'text', text: 'Hi' }], stop_reason: stop });
    expect(choices[0]).toMatchObject({ finish_reason: reason, native_finish_reason: stop });
  });

  it('tells why it refuses when it says nothing else', () => {
    const details = { type: 'refusal', category: 'cyber', explanation: 'Not this.' };
    const { choices } = messageResult({ content: [], stop_reason: 'refusal', stop_details: details });
    expect(choices[0]).toMatchObject({
      finish_reason: 'content_filter',
      message: { content: '', refusal: 'Not this.' },
    });
  });

  it('gives the arguments of the format tool as its text', () => {
    const message = {
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'answer_in_json', input: { name: 'Ada' } }],
      stop_reason: 'tool_use',
    };
    expect(messageResult(message, { formatTool: true }).choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: '{"name":"Ada"}' },
    });
    expect(messageResult(message).choices[0]?.finish_reason).toBe('tool_calls');
  });

  it('gives calls back under the ids that the caller knows', () => {
    const block = { type: 'tool_use', id: 'call_1', name: 'add', input: {} };
    const { choices } = messageResult(
      { content: [block], stop_reason: 'tool_use' },
      { originalId: (id) => (id === 'call_1' ? 'call.1' : id) },
    );
    expect(choices[0]?.message.tool_calls?.[0]?.id).toBe('call.1');
  });

  it('is kept in its own words for a caller who speaks them', () => {
    const message = { content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn', container: { id: 'c' } };
    expect(messageResult(message, { native: true }).native).toEqual(message);
    expect(messageResult(message).native).toBeUndefined();
  });

  it.each([
    ['nothing', ''],
    ['a web page', '<html></html>'],
    ['half an object', '{"content":['],
    ['no content', '{"type":"message"}'],
    ['content that is no list', '{"content":"Hi"}'],
    ['a list', '[]'],
    ['no reason to stop', '{"content":[{"type":"text","text":"Hi"}],"stop_reason":null}'],
    ['a call without a name', '{"content":[{"type":"tool_use","id":"a"}],"stop_reason":"tool_use"}'],
  ])('with %s is a bad response', (_what, body) => {
    const decoded = decodeMessage(body);
    expect(decoded).toMatchObject({ ok: false, failure: { kind: 'bad_response' } });
  });

  it('that is an error with a good status is that error', () => {
    expect(decodeMessage(read('error-overloaded.json'))).toMatchObject({
      ok: false,
      failure: { kind: 'overloaded', status: 529 },
    });
  });
});

describe('usage', () => {
  function usageOf(usage: object): unknown {
    return messageResult({ content: [], stop_reason: 'end_turn', usage }).usage;
  }

  it('adds up the rounds of an answer, without those of an advisor', () => {
    const iterations = [
      { type: 'message', input_tokens: 10, output_tokens: 2, cache_read_input_tokens: 5 },
      { type: 'advisor_message', input_tokens: 900, output_tokens: 90 },
      { type: 'compaction', input_tokens: 20, output_tokens: 3 },
    ];
    expect(usageOf({ input_tokens: 20, output_tokens: 3, iterations })).toEqual({
      prompt_tokens: 35,
      completion_tokens: 5,
      total_tokens: 40,
      prompt_tokens_details: { cached_tokens: 5 },
    });
  });

  it('is that of the whole where another model stood in', () => {
    const iterations = [{ type: 'message', input_tokens: 10, output_tokens: 2 }, { type: 'fallback_message' }];
    expect(usageOf({ input_tokens: 7, output_tokens: 1, iterations })).toMatchObject({ total_tokens: 8 });
  });

  it.each([[{}], [{ input_tokens: -1, output_tokens: 'many' }], [{ input_tokens: null, output_tokens: null }]])(
    'is unknown when it counts nothing: %j',
    (usage) => {
      expect(usageOf(usage)).toBeUndefined();
    },
  );
});

describe('errors', () => {
  const ERRORS: readonly (readonly [name: string, status: number, expected: Partial<AttemptFailure>])[] = [
    ['key', 401, { kind: 'credentials' }],
    ['billing', 402, { kind: 'quota' }],
    ['credit', 400, { kind: 'quota' }],
    ['usage-limit', 400, { kind: 'quota' }],
    ['context', 400, { kind: 'context_length' }],
    ['context-limit', 400, { kind: 'context_length' }],
    ['parameter', 400, { kind: 'unsupported_parameter' }],
    ['filtered', 400, { kind: 'content_policy' }],
    ['disabled', 400, { kind: 'credentials' }],
    ['spend', 429, { kind: 'quota', providerCode: 'enforced_spend_limit_reached' }],
    ['ramp', 429, { kind: 'rate_limited', retryAfterMs: 60_000 }],
    ['rate', 429, { kind: 'rate_limited', providerCode: 'rate_limit_error' }],
    ['missing', 404, { kind: 'model_not_found' }],
    ['too-large', 413, { kind: 'too_large' }],
    ['timeout', 504, { kind: 'timeout' }],
    ['overloaded', 529, { kind: 'overloaded' }],
  ];

  it.each(ERRORS)('%s with status %i is told by its kind', (name, status, expected) => {
    const failure = failureOfResponse(status, () => undefined, read(`error-${name}.json`), decodeContext());
    expect(failure).toMatchObject({ status, ...expected });
  });

  it.each(ERRORS.filter(([name]) => name !== 'key'))('%s means the same inside a stream', (name, status, { kind }) => {
    const failure = failureInBand(JSON.parse(read(`error-${name}.json`)), decodeContext());
    expect(failure.kind).toBe(kind);
    if (status !== 400) expect(failure.status).toBe(status);
  });

  it('tells when an exhausted limit is there again', () => {
    const headers: Record<string, string> = {
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': '2026-11-20T12:00:09Z',
      'anthropic-ratelimit-tokens-remaining': '5000',
      'anthropic-ratelimit-tokens-reset': '2026-11-20T12:30:00Z',
    };
    const failure = failureOfResponse(429, (name) => headers[name], read('error-rate.json'), decodeContext());
    expect(failure.retryAfterMs).toBe(9_000);
  });
});
