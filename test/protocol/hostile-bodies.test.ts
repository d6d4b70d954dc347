import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../src/protocol/chat-request.ts';
import { parseChatRequest } from '../../src/protocol/parse-chat-request.ts';
import { bodyOfContent, fullBody, setAt, smallBody } from '../support/chat-bodies.ts';

function faultOf(body: unknown): string {
  const parsed = parseChatRequest(body);
  return parsed.ok ? '' : `${parsed.fault.status} ${parsed.fault.message}`;
}

function accepted(body: unknown): ChatRequest {
  const parsed = parseChatRequest(body);
  if (!parsed.ok) throw new Error(parsed.fault.message);
  return parsed.value;
}

/** Arrays in arrays, this many levels of containers together with the body itself. */
function nested(levels: number): unknown {
  return smallBody({ deep: JSON.parse('['.repeat(levels - 1) + ']'.repeat(levels - 1)) as unknown });
}

describe('the name __proto__', () => {
  const polluting =
    '{"messages":[{"role":"user","content":"a","__proto__":{"polluted":1}}],"__proto__":{"polluted":1},';

  it('changes no prototype, wherever it stands', () => {
    const request = accepted(
      JSON.parse(
        `${polluting}"metadata":{"__proto__":"a"},"logit_bias":{"__proto__":1},"trace":{"__proto__":{"polluted":1}},` +
          '"provider":{"sort":{"by":"price"}},"constructor":{"prototype":{"polluted":1}}}',
      ),
    );
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect((request as { polluted?: unknown }).polluted).toBeUndefined();
    expect((request.messages[0] as { polluted?: unknown }).polluted).toBeUndefined();
    expect(Object.getPrototypeOf(request)).toBe(Object.prototype);
  });

  it('is an unknown member where only known ones are taken', () => {
    expect(faultOf(JSON.parse(`${polluting}"provider":{"__proto__":{"order":["x"]}}}`))).toMatch(
      /^400 provider has a member that is not known here: "__proto__"; known are order/,
    );
  });

  it('is not mistaken for a field: constructor and toString are unknown fields like any other', () => {
    const request = accepted(JSON.parse('{"messages":[{"role":"user","content":"a"}],"constructor":1,"toString":"x"}'));
    expect(request).toMatchObject({ constructor: 1, toString: 'x' });
  });
});

describe('NUL characters', () => {
  it.each(['model', 'models[0]', 'user', 'session_id', 'prompt_cache_key', 'preset', 'messages[0].name'])(
    'are refused in %s',
    (path) => {
      expect(faultOf(setAt(fullBody(), path, 'a\0b'))).toBe(`400 ${path} must not contain a NUL character.`);
    },
  );

  it.each(['messages[3].tool_calls[0].id', 'messages[4].tool_call_id'])('are refused in %s', (path) => {
    expect(faultOf(setAt(fullBody(), path, 'a\0b'))).toBe(`400 ${path} must not contain a NUL character.`);
  });

  it('are refused in keys at any depth', () => {
    expect(faultOf(smallBody({ trace: { a: { 'b\0': 1 } } }))).toBe(
      '400 trace.a has a key with a NUL character in it.',
    );
  });

  it('are text like any other in what people say', () => {
    expect(accepted(bodyOfContent('a\0b')).messages[0]?.content).toBe('a\0b');
  });
});

describe('nesting', () => {
  it('may be 64 levels deep and no deeper', () => {
    expect(faultOf(nested(64))).toBe('');
    expect(faultOf(nested(65))).toBe('400 deep[0][0] must not be nested more than 64 levels deep.');
  });

  it('is refused before anything could overflow', () => {
    expect(faultOf(nested(100_000))).toMatch(/^400 deep\[0\]\[0\] must not be nested/);
    expect(faultOf(nested(64))).toBe('');
  });
});

describe('the number of values', () => {
  /** A body of exactly this many values: itself, messages, a message, its two texts, the list, and its items. */
  const counting = (values: number, item: unknown): unknown =>
    smallBody({ many: Array.from({ length: values - 6 }, () => item) });

  it.each([
    ['numbers', 1],
    ['texts', ''],
    ['nulls', null],
    ['objects', {}],
  ])('is bounded for %s', (_name, item) => {
    expect(faultOf(counting(200_000, item))).toBe('');
    expect(faultOf(counting(200_001, item))).toBe('400 The request body must not hold more than 200,000 JSON values.');
  });

  it('is bounded for members of objects too', () => {
    // A hundred objects with the same names: the names are bounded by themselves.
    const members = (count: number): unknown => {
      const objects = Array.from({ length: 100 }, (): Record<string, string> => ({}));
      for (let at = 0; at < count - 106; at += 1) (objects[at % 100] ?? {})[`k${Math.floor(at / 100)}`] = '';
      return smallBody({ many: objects });
    };
    expect(faultOf(members(200_000))).toBe('');
    expect(faultOf(members(200_001))).toBe('400 The request body must not hold more than 200,000 JSON values.');
  });
});

