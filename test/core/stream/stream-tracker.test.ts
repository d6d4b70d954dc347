import { describe, expect, it } from 'vitest';
import { ResultCollector } from '../../../src/core/stream/collect.ts';
import { commits } from '../../../src/core/stream/pieces.ts';
import { type StreamEnd, StreamTracker } from '../../../src/core/stream/stream-tracker.ts';
import type { FinishReason } from '../../../src/protocol/chat-result.ts';
import type { Delta } from '../../../src/protocol/chunk.ts';
import type { StreamPiece } from '../../../src/contracts/stream-piece.ts';

function tracked(...pieces: readonly StreamPiece[]): StreamTracker {
  const tracker = new StreamTracker();
  for (const piece of pieces) {
    if (typeof piece === 'string') tracker.countText(piece);
    else tracker.observe(piece);
  }
  return tracker;
}

function endOf(...pieces: readonly StreamPiece[]): StreamEnd {
  return tracked(...pieces).end();
}

function delta(content: Delta, index = 0): StreamPiece {
  return { type: 'delta', index, delta: content };
}

function finish(reason: FinishReason, index = 0, native: string | null = reason): StreamPiece {
  return { type: 'finish', index, reason, native };
}

function usage(prompt: number, completion: number): StreamPiece {
  const counts = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  return { type: 'usage', usage: counts };
}

const END: StreamPiece = { type: 'end' };
const CALL = delta({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'look_up', arguments: '{}' } }] });

