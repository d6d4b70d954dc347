import { describe, expect, it } from 'vitest';
import { decodeStream } from '../../support/wire.ts';
import type { StreamPiece } from '../../../src/contracts/stream-piece.ts';

type Row = readonly [name: string, chunks: readonly unknown[], pieces: readonly StreamPiece[]];

const choice = (delta: unknown, rest: object = {}): unknown => ({ choices: [{ index: 0, delta, ...rest }] });
const said = (delta: object, index = 0): StreamPiece => ({ type: 'delta', index, delta, logprobs: undefined });
const impossible = (what: string): StreamPiece => ({
  type: 'failure',
  failure: { kind: 'bad_response', message: `The provider sent ${what}` },
});

function decode(chunks: readonly unknown[]): Promise<readonly StreamPiece[]> {
  return decodeStream([chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')]);
}

const NOTHING: readonly Row[] = [
  ['no choices', [{}], []],
  ['empty choices', [{ choices: [] }], []],
  ['null choices', [{ choices: null }], []],
  ['choices that are no objects', [{ choices: [null, 'text', 7] }], []],
  ['no delta', [{ choices: [{ index: 0 }] }], []],
  ['a null delta', [choice(null)], []],
  ['an empty delta', [choice({})], []],
  [
    'empty, null and false members',
    [choice({ content: null, refusal: false, reasoning: '', tool_calls: null, role: '' })],
    [],
  ],
  ['content that is a number', [choice({ content: 42 })], []],
  ['empty content', [choice({ content: '' })], []],
  ['an empty list of parts', [choice({ content: [] })], []],
  ['an empty finish reason', [choice({}, { finish_reason: '' })], []],
  ['usage without counts', [{ choices: [], usage: {} }], []],
  ['usage that is null', [{ choices: [], usage: null }], []],
  ['an error that is null', [{ error: null, choices: [] }], []],
  ['an error that is false', [{ error: false }], []],
  ['an error that is blank', [{ error: '' }], []],
  ['an error that is empty', [{ error: {}, choices: [] }], []],
  ['progress of a prompt', [{ choices: [], prompt_progress: { total: 9 } }], []],
];

const SAID: readonly Row[] = [
  [
    'parts of text',
    [choice({ content: [{ type: 'text', text: 'a' }, { type: 'output_text', text: 'b' }, 'c'] })],
    ['abc'],
  ],
  [
    'parts of thinking as text and as lists',
    [
      choice({ content: [{ type: 'thinking', thinking: 'a' }] }),
      choice({
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'b' }] },
          { type: 'text', text: 'c' },
        ],
      }),
      choice({ content: [{ type: 'reference', reference_ids: [1] }] }),
    ],
    [said({ reasoning: 'a' }), said({ content: 'c', reasoning: 'b' })],
  ],
  [
    'reasoning under both names once',
    [choice({ reasoning: 'a', reasoning_content: 'a' }), choice({ reasoning: '', reasoning_content: 'b' })],
    [said({ reasoning: 'a' }), said({ reasoning: 'b' })],
  ],
  [
    'reasoning and text of one chunk in one piece',
    [choice({ reasoning: 'a', content: 'b' })],
    [said({ content: 'b', reasoning: 'a' })],
  ],
  [
    'a whole message in place of deltas',
    [{ choices: [{ message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }] }],
    ['a', { type: 'finish', index: 0, reason: 'stop', native: 'stop', besideContent: true }],
  ],
  [
    'a whole message behind deltas not again',
    [choice({ content: 'a' }), choice({ content: 'b' }), { choices: [{ delta: null, message: { content: 'ab' } }] }],
    ['a', 'b'],
  ],
  ['several chunks in one array', [[choice({ content: 'a' }), choice({ content: 'b' })]], ['a', 'b']],
  ['a choice without an index', [{ choices: [{ delta: { content: 'a' } }] }], ['a']],
  [
    'images and audio',
    [
      choice({ images: [{ type: 'image_url', image_url: { url: 'data:,' } }, { image_url: {} }, 7] }),
      choice({ audio: { id: 'x', data: 'AA==', transcript: 't', expires_at: 1.5, other: 1 } }),
    ],
    [
      said({ images: [{ type: 'image_url', image_url: { url: 'data:,' } }] }),
      said({ audio: { id: 'x', data: 'AA==', transcript: 't', expires_at: 1 } }),
    ],
  ],
  [
    'log probabilities without bytes, and none that are empty',
    [
      choice({ content: 'a' }, { logprobs: { content: [{ token: 'a', logprob: -1 }, { token: 'broken' }] } }),
      choice({ content: 'b' }, { logprobs: { content: [], refusal: null } }),
    ],
    [
      {
        type: 'delta',
        index: 0,
        delta: { content: 'a' },
        logprobs: { content: [{ token: 'a', logprob: -1, bytes: null, top_logprobs: [] }] },
      },
      'b',
    ],
  ],
  [
    'annotations as they came',
    [choice({ content: 'a', annotations: [{ type: 'x', deep: nested(10) }, 'text'] })],
    [said({ content: 'a', annotations: [{ type: 'x', deep: nested(10) }] })],
  ],
  [
    'a changed id as a fact, and the same id once',
    [
      { id: 'a', choices: [] },
      { id: 'a', choices: [] },
      { id: '', choices: [] },
      { id: 'b', choices: [] },
    ],
    ['a', 'b'].map((upstreamId) => ({
      type: 'facts',
      upstreamId,
      systemFingerprint: undefined,
      serviceTier: undefined,
    })),
  ],
  [
    'text behind the end of a choice, and ends twice',
    [choice({}, { finish_reason: 'stop' }), choice({ content: 'a' }, { finish_reason: 'length' })],
    [
      { type: 'finish', index: 0, reason: 'stop', native: 'stop' },
      'a',
      { type: 'finish', index: 0, reason: 'length', native: 'length', besideContent: true },
    ],
  ],
];

