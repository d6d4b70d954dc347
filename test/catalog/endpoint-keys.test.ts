import { describe, expect, it } from 'vitest';
import { endpointsPerKey, withoutKey } from '../../src/catalog/endpoint-keys.ts';
import { sceneOf } from '../support/requests.ts';

const [endpoint] = sceneOf({
  providers: { acme: { 'acme/one': { rpm: 60, tpm: 1_000, concurrency: 4 } } },
}).catalog.endpoints('acme/one');
if (endpoint === undefined) throw new Error('The scene has no endpoint.');

describe('the endpoints of a declaration', () => {
  it('are one where the provider has one key, and it is the same object', () => {
    expect(endpointsPerKey(endpoint, { slug: 'acme', name: 'Acme' })).toEqual([endpoint]);
  });

  it('are one for each key, with limits of the key or, without those, of the declaration', () => {
    const keys = [
      { name: 'eu', weight: 3, rpm: 10 },
      { name: 'us', weight: 1 },
    ];
    const made = endpointsPerKey(endpoint, { slug: 'acme', name: 'Acme', keys });
    expect(made).toMatchObject([
      { tag: 'acme/eu', id: 'acme/eu#acme/one', key: 'eu', weight: 3, rpm: 10, tpm: 1_000, concurrency: 4 },
      { tag: 'acme/us', id: 'acme/us#acme/one', key: 'us', weight: 1, rpm: 60, tpm: 1_000, concurrency: 4 },
    ]);
    expect(new Set(made.map(({ id }) => id)).size).toBe(2);
  });

  it('are what they have in common once the key is taken away', () => {
    const [first, second] = endpointsPerKey(endpoint, {
      slug: 'acme',
      name: 'Acme',
      keys: [
        { name: 'a', weight: 1 },
        { name: 'b', weight: 1 },
      ],
    });
    if (first === undefined || second === undefined) throw new Error('There are two keys.');
    expect(withoutKey(first)).toEqual(withoutKey(second));
    expect(withoutKey(first)).toMatchObject({ id: endpoint.id, tag: endpoint.tag });
    expect(withoutKey(endpoint)).toBe(endpoint);
  });
});
