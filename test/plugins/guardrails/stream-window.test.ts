import * as fc from 'fast-check';
import { type Guardrail, guardrails, type GuardrailsOptions, type RouterError } from 'signalbox';
import { describe, expect, it } from 'vitest';
import type { Delta } from '../../../src/protocol/chunk.ts';
import { detectorOf } from '../../../src/plugins/guardrails/detector.ts';
import { windowedStream } from '../../../src/plugins/guardrails/stream-window.ts';
import { hello, pluginBench, streamed } from '../../support/plugins.ts';
import type { DeltaPiece } from '../../../src/contracts/stream-piece.ts';

const CARD = '4111 1111 1111 1111';

const blockSecret: Guardrail = {
  id: 'secret',
  type: 'content',
  label: 'Secrets',
  patterns: ['project falcon'],
  action: 'block',
  on: 'response',
};
const redactCards: Guardrail = { id: 'cards', type: 'pii', kinds: ['CREDIT_CARD'], action: 'redact', on: 'response' };
const flagMails: Guardrail = { id: 'mails', type: 'pii', kinds: ['EMAIL'], action: 'flag', on: 'response' };

interface Sent {
  readonly deltas: readonly Delta[];
  readonly error?: unknown;
  readonly stages: readonly object[];
}

/** What of a stream is sent. */
function sentOf(deltas: readonly Delta[], rules: readonly Guardrail[], window = 200): Sent {
  const stages: object[] = [];
  const detectors = rules.map((rule) => detectorOf(rule, 'router'));
  const transform = windowedStream(detectors, window, (stage) => stages.push(stage));
  const sent: Delta[] = [];
  let state = transform.start;
  try {
    for (const delta of deltas) {
      const [next, pieces] = transform.step(state, { type: 'delta', index: 0, delta });
      state = next;
      sent.push(...pieces.map((piece) => piece.delta));
    }
    sent.push(...transform.end(state).map((piece) => piece.delta));
    return { deltas: sent, stages };
  } catch (error) {
    return { deltas: sent, stages, error };
  }
}

const contentOf = ({ deltas }: Sent): string => deltas.map(({ content }) => content ?? '').join('');

function inPieces(text: string, sizes: readonly number[]): readonly Delta[] {
  const deltas: Delta[] = [];
  let at = 0;
  for (let turn = 0; at < text.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    deltas.push({ content: text.slice(at, at + size) });
    at += size;
  }
  return deltas;
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 12 });
const filler = (length: number): string => 'The train is late today. '.repeat(Math.ceil(length / 25)).slice(0, length);

