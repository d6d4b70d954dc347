import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runs } from '../support/properties.ts';
import {
  API_FORMATS,
  type UnusualUpstream,
  type UnusualWire,
  startUnusualUpstream,
} from '../support/unusual-streams.ts';

let upstream: UnusualUpstream;
beforeAll(async () => {
  upstream = await startUnusualUpstream();
});
afterAll(() => upstream[Symbol.asyncDispose]());

/** What a model says, in the words of no wire. */
interface Said {
  readonly reasoning: readonly string[];
  readonly text: readonly string[];
  readonly calls: readonly { readonly name: string; readonly args: object }[];
  readonly finish: 'stop' | 'length';
  readonly prompt: number;
  readonly completion: number;
}

/** How a server says it. */
interface Habits {
  /** The finish word: once at the end, with every event, once more at the end, or not at all. */
  readonly finish: 'once' | 'beside' | 'every' | 'null' | 'twice' | 'never';
  readonly usage: 'first' | 'every' | 'last' | 'zeros behind' | 'beside the finish';
  readonly index: 'right' | 'zero' | 'missing';
  readonly ids: 'right' | 'repeated' | 'missing';
  readonly args: 'pieces' | 'whole' | 'object' | 'once more';
  readonly content: 'text' | 'parts';
  readonly reasoning: 'reasoning' | 'reasoning_content' | 'reasoning_text' | 'thinking';
  readonly role: 'first' | 'every';
  readonly nulls: boolean;
  readonly comments: boolean;
  readonly lines: '\n' | '\r\n' | '\r';
  readonly mark: boolean;
  readonly byteOrderMark: boolean;
}

const word = fc.oneof(
  fc.constantFrom('one ', 'zwei ', '三', '🚦', '\n', '"\\', '{', 'data: '),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }),
);
const args = fc.dictionary(
  fc.constantFrom('a', 'b', 'c d'),
  fc.oneof(word, fc.nat(9), fc.boolean(), fc.constant([{ e: 1 }])),
  { maxKeys: 3, noNullPrototype: true },
);
const said: fc.Arbitrary<Said> = fc
  .record({
    reasoning: fc.array(word, { maxLength: 2 }),
    text: fc.array(word, { maxLength: 4 }),
    calls: fc.array(fc.record({ name: fc.constantFrom('now', 'look'), args }), { maxLength: 3 }),
    finish: fc.constantFrom('stop', 'length'),
    prompt: fc.integer({ min: 1, max: 5_000 }),
    completion: fc.integer({ min: 1, max: 5_000 }),
  })
  .filter(({ text, calls }) => text.length + calls.length > 0);
const habits: fc.Arbitrary<Habits> = fc
  .record({
    finish: fc.constantFrom('once', 'beside', 'every', 'null', 'twice', 'never'),
    usage: fc.constantFrom('first', 'every', 'last', 'zeros behind', 'beside the finish'),
    index: fc.constantFrom('right', 'zero', 'missing'),
    ids: fc.constantFrom('right', 'repeated', 'missing'),
    args: fc.constantFrom('pieces', 'whole', 'object', 'once more'),
    content: fc.constantFrom('text', 'parts'),
    reasoning: fc.constantFrom('reasoning', 'reasoning_content', 'reasoning_text', 'thinking'),
    role: fc.constantFrom('first', 'every'),
    nulls: fc.boolean(),
    comments: fc.boolean(),
    lines: fc.constantFrom('\n', '\r\n', '\r'),
    mark: fc.boolean(),
    byteOrderMark: fc.boolean(),
  })
  // Without an index and without ids nobody can tell two calls of one tool apart.
  .map((one): Habits => ({
    ...one,
    ids: one.index === 'right' || one.ids !== 'missing' ? one.ids : 'right',
    mark: one.mark || one.finish === 'never',
  }));

