import { type Message, type ResultMessage, type Router, createRouter } from 'signalbox';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { type CrossWire, SHARED_MODEL, type Thought, type Turn, crossWires } from '../support/cross-wires.ts';
import { runs } from '../support/properties.ts';

const wires = crossWires();
const router: Router = createRouter({
  providers: wires.map(({ provider }) => provider),
  fallback: { triesPerEndpoint: 1 },
  on: { warning: () => {} },
});

afterAll(() => router.close());

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom('Hello.', '\n', '"\\', '線路 🚦'),
);
const proof = fc.base64String({ minLength: 8, maxLength: 24 });
const thought: fc.Arbitrary<Thought> = fc.oneof(
  fc.record({
    type: fc.constant('signed' as const),
    text: fc.string({ minLength: 1, maxLength: 8 }),
    signature: proof,
  }),
  fc.record({ type: fc.constant('redacted' as const), data: proof }),
);

/** Ids as vendors make them, and worse. */
const oddId = fc.oneof(
  fc.constantFrom('functions.look:0', 'functions.ring:1', 'call.1', 'call:1', 'call 1', 'D681PevKs', '1', 'ünïcödé'),
  fc.uuid().map((id) => `chatcmpl-tool-${id}`),
  fc.string({ unit: 'grapheme-ascii', minLength: 60, maxLength: 90 }),
);
const args = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 1 }), {
  maxKeys: 2,
  noNullPrototype: true,
});

/** A turn that calls tools, perhaps several at once. */
const callingTurn: fc.Arbitrary<Turn> = fc.record({
  thoughts: fc.array(thought, { maxLength: 2 }),
  text,
  calls: fc
    .uniqueArray(oddId, { minLength: 1, maxLength: 3 })
    .chain((ids) =>
      fc.tuple(...ids.map((id) => fc.record({ id: fc.constant(id), name: fc.constantFrom('look', 'ring'), args }))),
    ),
});

const TOOLS = ['look', 'ring'].map((name) => ({
  type: 'function' as const,
  function: { name, parameters: { type: 'object', properties: {} } },
}));
const ASKED: Message = { role: 'user', content: 'Look around' };

/** Asks one provider. What comes back is what a client keeps: JSON. */
async function ask(wire: CrossWire, turn: Turn, messages: readonly Message[]): Promise<ResultMessage> {
  wire.says(turn);
  const request = { model: SHARED_MODEL, messages, tools: TOOLS, provider: { only: [wire.provider.slug] } };
  const { choices } = await router.chat(request);
  return JSON.parse(JSON.stringify(choices[0]?.message)) as ResultMessage;
}

/** What a client sends next: the answer as it came, and a result for each of its calls. */
function continued(messages: readonly Message[], answer: ResultMessage): readonly Message[] {
  const results = (answer.tool_calls ?? []).map(({ id }) => ({
    role: 'tool',
    tool_call_id: id,
    content: `result of ${id}`,
  }));
  return [...messages, answer, ...results] as unknown as readonly Message[];
}

const pairs = wires.flatMap((first) =>
  wires.map((second) => [first.provider.slug, second.provider.slug, first, second] as const),
);

describe.each(pairs)('a tool loop that goes from %s to %s', (_first, _second, first, second) => {
  it('is accepted by the wire it goes to, and by the one it comes back to', async () => {
    await fc.assert(
      fc.asyncProperty(callingTurn, callingTurn, async (one, other) => {
        const history = continued([ASKED], await ask(first, one, [ASKED]));
        const longer = continued(history, await ask(second, other, history));
        expect(second.problemsOf(second.asked)).toEqual([]);
        expect(second.callIds(second.asked)).toHaveLength(one.calls.length);
        await ask(first, { thoughts: [], text: 'Done.', calls: [] }, longer);
        expect(first.problemsOf(first.asked)).toEqual([]);
        expect(first.callIds(first.asked)).toHaveLength(one.calls.length + other.calls.length);
      }),
      runs(6),
    );
  });

  it('has ids that lead back: a call that is made again has the id under which it is known', async () => {
    await fc.assert(
      fc.asyncProperty(callingTurn, async (turn) => {
        const answer = await ask(first, turn, [ASKED]);
        const history = continued([ASKED], answer);
        await ask(second, { thoughts: [], text: 'So.', calls: [] }, history);
        const onWire = second.callIds(second.asked);
        const again = {
          ...turn,
          thoughts: [],
          calls: turn.calls.map((call, at) => ({ ...call, id: onWire[at] ?? '' })),
        };
        const { tool_calls: calls = [] } = await ask(second, again, history);
        expect(calls.map(({ id }) => id)).toEqual(answer.tool_calls?.map(({ id }) => id));
      }),
      runs(3),
    );
  });
});

describe('reasoning on its way through other wires', () => {
  const thinkers = ['anthropic', 'google', 'openrouter', 'sdk-anthropic'];

  it.each(thinkers)('comes back to %s as it was, whoever answered in between', async (slug) => {
    const maker = wires.find(({ provider }) => provider.slug === slug);
    if (maker === undefined) throw new RangeError(slug);
    await fc.assert(
      fc.asyncProperty(callingTurn, fc.constantFrom(...wires), callingTurn, async (turn, between, other) => {
        const history = continued([ASKED], await ask(maker, turn, [ASKED]));
        const direct = (await ask(maker, turn, history), JSON.stringify(maker.asked));
        const longer = continued(history, await ask(between, other, history));
        await ask(maker, turn, longer);
        const later = JSON.stringify(maker.asked);
        for (const one of turn.thoughts) {
          const kept = one.type === 'signed' ? one.signature : one.data;
          const count = (body: string): number => body.split(JSON.stringify(kept).slice(1, -1)).length;
          expect(count(direct)).toBeGreaterThan(1);
          expect(count(later)).toBeGreaterThanOrEqual(count(direct));
        }
      }),
      runs(20),
    );
  });
});
