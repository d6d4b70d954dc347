import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { unescapeText } from '../../src/core/stream/pieces.ts';
import { ChatStreamDecoder } from '../../src/providers/openai-compatible/codec.ts';
import { SseReader } from '../../src/providers/sse.ts';
import { TextFrames } from '../../src/providers/text-frames.ts';
import { inProportion, runs } from '../support/properties.ts';
import { contextOf } from '../support/wire.ts';
import type { StreamPiece } from '../../src/contracts/stream-piece.ts';

afterEach(() => vi.restoreAllMocks());

type Members = readonly (readonly [name: string, value: string])[];

/** Texts with everything that JSON and SSE make difficult. */
const text = fc.string({
  unit: fc.oneof(
    { weight: 4, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) },
    {
      weight: 2,
      arbitrary: fc.constantFrom('"', '\\', '/', '\n', '\r', '\t', '\b', '\f', '\u0000', '\u001f', '\u007f', '\u2028'),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom('🚦', '👩‍🚒', '\ud83d', '\udea6', '","content":"', '"}}]}', '\\u0041', '{', '}'),
    },
  ),
  maxLength: 12,
});

/** Ways in which servers write the same string. */
const SPELLINGS: readonly ((value: string) => string)[] = [
  (value) => JSON.stringify(value),
  (value) =>
    JSON.stringify(value).replace(
      /[^\u0020-\u007e]/g,
      (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  (value) => JSON.stringify(value).replaceAll('/', '\\/'),
  (value) =>
    `"${Array.from({ length: value.length }, (_, at) => `\\u${value.charCodeAt(at).toString(16).padStart(4, '0').toUpperCase()}`).join('')}"`,
];
const spelled = fc.tuple(text, fc.constantFrom(...SPELLINGS)).map(([value, spell]) => spell(value));

/** How one server writes its chunks: order of members, spaces, and what else stands in them. */
const shape = fc.record({
  id: fc.constantFrom('"chatcmpl-1"', '""', 'null'),
  space: fc.constantFrom('', ' '),
  outside: fc.shuffledSubarray<readonly [string, string]>(
    [
      ['object', '"chat.completion.chunk"'],
      ['created', '1793000000'],
      ['model', '"content"'],
      ['system_fingerprint', '"fp_1"'],
      ['usage', 'null'],
      ['provider', '"Acme \\"content\\":\\"x"'],
    ],
    { minLength: 2 },
  ),
  inside: fc.shuffledSubarray<readonly [string, string]>([
    ['index', '0'],
    ['logprobs', 'null'],
    ['finish_reason', 'null'],
    ['content_filter_results', '{"hate":{"content":"safe"}}'],
  ]),
  beside: fc.shuffledSubarray<readonly [string, string]>([
    ['role', '"assistant"'],
    ['refusal', 'null'],
    ['reasoning_content', 'null'],
    ['tool_calls', '[]'],
  ]),
  contentFirst: fc.boolean(),
});

type Shape = typeof shape extends fc.Arbitrary<infer Value> ? Value : never;

/** Frames of one stream: mostly text, with everything else in between. */
const frame = fc.oneof(
  { weight: 30, arbitrary: spelled.map((content) => ({ kind: 'text', content }) as const) },
  { weight: 1, arbitrary: spelled.map((content) => ({ kind: 'reasoning', content }) as const) },
  { weight: 1, arbitrary: spelled.map((content) => ({ kind: 'tool', content }) as const) },
  { weight: 1, arbitrary: spelled.map((content) => ({ kind: 'usage', content }) as const) },
  { weight: 1, arbitrary: spelled.map((content) => ({ kind: 'logprobs', content }) as const) },
  { weight: 1, arbitrary: spelled.map((content) => ({ kind: 'finish', content }) as const) },
  { weight: 1, arbitrary: spelled.map((content) => ({ kind: 'other choice', content }) as const) },
  { weight: 1, arbitrary: spelled.map((content) => ({ kind: 'other id', content }) as const) },
  { weight: 1, arbitrary: spelled.map((content) => ({ kind: 'array', content }) as const) },
  { weight: 1, arbitrary: spelled.map((content) => ({ kind: 'named', content }) as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'done', content: '' } as const) },
);

type Frame = typeof frame extends fc.Arbitrary<infer Value> ? Value : never;

function object(members: Members, space: string): string {
  return `{${members.map(([name, value]) => `"${name}":${space}${value}`).join(`,${space}`)}}`;
}

function dataOf({ kind, content }: Frame, { id, space, outside, inside, beside, contentFirst }: Shape): string {
  if (kind === 'done') return '[DONE]';
  const said = [kind === 'reasoning' ? 'reasoning' : 'content', content] as const;
  const called = `[{"index":0,"id":"a","function":{"name":"f","arguments":${content}}}]`;
  const rest = beside.filter(([name]) => kind !== 'tool' || name !== 'tool_calls');
  const delta: Members = [
    ...(contentFirst ? [said, ...rest] : [...rest, said]),
    ...(kind === 'tool' ? [['tool_calls', called] as const] : []),
  ];
  const known: Readonly<Record<string, string>> = {
    ...(kind === 'finish' ? { finish_reason: '"stop"' } : {}),
    ...(kind === 'other choice' ? { index: '1' } : {}),
    ...(kind === 'logprobs'
      ? { logprobs: `{"content":[{"token":${content},"logprob":-1,"bytes":null,"top_logprobs":[]}]}` }
      : {}),
  };
  const kept = inside.filter(([name]) => !(name in known));
  const choice = object([...kept, ['delta', object(delta, space)], ...Object.entries(known)], space);
  const counts = '{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}';
  const top = outside.map(([name, value]) => [name, kind === 'usage' && name === 'usage' ? counts : value] as const);
  const chunk = object([['id', kind === 'other id' ? '"chatcmpl-2"' : id], ...top, ['choices', `[${choice}]`]], space);
  return kind === 'array' ? `[${chunk},${space}${chunk}]` : chunk;
}

function decode(frames: readonly Frame[], style: Shape): unknown {
  const decoder = new ChatStreamDecoder(contextOf());
  const pieces: StreamPiece[] = [];
  for (const one of frames) {
    const event = one.kind === 'named' ? 'message' : undefined;
    decoder.event({ event, data: dataOf(one, style) }, pieces);
  }
  decoder.end(pieces);
  return pieces.map((piece) => (typeof piece === 'string' ? { text: unescapeText(piece) } : piece));
}

/** How servers write events, and what they put between them. */
const LAYOUTS: readonly ((data: string) => string)[] = [
  (data) => `data: ${data}\n\n`,
  (data) => `data:${data}\n\n`,
  (data) => `data: ${data}\r\n\r\n`,
  (data) => `data: ${data}\n\n\n`,
  (data) => `: still here\n\ndata: ${data}\n\n`,
  (data) => `data: ${data}\n: still here\n\n`,
  (data) => `id: 7\ndata: ${data}\n\n`,
  (data) => `event: message\ndata: ${data}\n\n`,
  (data) => `data: ${data.replaceAll(',', ',\ndata: ')}\n\n`,
  (data) => `data: ${data.replaceAll(',', ',\n')}\n\n`,
];

/** What a stream consists of that comes in these pieces. */
function readInPieces(stream: Uint8Array, cuts: readonly number[], knows: boolean): readonly StreamPiece[] {
  const decoder = new ChatStreamDecoder(contextOf());
  const pieces: StreamPiece[] = [];
  const reader = new SseReader(knows ? decoder : { event: (event, into) => decoder.event(event, into) });
  const places = [0, ...cuts.map((cut) => cut % stream.length).toSorted((a, b) => a - b), stream.length];
  for (const [index, place] of places.slice(1).entries()) reader.push(stream.subarray(places[index], place), pieces);
  reader.end(pieces);
  decoder.end(pieces);
  return pieces;
}

describe('frames that differ from an earlier one in nothing but their text', () => {
  it('mean the same whether they are recognised or parsed', () => {
    let recognized = 0;
    fc.assert(
      fc.property(fc.array(frame, { minLength: 1, maxLength: 40 }), shape, (frames, style) => {
        const counted = vi.spyOn(TextFrames.prototype, 'recognize');
        const fast = decode(frames, style);
        recognized += counted.mock.results.filter((result) => result.value !== undefined).length;
        counted.mockReturnValue(undefined);
        const parsed = decode(frames, style);
        counted.mockRestore();
        expect(fast).toEqual(parsed);
      }),
      runs(2_000),
    );
    expect(recognized).toBeGreaterThan(inProportion(2_000));
  });

  it('mean the same whether their events are recognised in the text of the stream or parsed', () => {
    const layout = fc.oneof(
      { weight: 20, arbitrary: fc.constant(LAYOUTS[0]) },
      { weight: 1, arbitrary: fc.constantFrom(...LAYOUTS) },
    );
    const frames = fc.array(fc.tuple(frame, layout), { minLength: 1, maxLength: 40 });
    const cuts = fc.array(fc.nat(100_000), { maxLength: 6 });
    let recognized = 0;
    const counted = vi.spyOn(TextFrames.prototype, 'recognizeEvents');
    fc.assert(
      fc.property(frames, shape, cuts, (pairs, style, places) => {
        const events = pairs.map(([one, layOut]) => layOut?.(dataOf(one, style)) ?? '').join('');
        const stream = new TextEncoder().encode(events);
        const fast = readInPieces(stream, places, true);
        recognized += counted.mock.results.filter(({ value }, call) => value !== counted.mock.calls[call]?.[1]).length;
        counted.mockClear();
        expect(fast).toEqual(readInPieces(stream, places, false));
      }),
      runs(2_000),
    );
    expect(recognized).toBeGreaterThan(inProportion(2_000));
  });

  it.each([
    ['an unknown escape', String.raw`a\x41`],
    ['a short unicode escape', String.raw`a\u12`],
    ['a unicode escape with other letters', String.raw`a\u00zz`],
    ['a backslash at the end', 'a\\'],
    ['a raw line feed', 'a\nb'],
    ['a raw tab', 'a\tb'],
    ['a raw NUL', 'a\u0000b'],
    ['a quote', 'a"b'],
    ['an escaped backslash before a quote', String.raw`a\\"b`],
    ['a second string', 'a" "b'],
  ])('are refused with %s in them', (_name, inside) => {
    const decoder = new ChatStreamDecoder(contextOf());
    const pieces: StreamPiece[] = [];
    for (const one of ['one', 'two', 'three', inside]) {
      decoder.event({ data: `{"choices":[{"index":0,"delta":{"content":"${one}"}}]}` }, pieces);
    }
    expect(pieces).toEqual([
      'one',
      'two',
      'three',
      { type: 'failure', failure: { kind: 'bad_response', message: 'The provider sent a malformed event' } },
    ]);
  });

  it('are parsed when something else than their text differs', () => {
    const frames = new TextFrames(/"content":\s?"/g, (data) => (JSON.parse(data) as { content: string }).content);
    frames.learn('{"content":"one","model":"a"}');
    expect(frames.recognize('{"content":"two","model":"a"}')).toBe('two');
    for (const data of [
      '{"content":"two","model":"b"}',
      '{"content":"two","model":"a","content":"three"}',
      '{"content":"two","model":"x","content":"y","model":"a"}',
      ' {"content":"two","model":"a"}',
      '{"content":"two","model":"a"} ',
      '{"content":"","model":"a"}',
      '{"content":null,"model":"a"}',
      '{"content":"two"',
      '',
    ]) {
      expect(frames.recognize(data)).toBeUndefined();
    }
  });

  it('are parsed again once what they say would be news', () => {
    const decoder = new ChatStreamDecoder(contextOf());
    const pieces: StreamPiece[] = [];
    const chunk = (id: string, said: string): string => `{"id":"${id}","choices":[{"delta":{"content":"${said}"}}]}`;
    for (const [id, said] of [
      ['a', 'one'],
      ['a', 'two'],
      ['b', 'three'],
      ['a', 'four'],
    ] as const) {
      decoder.event({ data: chunk(id, said) }, pieces);
    }
    const facts = (upstreamId: string): StreamPiece => ({
      type: 'facts',
      upstreamId,
      systemFingerprint: undefined,
      serviceTier: undefined,
    });
    expect(pieces).toEqual([facts('a'), 'one', 'two', facts('b'), 'three', facts('a'), 'four']);
  });

  it('are never mistaken for one chunk when a server sends two in an array', () => {
    const decoder = new ChatStreamDecoder(contextOf());
    const pieces: StreamPiece[] = [];
    const chunk = (said: string): string => `{"choices":[{"delta":{"content":"${said}"}}]}`;
    for (const said of ['one', 'two', 'three']) decoder.event({ data: `[${chunk(said)},${chunk('!')}]` }, pieces);
    expect(pieces).toEqual(['one', '!', 'two', '!', 'three', '!']);
  });

  it('may be megabytes of escapes', () => {
    const decoder = new ChatStreamDecoder(contextOf());
    const pieces: StreamPiece[] = [];
    const long = String.raw`\n`.repeat(8 * 1024 * 1024 - 100);
    for (const said of ['one', long, 'two']) {
      decoder.event({ data: `{"choices":[{"delta":{"content":"${said}"}}]}` }, pieces);
    }
    expect(pieces.length).toBe(3);
    expect(pieces[1] === long).toBe(true);
    expect(pieces[2]).toBe('two');
  });
});