/** The events of an answer, as data. The last says the finish word, unless a habit says otherwise. */
function chatEvents(answer: Said, habit: Habits): readonly unknown[] {
  const deltas: Record<string, unknown>[] = [
    ...answer.reasoning.map((piece) => ({ [habit.reasoning]: piece })),
    ...answer.text.map((piece) => ({ content: habit.content === 'parts' ? [{ type: 'text', text: piece }] : piece })),
    ...answer.calls.flatMap((call, at) => callDeltas(call, at, habit)),
  ];
  const final = answer.finish === 'stop' && answer.calls.length > 0 ? 'tool_calls' : answer.finish;
  const counts = (part: number): object => {
    const completion = Math.ceil(answer.completion * part);
    return { prompt_tokens: answer.prompt, completion_tokens: completion, total_tokens: answer.prompt + completion };
  };
  if (habit.finish !== 'beside' && habit.finish !== 'every') deltas.push({});
  const last = deltas.length - 1;
  const events = deltas.map((delta, at) => ({
    id: 'c',
    choices: [
      {
        index: 0,
        delta: {
          ...(habit.nulls ? { content: null, refusal: null, tool_calls: null } : {}),
          ...(at === 0 || habit.role === 'every' ? { role: 'assistant' } : {}),
          ...delta,
        },
        finish_reason: finishWord(habit.finish, final, at === last),
      },
    ],
    ...(habit.usage === 'every' ? { usage: counts((at + 1) / deltas.length) } : {}),
    ...(habit.usage === 'beside the finish' && at === last ? { usage: counts(1) } : {}),
  }));
  const report = { id: 'c', choices: [], usage: counts(1) };
  const zeros = { id: 'c', choices: [], usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } };
  return [
    ...(habit.usage === 'first' ? [report] : []),
    ...events,
    ...(habit.finish === 'twice' ? [{ choices: [{ index: 0, delta: {}, finish_reason: final }] }] : []),
    ...(habit.usage === 'last' || habit.usage === 'zeros behind' ? [report] : []),
    ...(habit.usage === 'zeros behind' ? [zeros] : []),
  ];
}

function finishWord(habit: Habits['finish'], final: string, isLast: boolean): string | null {
  if (habit === 'never') return null;
  if (isLast) return habit === 'twice' ? 'stop' : final;
  return habit === 'every' ? 'stop' : habit === 'null' ? 'null' : null;
}

function callDeltas(
  { name, args: value }: Said['calls'][number],
  at: number,
  { index, ids, args: how }: Habits,
): Record<string, unknown>[] {
  const text = JSON.stringify(value);
  const half = Math.floor(text.length / 2);
  const place = index === 'missing' ? {} : { index: index === 'zero' ? 0 : at };
  const head = ids === 'missing' ? {} : { id: `call_${at}`, type: 'function' };
  const again = ids === 'repeated' ? { ...head } : {};
  const call = (rest: object): Record<string, unknown> => ({ tool_calls: [{ ...place, ...rest }] });
  if (how === 'object') return [call({ ...head, function: { name, arguments: value } })];
  if (how === 'whole') return [call({ ...head, function: { name, arguments: text === '{}' ? '' : text } })];
  const pieces = [
    call({ ...head, function: { name, arguments: '' } }),
    call({ ...again, function: { arguments: text.slice(0, half) } }),
    call({ ...again, function: { arguments: text.slice(half) } }),
  ];
  return how === 'once more' && ids !== 'missing'
    ? [...pieces, call({ ...head, function: { name, arguments: text } })]
    : pieces;
}

function geminiEvents(answer: Said, { finish, usage }: Habits): readonly unknown[] {
  const parts = [
    ...answer.text.map((text) => ({ text })),
    ...answer.calls.map(({ name, args: value }) => ({ functionCall: { name, args: value } })),
  ];
  const final = answer.finish === 'stop' ? 'STOP' : 'MAX_TOKENS';
  const counts = { promptTokenCount: answer.prompt, candidatesTokenCount: answer.completion };
  const events = parts.map((part, at) => ({
    candidates: [
      {
        content: { role: 'model', parts: [part] },
        ...(at === parts.length - 1 ? { finishReason: final } : finish === 'every' ? { finishReason: 'STOP' } : {}),
      },
    ],
    ...(usage === 'every' || at === parts.length - 1 ? { usageMetadata: counts } : {}),
  }));
  const zeros = { usageMetadata: { promptTokenCount: 0, candidatesTokenCount: 0 } };
  return usage === 'zeros behind' ? [...events, zeros] : events;
}

