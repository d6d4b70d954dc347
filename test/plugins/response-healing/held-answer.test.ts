import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { firstMismatch } from '../../../src/plugins/response-healing/fits-schema.ts';
import { REPORTED_ANSWERS } from '../../support/reported-answers.ts';
import { heldAnswer } from '../../../src/plugins/response-healing/held-answer.ts';
import type { Choice } from '../../../src/protocol/chat-result.ts';
import type { JsonObject, JsonValue } from '../../../src/protocol/json.ts';
import { brokenAnswers } from '../../support/broken-answers.ts';

const choiceOf = (content: string, finish: Choice['finish_reason'] = 'stop'): Choice => ({
  index: 0,
  finish_reason: finish,
  native_finish_reason: finish,
  logprobs: null,
  message: { role: 'assistant', content, refusal: null, reasoning: null },
});
const withText = (choice: Choice, content: string): Choice => ({ ...choice, message: { ...choice.message, content } });
const SCHEMA: JsonObject = { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] };

describe('firstMismatch', () => {
  it.each<[JsonValue, JsonValue, string]>([
    [{ type: 'array' }, {}, '$ must be of type array, not object'],
    [SCHEMA, {}, '$ must have "a"'],
    [SCHEMA, { a: null }, 'a must be of type number, not null'],
    [{ items: { items: { maximum: 3 } } }, [[1], [2, 9]], '$[1][1] must be at most 3'],
    [{ properties: { a: {} }, additionalProperties: false }, { a: 1, b: 2 }, '$ must not have "b"'],
    [
      { additionalProperties: { type: 'string' } },
      { 'odd name': 1 },
      '["odd name"] must be of type string, not number',
    ],
    [{ properties: { a: { enum: ['x'] } } }, { a: 'secret' }, 'a must be one of the values of "enum"'],
    [{ properties: { a: { pattern: '^x' } } }, { a: 'y' }, 'a must match the expression ^x'],
    [{ anyOf: [{ type: 'null' }, SCHEMA] }, { a: 'y' }, 'a must be of type number, not string'],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 1, '$ must fit one of the forms of "anyOf"'],
    [{ $ref: '#/$defs/n', $defs: { n: SCHEMA } }, { a: [] }, 'a must be of type number, not array'],
    [{ allOf: [{ required: ['z'] }] }, {}, '$ must have "z"'],
    [{ properties: { a: false } }, { a: 1 }, 'a must not be there'],
    [{ dependentRequired: { a: ['b'] } }, { a: 1 }, '$ does not fit its schema'],
  ])('in %j of %j', (schema, value, said) => {
    const found = firstMismatch(schema, value);
    expect(`${found?.path} ${found?.problem}`).toBe(said);
  });

  it('finds nothing in what fits, or where nobody can say', () => {
    expect(firstMismatch(SCHEMA, { a: 1 })).toBeUndefined();
    expect(firstMismatch({ $dynamicRef: '#x' }, 1)).toBeUndefined();
  });
});

describe('heldAnswer', () => {
  it('takes what fits as it is, to the byte', () => {
    const choices = [choiceOf(' {"a": 1.50}\n')];
    expect(heldAnswer(choices, SCHEMA, withText)).toMatchObject({ verdict: { type: 'taken' }, repairs: [] });
  });

  it.each<[string, Choice['finish_reason'], string]>([
    ['I cannot', 'stop', '$ must be JSON'],
    ['', 'stop', '$ must be JSON'],
    ['{"a": 1, "b": "x', 'length', '$ must come to its end, but was cut off'],
    ['{"a": "x"}', 'stop', 'a must be of type number, not string'],
    ['```\n{"a": "x",}\n```', 'stop', 'a must be of type number, not string'],
  ])('refuses %j that ended with %s', (text, finish, says) => {
    const { verdict, summary } = heldAnswer([choiceOf(text, finish)], SCHEMA, withText);
    expect(summary).toBe(says);
    expect(verdict).toMatchObject({ type: 'refused', mismatch: { answer: text } });
  });

  it('refuses an answer one of whose choices does not fit', () => {
    const choices = [choiceOf('{"a":1}'), { ...choiceOf('{"a":"x"}'), index: 1 }];
    expect(heldAnswer(choices, SCHEMA, withText).verdict).toMatchObject({ type: 'refused' });
  });

  it('never takes what a full validator refuses', () => {
    const oracle = new Ajv2020({ strict: false, validateSchema: false, logger: false });
    let taken = 0;
    for (const { text, schema } of brokenAnswers(2_033, 600)) {
      const { verdict } = heldAnswer([choiceOf(text)], schema, withText);
      if (verdict.type === 'refused') continue;
      const content = (verdict.choices?.[0] ?? choiceOf(text)).message.content ?? '';
      expect(oracle.validate(schema, JSON.parse(content))).toBe(true);
      taken += 1;
    }
    expect(taken).toBeGreaterThan(500);
  });

  it.each(REPORTED_ANSWERS.map((answer) => [answer.kind, answer.source, answer] as const))(
    'make what was meant of a reported answer, or refuse it: %s (%s)',
    (_, __, { text, schema, meant }) => {
      const message = { role: 'assistant', content: text, refusal: null };
      const choice = { index: 0, message, finish_reason: 'stop' } as unknown as Choice;
      const { verdict } = heldAnswer([choice], schema, (one, content) => ({
        ...one,
        message: { ...one.message, content },
      }));
      if (verdict.type === 'refused') return;
      expect(JSON.parse((verdict.choices?.[0] ?? choice).message.content ?? '')).toEqual(meant);
    },
  );

  it('repair three of four reported answers', () => {
    const taken = REPORTED_ANSWERS.filter(({ text, schema }) => {
      const message = { role: 'assistant', content: text, refusal: null };
      const choice = { index: 0, message, finish_reason: 'stop' } as unknown as Choice;
      return heldAnswer([choice], schema, (one) => one).verdict.type === 'taken';
    });
    expect(REPORTED_ANSWERS.length).toBeGreaterThanOrEqual(60);
    expect(taken.length / REPORTED_ANSWERS.length).toBeGreaterThanOrEqual(0.75);
  });
});
