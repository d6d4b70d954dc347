import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ToolCallCollector } from '../../../src/core/stream/collect.ts';
import type { ToolCallDelta } from '../../../src/protocol/chunk.ts';
import { ToolCallIndexer } from '../../../src/providers/openai-compatible/tool-call-indexer.ts';
import { runs } from '../../support/properties.ts';
import { cpuClock } from '../../support/cpu-clock.ts';

/** A fragment in short: index, id, name and arguments, all of which may be missing. */
interface Short {
  readonly at?: unknown;
  readonly id?: unknown;
  readonly name?: unknown;
  readonly text?: unknown;
}

type Chunk = readonly Short[];
type Call = readonly [id: string, name: string, text: string];

function fragmentOf({ at, id, name, text }: Short): unknown {
  const parts = { ...(name === undefined ? {} : { name }), ...(text === undefined ? {} : { arguments: text }) };
  return {
    ...(at === undefined ? {} : { index: at }),
    ...(id === undefined ? {} : { id }),
    ...(Object.keys(parts).length === 0 ? {} : { function: parts }),
  };
}

function deltasOf(chunks: readonly Chunk[]): readonly ToolCallDelta[] {
  const indexer = new ToolCallIndexer((index) => `made_${index}`);
  const deltas = chunks.flatMap((chunk) => indexer.read(chunk.map(fragmentOf)) ?? expect.fail('refused'));
  return deltas;
}

function callsOf(deltas: readonly ToolCallDelta[]): readonly Call[] {
  const collector = new ToolCallCollector();
  collector.add(deltas);
  return collector.finish().map((call, position) => {
    expect(call.index).toBe(position);
    return [call.id, call.function.name, call.function.arguments];
  });
}

const TABLE: Readonly<
  Record<string, readonly (readonly [name: string, chunks: readonly Chunk[], calls: readonly Call[]])[]>
