import { describe, expect, it } from 'vitest';
import { decodeGeneration } from '../../../src/providers/google/codec.ts';
import { type Asked, answerContextOf, googleFixtureText } from '../../support/google-wire.ts';
import type { UpstreamResult } from '../../../src/contracts/stream-piece.ts';

function decoded(body: string, asked: Asked = {}): UpstreamResult {
  const result = decodeGeneration(body, answerContextOf(asked));
  if (!result.ok) throw new Error(result.failure.message);
  return result.result;
}

function answer(...candidates: readonly object[]): string {
  return JSON.stringify({ candidates });
}

function failureOf(body: string): unknown {
  const result = decodeGeneration(body, answerContextOf());
  return result.ok ? undefined : { kind: result.failure.kind, code: result.failure.providerCode };
}

const SAID = { parts: [{ text: 'Once' }], role: 'model' };

describe('a whole answer', () => {
  it('gives thoughts, text, calls and every signature with the part it came with', () => {
    const { choices, upstreamId } = decoded(googleFixtureText('whole.json'));
    expect(upstreamId).toBe('r-7f1');
    const format = 'google-gemini-v1';
    expect(choices).toEqual([
      {
        index: 0,
        finish_reason: 'tool_calls',
        native_finish_reason: 'STOP',
        logprobs: null,
        message: {
          role: 'assistant',
          content: 'Asking. Now.',
          refusal: null,
          reasoning: 'Both at once.',
          reasoning_details: [
            { type: 'reasoning.text', text: 'Both at once.', signature: 'th-sig==', format, index: 0 },
            { type: 'reasoning.encrypted', id: 'text:8-12', data: 'tx-sig==', format, index: 1 },
            { type: 'reasoning.encrypted', id: 'call_test_0_0', data: 'fc-sig==', format, index: 2 },
          ],
          tool_calls: [
            {
              id: 'call_test_0_0',
              index: 0,
              type: 'function',
              function: { name: 'get_weather', arguments: '{"city":"Paris"}' },
              extra_content: { google: { thought_signature: 'fc-sig==' } },
            },
            {
              id: 'call_test_0_1',
              index: 1,
              type: 'function',
              function: { name: 'get_weather', arguments: '{"city":"Rome"}' },
            },
          ],
        },
      },
    ]);
  });

  it('counts every token of it once: thoughts among the completion, cached sound as cached', () => {
    expect(decoded(googleFixtureText('whole.json')).usage).toEqual({
      prompt_tokens: 205,
      completion_tokens: 100,
      total_tokens: 305,
      prompt_tokens_details: { cached_tokens: 150, audio_tokens: 20, video_tokens: 15, file_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 60 },
    });
  });

  it('gives images as data URLs, and leaves out those of the thoughts', () => {
    const { choices, usage } = decoded(googleFixtureText('image.json'));
    expect(choices[0]?.message).toEqual({
      role: 'assistant',
      content: 'Here: ',
      refusal: null,
      reasoning: 'Draft',
      reasoning_details: [
        { type: 'reasoning.text', text: 'Draft', format: 'google-gemini-v1', index: 0 },
        { type: 'reasoning.encrypted', id: 'image:0', data: 'img-sig-1==', format: 'google-gemini-v1', index: 1 },
      ],
      images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }],
    });
    expect(usage).toMatchObject({
      prompt_tokens_details: { image_tokens: 20 },
      completion_tokens_details: { reasoning_tokens: 22, image_tokens: 1290 },
    });
  });

  it('says nothing where the prompt was blocked, and by what', () => {
    const { choices, usage } = decoded(googleFixtureText('blocked-prompt.json'));
    expect(choices).toEqual([
      expect.objectContaining({
        finish_reason: 'content_filter',
        native_finish_reason: 'PROMPT_BLOCKED:PROHIBITED_CONTENT',
        message: { role: 'assistant', content: null, refusal: null, reasoning: null },
      }),
    ]);
    expect(usage).toEqual({ prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 });
  });

  it('says nothing where the answer was held back', () => {
    expect(decoded(googleFixtureText('safety.json')).choices[0]).toMatchObject({
      finish_reason: 'content_filter',
      native_finish_reason: 'SAFETY',
      message: { content: null },
    });
  });

  it('gives likelihoods with the bytes of their tokens', () => {
    const bytes = [...Buffer.from('Grün')];
    expect(decoded(googleFixtureText('logprobs.json')).choices[0]?.logprobs?.content).toEqual([
      {
        token: 'Grün',
        logprob: -0.1,
        bytes,
        top_logprobs: [
          { token: 'Grün', logprob: -0.1, bytes },
          { token: 'Rot', logprob: -2.5, bytes: [...Buffer.from('Rot')] },
        ],
      },
      { token: '!', logprob: -0.2, bytes: [33], top_logprobs: [{ token: '!', logprob: -0.2, bytes: [33] }] },
    ]);
  });

  it('leaves out code that Google ran and files that a message cannot hold', () => {
    expect(decoded(googleFixtureText('code.json')).choices[0]?.message).toMatchObject({ content: 'It is 2.' });
  });

  it('counts the places of citations from the beginning of their part', () => {
    const groundingMetadata = {
      groundingChunks: [{ web: { uri: 'https://example.com' } }],
      groundingSupports: [{ segment: { partIndex: 2, startIndex: 3, endIndex: 6 }, groundingChunkIndices: [0] }],
    };
    const content = { parts: [{ text: 'Äh. ' }, { functionCall: { name: 'look' } }, { text: 'Är da.' }] };
    const { choices } = decoded(answer({ content, groundingMetadata, finishReason: 'STOP' }), {
      web_search_options: {},
    });
    const { content: text, annotations } = choices[0]?.message ?? {};
    const [citation] = annotations ?? [];
    const { start_index: start, end_index: end } = citation?.type === 'url_citation' ? citation.url_citation : {};
    expect([start, end, text?.slice(start, end)]).toEqual([6, 9, ' da']);
  });

  it('ignores a prompt that was called blocked for no reason when it was answered', () => {
    const body = { promptFeedback: { blockReason: 'BLOCKED_REASON_UNSPECIFIED' }, candidates: [{ content: SAID }] };
    expect(decoded(JSON.stringify(body)).choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: 'Once' },
    });
  });

  it('keeps a call apart from another that has its id', () => {
    const call = { functionCall: { id: 'same', name: 'look' } };
    const [choice] = decoded(answer({ content: { parts: [call, call] }, finishReason: 'STOP' })).choices;
    expect(choice?.message.tool_calls?.map(({ id }) => id)).toEqual(['same', 'same_2']);
  });

  it('gives functions back the name that the caller gave them', () => {
    const content = { parts: [{ functionCall: { name: '_1st-look' } }, { functionCall: { name: '_own' } }] };
    const tools = ['1st-look', '_own'].map((name) => ({ type: 'function' as const, function: { name } }));
    const [choice] = decoded(answer({ content, finishReason: 'STOP' }), { tools }).choices;
    expect(choice?.message.tool_calls?.map((call) => call.function.name)).toEqual(['1st-look', '_own']);
  });

  it('leaves out thoughts that nobody wants, and keeps the signatures of calls', () => {
    const { choices } = decoded(googleFixtureText('whole.json'), { reasoning: { exclude: true } });
    expect(choices[0]?.message.reasoning).toBeNull();
    expect(choices[0]?.message.tool_calls?.[0]?.extra_content).toEqual({ google: { thought_signature: 'fc-sig==' } });
  });
});