describe('the number of different names', () => {
  it('is bounded, because each new one costs a parser and everybody after it ten times as much', () => {
    const members = (count: number): unknown =>
      smallBody({ many: Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, ''])) });
    // Besides "messages", "role", "content" and "many".
    expect(faultOf(members(19_996))).toBe('');
    expect(faultOf(members(19_997))).toBe(
      '400 The request body must not hold more than 20,000 different names of members.',
    );
  });
});

describe('a body of nothing but mistakes', () => {
  const many = <Item>(item: Item): Item[] => Array.from({ length: 60_000 }, () => item);

  it.each([
    ['messages', { messages: many(1) }],
    ['roles', { messages: many({ role: 'x' }) }],
    ['contents', { messages: many({ role: 'user', content: 1 }) }],
    ['parts', bodyOfContent(many({ type: 'text', text: 1 }))],
    ['tools', smallBody({ tools: many({ type: 'x' }) })],
    ['stop sequences', smallBody({ stop: many(1) })],
    ['stop conditions', smallBody({ stop_server_tools_when: many({ type: 'x' }) })],
    ['plugins', smallBody({ plugins: many({}) })],
    ['logit biases', smallBody({ logit_bias: Object.fromEntries(many('x').map((value, at) => [at, value])) })],
  ])('costs no more than one mistake: %s', (_name, body) => {
    parseChatRequest(smallBody({ temperature: 9 }));
    const before = process.cpuUsage();
    expect(faultOf(body)).toMatch(/^400 /);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(250);
  });
});

describe('values that only a program can pass', () => {
  it.each([
    [NaN, 'must be a finite number, not NaN.'],
    [() => 1, 'must be JSON, not a function.'],
    [10n, 'must be JSON, not a bigint.'],
    [Symbol('s'), 'must be JSON, not a symbol.'],
  ])('are refused: %s', (value, words) => {
    expect(faultOf(smallBody({ setting: value }))).toBe(`400 setting ${words}`);
  });

  it('are refused when they go round in a circle', () => {
    const circle: Record<string, unknown> = {};
    circle['again'] = circle;
    expect(faultOf(smallBody({ circle }))).toBe('400 circle.again.again must not be nested more than 64 levels deep.');
  });

  it('count as left out when they are undefined', () => {
    expect(accepted(smallBody({ temperature: undefined, setting: undefined })).temperature).toBeUndefined();
  });
});

describe('duplicate keys', () => {
  it('mean the last one, as JSON parsers have it', () => {
    const body: unknown = JSON.parse('{"messages":[{"role":"user","content":"a"}],"temperature":9,"temperature":1}');
    expect(accepted(body).temperature).toBe(1);
  });
});

describe('what an error repeats of the body', () => {
  const long = 'ж'.repeat(1_000);

  it.each([
    ['a value', smallBody({ service_tier: long })],
    ['an unknown member', smallBody({ provider: { [long]: 1 } })],
    ['a key', smallBody({ metadata: { [long]: 'a' } })],
    ['a key and its value', smallBody({ image_config: { [long]: { [long]: long } } })],
    ['a key of a map with a wrong value', smallBody({ logit_bias: { [long]: long } })],
    ['a path of long keys', smallBody({ [long]: { [long]: { [long]: { [long]: { [long]: 1n } } } } })],
    ['the name of a function', smallBody({ tools: [{ type: 'function', function: { name: long } }] })],
    [
      'a chosen function',
      smallBody({
        tools: [{ type: 'function', function: { name: 'f' } }],
        tool_choice: { type: 'function', function: { name: long } },
      }),
    ],
    ['a role', { messages: [{ role: long }] }],
    ['an address', bodyOfContent([{ type: 'image_url', image_url: { url: long } }])],
    ['the body', long],
  ])('is at most 100 characters: %s', (_name, body) => {
    const parsed = parseChatRequest(body);
    if (parsed.ok) throw new Error('was accepted');
    for (const text of [parsed.fault.message, parsed.fault.path]) {
      expect(text.split('ж').length - 1).toBeLessThanOrEqual(100);
    }
  });

  it('never is a part of a message', () => {
    const secret = { role: 'user', content: 'the launch code is 0000' };
    expect(faultOf({ messages: [secret, { role: 'user' }], temperature: 9 })).not.toContain('launch');
  });
});