> = {
  'as they should be': [
    [
      'one call in pieces',
      [[{ at: 0, id: 'a', name: 'f', text: '' }], [{ at: 0, text: '{"x"' }], [{ at: 0, text: ':1}' }]],
      [['a', 'f', '{"x":1}']],
    ],
    [
      'interleaved by index',
      [
        [{ at: 0, id: 'a', name: 'f', text: '' }],
        [{ at: 1, id: 'b', name: 'g', text: '' }],
        [{ at: 0, text: '{"x"' }],
        [{ at: 1, text: '{"y"' }],
        [{ at: 0, text: ':1}' }],
        [{ at: 1, text: ':2}' }],
      ],
      [
        ['a', 'f', '{"x":1}'],
        ['b', 'g', '{"y":2}'],
      ],
    ],
    [
      'several fragments of one index in one chunk',
      [
        [
          { at: 0, id: 'a', name: 'f', text: '{' },
          { at: 0, text: '}' },
          { at: 1, id: 'b', name: 'g', text: '{}' },
        ],
      ],
      [
        ['a', 'f', '{}'],
        ['b', 'g', '{}'],
      ],
    ],
    ['without arguments at all', [[{ at: 0, id: 'a', name: 'f' }]], [['a', 'f', '{}']]],
    ['with blank arguments', [[{ at: 0, id: 'a', name: 'f', text: '' }], [{ at: 0, text: '' }]], [['a', 'f', '{}']]],
    [
      'with arguments that are complete before more of them comes',
      [[{ at: 0, id: 'a', name: 'f', text: '{}' }], [{ at: 0, text: ' ' }], [{ at: 0, text: '\n' }]],
      [['a', 'f', '{} \n']],
    ],
    [
      'counted from another number than 0',
      [[{ at: 1, id: 'a', name: 'f', text: '{}' }], [{ at: 4, id: 'b', name: 'g', text: '{}' }]],
      [
        ['a', 'f', '{}'],
        ['b', 'g', '{}'],
      ],
    ],
  ],
  'with noise on continuations': [
    [
      'blank ids and names',
      [[{ at: 0, id: 'a', name: 'f', text: '' }], [{ at: 0, id: '', name: '', text: '{"x":1}' }]],
      [['a', 'f', '{"x":1}']],
    ],
    [
      'null ids and names',
      [[{ at: 0, id: 'a', name: 'f', text: null }], [{ at: 0, id: null, name: null, text: '{}' }]],
      [['a', 'f', '{}']],
    ],
    [
      'repeated ids and names',
      [
        [{ at: 0, id: 'a', name: 'f', text: '' }],
        [{ at: 0, id: 'a', name: 'f', text: '{"x":' }],
        [{ at: 0, id: 'a', name: 'f', text: '{"y":1}}' }],
      ],
      [['a', 'f', '{"x":{"y":1}}']],
    ],
    [
      'another id on every fragment',
      [
        [{ at: 0, id: 'a', name: 'f', text: '' }],
        [{ at: 0, id: 'b', text: '{"x":' }],
        [{ at: 0, id: 'c', text: '1}' }],
      ],
      [['a', 'f', '{"x":1}']],
    ],
    [
      'another id and the same name in the middle of the arguments',
      [
        [{ at: 0, id: 'a', name: 'f', text: '{"x":' }],
        [{ at: 0, id: 'b', name: 'f', text: '{"y":' }],
        [{ at: 0, id: 'c', name: 'f', text: '1}}' }],
      ],
      [['a', 'f', '{"x":{"y":1}}']],
    ],
    [
      'fragments that say nothing',
      [[{ at: 0 }], [{ at: 0, id: 'a', name: 'f', text: '{}' }], [{}], [{ at: 3, text: '' }], [{ at: 0 }]],
      [['a', 'f', '{}']],
    ],
  ],
  'with names and ids that come late': [
    [
      'the name after the arguments',
      [[{ at: 0, id: 'a', text: '{"x"' }], [{ at: 0, text: ':1' }], [{ at: 0, name: 'f', text: '}' }]],
      [['a', 'f', '{"x":1}']],
    ],
    ['the name never: a call of nothing is none', [[{ at: 0, id: 'a', text: '{"x":1}' }]], []],
    ['the id before everything', [[{ at: 0, id: 'a' }], [{ at: 0, name: 'f', text: '{}' }]], [['a', 'f', '{}']]],
    ['the id never', [[{ at: 0, name: 'f', text: '{}' }]], [['made_0', 'f', '{}']]],
    [
      'the id with the name, late',
      [[{ at: 0, text: '{' }], [{ at: 0, text: '}' }], [{ at: 0, id: 'a', name: 'f' }]],
      [['a', 'f', '{}']],
    ],
  ],
  'with an index that is always 0': [
    [
      'different names',
      [[{ at: 0, id: 'a', name: 'f', text: '{}' }], [{ at: 0, id: 'b', name: 'g', text: '{}' }]],
      [
        ['a', 'f', '{}'],
        ['b', 'g', '{}'],
      ],
    ],
    [
      'the same name twice, with ids',
      [[{ at: 0, id: 'a', name: 'f', text: '{"x":1}' }], [{ at: 0, id: 'b', name: 'f', text: '{"x":2}' }]],
      [
        ['a', 'f', '{"x":1}'],
        ['b', 'f', '{"x":2}'],
      ],
    ],
    [
      'the same name twice in one chunk, without ids',
      [
        [
          { at: 0, name: 'f', text: '{"x":1}' },
          { at: 0, name: 'f', text: '{"x":2}' },
        ],
      ],
      [
        ['made_0', 'f', '{"x":1}'],
        ['made_1', 'f', '{"x":2}'],
      ],
    ],
    [
      'the same name twice, begun without arguments',
      [
        [{ at: 0, id: 'a', name: 'f', text: '' }],
        [{ at: 0, text: '{"x":"}"}' }],
        [{ at: 0, id: 'b', name: 'f', text: '' }],
        [{ at: 0, text: '{"x":2}' }],
      ],
      [
        ['a', 'f', '{"x":"}"}'],
        ['b', 'f', '{"x":2}'],
      ],
    ],
    [
      'the same name twice without any arguments',
      [[{ at: 0, id: 'a', name: 'now', text: '' }], [{ at: 0, id: 'b', name: 'now', text: '' }]],
      [
        ['a', 'now', '{}'],
        ['b', 'now', '{}'],
      ],
    ],
    [
      'the same name twice in one chunk without ids and arguments',
      [
        [
          { at: 0, name: 'now', text: '' },
          { at: 0, name: 'now', text: null },
        ],
      ],
      [
        ['made_0', 'now', '{}'],
        ['made_1', 'now', '{}'],
      ],
    ],
    [
      'a whole call that is said once more at the end',
      [
        [{ at: 0, id: 'a', name: 'f', text: '{"x":' }],
        [{ at: 0, text: '1}' }],
        [{ at: 0, id: 'a', name: 'f', text: '{"x":1}' }],
      ],
      [['a', 'f', '{"x":1}']],
    ],
    [
      'an empty object before the arguments are there',
      [[{ at: 0, id: 'a', name: 'f', text: {} }], [{ at: 0, text: { x: 1 } }]],
      [['a', 'f', '{"x":1}']],
    ],
    [
      'continuations that are told apart by their ids',
      [
        [{ at: 0, id: 'a', name: 'f', text: '' }],
        [{ at: 0, id: 'b', name: 'g', text: '' }],
        [{ at: 0, id: 'a', text: '{"x":1}' }],
        [{ at: 0, id: 'b', text: '{"y":2}' }],
      ],
      [
        ['a', 'f', '{"x":1}'],
        ['b', 'g', '{"y":2}'],
      ],
    ],
    [
      'whole objects for arguments',
      [[{ at: 0, id: 'a', name: 'f', text: { x: 1 } }], [{ at: 0, id: 'b', name: 'f', text: { x: 2 } }]],
      [
        ['a', 'f', '{"x":1}'],
        ['b', 'f', '{"x":2}'],
      ],
    ],
  ],
  'without an index': [
    [
      'two whole calls',
      [[{ id: 'a', name: 'f', text: '{"x":1}' }], [{ id: 'b', name: 'f', text: '{"x":2}' }]],
      [
        ['a', 'f', '{"x":1}'],
        ['b', 'f', '{"x":2}'],
      ],
    ],
    [
      'two calls of the same function without arguments',
      [[{ id: 'a', name: 'f', text: '' }], [{ id: 'b', name: 'f', text: '' }]],
      [
        ['a', 'f', '{}'],
        ['b', 'f', '{}'],
      ],
    ],
    [
      'pieces that continue the newest',
      [[{ id: 'a', name: 'f', text: '{"x"' }], [{ text: ':1}' }], [{ name: 'g', text: '{"y"' }], [{ text: ':2}' }]],
      [
        ['a', 'f', '{"x":1}'],
        ['made_1', 'g', '{"y":2}'],
      ],
    ],
    [
      'pieces that say whose they are',
      [
        [{ id: 'a', name: 'f', text: '{"x"' }],
        [{ id: 'b', name: 'g', text: '{"y"' }],
        [{ id: 'a', text: ':1}' }],
        [{ id: 'b', text: ':2}' }],
      ],
      [
        ['a', 'f', '{"x":1}'],
        ['b', 'g', '{"y":2}'],
      ],
    ],
    [
      'a name that is repeated in the middle of the arguments',
      [[{ name: 'f', text: '{"x":' }], [{ name: 'f', text: '{}}' }]],
      [['made_0', 'f', '{"x":{}}']],
    ],
    [
      'an index that is no index',
      [[{ at: '0', id: 'a', name: 'f', text: '{' }], [{ at: -1, text: '"x":' }], [{ at: 0.5, text: '1}' }]],
      [['a', 'f', '{"x":1}']],
    ],
  ],
  'with ids of the same name': [
    [
      'parallel calls',
      [
        [
          { at: 0, id: 'a', name: 'f', text: '{}' },
          { at: 1, id: 'a', name: 'g', text: '{}' },
          { at: 2, id: 'a', name: 'h', text: '{}' },
        ],
      ],
      [
        ['a', 'f', '{}'],
        ['a_2', 'g', '{}'],
        ['a_3', 'h', '{}'],
      ],
    ],
    [
      'parallel calls whose pieces are interleaved',
      [
        [
          { at: 0, id: 'a', name: 'f', text: '' },
          { at: 1, id: 'a', name: 'g', text: '' },
        ],
        [{ at: 0, id: 'a', text: '{"x":1}' }],
        [{ at: 1, id: 'a', text: '{"y":2}' }],
      ],
      [
        ['a', 'f', '{"x":1}'],
        ['a_2', 'g', '{"y":2}'],
      ],
    ],
    [
      'names of members that every object has',
      [
        [{ at: 0, id: '__proto__', name: 'constructor', text: '{"__proto__":1}' }],
        [{ at: 1, id: 'toString', name: '__proto__' }],
      ],
      [
        ['__proto__', 'constructor', '{"__proto__":1}'],
        ['toString', '__proto__', '{}'],
      ],
    ],
  ],
};