describe('a hit in a stream', () => {
  it('ends it at every position, and never a character of it is sent', () => {
    fc.assert(
      fc.property(
        fc.nat(700),
        fc.nat(400),
        sizes,
        fc.constantFrom('project falcon', 'Project, Falcon'),
        (before, after, cut, hit) => {
          const start = `${filler(before)} `;
          const sent = sentOf(inPieces(`${start}${hit} ${filler(after)}`, cut), [blockSecret]);
          expect(sent.error).toMatchObject({ status: 403, metadata: { patterns: ['Secrets'] } });
          expect(start.startsWith(contentOf(sent))).toBe(true);
          expect(sent.stages).toMatchObject([{ data: { action: 'blocked' } }]);
        },
      ),
      { numRuns: 400 },
    );
  });

  /** A window that the hits of these tests fit, and so small that every position in and around it can be tried. */
  const SMALL = 24;
  const POSITIONS = Array.from({ length: 3 * SMALL + 1 }, (_, at) => at);
  const SIZES = Array.from({ length: SMALL + 16 }, (_, at) => at + 1);

  it('is held back whole, whichever position it has and however large the pieces are', () => {
    for (const before of POSITIONS) {
      const start = `${filler(before)} `;
      for (const size of SIZES) {
        // The first piece is shorter, so that pieces begin and end at every place of the hit.
        for (const first of [1, Math.ceil(size / 2)]) {
          const cut = [first, ...Array.from({ length: 200 }, () => size)];
          const blocked = sentOf(inPieces(`${start}project falcon ${filler(30)}`, cut), [blockSecret], SMALL);
          const shown = contentOf(blocked);
          if (blocked.error === undefined || !start.startsWith(shown)) {
            expect.unreachable(`${before} before, pieces of ${size} after ${first}: ${JSON.stringify(shown)}`);
          }
        }
      }
    }
  });

  it('is held back whole, whichever two places it is cut at', () => {
    const start = `${filler(40)} `;
    const text = `${start}project falcon ${filler(10)}`;
    const end = start.length + 'project falcon'.length + 2;
    for (let one = start.length - 2; one < end; one += 1) {
      for (let other = one + 1; other <= end; other += 1) {
        const deltas = [text.slice(0, one), text.slice(one, other), text.slice(other)].map((content) => ({ content }));
        const blocked = sentOf(deltas, [blockSecret], SMALL);
        if (blocked.error === undefined || !start.startsWith(contentOf(blocked))) {
          expect.unreachable(`cut at ${one} and ${other}: ${JSON.stringify(contentOf(blocked))}`);
        }
      }
    }
  });

  it('is taken out at every position, and everything else is sent', () => {
    fc.assert(
      fc.property(fc.nat(700), fc.nat(700), sizes, (before, after, cut) => {
        const sent = sentOf(inPieces(`${filler(before)} ${CARD} ${filler(after)}`, cut), [redactCards]);
        expect(sent.error).toBeUndefined();
        expect(contentOf(sent)).toBe(`${filler(before)} [CREDIT_CARD] ${filler(after)}`);
        expect(sent.stages).toMatchObject([{ data: { action: 'redacted', count: 1 } }]);
      }),
      { numRuns: 300 },
    );
  });

  it.each([1, 7, 300])('is the same as in a whole text, however many there are: pieces of %i', (size) => {
    const text = `${filler(90)} ${CARD} and ${CARD}. ${filler(500)} a@b.example ${CARD}`;
    const sent = sentOf(inPieces(text, [size]), [redactCards, flagMails]);
    expect(contentOf(sent)).toBe(text.replaceAll(CARD, '[CREDIT_CARD]'));
    expect(sent.stages).toMatchObject([
      { guardrail_id: 'cards', data: { action: 'redacted', count: 3 } },
      { guardrail_id: 'mails', data: { action: 'flagged', count: 1 } },
    ]);
  });

  it('is found although it is longer than what is held back, but its beginning is sent', () => {
    const long = `project${' '.repeat(300)}falcon`;
    const sent = sentOf(inPieces(`${filler(100)} ${long} x`, [10]), [blockSecret], 64);
    expect(sent.error).toMatchObject({ status: 403 });
    expect(contentOf(sent)).not.toContain('falcon');
  });

  it.each<readonly [string, (text: string) => Delta]>([
    ['the reasoning', (text) => ({ reasoning: text })],
    ['a refusal', (text) => ({ refusal: text })],
    [
      'details of reasoning',
      (text) => ({ reasoning: text, reasoning_details: [{ type: 'reasoning.text', text, index: 0 }] }),
    ],
  ])('is taken out of %s', (_name, delta) => {
    const text = `${filler(300)} ${CARD} ${filler(300)}`;
    const sent = sentOf(
      inPieces(text, [9]).map(({ content }) => delta(content ?? '')),
      [redactCards],
    );
    expect(JSON.stringify(sent.deltas)).not.toMatch(/4111|1111/);
    const said = sent.deltas.map(({ reasoning, refusal }) => reasoning ?? refusal ?? '').join('');
    expect(said).toBe(text.replace(CARD, '[CREDIT_CARD]'));
  });

  it('is taken out of the arguments of calls that come side by side, which stay JSON', () => {
    const call = (index: number, text: string, name?: string): Delta => ({
      tool_calls: [
        {
          index,
          ...(name === undefined ? {} : { id: `call_${index}`, type: 'function' }),
          function: { ...(name && { name }), arguments: text },
        },
      ],
    });
    const deltas = [
      { content: 'Now.' },
      call(0, '', 'pay'),
      call(0, '{"card":"4111 11'),
      call(1, '', 'tell'),
      call(1, '{"text":"\\n4111 1111 '),
      call(0, '11 1111 1111"}'),
      call(1, '1111 1111"}'),
    ];
    const sent = sentOf(deltas, [redactCards]);
    const argumentsOf = (index: number): unknown =>
      JSON.parse(
        sent.deltas
          .flatMap(({ tool_calls: calls = [] }) => calls.filter((one) => one.index === index))
          .map((one) => one.function?.arguments ?? '')
          .join(''),
      );
    expect([argumentsOf(0), argumentsOf(1)]).toEqual([{ card: '[CREDIT_CARD]' }, { text: '\n[CREDIT_CARD]' }]);
    expect(sent.deltas[0]).toEqual({ content: 'Now.' });
  });

  it('silences what was spoken', () => {
    const spoken = [`Your card is ${CARD.slice(0, 9)}`, `${CARD.slice(9)}.`];
    const sent = sentOf(
      spoken.map((transcript) => ({ audio: { id: 'a', data: 'AAAA', transcript } })),
      [redactCards],
    );
    expect(sent.deltas).toEqual([
      { audio: { id: 'a', data: '', transcript: 'Your card is [CREDIT_CARD].' } },
      { audio: { id: 'a', data: '', transcript: '' } },
    ]);
  });
});

