import { describe, expect, it } from 'vitest';
import { readJsonLines } from '../../src/providers/json-lines.ts';
import { all } from '../support/batches.ts';

/** A response whose body comes in pieces of so many bytes. */
function responseOf(text: string, size: number) {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  const response = {
    status: 200,
    cancelled: 0,
    header: () => undefined,
    read() {
      if (at >= bytes.length) return Promise.resolve(undefined);
      at += size;
      return Promise.resolve([bytes.subarray(at - size, at)]);
    },
    cancel() {
      response.cancelled += 1;
    },
  };
  return response;
}

describe('lines of JSON', () => {
  const text = '{"a":"é\u2028\u{1F600}"}\r\n\n[1]\nno\n{"b":"\\r\\n\u2029"}';

  it.each([1, 2, 3, 7, 1_000])('are the same however they are cut: %i bytes', async (size) => {
    const response = responseOf(text, size);
    expect(await all(readJsonLines(response))).toEqual([{ a: 'é\u2028\u{1F600}' }, { b: '\r\n\u2029' }]);
    expect(response.cancelled).toBe(0);
  });

  it('are passed over when they are too long, and the next one is read again', async () => {
    const lines = `{"a":"${'x'.repeat(42)}"}\n{"a":"${'x'.repeat(43)}"}\n{"b":1}\n`;
    const read = await all(readJsonLines(responseOf(lines, 5), 50));
    expect(read).toEqual([{ a: 'x'.repeat(42) }, { b: 1 }]);
  });

  it('leave the connection free when nobody wants more of them', async () => {
    const response = responseOf('{"a":1}\n{"b":2}\n', 8);
    for await (const line of readJsonLines(response)) {
      expect(line).toEqual({ a: 1 });
      break;
    }
    expect(response.cancelled).toBe(1);
  });
});
