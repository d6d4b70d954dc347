import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { LONG_TEXT, parseAround, verbatimTexts } from '../../src/platform/decode-text.ts';
import { scanJson } from '../../src/protocol/scan-json.ts';
import { serialize, serializeInParts } from '../../src/providers/serialize.ts';
import { runs } from '../support/properties.ts';

/** Long texts: of an image, with characters of every length, with what must be escaped, with halves of characters. */
const long = fc
  .oneof(
    fc.base64String({ minLength: 4 }),
    fc.string({ unit: 'grapheme', minLength: 1 }),
    fc.string({ unit: 'binary', minLength: 1 }),
  )
  .map((text) => text.repeat(Math.ceil(LONG_TEXT / text.length)));

const body = fc.record({
  model: fc.string(),
  messages: fc.array(
    fc.oneof(long, fc.jsonValue(), fc.record({ url: long, detail: fc.constantFrom(undefined, 'high') })),
  ),
});

test('a body is the same with and without what is known of its texts', () => {
  fc.assert(
    fc.property(body, (value) => {
      // As a caller sends it: halves of characters are escapes there, and there is no other backslash without a reason.
      const text = JSON.stringify(value);
      const parsed = JSON.parse(text) as Record<string, unknown>;
      const verbatim = verbatimTexts(text, parsed) ?? [];
      expect(serializeInParts(parsed, verbatim).join('')).toBe(serialize(parsed));
      expect(serializeInParts(value, verbatim).join('')).toBe(serialize(value));
    }),
    { numRuns: 200 },
  );
});

test('a long text without escapes is known, and one with an escape is not', () => {
  const image = 'A'.repeat(LONG_TEXT);
  const textOf = (url: string): string => JSON.stringify({ messages: [{ content: [{ url }] }] });
  expect(verbatimTexts(textOf(image), JSON.parse(textOf(image)))).toEqual([image]);
  for (const odd of ['"', '\\', '\n', '\u0001', '\ud800']) {
    expect(verbatimTexts(textOf(image + odd), JSON.parse(textOf(image + odd)))).toBeUndefined();
  }
});

const NO_LIMITS = { depth: 1_000, nodes: 1_000_000, names: 1_000_000 };

function around(text: string | Uint8Array): ReturnType<typeof parseAround> {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  const found = scanJson(bytes, NO_LIMITS, LONG_TEXT);
  return found.ok ? parseAround(bytes, found.long, found.nodes) : undefined;
}

const image = `data:image/png;base64,${'QUJD'.repeat(LONG_TEXT / 4)}`;

/** Media among texts that look like them and are none. */
const media = fc
  .tuple(
    fc.constantFrom('', 'data:image/png;base64,', 'data:a"b,', 'data:ä,'),
    fc.base64String({ minLength: 4 }).map((text) => text.replaceAll('=', '')),
    fc.constantFrom('', '=', '\n', '"', 'ü'),
  )
  .map(([head, text, end]) => head + text.repeat(Math.ceil(LONG_TEXT / text.length)) + end);

test('a body that is parsed around its media is the same as one that is parsed as a whole', () => {
  let parsedAround = 0;
  const part = fc.oneof(media, long, fc.jsonValue(), fc.record({ url: media, __proto__: media }));
  fc.assert(
    fc.property(fc.array(part), fc.dictionary(fc.string(), media, { maxKeys: 3 }), (parts, members) => {
      const text = JSON.stringify({ ...members, parts }, null, parts.length % 2);
      const whole = JSON.parse(text) as Record<string, unknown>;
      const found = around(text);
      if (found === undefined) return;
      parsedAround += 1;
      expect(found.value).toEqual(whole);
      const written = serialize(whole);
      expect(serializeInParts(found.value, found.verbatim).join('')).toBe(written);
      expect(serializeInParts(whole, found.verbatim).join('')).toBe(written);
    }),
    runs(200),
  );
  expect(parsedAround).toBeGreaterThan(5);
});

test('media are found wherever they are, and nothing else is taken for them', () => {
  for (const text of [
    JSON.stringify([image, { a: [image], b: 'ü\n' }]),
    `{"url":"${image}","url":"short"}`,
    `{"url":"short","url":"${image}"}`,
    `{"__proto__":"${image}"}`,
    `{"${image}":"${image}"}`,
    `"${image}"`,
    ` [ "${image}" ] `,
  ]) {
    expect(around(text)?.value).toEqual(JSON.parse(text));
  }
  for (const text of [
    `{"${image}":1}`,
    `{"url":"${image}\\n"}`,
    `{"url":"${image}\u0001"}`,
    `{"url":"${image}"`,
    `{"url":"${image}"}}`,
    `{"url":"${image}`,
    `{"text":"${'word '.repeat(LONG_TEXT)}"}`,
  ]) {
    expect(around(text)).toBeUndefined();
  }
});

test('what is no UTF-8 beside media is refused', () => {
  const bytes = new TextEncoder().encode(`{"url":"${image}","text":"?"}`);
  bytes[bytes.length - 3] = 0xff;
  expect(() => around(bytes)).toThrow(TypeError);
});
