import { describe, expect, it } from 'vitest';
import { endpointsPerKey } from '../../src/catalog/endpoint-keys.ts';
import { namesEndpoint, namesProvider, selectorIndex } from '../../src/catalog/selectors.ts';
import { sceneOf } from '../support/requests.ts';

const [standard, priority] = sceneOf({
  providers: { acme: { 'acme/one': [{}, { tier: 'priority' }] } },
  owners: { acme: { name: 'Acme Cloud' } },
}).catalog.endpoints('acme/one');
if (standard === undefined || priority === undefined) throw new Error('The scene has two endpoints.');

describe('a selector', () => {
  it('means all endpoints of a provider but those of a service tier, by slug or display name in any case', () => {
    for (const selector of ['acme', 'ACME', 'acme cloud']) {
      expect(selectorIndex([selector], standard), selector).toBe(0);
      expect(selectorIndex([selector], priority), selector).toBe(-1);
      expect(namesProvider(selector, priority), selector).toBe(true);
    }
  });

  it('means exactly one endpoint by its tag', () => {
    expect(selectorIndex(['Acme/Priority'], priority)).toBe(0);
    expect(selectorIndex(['acme/priority'], standard)).toBe(-1);
    expect(namesEndpoint('acme/priority', priority)).toBe(true);
  });

  it('means an endpoint with its key and all keys without', () => {
    const [keyed] = endpointsPerKey(priority, { slug: 'acme', name: 'Acme', keys: [{ name: 'eu', weight: 1 }] });
    if (keyed === undefined) throw new Error('There is a key.');
    expect(namesEndpoint('acme/priority/eu', keyed)).toBe(true);
    expect(namesEndpoint('acme/priority', keyed)).toBe(true);
    expect(namesEndpoint('acme/priority/us', keyed)).toBe(false);
  });

  it('is found by its place in a list, the first that fits', () => {
    expect(selectorIndex(['other', 'acme/priority', 'acme'], standard)).toBe(2);
    expect(selectorIndex(['other', 'acme/priority', 'acme'], priority)).toBe(1);
    expect(selectorIndex([], standard)).toBe(-1);
  });
});
