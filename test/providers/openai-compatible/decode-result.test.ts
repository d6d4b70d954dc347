import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeContent } from '../../../src/providers/openai-compatible/decode-result.ts';
import { decodeWhole, resultOf } from '../../support/wire.ts';

const answer = (message: unknown, rest: object = {}, top: object = {}): string =>
  JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop', ...rest }], ...top });

function problemOf(body: string): unknown {
  const decoded = decodeWhole(body);
  return decoded.ok ? undefined : decoded.failure;
}

describe('citations beside the choices', () => {
  it('are annotations, each address once', () => {
    const annotation = { type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A' } };
    const citations = ['https://a.example', 'https://b.example', 'https://b.example', 7];
    const { choices } = resultOf(answer({ content: 'a', annotations: [annotation] }, {}, { citations }));
    expect(choices[0]?.message.annotations).toEqual([
      annotation,
      { type: 'url_citation', url_citation: { url: 'https://b.example' } },
    ]);
  });
});

describe('a body that came with a good status and is no answer', () => {
  it.each([
    ['nothing', '', 'an empty answer'],
    ['blank lines', '\n\r\n  ', 'an empty answer'],
    ['a web page', '\n<!doctype html><p>Sign in', 'a web page instead of an answer'],
    ['half of an answer', answer({ content: 'a' }).slice(0, -1), 'an answer that is not valid JSON'],
    ['two answers', answer({ content: 'a' }).repeat(2), 'an answer that is not valid JSON'],
    ['events', 'data: {}\n\n', 'an answer that is not valid JSON'],
    ['an empty object', '{}', 'an answer without choices'],
    ['null', 'null', 'an answer without choices'],
    ['a number', '7', 'an answer without choices'],
    ['an empty array', '[]', 'an answer without choices'],
    ['no choices', '{"choices":[]}', 'an answer without choices'],
    ['null choices', '{"choices":null}', 'an answer without choices'],
    ['choices that are no objects', '{"choices":[1]}', 'an answer without choices'],
    ['a choice without a message', '{"choices":[{"index":0}]}', 'an invalid answer'],
    [
      'too many tool calls',
      answer({ tool_calls: Array.from({ length: 1_002 }, () => ({ function: { name: 'f' } })) }),
      'an invalid answer',
    ],
  ])('is a failure: %s', (_name, body, problem) => {
    expect(problemOf(body)).toEqual({ kind: 'bad_response', message: `The provider sent ${problem}` });
  });

  it.each(['error', 'insufficient_system_resource', 'network_error', 'abort'])(
    'is a failure when the provider says that the answer ended in an error: %s',
    (native) => {
      expect(problemOf(answer({ content: 'half' }, { finish_reason: native }))).toEqual({
        kind: 'server',
        message: 'The provider ended its answer with an error',
      });
    },
  );

  it.each([
    ['with empty choices beside it', { error: { message: 'm', code: 429 }, choices: [] }],
    ['with null choices beside it', { error: { message: 'm', code: 429 }, choices: null }],
    ['inside a choice', { choices: [{ message: { content: 'a' }, error: { message: 'm', code: 429 } }] }],
    ['in an array', [{ error: { message: 'm', code: 429 } }]],
  ])('is the error in it, %s', (_name, body) => {
    expect(problemOf(JSON.stringify(body))).toMatchObject({ kind: 'rate_limited', status: 429, message: 'm' });
  });
});

describe('an answer', () => {
  it.each([
    ['is empty text where nothing was said', { content: null }, { content: '' }],
    [
      'is null beside tool calls',
      { content: '', tool_calls: [{ id: 'a', function: { name: 'f' } }] },
      { content: null },
    ],
    ['is null beside a refusal', { refusal: 'no' }, { content: null, refusal: 'no' }],
    [
      'may come in parts',
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      { content: 'ab' },
    ],
    [
      'keeps one of two names of its reasoning',
      { content: 'a', reasoning: 'r', reasoning_content: 'r' },
      { reasoning: 'r' },
    ],
  ])('%s', (_name, message, expected) => {
    expect(resultOf(answer(message)).choices[0]?.message).toMatchObject(expected);
  });

  it.each([
    ['stop', 'stop'],
    ['eos', 'stop'],
    ['EOS', 'stop'],
    ['end_turn', 'stop'],
    ['COMPLETE', 'stop'],
    ['length', 'length'],
    ['MAX_TOKENS', 'length'],
    ['model_length', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_calls', 'stop'],
    ['function_call', 'stop'],
    ['content_filter', 'content_filter'],
    ['SAFETY', 'content_filter'],
    ['sensitive', 'content_filter'],
    ['something_new', 'stop'],
    ['toString', 'stop'],
  ])('that ended with %s ended with %s', (native, reason) => {
    expect(resultOf(answer({ content: 'a' }, { finish_reason: native })).choices[0]).toMatchObject({
      finish_reason: reason,
      native_finish_reason: native,
    });
  });

  it('that called tools ended with tool calls, whatever the provider says', () => {
    const message = { tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}' } }] };
    for (const native of ['stop', null, 'eos']) {
      expect(resultOf(answer(message, { finish_reason: native })).choices[0]).toMatchObject({
        finish_reason: 'tool_calls',
        native_finish_reason: native,
      });
    }
  });

  it.each(['null', 'None', 'undefined', '', ' '])('has not said how it ended with the word %j', (word) => {
    expect(resultOf(answer({ content: 'a' }, { finish_reason: word })).choices[0]).toMatchObject({
      finish_reason: 'stop',
      native_finish_reason: null,
    });
  });

  it('is none where something is called that has no name', () => {
    const decoded = decodeWhole(answer({ tool_calls: [{ id: 'n', function: { arguments: '{"x":5}' } }] }));
    expect(decoded).toMatchObject({ ok: false, failure: { kind: 'bad_response' } });
  });

  it('keeps every tool call as one of its own', () => {
    const calls = [
      { index: 0, id: 'a', function: { name: 'f', arguments: '{"x":1}' } },
      { index: 0, id: 'a', function: { name: 'f', arguments: '{"x":2}' } },
      { index: 0, function: { name: 'f', arguments: '{"x":3}' } },
      { index: 0, function: { name: 'f', arguments: { x: 4 } } },
      null,
      { id: 'e', function: { name: 'g', arguments: '' } },
    ];
    expect(resultOf(answer({ tool_calls: calls })).choices[0]?.message.tool_calls).toEqual(
      [
        ['a', 'f', '{"x":1}'],
        ['a_2', 'f', '{"x":2}'],
        ['call_test_0_2', 'f', '{"x":3}'],
        ['call_test_0_3', 'f', '{"x":4}'],
        ['e', 'g', '{}'],
      ].map(([id, name, text], index) => ({ id, index, type: 'function', function: { name, arguments: text } })),
    );
  });

  it('may call one function in the old way', () => {
    const message = { content: null, function_call: { name: 'f', arguments: '{"x":1}' } };
    expect(resultOf(answer(message, { finish_reason: 'function_call' })).choices[0]?.message.tool_calls).toEqual([
      { id: 'call_test_0_0', index: 0, type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
    ]);
  });

  it('may have several choices, with or without an index', () => {
    const choices = [
      { message: { content: 'a' } },
      { index: 5, message: { content: 'b' } },
      { index: -1, message: {} },
    ];
    expect(resultOf(JSON.stringify({ choices })).choices.map((one) => [one.index, one.message.content])).toEqual([
      [0, 'a'],
      [5, 'b'],
      [2, ''],
    ]);
  });

  it('may stand behind blank lines and a byte order mark', () => {
    expect(resultOf(`\uFEFF\n\n${answer({ content: 'a' })}\n`).choices[0]?.message.content).toBe('a');
  });

  it('keeps likelihoods with their bytes', () => {
    const logprobs = {
      content: [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [{ token: 'b', logprob: -2 }] }],
      refusal: [{ token: 'n', logprob: -3, bytes: null }],
    };
    expect(resultOf(answer({ content: 'a' }, { logprobs })).choices[0]?.logprobs).toEqual({
      content: [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [{ token: 'b', logprob: -2, bytes: null }] }],
      refusal: [{ token: 'n', logprob: -3, bytes: null, top_logprobs: [] }],
    });
  });
});

it('reads a message that says nothing but text as one with members that mean nothing', () => {
  const text = fc.oneof(
    fc.string(),
    fc.constant(null),
    fc.array(fc.record({ type: fc.constant('text'), text: fc.string() })),
  );
  const nothing = fc.constantFrom(null, '', [], 7, false);
  const message = fc.record(
    {
      role: fc.constant('assistant'),
      content: text,
      refusal: nothing,
      reasoning: nothing,
      reasoning_details: nothing,
      images: nothing,
      annotations: nothing,
      audio: nothing,
      tool_calls: fc.constantFrom(null, [], [{ function: { name: 'f' } }]),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(message, (said) => {
      expect(decodeContent(said)).toEqual(decodeContent({ ...said, padding: true }));
    }),
  );
});
