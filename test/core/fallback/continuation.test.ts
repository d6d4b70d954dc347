import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canBeContinued, continuedRequest, goesOnAfter } from '../../../src/core/fallback/continuation.ts';
import type { NormalizedRequest } from '../../../src/contracts/request.ts';
import { escapeText, unescapeText } from '../../../src/core/stream/pieces.ts';
import { Splice } from '../../../src/core/stream/splice.ts';
import { takesPrefill } from '../../../src/providers/anthropic/provider.ts';
import { acceptsOf } from '../../../src/core/accepts.ts';
import { ANTHROPIC } from '../../../src/providers/accepts/anthropic.ts';
import { FAILURE_KINDS, planOver } from '../../support/attempts.ts';
import { runs } from '../../support/properties.ts';
import { MODEL, sceneOf } from '../../support/requests.ts';
import { failure } from '../../../src/contracts/failure.ts';
import type { Attempt } from '../../../src/core/fallback/attempt.ts';

const REQUEST = sceneOf({ providers: { p: { [MODEL]: {} } } }).request({ stream: true });
const PREFILL = { id: 'p#m', prefill: true };

describe('a request that goes on with a text', () => {
  it('makes the uncut text with what its answer adds, wherever it was cut', () => {
    const text = fc.array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('🚋', ' ', '\n\n', 'word')), {
      maxLength: 9,
    });
    fc.assert(
      fc.property(text, fc.boolean(), fc.integer({ min: 1, max: 5 }), (parts, prefill, step) => {
        const whole = parts.join('');
        for (let cut = 0; cut <= whole.length; cut += 1) {
          const sent = whole.slice(0, cut);
          const { way, request, expected, textBefore } = continuedRequest(REQUEST, { id: 'p#m', prefill }, sent, []);
          const last = request.messages.at(-1)?.content;
          const prefilled = typeof last === 'string' ? last : '';
          if (way === 'prefill') expect(prefilled).toBe(sent.slice(0, textBefore));
          else expect(request.messages).toBe(REQUEST.messages);
          expect(`${sent.slice(0, textBefore)}${expected}`).toBe(sent);
          // No provider takes half of a character, and some refuse a space at the end.
          if (way === 'prefill') expect(prefilled).toBe(prefilled.trimEnd());
          if (way === 'prefill') expect(prefilled.at(-1)).not.toMatch(/[\ud800-\udbff]/);
          const answer = whole.slice(textBefore);
          const splice = new Splice(expected, textBefore);
          let shown = '';
          for (let position = 0; position < answer.length; position += step) {
            const pieces = splice.take(escapeText(answer.slice(position, position + step)));
            shown += (pieces ?? ['?']).map((piece) => (typeof piece === 'string' ? unescapeText(piece) : '?')).join('');
          }
          expect(sent + shown).toBe(whole);
        }
      }),
      runs(200),
    );
  });

  it('answers anew in a format, while thinking, after a message that is no text, and where a prefill was refused', () => {
    const way = (request: NormalizedRequest, attempts: readonly Attempt[] = []): string =>
      continuedRequest(request, PREFILL, 'One', attempts).way;
    expect(way(REQUEST)).toBe('prefill');
    expect(way({ ...REQUEST, responseFormat: { type: 'json_object' } })).toBe('repetition');
    expect(way({ ...REQUEST, reasoning: { effort: 'high', exclude: false } })).toBe('repetition');
    expect(way({ ...REQUEST, reasoning: { effort: 'none', exclude: false } })).toBe('prefill');
    expect(way({ ...REQUEST, messages: [{ role: 'assistant', content: [{ type: 'text', text: 'x' }] }] })).toBe(
      'repetition',
    );
    const [step] = planOver('other m').steps;
    if (step === undefined) throw new Error('a plan has a step');
    const refused = { ...failure('unsupported_parameter', 'No prefill'), addition: 'prefill' } as const;
    const attempt = { step, startedAt: 0, endedAt: 1, outcome: { ok: false, failure: refused } } as const;
    const endpoint = { id: step.endpoint.id, prefill: true };
    expect(continuedRequest(REQUEST, endpoint, 'One', [attempt]).way).toBe('repetition');
    expect(continuedRequest(REQUEST, PREFILL, 'One', [attempt]).way).toBe('prefill');
    expect(continuedRequest(REQUEST, { id: 'p#m' }, 'One', []).way).toBe('repetition');
  });

  it('adds to a prefill of the caller, and leaves as much to say as is left', () => {
    const request: NormalizedRequest = {
      ...REQUEST,
      messages: [{ role: 'assistant', content: 'Once ' }],
      parameters: { max_completion_tokens: 10 },
    };
    const continued = continuedRequest(request, PREFILL, 'upon a time', []);
    expect(continued.request.messages).toEqual([{ role: 'assistant', content: 'Once upon a time' }]);
    expect(continued.request.parameters.max_completion_tokens).toBe(7);
  });
});

describe('an answer', () => {
  it.each<[string, Partial<NormalizedRequest>, boolean]>([
    ['text in a stream', {}, true],
    ['a non-streaming one', { stream: false }, false],
    ['log probabilities', { parameters: { logprobs: true } }, false],
    ['sound', { outputModalities: ['text', 'audio'] }, false],
    ['images', { outputModalities: ['image'] }, false],
    [
      'what only its own format can say',
      { native: { apiFormat: 'messages', body: {}, requiredBy: 'tools[0]' } },
      false,
    ],
  ])('of %s can be gone on with: %s', (_name, more, can) => {
    expect(canBeContinued({ ...REQUEST, ...more })).toBe(can);
  });

  it('is gone on with after failures that leave it to another endpoint', () => {
    expect(FAILURE_KINDS.filter((kind) => goesOnAfter({ kind }))).toEqual(
      expect.arrayContaining(['connection', 'timeout', 'bad_response', 'server', 'overloaded', 'adapter']),
    );
    expect(
      (['aborted', 'deadline', 'superseded', 'content_policy', 'invalid_request'] as const).some((kind) =>
        goesOnAfter({ kind }),
      ),
    ).toBe(false);
  });
});

describe('models that take a prefill', () => {
  it.each([
    'claude-opus-5-5',
    'claude-sonnet-5',
    'claude-fable-5-1',
    'claude-opus-4-8',
    'claude-opus-4.7',
    'claude-sonnet-4-6',
    'claude-opus-4-5',
    'claude-sonnet-4-5-20250929',
    'claude-haiku-4.5',
    'claude-opus-4-1-20250805',
    'claude-opus-4',
    'claude-sonnet-4-20250514',
    'claude-sonnet-4-0',
    'claude-3-5-haiku-latest',
    'claude-3-opus-20240229',
    'claude-2.1',
    'claude-instant-1.2',
    'anthropic.claude-sonnet-4-5-20250929-v1:0',
    'claude-sonnet-4-5@20250929',
    'claude-unknown-9',
  ])('are declared by the provider as by its rules: %s', (upstreamModel) => {
    expect(takesPrefill(upstreamModel)).toBe(acceptsOf(ANTHROPIC, upstreamModel).conversation.prefill === 'plain');
  });
});