describe('a stream', () => {
  const cases: readonly (readonly [string, readonly StreamPiece[], object])[] = [
    ['with a finish is whole', ['Hi', finish('stop'), END], { ok: true, finishes: [finish('stop')] }],
    [
      'with a finish is whole without an end mark',
      ['Hi', finish('length')],
      { ok: true, finishes: [finish('length')] },
    ],
    [
      'that finishes twice is finished once, as it said last (STR-06)',
      ['Hi', finish('stop'), finish('length'), END],
      { ok: true, finishes: [finish('length')] },
    ],
    [
      'that is finished by other words after it was filtered stays filtered',
      ['Hi', finish('content_filter'), finish('stop'), END],
      { ok: true, finishes: [finish('content_filter')] },
    ],
    [
      'that goes on behind its finish is cut off without another one',
      ['Hi', finish('stop'), ' there'],
      { ok: false, failure: { kind: 'bad_response', message: 'The provider ended its response early' } },
    ],
    [
      'that goes on with a call behind its finish is cut off without another one',
      ['Hi', finish('stop'), CALL],
      { ok: false, failure: { kind: 'bad_response' } },
    ],
    [
      'that finishes again is whole without an end mark',
      ['Hi', finish('stop'), ' there', finish('length')],
      { ok: true, finishes: [finish('length')] },
    ],
    [
      'that tells its sources behind its finish is whole',
      [
        'Hi',
        finish('stop'),
        delta({ annotations: [{ type: 'url_citation', url_citation: { url: 'https://a.example' } }] }),
        delta({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }] }),
      ],
      { ok: true, finishes: [finish('stop')] },
    ],
    [
      'that says "tool_calls" and calls none has stopped',
      ['I am fine.', finish('tool_calls'), END],
      { ok: true, finishes: [finish('stop', 0, 'tool_calls')] },
    ],
    [
      'that is filtered after it finished is filtered',
      ['Hi', finish('stop'), finish('content_filter'), END],
      { ok: true, finishes: [finish('content_filter')] },
    ],
    [
      'with content after its finish is whole (STR-06)',
      ['Hi', finish('stop'), ' there', END],
      { ok: true, finishes: [finish('stop')] },
    ],
    [
      'with an end mark, text and no finish has stopped',
      ['Hi', END],
      { ok: true, finishes: [finish('stop', 0, null)] },
    ],
    [
      'with an end mark, a call and no finish has called',
      [CALL, END],
      { ok: true, finishes: [finish('tool_calls', 0, null)] },
    ],
    [
      'that says "stop" although it called a tool has called',
      [CALL, finish('stop'), END],
      { ok: true, finishes: [finish('tool_calls', 0, 'stop')] },
    ],
    [
      'that was cut by its limit in a call keeps "length"',
      [CALL, finish('length'), END],
      { ok: true, finishes: [finish('length')] },
    ],
    ['of nothing but a finish is an empty answer', [finish('stop'), END], { ok: true, finishes: [finish('stop')] }],
    [
      'of several choices has a finish for each, in order (STR-17)',
      [delta({ content: 'b' }, 1), 'a', finish('length', 1), finish('stop', 0), END],
      { ok: true, finishes: [finish('stop', 0), finish('length', 1)] },
    ],
    [
      'tells choices that called a tool from those that did not',
      ['a', delta({ tool_calls: [{ index: 0, id: 'x' }] }, 1), finish('stop', 0), finish('stop', 1), END],
      { ok: true, finishes: [finish('stop', 0), finish('tool_calls', 1, 'stop')] },
    ],
    [
      'of which one choice just stops is cut off (STR-17)',
      ['a', delta({ content: 'b' }, 1), finish('stop', 0)],
      { ok: false, failure: { kind: 'bad_response', message: 'The provider ended its response early' } },
    ],
    [
      'with an end mark and a finish for some choices has a finish for each (STR-17)',
      ['a', delta({ tool_calls: [{ index: 0, id: 'x' }] }, 2), delta({ content: 'b' }, 1), finish('length', 1), END],
      { ok: true, finishes: [finish('stop', 0, null), finish('length', 1), finish('tool_calls', 2, null)] },
    ],
    ['that just stops is cut off (U-24)', ['Hi'], { ok: false, failure: { kind: 'bad_response' } }],
    ['of nothing is cut off', [], { ok: false, failure: { kind: 'bad_response' } }],
    [
      'of an end mark is an empty answer',
      [END],
      { ok: false, failure: { kind: 'bad_response', message: 'The provider sent an empty answer' } },
    ],
    [
      'of a role and an end mark is an empty answer',
      [delta({ role: 'assistant', content: '' }), END],
      { ok: false, failure: { kind: 'bad_response' } },
    ],
    [
      'that finishes with an error has failed (U-66)',
      ['Hi', finish('error'), END],
      { ok: false, failure: { kind: 'server' } },
    ],
    [
      'of which one choice fails has failed',
      ['Hi', finish('stop', 0), finish('error', 1), END],
      { ok: false, failure: { kind: 'server' } },
    ],
  ];
  it.each(cases)('%s', (_name, pieces, expected) => {
    expect(endOf(...pieces)).toMatchObject(expected);
  });

  it('keeps the last report of usage, wherever it stands (STR-07)', () => {
    const tracker = tracked(usage(3, 0), 'Hi', usage(3, 1), finish('stop'), usage(3, 2), END);
    expect(tracker.usage).toEqual({ prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 });
    expect(tracked(usage(3, 1), 'Hi', finish('stop')).usage).toMatchObject({ completion_tokens: 1 });
    expect(tracked('Hi', finish('stop')).usage).toBeUndefined();
  });

  it('never counts less than it did', () => {
    const zeros = tracked(usage(1_200, 1), 'Hi', usage(0, 40), finish('stop'), usage(0, 0));
    expect(zeros.usage).toEqual({ prompt_tokens: 1_200, completion_tokens: 40, total_tokens: 1_240 });
    const cached = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10, reportedCost: 0.5 };
    const details: StreamPiece[] = [
      { type: 'usage', usage: { ...cached, prompt_tokens_details: { cached_tokens: 8, audio_tokens: 1 } } },
      { type: 'usage', usage: { ...cached, reportedCost: 0, prompt_tokens_details: { cached_tokens: 0 } } },
    ];
    expect(tracked(...details).usage).toEqual({
      ...cached,
      prompt_tokens_details: { cached_tokens: 8, audio_tokens: 1 },
    });
  });

  it('has no usage where nothing but zeros was reported, unless it cost nothing', () => {
    expect(tracked(usage(0, 0), 'Hi', finish('stop')).usage).toBeUndefined();
    const free = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, reportedCost: 0 };
    expect(tracked({ type: 'usage', usage: free }).usage).toEqual(free);
  });

  it('owes an empty object to every call without arguments, at its end', () => {
    const call = (index: number, text: string): StreamPiece =>
      delta({ tool_calls: [{ index, function: { arguments: text } }] });
    const end = endOf(call(0, ''), call(1, '{'), call(2, ' '), call(1, '}'), finish('tool_calls'), END);
    expect(end.ok && end.owed).toEqual([
      {
        type: 'delta',
        index: 0,
        delta: {
          tool_calls: [
            { index: 0, function: { arguments: '{}' } },
            { index: 2, function: { arguments: '{}' } },
          ],
        },
      },
    ]);
  });

  it('is settled by an end that came alone, as long as nothing follows', () => {
    const beside: StreamPiece = { type: 'finish', index: 0, reason: 'stop', native: 'stop', besideContent: true };
    const settled = (...pieces: readonly StreamPiece[]) => tracked(...pieces).settled;
    expect([settled('a'), settled('a', finish('stop')), settled('a', beside)]).toEqual([false, true, false]);
    expect(settled('a', beside, finish('stop'))).toBe(true);
    expect(settled('a', beside, 'b', finish('stop'))).toBe(false);
    expect([settled('a', finish('stop'), ''), settled('a', finish('stop'), usage(1, 1))]).toEqual([true, true]);
  });

  it('is not over because usage came', () => {
    const tracker = tracked('Hi', usage(1, 1));
    expect([tracker.ended, tracker.finishing]).toEqual([false, false]);
  });

  it('is not over while one of its choices goes on (STR-17)', () => {
    expect(tracked('a', delta({ reasoning: 'b' }, 1), finish('stop', 1)).finishing).toBe(false);
    expect(tracked('a', delta({ reasoning: 'b' }, 1), finish('stop', 1), finish('stop')).finishing).toBe(true);
    expect(tracked('', delta({ role: 'assistant' }, 1), finish('stop')).finishing).toBe(true);
  });

  it('adds its facts up and never forgets one', () => {
    const tracker = tracked(
      { type: 'facts', upstreamId: 'chatcmpl-1' },
      { type: 'facts', systemFingerprint: 'fp_1' },
      { type: 'facts', serviceTier: 'flex', upstreamId: 'chatcmpl-2' },
      { type: 'facts' },
    );
    expect(tracker.facts).toEqual({
      type: 'facts',
      upstreamId: 'chatcmpl-2',
      systemFingerprint: 'fp_1',
      serviceTier: 'flex',
    });
  });

  it('counts tokens of everything that the model wrote', () => {
    expect(tracked('x'.repeat(40)).likelyTokens).toBe(10);
    expect(tracked('x', 'x', 'x').likelyTokens).toBe(1);
    expect(tracked('\\n\\n\\n\\n').likelyTokens).toBe(1);
    expect(tracked('日本語').likelyTokens).toBe(3);
    expect(tracked('\\u65e5').likelyTokens).toBe(1);
    expect(tracked(delta({ reasoning: 'x'.repeat(8), refusal: 'x'.repeat(4) })).likelyTokens).toBe(3);
    expect(tracked(CALL).likelyTokens).toBe(Math.ceil('look_up{}'.length / 4));
    expect(tracked(usage(5, 5), END).likelyTokens).toBe(0);
  });
});