describe('the end of an answer', () => {
  it.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['CONTINUATION', 'length'],
    ['SAFETY', 'content_filter'],
    ['RECITATION', 'content_filter'],
    ['BLOCKLIST', 'content_filter'],
    ['PROHIBITED_CONTENT', 'content_filter'],
    ['SPII', 'content_filter'],
    ['IMAGE_SAFETY', 'content_filter'],
    ['IMAGE_PROHIBITED_CONTENT', 'content_filter'],
    ['IMAGE_RECITATION', 'content_filter'],
    ['OTHER', 'stop'],
    ['NO_IMAGE', 'stop'],
    ['IMAGE_OTHER', 'stop'],
    ['FINISH_REASON_UNSPECIFIED', 'stop'],
    ['A_WORD_OF_TOMORROW', 'stop'],
    ['constructor', 'stop'],
  ])('%s is %s after something was said', (native, reason) => {
    const [choice] = decoded(answer({ content: SAID, finishReason: native })).choices;
    expect(choice).toMatchObject({ finish_reason: reason, native_finish_reason: native, message: { content: 'Once' } });
  });

  it.each(['LANGUAGE', 'MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS', 'MALFORMED_RESPONSE'])(
    '%s is a failure',
    (native) => {
      expect(failureOf(answer({ content: SAID, finishReason: native }))).toEqual({ kind: 'server', code: native });
    },
  );

  it.each(['OTHER', 'NO_IMAGE', 'IMAGE_OTHER', 'FINISH_REASON_UNSPECIFIED', 'A_WORD_OF_TOMORROW'])(
    '%s is a failure when nothing was said',
    (native) => {
      expect(failureOf(answer({ finishReason: native }))).toEqual({ kind: 'server', code: native });
    },
  );

  it('is a call for tools where there is one, although Google says STOP', () => {
    const content = { parts: [{ functionCall: { name: 'look' } }] };
    expect(decoded(answer({ content, finishReason: 'STOP' })).choices[0]?.finish_reason).toBe('tool_calls');
    expect(decoded(answer({ content })).choices[0]?.finish_reason).toBe('tool_calls');
    expect(decoded(answer({ content, finishReason: 'MAX_TOKENS' })).choices[0]?.finish_reason).toBe('length');
  });
});

describe('what is no answer', () => {
  it.each([
    ['nothing', ''],
    ['a web page', '<!doctype html><title>Sign in</title>'],
    ['half an object', '{"candidates":[{"con'],
    ['an empty object', '{}'],
    ['no candidates', '{"candidates":[]}'],
    ['a number', '7'],
    ['an empty array', '[]'],
  ])('is a failure: %s', (_name, body) => {
    expect(failureOf(body)).toMatchObject({ kind: 'bad_response' });
  });

  it.each([
    ['an error in disguise', googleFixtureText('error-overloaded.json'), 'overloaded'],
    ['an array with an error', googleFixtureText('error-array.json'), 'rate_limited'],
  ])('is the failure that it tells: %s', (_name, body, kind) => {
    expect(failureOf(body)).toMatchObject({ kind });
  });
});