describe.each(Object.entries(TABLE))('tool calls %s', (_title, rows) => {
  it.each(rows)('are put together: %s', (_name, chunks, calls) => {
    expect(callsOf(deltasOf(chunks))).toEqual(calls);
  });
});

describe('arguments of a call without a name', () => {
  it('are noted, as long as it has none', () => {
    const indexer = new ToolCallIndexer(String);
    indexer.read([{ index: 0, id: 'a' }]);
    expect(indexer.isNameless).toBe(false);
    indexer.read([{ index: 0, function: { arguments: '{' } }]);
    expect(indexer.isNameless).toBe(true);
    indexer.read([{ index: 0, function: { name: 'f', arguments: '}' } }]);
    expect(indexer.isNameless).toBe(false);
  });
});

describe('what a server wants back with a call', () => {
  const extra = { google: { thought_signature: 'c2ln' } };
  const head = { index: 0, id: 'a', function: { name: 'f', arguments: '' } };

  it.each<readonly [name: string, fragments: readonly object[]]>([
    ['its first fragment', [{ ...head, extra_content: extra }]],
    ['a later fragment', [head, { index: 0, function: { arguments: '{}' }, extra_content: extra }]],
    ['a fragment before its name', [{ index: 0, id: 'a', extra_content: extra }, head]],
    ['LiteLLM’s own member', [{ ...head, provider_specific_fields: { thought_signature: 'c2ln' } }]],
    [
      'LiteLLM’s own member of the function',
      [{ ...head, function: { ...head.function, provider_specific_fields: { thought_signature: 'c2ln' } } }],
    ],
  ])('is passed on once from %s', (_name, fragments) => {
    const indexer = new ToolCallIndexer(String);
    const deltas = fragments.flatMap((fragment) => indexer.read([fragment]) ?? []);
    expect(deltas.flatMap(({ extra_content: kept }) => kept ?? [])).toEqual([extra]);
  });
});

