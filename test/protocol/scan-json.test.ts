import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ScanLimits, scanJson } from '../../src/protocol/scan-json.ts';
import { runs } from '../support/properties.ts';
import { inspectJson } from '../../src/protocol/inspect-json.ts';

const NONE: ScanLimits = { depth: Infinity, nodes: Infinity, names: Infinity };

function scan(text: string, limits: Partial<ScanLimits> = {}): string | number {
  const found = scanJson(new TextEncoder().encode(text), { ...NONE, ...limits });
  return found.ok ? found.nodes : found.problem;
}

const anyText = fc.string({
  unit: fc.constantFrom('a', '"', '\\', '{', '}', '[', ']', ',', ':', ' ', '\n', 'é', '🚦', 'b'.repeat(80), '\\"'),
});
const anyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    anyText,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true, {}, []),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(anyText, tie('value'), { maxKeys: 4 }),
  ),
})).value;

function levels(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(levels));
}

function names(value: unknown): Set<string> {
  if (typeof value !== 'object' || value === null) return new Set();
  const own = Array.isArray(value) ? [] : Object.keys(value);
  return new Set([...own, ...Object.values(value).flatMap((member) => [...names(member)])]);
}

describe('a scan of a JSON text', () => {
  it('counts as many values as there are when it is parsed, however it is written', () => {
    fc.assert(
      fc.property(anyValue, fc.constantFrom(0, 1, 3), (value, space) => {
        const found = inspectJson(value, NONE);
        expect(scan(JSON.stringify(value, null, space))).toBe(found.ok && found.nodes);
      }),
      runs(2_000),
    );
  });

  it('refuses exactly what is over a limit', () => {
    fc.assert(
      fc.property(fc.array(anyValue), (value) => {
        const text = JSON.stringify(value);
        const found = inspectJson(value, NONE);
        const counts = { depth: levels(value), nodes: found.ok ? found.nodes : 0, names: names(value).size };
        for (const name of ['depth', 'nodes', 'names'] as const) {
          expect(scan(text, { [name]: counts[name] })).toBe(counts.nodes);
          if (counts[name] > 0) expect(scan(text, { [name]: counts[name] - 1 })).toMatch(/^must not/);
        }
      }),
      runs(1_000),
    );
  });

  it('says what is wrong', () => {
    expect(scan('[[[]]]', { depth: 2 })).toBe('must not be nested more than 2 levels deep');
    expect(scan('[1,2,3]', { nodes: 3 })).toBe('must not hold more than 3 JSON values');
    expect(scan('{"a":{"b":1},"c":{"b":2}}', { names: 2 })).toBe(
      'must not hold more than 2 different names of members',
    );
  });

  it('takes what is no JSON, so that the parser can say where', () => {
    expect(scan('{"a":"')).toBeTypeOf('number');
    expect(scan(']]]}')).toBeTypeOf('number');
    expect(scan('"\\')).toBeTypeOf('number');
    expect(scan('')).toBe(1);
  });
});
