import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../../src/catalog/endpoint.ts';
import type { RefusedWord } from '../../../src/contracts/failure.ts';
import { KnownRefusals } from '../../../src/runtime/endpoints/known-refusals.ts';
import { serving } from '../../support/requests.ts';

const HOUR = 3_600_000;
const PROBE = 300_000;
const [endpoint] = serving({ acme: {} }).catalog.endpoints('acme/one') as [Endpoint];
const seed: RefusedWord = { name: 'seed', holdsFor: 'all' };
const stop: RefusedWord = { name: 'stop', holdsFor: 'account' };

const namesAt = (known: KnownRefusals, account: string, now: number, at = endpoint): readonly string[] =>
  known.wordsAt(at, account, now).map(({ name }) => name);

describe('what a provider has refused', () => {
  it('holds for the account that has met it', () => {
    const known = new KnownRefusals();
    expect(known.learn(endpoint, 'a', seed, 0)).toBe('account');
    expect(namesAt(known, 'a', 1)).toEqual(['seed']);
    expect(namesAt(known, 'b', 1)).toEqual([]);
    expect(known.learn(endpoint, 'a', seed, 2)).toBeUndefined();
  });

  it('holds for all once two accounts have met it, if it is harmless', () => {
    const known = new KnownRefusals();
    for (const account of ['a', 'b']) for (const word of [seed, stop]) known.learn(endpoint, account, word, 0);
    expect(namesAt(known, 'c', 1)).toEqual(['seed']);
    expect(namesAt(known, 'a', 1)).toEqual(['seed', 'stop']);
  });

  it('holds for nobody where it is about one request', () => {
    const known = new KnownRefusals();
    expect(known.learn(endpoint, 'a', { name: 'seed', holdsFor: 'request' }, 0)).toBeUndefined();
    expect([namesAt(known, 'a', 1), known.isEmpty]).toEqual([[], true]);
  });

  it('is over for others as soon as one of two has been answered with it', () => {
    const known = new KnownRefusals();
    for (const account of ['a', 'b']) known.learn(endpoint, account, seed, 0);
    expect(namesAt(known, 'c', 1)).toEqual(['seed']);
    known.answered(endpoint, 'b', () => true, 2);
    expect([namesAt(known, 'a', 3), namesAt(known, 'b', 3), namesAt(known, 'c', 3)]).toEqual([['seed'], [], []]);
  });

  it('stays for others when an account that was only told has been answered with it', () => {
    const known = new KnownRefusals();
    for (const account of ['a', 'b']) known.learn(endpoint, account, seed, 0);
    expect(namesAt(known, 'c', 1)).toEqual(['seed']);
    known.answered(endpoint, 'c', () => true, 2);
    expect([namesAt(known, 'c', 3), namesAt(known, 'd', 3)]).toEqual([[], ['seed']]);
  });

  it('is tried again after minutes, by one call, later after each refusal', () => {
    const known = new KnownRefusals();
    known.learn(endpoint, 'a', seed, 0);
    const triedAt = (now: number): string | undefined => known.wordsForCall(endpoint, 'a', now, () => true).tried?.name;
    expect([triedAt(PROBE - 1), triedAt(PROBE), triedAt(PROBE + 1)]).toEqual([undefined, 'seed', undefined]);
    known.learn(endpoint, 'a', seed, PROBE);
    expect([triedAt(2 * PROBE + 1), triedAt(3 * PROBE)]).toEqual([undefined, 'seed']);
    expect(known.wordsForCall(endpoint, 'a', 9 * PROBE, () => false).tried).toBeUndefined();
  });

  it('is forgotten an hour after it was last met', () => {
    const known = new KnownRefusals();
    known.learn(endpoint, 'a', seed, 0);
    known.learn(endpoint, 'a', seed, 1_000);
    expect([namesAt(known, 'a', HOUR + 999), namesAt(known, 'a', HOUR + 1_000)]).toEqual([['seed'], []]);
  });

  it('is forgotten when somebody says so', () => {
    const known = new KnownRefusals();
    for (const account of ['a', 'b']) known.learn(endpoint, account, stop, 0);
    expect(known.forget({ provider: 'other' })).toBe(0);
    expect(known.forget({ account: 'a', provider: 'acme', model: 'acme/one' })).toBe(1);
    expect([namesAt(known, 'a', 1), namesAt(known, 'b', 1)]).toEqual([[], ['stop']]);
    expect(known.metAt(endpoint, 1)).toEqual([{ refusal: stop, accounts: 1 }]);
    expect(known.forget({})).toBe(1);
  });

  it('is kept for so many endpoints of an account, whatever others meet', () => {
    const known = new KnownRefusals();
    known.learn(endpoint, 'b', stop, 0);
    for (let index = 0; index < 5_000; index += 1) {
      const other = { ...endpoint, id: `${endpoint.id}${index}` };
      for (let word = 0; word < 20; word += 1) known.learn(other, 'a', { name: `w${word}`, holdsFor: 'account' }, 0);
    }
    expect(namesAt(known, 'b', 1)).toEqual(['stop']);
    const kept = Array.from({ length: 5_000 }, (_, index) => ({ ...endpoint, id: `${endpoint.id}${index}` }));
    const words = kept.map((one) => namesAt(known, 'a', 1, one).length);
    expect(words.filter((count) => count > 0).length).toBeLessThanOrEqual(64);
    expect(Math.max(...words)).toBe(16);
  });
});