const REFUSED: readonly Row[] = [
  [
    'something nested without end',
    [choice({ content: 'a', annotations: [{ type: 'x', deep: nested(70) }] })],
    [impossible('a malformed event')],
  ],
  ...[1e9, 128, -1, 1.5, '0', 'x', true, []].map((index): Row => [
    `a choice with the index ${JSON.stringify(index)}`,
    [{ choices: [{ index, delta: { content: 'a' } }] }],
    [impossible('a choice with an invalid index')],
  ]),
  [
    'a tool call with an index of a billion',
    [choice({ tool_calls: [{ index: 1e9, id: 'a', function: { name: 'f' } }] })],
    [impossible('an invalid number of tool calls')],
  ],
];

describe('a chunk with', () => {
  it.each(NOTHING)('%s says nothing', async (_name, chunks, pieces) => {
    expect(await decode(chunks)).toEqual(pieces);
  });
});

describe('what is passed on:', () => {
  it.each(SAID)('%s', async (_name, chunks, pieces) => {
    expect(await decode(chunks)).toEqual(pieces);
  });
});

describe('an answer is broken off over', () => {
  it.each(REFUSED)('%s', async (_name, chunks, pieces) => {
    expect(await decode(chunks)).toEqual(pieces);
  });
});

describe('an error inside a stream', () => {
  it.each([
    ['at the top', { error: { message: 'm', code: 'rate_limit_exceeded' } }],
    ['at the top as text', { error: 'm', code: 'rate_limit_exceeded' }],
    ['beside choices', { error: { message: 'm', code: 429 }, choices: [{ delta: { content: 'lost' } }] }],
    ['inside a choice', { choices: [{ delta: { content: 'lost' }, error: { message: 'm', code: '429' } }] }],
    ["in Groq's extension", { choices: [], x_groq: { error: { message: 'm', type: 'too_many_requests' } } }],
    ['as a bare error object', { object: 'error', message: 'm', type: 'x', code: 429 }],
    ['in an array', [{ error: { message: 'm', status: 'RESOURCE_EXHAUSTED' } }]],
  ])('is found %s', async (_name, chunk) => {
    const [piece] = await decode([chunk]);
    expect(piece).toMatchObject({ type: 'failure', failure: { kind: 'rate_limited', message: 'm', status: 429 } });
  });

  it.each([
    ['insufficient_quota', 'quota', 429],
    ['rate_limit_exceeded', 'rate_limited', 429],
    ['authentication_error', 'credentials', 401],
    ['permission_error', 'credentials', 403],
    ['not_found_error', 'model_not_found', 404],
    ['invalid_request_error', 'invalid_request', 400],
    ['bad_request', 'invalid_request', 400],
    ['context_length_exceeded', 'context_length', 400],
    ['content_filter', 'content_policy', 400],
    ['overloaded_error', 'overloaded', 529],
    ['server_is_overloaded', 'overloaded', 503],
    ['service_unavailable_error', 'overloaded', 503],
    ['timeout_error', 'timeout', 504],
    ['DEADLINE_EXCEEDED', 'timeout', 504],
    ['unsupported_parameter', 'unsupported_parameter', 400],
    ['billing_error', 'quota', 402],
    ['server_error', 'server', 500],
    ['something_new', 'server', 502],
  ])('%s means %s', async (code, kind, status) => {
    for (const error of [
      { code, message: 'm' },
      { type: code, message: 'm' },
    ]) {
      const [piece] = await decode([{ error }]);
      expect(piece).toMatchObject({ type: 'failure', failure: { kind, status, providerCode: code } });
    }
  });

  it.each([
    [400, 'invalid_request'],
    [401, 'credentials'],
    [402, 'quota'],
    [408, 'timeout'],
    [429, 'rate_limited'],
    [500, 'server'],
    [502, 'server'],
    [503, 'overloaded'],
    [529, 'overloaded'],
    [200, 'server'],
    [99, 'server'],
  ])('with the numeric code %i means %s', async (code, kind) => {
    const [piece] = await decode([{ error: { code, message: 'm' } }]);
    expect(piece).toMatchObject({ type: 'failure', failure: { kind, message: 'm' } });
  });
});