describe('the fragments that come out', () => {
  it('name a call once, at its beginning, and never again', () => {
    for (const [, chunks] of Object.values(TABLE).flat()) {
      const seen = new Set<number>();
      for (const delta of deltasOf(chunks)) {
        expect(delta.id === undefined).toBe(seen.has(delta.index));
        expect(delta.type).toBe(seen.has(delta.index) ? undefined : 'function');
        expect(delta.function?.name === undefined).toBe(seen.has(delta.index));
        seen.add(delta.index);
      }
    }
  });

  it('are refused with an index out of all proportion, and make no array of that length', () => {
    const indexer = new ToolCallIndexer(String);
    expect(indexer.read([{ index: 1e9, function: { name: 'f' } }])).toBeUndefined();
    expect(indexer.read([{ index: Infinity, function: { name: 'f' } }])).toBeUndefined();
  });

  it('are refused when there are more than a thousand calls', () => {
    const indexer = new ToolCallIndexer(String);
    const calls = Array.from({ length: 1_000 }, (_, index) => ({
      id: `c${index}`,
      function: { name: 'f', arguments: '{}' },
    }));
    expect(indexer.read(calls)).toHaveLength(1_000);
    expect(indexer.read([{ id: 'one more', function: { name: 'f' } }])).toBeUndefined();
  });

  it.each([[undefined], [null], ['text'], [{}], [[null, 'text', 7, []]]])('are none for %j', (value) => {
    expect(new ToolCallIndexer(String).read(value)).toEqual([]);
  });

  it('take time in proportion to the arguments', () => {
    const indexer = new ToolCallIndexer(String);
    indexer.read([{ index: 0, id: 'a', function: { name: 'f', arguments: '{"x":"' } }]);
    const cpuMs = cpuClock();
    for (let piece = 0; piece < 200_000; piece += 1) {
      indexer.read([{ index: 0, id: 'a', function: { name: 'f', arguments: '{"y"}' } }]);
    }
    expect(cpuMs()).toBeLessThan(5_000);
    expect(indexer.isNameless).toBe(false);
  });
});

