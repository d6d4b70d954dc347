import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { needsRepair } from '../../src/core/conversation/needs-repair.ts';
import { normalizeMessages } from '../../src/core/normalize/messages.ts';
import { acceptFields, checkSaid, parseChatRequest } from '../../src/protocol/parse-chat-request.ts';
import { chatRequestSchema } from '../../src/protocol/chat-request.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import { DEFAULT_REQUEST_LIMITS } from '../../src/protocol/limits.ts';
import { messageSchema } from '../../src/protocol/message.ts';
import { zodOf } from '../../src/http/openapi/zod-of.ts';
import { isPlainMessage, plainCallsOf } from '../../src/protocol/chat-result.ts';
import { fullBody, setAt } from '../support/chat-bodies.ts';
import { FIELD_KINDS, SAMPLES } from '../support/chat-field-types.ts';
import { inProportion, runs } from '../support/properties.ts';
import { inspectJson } from '../../src/protocol/inspect-json.ts';

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

/** Nearly always a value of one kind, and sometimes one of these. */
function mostly(usual: fc.Arbitrary<unknown>, ...others: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: fc.constantFrom(...others) });
}

/** Objects with some of these members, nearly always all of them, and nearly always in this order. */
function shuffled(members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> {
  const names = Object.keys(members);
  const some = fc.oneof({ weight: 6, arbitrary: fc.constant(names) }, fc.shuffledSubarray([...names, 'extra_content']));
  return fc
    .tuple(fc.record(members), some)
    .map(([all, chosen]) => Object.fromEntries(chosen.map((one) => [one, all[one] ?? null])));
}

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

  it('accepts no calls that the schema refuses, and none that it would give back otherwise', () => {
    const name = mostly(fc.string({ minLength: 1 }), '', 'x'.repeat(256), 'x'.repeat(257), 1, null);
    const called = shuffled({ name, arguments: mostly(fc.string(), {}, null) });
    const callId = mostly(fc.string({ minLength: 1 }), '', 'a\0b', 'x'.repeat(512), 'x'.repeat(513), 1, null);
    const call = shuffled({ id: callId, type: mostly(fc.constant('function'), 'custom'), function: called });
    const turn = shuffled({
      role: mostly(fc.constant('assistant'), 'user'),
      content: mostly(fc.option(fc.string()), undefined, 1, [{ type: 'text', text: 'a' }]),
      tool_calls: mostly(fc.array(call, { minLength: 1, maxLength: 2 }), null, {}, [null]),
    });
    let plain = 0;
    fc.assert(
      fc.property(turn, (value) => {
        if (plainCallsOf(value) === 0) return;
        plain += 1;
        expect(JSON.stringify(zodOf(messageSchema).parse(value))).toBe(JSON.stringify(value));
      }),
      runs(8_000),
    );
    expect(plain).toBeGreaterThan(inProportion(100));
  });

  it('is taken by the messages of every conversation', () => {
    for (const each of ['user', 'assistant', 'system', 'developer']) {
      expect(isPlainMessage({ role: each, content: 'Hello' })).toBe(true);
    }
    expect(isPlainMessage({ role: 'tool', tool_call_id: 'c1', content: 'Hello' })).toBe(true);
    const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };
    expect(plainCallsOf({ role: 'assistant', content: null, tool_calls: [call, call] })).toBe(2);
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
            // A copy, as a later change may go into it.
            setAt(body, path, structuredClone(value));
          } catch {
            // An earlier change took the place away.
          }
        }
        const short = acceptFields(body as unknown as JsonObject, DEFAULT_REQUEST_LIMITS)?.request;
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

  it('refuses what a walk over the whole body refuses', () => {
    let refused = 0;
    const limit = fc.record({ depth: fc.nat(8), nodes: fc.nat(120), names: fc.nat(40) });
    fc.assert(
      fc.property(limit, fc.jsonValue(), fc.nat(3), (given, value, plain) => {
        const limits = { ...DEFAULT_REQUEST_LIMITS, ...given };
        const messages = [
          ...Array.from({ length: plain }, () => ({ role: 'user', content: 'Hello' })),
          { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'b', arguments: '{}' } }] },
          { role: 'tool', tool_call_id: 'a', content: 'Hello' },
        ];
        const body: JsonObject = { model: 'a/b', messages, temperature: 1, other: value };
        const isFine = inspectJson(body, limits).ok;
        expect(acceptFields(body, limits) !== undefined).toBe(isFine);
        if (!isFine) refused += 1;
      }),
      runs(2_000),
    );
    expect(refused).toBeGreaterThan(100);
  });

  it('passes on a field that is called as a part of a fault is', () => {
    const body = { model: 'a/b', messages: [{ role: 'user', content: 'Hello' }], message: 'extra' };
    expect(parseChatRequest(body)).toEqual({ ok: true, value: body });
  });
});