describe('the commit', () => {
  const shown: readonly StreamPiece[] = [
    'H',
    delta({ content: 'H' }),
    delta({ reasoning: 'H' }),
    delta({ refusal: 'H' }),
    CALL,
    delta({ tool_calls: [{ index: 0 }] }),
    delta({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }] }),
    delta({ images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] }),
    delta({ annotations: [{ type: 'url_citation', url_citation: { url: 'https://example.com' } }] }),
    delta({ audio: { data: 'AAAA' } }),
    delta({ audio: { transcript: 'H' } }),
    finish('stop'),
    finish('content_filter'),
  ];
  it.each(shown)('comes with %j', (piece) => {
    expect(commits(piece)).toBe(true);
  });

  const silent: readonly StreamPiece[] = [
    '',
    delta({}),
    delta({ role: 'assistant' }),
    delta({ role: 'assistant', content: '' }),
    delta({ content: null, reasoning: null, refusal: null }),
    delta({ tool_calls: [] }),
    delta({ audio: { id: 'audio_1' } }),
    delta({ images: [], annotations: [], reasoning_details: [] }),
    usage(1, 0),
    { type: 'facts', upstreamId: 'x' },
    END,
    finish('error'),
    { type: 'failure', failure: { kind: 'server', message: 'failed' } },
  ];
  it.each(silent)('does not come with %j', (piece) => {
    expect(commits(piece)).toBe(false);
  });
});

