import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { heal } from '../../../src/plugins/response-healing/heal.ts';
import { cutAnswers, differences } from '../../support/broken-answers.ts';
import { runs } from '../../support/properties.ts';

/** Ways in which answers break. */
const BREAKAGES: readonly ((json: string) => string)[] = [
  (json) => `\`\`\`json\n${json}\n\`\`\``,
  (json) => `Here it is: ${json} Anything else?`,
  (json) => json.replaceAll('true', 'True').replaceAll('null', 'None'),
  (json) => json.replaceAll(/([}\]])/g, ',$1'),
  (json) => json.slice(0, -1),
  (json) => json.slice(0, Math.floor(json.length / 2)),
  (json) => json.replaceAll('"', "'"),
  (json) => json.replaceAll(/,"/g, ' "'),
  (json) => `<think>${json.slice(0, 5)}</think>${json}\n\nDone.`,
];

const structure = fc.oneof(
  fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 3 })),
  fc.array(fc.jsonValue({ maxDepth: 2 })),
);

/** What makes texts hard to tell from JSON. */
const PHRASES = (
  "the|price|10|%|Bob’s|it's|said|no|null|true|e.g.|https://a.b/c|C:\\dir|x = 1|1,200|{curly}|[list]|key: value|— dash|" +
  'naïve|日本|line\nbreak|tab\there|# one|// two|(maybe)|-1|…'
).split('|');

const phrase = fc.array(fc.constantFrom(...PHRASES), { maxLength: 7 }).map((words) => words.join(' '));
const scalar = fc.oneof(phrase, fc.integer({ min: -5_000, max: 90_000 }), fc.boolean(), fc.constant(null));
const name = fc.constantFrom('id', 'name', 'first name', 'is_ok', 'items', 'note', 'url', 'x-y', '日', 'answer');
const { answer } = fc.letrec<{ readonly answer: unknown; readonly value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
  answer: fc.dictionary(name, tie('value'), { minKeys: 1, maxKeys: 5 }),
}));

const TEXT = /"(?:[^"\\]|\\.)*"/g;

/** Changes JSON where it is not in a text. */
function around(json: string, change: (part: string) => string): string {
  const parts = json.split(TEXT).map(change);
  const texts = json.match(TEXT) ?? [];
  return parts.map((part, index) => part + (texts[index] ?? '')).join('');
}

/** What models do to JSON that leaves no doubt of what was meant. */
const FAULTS: Readonly<Record<string, (json: string) => string>> = {
  'a fence': (json) => `\`\`\`json\n${json}\n\`\`\``,
  'a fence that was never closed': (json) => `\`\`\`json\n${json}`,
  prose: (json) => `Here is the JSON:\n\n${json}\n\nDo you need more?`,
  'a byte-order mark': (json) => `\uFEFF${json}`,
  'superfluous commas': (json) => around(json, (part) => part.replaceAll(/([}\]])/g, ',$1')),
  'single quotes': (json) => json.replaceAll(TEXT, (text) => `'${text.slice(1, -1).replaceAll("'", "\\'")}'`),
  'literals of Python': (json) =>
    around(json, (part) => part.replaceAll('true', 'True').replaceAll('false', 'False').replaceAll('null', 'None')),
  'line breaks in texts': (json) => json.replaceAll('\\n', '\n').replaceAll('\\t', '\t'),
  'comments at the ends of lines': (json) => around(json, (part) => part.replaceAll(',', ', // next\n')),
  'comments in braces': (json) => around(json, (part) => part.replaceAll('{', '{ /* an object */ ')),
  'names without quotes': (json) => json.replaceAll(/"([A-Za-z_]\w*)":/g, '$1:'),
  'a missing last bracket': (json) => json.slice(0, -1),
  'a last bracket twice': (json) => json + json.slice(-1),
  'equals signs': (json) => around(json, (part) => part.replaceAll(':', ' =')),
  'an assignment': (json) => `result = ${json};`,
  tags: (json) => `<json>${json}</json>`,
  thinking: (json) => `<think>maybe {"a": 1}?</think>\n${json}`,
};

function keysOf(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = Array.isArray(value) ? [] : Object.keys(value);
  return [...own, ...Object.values(value).flatMap(keysOf)];
}

