import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { acceptFields } from '../../src/protocol/parse-chat-request.ts';
import { chatRequestSchema } from '../../src/protocol/chat-request.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import { messageSchema } from '../../src/protocol/message.ts';
import { zodOf } from '../../src/protocol/openapi/zod-of.ts';
import { isPlainMessage } from '../../src/protocol/chat-result.ts';
import { fullBody, setAt } from '../support/chat-bodies.ts';
import { FIELD_KINDS, SAMPLES } from '../support/chat-field-types.ts';
import { inProportion, runs } from '../support/properties.ts';

const role = fc.constantFrom('user', 'assistant', 'system', 'developer', 'tool', 'human', null, 1);
const content = fc.oneof(
  fc.string(),
  fc.constantFrom(null, undefined, 1, 'x'.repeat(600), [], [{ type: 'text', text: 'a' }]),
);
const id = fc.oneof(fc.string(), fc.constantFrom('', 'a\0b', 'x'.repeat(512), 'x'.repeat(513), 1, null));
const other = fc.dictionary(fc.constantFrom('name', 'cache_control', 'refusal', '__proto__'), fc.jsonValue(), {
  maxKeys: 1,
});
const message = fc
  .tuple(fc.record({ role, content, tool_call_id: id }, { requiredKeys: [] }), fc.option(other, { nil: {}, freq: 4 }))
  .map(([known, more]) => ({ ...known, ...more }));

describe('the short way for plain messages', () => {
  it('accepts nothing that the schema refuses, and changes nothing', () => {
    let plain = 0;
    fc.assert(
      fc.property(message, (value) => {
        if (!isPlainMessage(value)) return;
        plain += 1;
        expect(zodOf(messageSchema).parse(value)).toEqual(value);
      }),
      runs(4_000),
    );
    expect(plain).toBeGreaterThan(inProportion(100));
  });

  it('is taken by the messages of every conversation', () => {
    for (const each of ['user', 'assistant', 'system', 'developer']) {
      expect(isPlainMessage({ role: each, content: 'Hello' })).toBe(true);
    }
    expect(isPlainMessage({ role: 'tool', tool_call_id: 'c1', content: 'Hello' })).toBe(true);
  });
});

describe('the short way for fields', () => {
  const changes = fc.array(
    fc.tuple(fc.constantFrom(...Object.keys(FIELD_KINDS)), fc.constantFrom(...Object.values(SAMPLES), undefined)),
    { maxLength: 3 },
  );

  it('accepts what the schema accepts, and gives the same', () => {
    let accepted = 0;
    fc.assert(
      fc.property(changes, (list) => {
        const body = fullBody();
        for (const [path, value] of list) {
          try {
            setAt(body, path, value);
          } catch {
            // An earlier change took the place away.
          }
        }
        const short = acceptFields(body as unknown as JsonObject);
        const long = zodOf(chatRequestSchema).safeParse(body);
        expect(short !== undefined).toBe(long.success);
        if (short === undefined || !long.success) return;
        accepted += 1;
        const set = Object.entries(long.data as object).filter(([, value]) => value != null);
        expect(short).toEqual(Object.fromEntries(set));
      }),
      runs(1_500),
    );
    expect(accepted).toBeGreaterThan(100);
  });
});
