import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseChatRequest } from '../../src/protocol/parse-chat-request.ts';
import { FIELD_KINDS } from '../support/chat-field-types.ts';
import { fullBody, setAt } from '../support/chat-bodies.ts';

const RUNS = 2_000;
/** Milliseconds of processor time that a body may cost on average; far more than it does, far less than would hurt. */
const MOST_MS = 3;

const json = fc.jsonValue({ maxDepth: 4 });
const word = fc.oneof(
  fc.constantFrom(...Object.keys(FIELD_KINDS), '__proto__', 'constructor', 'toString'),
  fc.string(),
);
const path = fc.constantFrom(...Object.keys(FIELD_KINDS));

/** A valid body with up to four of its values replaced, and some members added. */
const mutated = fc
  .tuple(
    fc.array(fc.tuple(path, fc.oneof(json, fc.constant(undefined))), { maxLength: 4 }),
    fc.dictionary(word, json, { maxKeys: 3 }),
  )
  .map(([changes, additions]) => {
    const body = { ...additions, ...fullBody() };
    for (const [at, value] of changes) {
      try {
        setAt(body, at, value);
      } catch {
        // An earlier change took the place away.
      }
    }
    return body;
  });

const body = fc.oneof(
  { weight: 1, arbitrary: json },
  { weight: 1, arbitrary: fc.dictionary(word, json) },
  { weight: 4, arbitrary: mutated },
);

describe('any JSON at all', () => {
  it('is accepted or refused with a good sentence, and never costs much', () => {
    let accepted = 0;
    const before = process.cpuUsage();
    fc.assert(
      fc.property(body, (value) => {
        const parsed = parseChatRequest(value);
        if (parsed.ok) {
          accepted += 1;
          return;
        }
        const { status, message, path: where } = parsed.fault;
        expect([400, 422]).toContain(status);
        expect(message).toMatch(/[.!?]$/);
        expect(message.length).toBeLessThan(600);
        expect(message.startsWith(where === '' ? 'The request body' : where) || message.startsWith("'")).toBe(true);
        expect(message).not.toMatch(/undefined|\[object|Invalid input|is not accepted/);
      }),
      { numRuns: RUNS, seed: 20_260_101 },
    );
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000 / RUNS).toBeLessThan(MOST_MS);
    expect(accepted).toBeGreaterThan(RUNS / 50);
  });

  it('gives the same answer twice, and what was accepted is accepted again', () => {
    fc.assert(
      fc.property(body, (value) => {
        const parsed = parseChatRequest(value);
        expect(parseChatRequest(value)).toEqual(parsed);
        if (parsed.ok) expect(parseChatRequest(parsed.value)).toEqual(parsed);
      }),
      { numRuns: 500, seed: 20_260_102 },
    );
  });
});