describe('a request whose messages are texts alone', () => {
  it('has nothing that is repaired, refused for being empty, or respelled beside instructions', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('', 'Hello'));
    const plain = fc.record(
      {
        role: mostly(fc.constantFrom('user', 'assistant', 'system'), 'tool', 1),
        content: text,
        tool_call_id: fc.constant('c1'),
      },
      { requiredKeys: ['role', 'content'] },
    );
    const list = fc.array(fc.oneof({ weight: 8, arbitrary: plain }, message), { minLength: 1, maxLength: 4 });
    let texts = 0;
    fc.assert(
      fc.property(list, (messages) => {
        const parsed = parseChatRequest({ model: 'a/b', messages });
        if (!parsed.ok || parsed.saysMore === true) return;
        texts += 1;
        const read = parsed.value.messages;
        expect(checkSaid(read)).toBeUndefined();
        expect(needsRepair(read)).toBe(false);
        const others = read.filter((one) => one.role !== 'system');
        expect(normalizeMessages(others)).toBe(others);
      }),
      runs(4_000),
    );
    expect(texts).toBeGreaterThan(inProportion(100));
  });

  it('says more where a message has calls, marks or parts, or is empty', () => {
    const saysMore = (...messages: readonly object[]): unknown => {
      const parsed = parseChatRequest({ model: 'a/b', messages });
      return parsed.ok && parsed.saysMore === true;
    };
    const hello = { role: 'user', content: 'Hello' };
    expect(saysMore(hello, { role: 'assistant', content: 'Yes?' })).toBe(false);
    expect(saysMore(hello, { role: 'assistant', content: '' })).toBe(true);
    expect(saysMore({ ...hello, cache_control: { type: 'ephemeral' } })).toBe(true);
    expect(saysMore({ role: 'user', content: [{ type: 'text', text: 'Hello' }] })).toBe(true);
  });
});

describe('results of tool calls', () => {
  it('may come in any order behind the call that they answer, and not before it', () => {
    const turn = fc.oneof(
      fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 3 }).map((calls) => ({ calls })),
      fc.constantFrom('a', 'b', 'c', 'd').map((result) => ({ result })),
    );
    let wrong = 0;
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 8 }), (turns) => {
        const called = new Set<string>();
        const messages = turns.map((one) => {
          if ('result' in one) return { role: 'tool', tool_call_id: one.result, content: 'Done' };
          const look = { name: 'look', arguments: '{}' };
          return {
            role: 'assistant',
            tool_calls: one.calls.map((call) => ({ id: call, type: 'function', function: look })),
          };
        });
        const first = turns.findIndex((one) => {
          if ('result' in one) return !called.has(one.result);
          for (const call of one.calls) called.add(call);
          return false;
        });
        const parsed = parseChatRequest({ model: 'a/b', messages });
        expect(parsed.ok ? -1 : parsed.fault.path).toBe(first < 0 ? -1 : `messages[${first}].tool_call_id`);
        if (first >= 0) wrong += 1;
      }),
      runs(2_000),
    );
    expect(wrong).toBeGreaterThan(inProportion(100));
  });
});
