import { describe, expect, it } from 'vitest';
import { failure } from '../../../src/contracts/failure.ts';
import type { Attempt } from '../../../src/core/fallback/attempt.ts';
import { mayNameFault } from '../../../src/core/fallback/misfits.ts';
import { faultToName, withFault } from '../../../src/core/fallback/named-fault.ts';
import { sceneOf } from '../../support/requests.ts';

const { catalog } = sceneOf({ providers: { a: { 'acme/one': {} }, b: { 'acme/one': {} } } });
const [a, b] = catalog.endpoints('acme/one');
const MISMATCH = { path: 'a', problem: 'must be of type number, not string', answer: '{"a":"x"}' };

function attempt(endpoint: typeof a, named = false, misfit = true): Attempt {
  if (endpoint === undefined) throw new Error('no endpoint');
  const mismatch = { ...MISMATCH, ...(named ? { named } : {}) };
  return {
    step: { endpoint, target: 0, strategy: 'direct', why: '' },
    startedAt: 0,
    endedAt: 1,
    outcome: { ok: false, failure: misfit ? failure('schema_mismatch', '', { mismatch }) : failure('server', '') },
  };
}

describe('the fault of an answer', () => {
  it('is not named to the second endpoint, which may not make it', () => {
    expect(faultToName([attempt(a)], { id: b?.id ?? '' })).toBeUndefined();
  });

  it('is named to the endpoint that made it, and to the third', () => {
    expect(faultToName([attempt(a)], { id: a?.id ?? '' })).toMatchObject(MISMATCH);
    expect(faultToName([attempt(a), attempt(b)], { id: 'c' })).toMatchObject(MISMATCH);
  });

  it('is named once in a request, and only where an answer did not fit', () => {
    expect(mayNameFault([attempt(a), attempt(b, true)])).toBe(false);
    expect(faultToName([attempt(a), attempt(b, true)], { id: 'c' })).toBeUndefined();
    expect(mayNameFault([attempt(a, false, false)])).toBe(false);
  });

  it('is said after the answer that has it, and alone where that is empty or very long', () => {
    const request = { messages: [{ role: 'user', content: 'Hi' }] } as never;
    const said = withFault(request, MISMATCH).messages;
    expect(said.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(said.at(-1)?.content).toContain('The value at a must be of type number, not string');
    for (const answer of ['', ' ', 'x'.repeat(100_001)]) {
      expect(withFault(request, { ...MISMATCH, answer }).messages.map(({ role }) => role)).toEqual(['user', 'user']);
    }
    expect(withFault(request, { ...MISMATCH, path: '$' }).messages.at(-1)?.content).toContain('The JSON as a whole');
  });
});