describe('what is held back', () => {
  it('is the newest characters and no more, in the order in which they came', () => {
    const detectors = [detectorOf(blockSecret, 'router')];
    const transform = windowedStream(detectors, 200, () => undefined);
    let state = transform.start;
    let [came, sent] = [0, 0];
    for (const delta of inPieces(filler(5_000), [17])) {
      const [next, pieces] = transform.step(state, { type: 'delta', index: 0, delta });
      state = next;
      came += delta.content?.length ?? 0;
      for (const piece of pieces) sent += piece.delta.content?.length ?? 0;
      expect(came - sent).toBeLessThan(200 + 32 + 2 * 17);
    }
    expect(sent).toBeGreaterThan(4_700);
  });

  it('goes on when the reasoning is over, and when the answer is', () => {
    const deltas: readonly Delta[] = [
      { role: 'assistant', content: '' },
      { reasoning: 'Hm.' },
      { content: 'Yes.' },
      { annotations: [] },
      { tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] },
    ];
    expect(sentOf(deltas, [blockSecret]).deltas).toEqual(deltas);
    const detectors = [detectorOf(blockSecret, 'router')];
    const transform = windowedStream(detectors, 200, () => undefined);
    const push = (state: typeof transform.start, delta: Delta) =>
      transform.step(state, { type: 'delta', index: 0, delta } satisfies DeltaPiece);
    const [first] = push(undefined, { reasoning: 'Hm.' });
    expect(push(first, { content: 'Yes.' })[1].map(({ delta }) => delta)).toEqual([{ reasoning: 'Hm.' }]);
  });

  it('keeps choices apart', () => {
    const transform = windowedStream([detectorOf(redactCards, 'router')], 64, () => undefined);
    const pieces: DeltaPiece[] = [];
    let state = transform.start;
    for (let at = 0; at < CARD.length; at += 1) {
      for (const index of [0, 1]) {
        const [next, out] = transform.step(state, { type: 'delta', index, delta: { content: CARD[at] ?? '' } });
        state = next;
        pieces.push(...out);
      }
    }
    pieces.push(...transform.end(state));
    for (const index of [0, 1]) {
      const text = pieces
        .filter((piece) => piece.index === index)
        .map(({ delta }) => delta.content)
        .join('');
      expect(text).toBe('[CREDIT_CARD]');
    }
  });
});

describe('the plugin', () => {
  const bench = (options: GuardrailsOptions, answer: string) => pluginBench(answer, { plugins: [guardrails(options)] });

  it('ends a stream with the error of a rule that blocks, and says so in the metadata', async () => {
    const { router } = bench({ rules: [blockSecret] }, `${filler(600)} project falcon ${filler(600)}`);
    const { error, text } = await streamed(router, hello(), true);
    expect(error).toMatchObject({ status: 403, errorType: 'permission_denied', metadata: { patterns: ['Secrets'] } });
    expect(text).toBe(filler(600).slice(0, text.length));
    expect(text.length).toBeGreaterThan(300);
    expect((error as RouterError).routerMetadata?.pipeline).toMatchObject([{ data: { action: 'blocked' } }]);
  });

  it('takes out what is found, and leaves a stage', async () => {
    const { router } = bench({ rules: [redactCards], holdBack: 32 }, `It is ${CARD}, ${filler(300)}`);
    const { chunks, text } = await streamed(router, hello(), true);
    expect(text).toBe(`It is [CREDIT_CARD], ${filler(300)}`);
    expect(chunks.at(-1)?.router_metadata?.pipeline).toMatchObject([{ guardrail_id: 'cards', data: { count: 1 } }]);
  });

  it('takes a window that can hold something', () => {
    expect(() => guardrails({ holdBack: 3 })).toThrow(/holdBack must be a whole number from 16 up/);
  });
});