describe('heal', () => {
  it('never changes what is JSON already', () => {
    fc.assert(
      fc.property(fc.json(), fc.string({ unit: fc.constantFrom(' ', '\n', '\t') }), (json, space) => {
        expect(heal(`${space}${json}${space}`)).toEqual({ type: 'intact' });
      }),
      runs(500),
    );
  });

  it('gives JSON or leaves the text alone, and has nothing to do on its own work', () => {
    const anything = fc.oneof(
      fc.string({ maxLength: 200 }),
      fc.string({
        unit: fc.constantFrom(...'{}[]",:\'\\ `ab1-.\n/#=()“”'.split(''), 'null', 'True', '```', '"a":'),
        maxLength: 80,
      }),
    );
    fc.assert(
      fc.property(anything, fc.boolean(), (text, complete) => {
        const healed = heal(text, { complete });
        if (healed.type !== 'healed') return;
        expect(() => JSON.parse(healed.json) as unknown).not.toThrow();
        expect(heal(healed.json)).toEqual({ type: 'intact' });
      }),
      runs(2_000),
    );
  });

  it('invents no members, however an answer is broken', () => {
    fc.assert(
      fc.property(structure, fc.constantFrom(...BREAKAGES), fc.constantFrom(...BREAKAGES), (value, one, other) => {
        const broken = other(one(JSON.stringify(value)));
        const healed = heal(broken);
        if (healed.type !== 'healed') return;
        const plain = broken.replaceAll('\\', '');
        for (const key of keysOf(JSON.parse(healed.json))) {
          for (const word of key.split(/[^\p{L}\p{N}]+/u)) expect(plain).toContain(word);
        }
      }),
      runs(500),
    );
  });

  it('makes nothing else of an answer that was cut off than a part of it', () => {
    fc.assert(
      fc.property(structure, fc.double({ min: 0, max: 1, noNaN: true }), fc.boolean(), (value, part, indented) => {
        const json = JSON.stringify(value, undefined, indented ? 2 : 0);
        // A name of brackets alone may look like the end of an answer with prose behind it.
        fc.pre(!/"[^"]*[[\]{}][^"]*":/.test(json));
        const healed = heal(json.slice(0, Math.ceil(part * json.length)));
        if (healed.type !== 'healed') return;
        expect(differences(JSON.parse(healed.json), JSON.parse(json), '$')).toEqual([]);
      }),
      runs(2_000),
    );
  });

  it('makes a part of what was meant of 95 of 100 answers that are cut off anywhere, and of none something else', () => {
    const answers = cutAnswers(2_028, 1_000);
    const results = answers.flatMap(({ text, meant }) => {
      const healed = heal(text);
      return healed.type === 'healed' ? [differences(JSON.parse(healed.json), meant, '$')] : [];
    });
    expect(results.flat()).toEqual([]);
    expect(results.length).toBeGreaterThanOrEqual(0.95 * answers.length);
  });

  it.each(Object.entries(FAULTS))('finds again what was meant behind %s, or says that it did not', (_name, broken) => {
    fc.assert(
      fc.property(answer, fc.boolean(), (meant, indented) => {
        const healed = heal(broken(JSON.stringify(meant, undefined, indented ? 2 : 0)));
        if (healed.type !== 'healed') return;
        expect(JSON.parse(healed.json)).toEqual(JSON.parse(JSON.stringify(meant)));
      }),
      runs(200),
    );
  });

  it('marks what was cut off, or leaves it alone', () => {
    fc.assert(
      fc.property(answer, fc.boolean(), fc.double({ min: 0, max: 1, noNaN: true }), (meant, indented, part) => {
        const json = JSON.stringify(meant, undefined, indented ? 2 : 0);
        const healed = heal(json.slice(0, Math.ceil(part * (json.length - 1))));
        if (healed.type !== 'healed') return;
        expect(healed.repairs).toContain('end missing');
        expect(differences(JSON.parse(healed.json), JSON.parse(JSON.stringify(meant)), '$')).toEqual([]);
      }),
      runs(1_000),
    );
  });

  it.each([
    ['objects of a kind', '{"id": 1}\n{"id": 2}'],
    ['answers in several fences', '```json\n{"a": "no"}\n```\nOn second thought:\n```json\n{"a": "yes"}\n```'],
    ['an answer in two parts', '```json\n{"reasoning": "so"}\n```\n```json\n{"answer": 3}\n```'],
  ])('does not choose between %s', (_name, text) => {
    expect(heal(text)).toEqual({ type: 'failed', reason: 'several answers' });
    expect(heal(text, { schema: { type: 'object' } })).toEqual({ type: 'failed', reason: 'several answers' });
  });

  it('takes the one that fits, or that has all of the other and more', () => {
    const schema = { type: 'object', required: ['a'], properties: { a: { const: 'yes' } } };
    expect(heal('{"a": "no"}\n{"a": "yes"}', { schema })).toMatchObject({ json: '{"a": "yes"}', fits: true });
    expect(heal('{"a": null}\nand filled in\n{"a": 1, "b": 2}')).toMatchObject({ json: '{"a": 1, "b": 2}' });
    expect(heal('{"a": 1}\nthat is\n{"a":1}')).toMatchObject({ json: '{"a": 1}' });
  });

  it('takes no formula for an object', () => {
    expect(heal('The sum is \\sum_{k=0}^{31} \\binom{31}{k}, so the answer is 32768.').type).toBe('failed');
  });

  it('ends a text at no quote that only closes another within it', () => {
    const text = '{"reasoning": "Given "11 ", the first is "1".", "answer": "0"}';
    expect(heal(text)).toMatchObject({
      json: '{"reasoning":"Given \\"11 \\", the first is \\"1\\".","answer":"0"}',
    });
  });

  it('completes a literal in a list within a list, and empties none', () => {
    expect(heal('[[false], [nu')).toMatchObject({ json: '[[false],[null]]' });
    expect(heal('[[false], [nu', { complete: false })).toEqual({ type: 'failed', reason: 'cut off' });
  });

  it('finds again what was wrapped in fences or prose', () => {
    const value = fc.dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), fc.jsonValue({ maxDepth: 3 }), { minKeys: 1 });
    fc.assert(
      fc.property(value, fc.constantFrom(...BREAKAGES.slice(0, 2)), (wanted, wrap) => {
        const healed = heal(wrap(JSON.stringify(wanted)));
        expect(healed.type === 'healed' && JSON.parse(healed.json)).toEqual(JSON.parse(JSON.stringify(wanted)));
      }),
      runs(500),
    );
  });

  it.each([
    ['objects within objects', (times: number) => '{"a":'.repeat(times)],
    ['lists within lists', (times: number) => '['.repeat(times)],
    ['quotes within a text', (times: number) => `{"a":"${'x "y" '.repeat(times)}"}`],
    ['texts that never end', (times: number) => '{"a": "x\n'.repeat(times)],
    ['members with superfluous commas', (times: number) => `{"a":[${'{"k":"text",},'.repeat(times)}]}`],
    ['backslashes', (times: number) => `{"a":"${'\\'.repeat(times)}`],
    ['comments that never end', (times: number) => '{/*'.repeat(times)],
    ['backticks', (times: number) => '`'.repeat(times)],
    ['spaces', (times: number) => `{"a":"b"${' '.repeat(times)}x`],
    ['apostrophes', (times: number) => `{'a':'${"'".repeat(times)}`],
    ['mixed brackets', (times: number) => '{"a":[1,"x\''.repeat(times)],
    ['small objects in prose', (times: number) => '{"a": x} and '.repeat(times)],
  ])('takes time in proportion to the length of %s', (_name, make) => {
    const times = (length: number): number => Math.ceil(length / (make(2).length - make(1).length));
    const short = timeOf(() => heal(make(times(40_000))));
    const long = timeOf(() => heal(make(times(160_000))));
    // Four times the length; a square would take sixteen times as long. Short times are mostly noise.
    expect(long).toBeLessThan(Math.max(10 * short, 400));
  });

  it('leaves very long texts alone', () => {
    expect(heal(`{"a": "${'x'.repeat(500_000)}",}`)).toEqual({ type: 'failed', reason: 'too long' });
  });

  it('reads 64 brackets within brackets and no more', () => {
    const deep = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{"b":1,}${'}'.repeat(levels - 1)}`;
    expect(heal(deep(64))).toMatchObject({ type: 'healed' });
    expect(heal(deep(65)).type === 'healed').toBe(false);
  });

  it('says what it did', () => {
    expect(heal("```json\n{'a': None, b: 2,}\n```")).toMatchObject({
      type: 'healed',
      repairs: ['extracted', 'quotes', 'literals', 'keys', 'commas'],
    });
    expect(heal('{"a": 1, "b":')).toMatchObject({ repairs: ['unfinished member left out', 'brackets', 'end missing'] });
    expect(heal('{"a": "x" + "y"}')).toMatchObject({ repairs: ['rewritten'] });
  });

  it('takes a repair whose schema nobody can check, and refuses one that certainly does not fit', () => {
    const unsure = { type: 'object', properties: { a: { pattern: '^(?=x)' } }, unevaluatedProperties: false };
    expect(heal('{a: "y",}', { schema: unsure })).toMatchObject({ type: 'healed', fits: false });
    expect(heal('{a: "y",}', { schema: { required: ['b'] } })).toEqual({
      type: 'failed',
      reason: 'does not fit the schema',
      misfit: '{"a":"y"}',
    });
  });
});

/** Milliseconds of CPU, so that other work on this machine does not count. */
function timeOf(work: () => unknown): number {
  const times = [0, 1].map(() => {
    const before = process.cpuUsage();
    work();
    return process.cpuUsage(before).user / 1_000;
  });
  return Math.min(...times);
}
