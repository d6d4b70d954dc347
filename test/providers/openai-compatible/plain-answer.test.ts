import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/protocol/json.ts';
import { decodeAnswer } from '../../../src/providers/openai-compatible/decode-result.ts';
import { plainAnswer } from '../../../src/providers/openai-compatible/plain-answer.ts';
import { inProportion, runs } from '../../support/properties.ts';

const CONTEXT = { quirks: {}, request: { id: 'gen-1', messages: [] }, secrets: [], wallClock: 0 };

/** Nearly always the first, and sometimes one of the others. */
function mostly(usual: unknown, ...others: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 40, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom<unknown>(...others) },
  );
}

/** What servers put beside what an answer needs, each of them seldom. */
function beside(members: Record<string, readonly unknown[]>): fc.Arbitrary<object> {
  const some = Object.entries(members).map(([name, values]) =>
    mostly(undefined, ...values).map((value) => (value === undefined ? {} : { [name]: value })),
  );
  return fc.tuple(...some).map((all) => Object.assign({}, ...all) as object);
}

const ODD = [null, [], {}, '', 'text', 0, 1, true, [{}], ['text'], { error: 'broken' }] as const;

const message = fc
  .tuple(
    fc.record({
      role: mostly('assistant', 'user', null),
      content: mostly('Hello', '', null, ['a'], [{ text: 'b' }], 7),
    }),
    beside({
      refusal: ODD,
      reasoning: ODD,
      reasoning_content: ODD,
      reasoning_details: ODD,
      annotations: ODD,
      images: ODD,
      audio: ODD,
      tool_calls: [null, [], [{ id: 'a', function: { name: 'f', arguments: '{}' } }], 'text', {}],
      function_call: [null, [], { name: 'f', arguments: '{}' }],
    }),
  )
  .map(([usual, more]) => ({ ...usual, ...more }));

const choice = fc
  .tuple(
    fc.record({
      index: mostly(0, 1, -1, 0.5, null),
      message: fc.oneof({ weight: 30, arbitrary: message }, { weight: 1, arbitrary: fc.constantFrom(...ODD) }),
      finish_reason: mostly('stop', 'length', 'tool_calls', 'STOP', ' stop', 'error', null, '', 7),
    }),
    beside({
      logprobs: [null, {}, { content: [{ token: 'a', logprob: -1 }] }],
      error: ODD,
      usage: ODD,
      stop_reason: ODD,
    }),
  )
  .map(([usual, more]) => ({ ...usual, ...more }));

const usage = fc
  .tuple(
    fc.record({
      prompt_tokens: mostly(20, 0, 20.4, -1, 1e6, 1e6 + 1, 2e9, null, '20'),
      completion_tokens: mostly(7, 0, 7.5, -1, 2e9, null),
      total_tokens: mostly(27, 30, 0, null, 27.5),
    }),
    beside({
      prompt_tokens_details: [null, {}, { cached_tokens: 4 }],
      completion_tokens_details: [null, {}, { reasoning_tokens: 3 }],
      cost: [null, 0.5, -1],
      prompt_cache_hit_tokens: [null, 4],
      cached_tokens: [null, 4],
      server_tool_use: [null, { web_search_requests: 1 }],
    }),
  )
  .map(([usual, more]) => ({ ...usual, ...more }));

const answer = fc
  .tuple(
    fc.record({
      id: mostly('chatcmpl-1', '', null, 7),
      model: mostly('m', null),
      choices: fc.oneof(
        { weight: 30, arbitrary: choice.map((one) => [one]) },
        { weight: 1, arbitrary: fc.array(choice, { maxLength: 2 }) },
        { weight: 1, arbitrary: fc.constantFrom(...ODD) },
      ),
      usage: fc.oneof({ weight: 20, arbitrary: usage }, { weight: 1, arbitrary: fc.constantFrom(...ODD) }),
    }),
    beside({
      system_fingerprint: ['fp', '', null, 7],
      service_tier: ['default', null],
      error: ODD,
      x_groq: [null, { usage: { prompt_tokens: 1 } }, { error: 'broken' }],
      citations: [null, [], ['https://example.com/']],
      search_info: [null, { search_results: [{ url: 'https://example.com/' }] }],
      alignment: [null, {}],
      safeguard_results: [null, []],
      prompt_logprobs: [null],
    }),
  )
  // As it comes: without what is not set.
  .map(([usual, more]) => JSON.parse(JSON.stringify({ ...usual, ...more })) as JsonObject);

describe('the short way for plain answers', () => {
  it('reads what it takes as the long way does', () => {
    let plain = 0;
    fc.assert(
      fc.property(answer, (body) => {
        const short = plainAnswer(body, {}, undefined);
        if (short === undefined) return;
        plain += 1;
        const long = decodeAnswer(body, CONTEXT);
        expect(long).toEqual({ ok: true, result: short });
        // The order of members is what clients see.
        expect(JSON.stringify(short)).toBe(JSON.stringify(long.ok ? long.result : long));
      }),
      runs(4_000),
    );
    expect(plain).toBeGreaterThan(inProportion(500));
  });

  it('takes the answers of common servers', () => {
    const said = { role: 'assistant', content: 'Green.' };
    const counts = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
    const answers = [
      { choices: [{ index: 0, message: said, finish_reason: 'stop' }], usage: counts },
      {
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1,
        model: 'gpt',
        choices: [
          { index: 0, message: { ...said, refusal: null, annotations: [] }, logprobs: null, finish_reason: 'stop' },
        ],
        usage: { ...counts, prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 } },
        service_tier: 'default',
        system_fingerprint: null,
      },
      {
        id: 'cmpl-1',
        choices: [
          {
            index: 0,
            message: { ...said, reasoning_content: null, tool_calls: [] },
            logprobs: null,
            finish_reason: 'length',
            stop_reason: null,
          },
        ],
        usage: { ...counts, prompt_tokens_details: null },
        prompt_logprobs: null,
        kv_transfer_params: null,
      },
    ];
    for (const body of answers) expect(plainAnswer(body, {}, undefined)?.choices[0]?.message.content).toBe('Green.');
  });
});