describe('any fragmentation of known calls', () => {
  const json = fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 6 }), fc.jsonValue({ maxDepth: 2 }), {
    maxKeys: 3,
  });
  const calls = fc.array(
    fc.record({ name: fc.constantFrom('f', 'g', 'h'), json, cuts: fc.array(fc.nat(40), { maxLength: 5 }) }),
    {
      minLength: 1,
      maxLength: 4,
    },
  );

  /** Pieces of a text, cut at the given places. */
  function pieces(text: string, cuts: readonly number[]): readonly string[] {
    const places = [
      0,
      ...[...new Set(cuts.filter((cut) => cut > 0 && cut < text.length))].sort((a, b) => a - b),
      text.length,
    ];
    return places.slice(1).map((place, index) => text.slice(places[index], place));
  }

  const noise = fc.record({
    repeatName: fc.boolean(),
    repeatId: fc.boolean(),
    blank: fc.boolean(),
    late: fc.boolean(),
  });

  it('is rebuilt by index, interleaved in any order and with any noise', () => {
    fc.assert(
      fc.property(
        calls,
        fc.array(fc.nat(3), { maxLength: 60 }),
        noise,
        (made, order, { repeatName, repeatId, blank, late }) => {
          const queues = made.map(({ name, json: value, cuts }, at) =>
            pieces(JSON.stringify(value), cuts).map((text, position, { length }): Short => {
              const first = late && length > 1 ? position === 1 : position === 0;
              return {
                at,
                text,
                ...(first || repeatId ? { id: `id${at}` } : blank ? { id: '' } : {}),
                ...(first || (repeatName && position > 0) ? { name } : blank ? { name: null } : {}),
              };
            }),
          );
          const chunks: Chunk[] = [];
          for (const pick of [...order, ...made.flatMap((_, index) => Array.from({ length: 9 }, () => index))]) {
            const next = queues[pick % queues.length]?.shift();
            if (next !== undefined) chunks.push([next]);
          }
          const rebuilt = callsOf(deltasOf(chunks));
          const firstSeen = [...new Set(chunks.flat().map(({ at }) => Number(at)))];
          expect(rebuilt.map(([, , text]) => text)).toEqual(firstSeen.map((at) => JSON.stringify(made[at]?.json)));
          if (late) return;
          expect(rebuilt.map(([id, name]) => [id, name])).toEqual(firstSeen.map((at) => [`id${at}`, made[at]?.name]));
        },
      ),
      runs(2_000),
    );
  });

  it('is rebuilt when the index is always 0, or missing, and the calls come one after the other', () => {
    fc.assert(
      fc.property(calls, fc.boolean(), fc.boolean(), fc.boolean(), (made, withIndex, withIds, repeatName) => {
        const chunks = made.flatMap(({ name, json: value, cuts }, index) =>
          pieces(JSON.stringify(value), cuts).map((text, position): Chunk => [
            {
              text,
              ...(withIndex ? { at: 0 } : {}),
              ...(withIds && position === 0 ? { id: `id${index}` } : {}),
              ...(position === 0 || (repeatName && withIndex && text !== '' && !/^\s*[{[]/.test(text)) ? { name } : {}),
            },
          ]),
        );
        expect(callsOf(deltasOf(chunks)).map(([, name, text]) => [name, text])).toEqual(
          made.map(({ name, json: value }) => [name, JSON.stringify(value)]),
        );
      }),
      runs(2_000),
    );
  });
});