describe('citations beside the choices', () => {
  const cite = (url: string): unknown => ({ type: 'url_citation', url_citation: { url } });
  const cited = (text: string, citations: readonly unknown[], finish: string | null = null): unknown => ({
    object: 'chat.completion',
    citations,
    choices: [
      { index: 0, finish_reason: finish, message: { role: 'assistant', content: text }, delta: { content: text } },
    ],
  });
  const annotationsOf = (pieces: readonly StreamPiece[]): readonly unknown[] =>
    pieces.flatMap((piece) =>
      typeof piece === 'object' && piece.type === 'delta' ? (piece.delta.annotations ?? []) : [],
    );

  it('are told once by a server that repeats them with every chunk', async () => {
    const pieces = await decode([
      cited('One', ['https://a.example']),
      cited(' two', ['https://a.example', 'https://b.example']),
      cited(' three', ['https://a.example', 'https://b.example']),
      cited('', ['https://a.example', 'https://b.example'], 'stop'),
    ]);
    expect(annotationsOf(pieces)).toEqual([cite('https://a.example'), cite('https://b.example')]);
    expect(pieces.filter((piece) => typeof piece === 'string')).toEqual(['One', ' two', ' three']);
  });

  it('are not told where an annotation cites the same address', async () => {
    const annotation = {
      type: 'url_citation',
      url_citation: { url: 'https://a.example', title: 'A', start_index: 0, end_index: 3 },
    };
    const pieces = await decode([
      choice({ content: 'One', annotations: [annotation] }),
      cited('', ['https://a.example', 'https://b.example'], 'stop'),
    ]);
    expect(annotationsOf(pieces)).toEqual([annotation, cite('https://b.example')]);
  });
});

function nested(depth: number): unknown {
  return depth === 0 ? 1 : [nested(depth - 1)];
}