function messageEvents(answer: Said, { finish, usage }: Habits): readonly unknown[] {
  const blocks = [
    ...(answer.text.length === 0
      ? []
      : [{ start: { type: 'text', text: '' }, deltas: answer.text.map((text) => ({ type: 'text_delta', text })) }]),
    ...answer.calls.map(({ name, args: value }, at) => ({
      start: { type: 'tool_use', id: `toolu_${at}`, name, input: {} },
      deltas: JSON.stringify(value) === '{}' ? [] : [{ type: 'input_json_delta', partial_json: JSON.stringify(value) }],
    })),
  ];
  const reason = answer.finish === 'length' ? 'max_tokens' : answer.calls.length > 0 ? 'tool_use' : 'end_turn';
  const delta = (stop: string | null, counts: object): object => ({
    type: 'message_delta',
    delta: { stop_reason: stop },
    usage: counts,
  });
  const message = { id: 'msg_1', content: [], usage: { input_tokens: answer.prompt, output_tokens: 1 } };
  const last = { output_tokens: answer.completion, ...(usage === 'zeros behind' ? { input_tokens: 0 } : {}) };
  return [
    { type: 'message_start', message },
    ...blocks.flatMap(({ start, deltas }, index) => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((one) => ({ type: 'content_block_delta', index, delta: one })),
      { type: 'content_block_stop', index },
    ]),
    ...(finish === 'twice' ? [delta('end_turn', {})] : []),
    delta(reason, last),
    { type: 'message_stop' },
  ];
}

const EVENTS = { chat: chatEvents, gemini: geminiEvents, messages: messageEvents };

function bytesOf(wire: keyof typeof EVENTS, answer: Said, habit: Habits): Buffer {
  const frames = EVENTS[wire](answer, habit).map((event) => `data: ${JSON.stringify(event)}\n\n`);
  const commented = habit.comments ? frames.flatMap((frame) => [': keep\n\n', frame]) : frames;
  const text = commented.join('') + (wire === 'chat' && habit.mark ? 'data: [DONE]\n\n' : '');
  const lines = text.replaceAll('\n', habit.lines);
  return Buffer.from(habit.byteOrderMark ? `\uFEFF${lines}` : lines);
}

/** Bytes in pieces, cut at places that are parts of the whole. */
function cutAt(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const at = [
    0,
    ...places.map((part) => Math.floor(part * bytes.length)).sort((left, right) => left - right),
    bytes.length,
  ];
  return at
    .slice(1)
    .map((to, position) => bytes.subarray(at[position], to))
    .filter(({ length }) => length > 0);
}

const share = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
const asked = fc.record({
  wire: fc.constantFrom<keyof typeof EVENTS>('chat', 'chat', 'gemini', 'messages'),
  format: fc.constantFrom(...API_FORMATS),
  stream: fc.boolean(),
  places: fc.array(share, { maxLength: 4 }),
});

function wholeOf({ reasoning, text, calls, finish, prompt, completion }: Said, wire: UnusualWire) {
  return {
    reasoning: wire === 'chat' ? reasoning.join('') : '',
    text: text.join(''),
    calls: calls.map(({ name, args: value }) => [name, JSON.stringify(value)]),
    finish: finish === 'stop' && calls.length > 0 ? 'tool_calls' : finish,
    prompt,
    completion,
  };
}

describe('any stream with any habits', () => {
  it('loses, doubles and invents no text, no call and no token', async () => {
    await fc.assert(
      fc.asyncProperty(said, habits, asked, async (answer, habit, { wire, format, stream, places }) => {
        const pieces = cutAt(bytesOf(wire, answer, habit), places);
        const seen = await upstream.ask(wire, format, stream, { pieces });
        const whole = wholeOf(answer, wire);
        const finish =
          habit.finish === 'never' && wire === 'chat'
            ? answer.calls.length > 0
              ? 'tool_calls'
              : 'stop'
            : whole.finish;
        expect(seen).toMatchObject({ status: 200, broken: false, ...whole, finish });
        const costUsd = Math.round(whole.prompt * 1_000 + whole.completion * 2_000) / 1e9;
        if (seen.costUsd !== undefined) expect(seen.costUsd).toBe(costUsd);
      }),
      runs(800),
    );
  });

  it('that is cut at any byte never ends as a success, unless nothing was missing', async () => {
    await fc.assert(
      fc.asyncProperty(
        said,
        habits,
        asked,
        share,
        fc.boolean(),
        async (answer, habit, { wire, format, stream, places }, cut, resets) => {
          const all = bytesOf(wire, answer, habit);
          const bytes = all.subarray(0, Math.floor(cut * all.length));
          // Where every event says that it is the last, only a connection that breaks is told from one that ends.
          const ending = resets || habit.finish === 'every' ? 'reset' : 'close';
          const seen = await upstream.ask(wire, format, stream, { pieces: cutAt(bytes, places), ending });
          const whole = wholeOf(answer, wire);
          expect(whole.text.startsWith(seen.text), `${seen.text} of ${whole.text}`).toBe(true);
          if (seen.finish === null) return;
          const { text, calls } = whole;
          expect(seen).toMatchObject({ text, calls });
        },
      ),
      runs(800),
    );
  });
});