describe('collected pieces', () => {
  function collected(...pieces: readonly StreamPiece[]): ResultCollector {
    const collector = new ResultCollector();
    for (const piece of pieces) collector.add(piece);
    return collector;
  }

  it('join tool calls by index, whatever order their fragments come in (STR-03, STR-04)', () => {
    const { choices } = collected(
      delta({ tool_calls: [{ index: 1, id: 'b', type: 'function', function: { name: 'two', arguments: '{"a":1}' } }] }),
      delta({ tool_calls: [{ index: 0, id: 'a', function: { name: 'one', arguments: '{' } }] }),
      delta({
        tool_calls: [
          { index: 1, function: { arguments: '23}' } },
          { index: 0, function: { arguments: '}' } },
        ],
      }),
      finish('tool_calls'),
    ).result();
    expect(choices[0]?.message.tool_calls).toEqual([
      { id: 'a', index: 0, type: 'function', function: { name: 'one', arguments: '{}' } },
      { id: 'b', index: 1, type: 'function', function: { name: 'two', arguments: '{"a":1}23}' } },
    ]);
    expect(choices[0]?.message.content).toBeNull();
  });

  it('take no memory for an enormous index, and give none to a strange id (STR-04)', () => {
    const { choices } = collected(
      delta({ tool_calls: [{ index: 1_000_000_000, id: '__proto__', function: { name: 'one' } }] }),
      finish('tool_calls'),
    ).result();
    expect(choices[0]?.message.tool_calls).toEqual([
      { id: '__proto__', index: 1_000_000_000, type: 'function', function: { name: 'one', arguments: '{}' } },
    ]);
  });

  it('keep the first id and name of a call', () => {
    const fragments = ['a', 'b'].map((id) => delta({ tool_calls: [{ index: 0, id, function: { name: id } }] }));
    const { choices } = collected(...fragments).result();
    expect(choices[0]?.message.tool_calls).toMatchObject([{ id: 'a', function: { name: 'a' } }]);
  });

  it('keep the order of reasoning and of content (STR-16)', () => {
    const { choices } = collected(
      delta({ reasoning: 'a' }),
      'x',
      delta({ reasoning: 'b' }),
      'y',
      finish('stop'),
    ).result();
    expect(choices[0]?.message).toMatchObject({ reasoning: 'ab', content: 'xy' });
  });

  it('are an empty answer when there are none but a finish', () => {
    const { choices } = collected(finish('stop', 0, 'eos')).result();
    expect(choices).toEqual([
      {
        index: 0,
        finish_reason: 'stop',
        native_finish_reason: 'eos',
        logprobs: null,
        message: { role: 'assistant', content: '', refusal: null, reasoning: null },
      },
    ]);
  });

  it('join audio', () => {
    const { choices } = collected(
      delta({ audio: { id: 'audio_1', data: 'AA', transcript: 'He' } }),
      delta({ audio: { data: 'BB', transcript: 'y', expires_at: 5 } }),
    ).result();
    expect(choices[0]?.message.audio).toEqual({ id: 'audio_1', data: 'AABB', transcript: 'Hey', expires_at: 5 });
  });
});
