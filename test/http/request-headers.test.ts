import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  askingHeaders,
  cacheHeaders,
  requestedCache,
  type HeaderLookup,
  negotiate,
} from '../../src/http/request-headers.ts';
import { SPELLINGS } from '../../src/http/spelling.ts';
import { runs } from '../support/properties.ts';
import type { CacheReport } from '../../src/contracts/state-store.ts';

const REPORT = { status: 'MISS', ttlSeconds: 60 } satisfies CacheReport;

const NO_WISH = { enabled: undefined, ttlSeconds: undefined, clear: undefined };

/** Everything that is looked up among the headers that ask for something. */
function askedBy(asking: HeaderLookup | undefined): unknown {
  return [
    negotiate(asking, 'router'),
    asking === undefined ? NO_WISH : requestedCache(asking),
    cacheHeaders(REPORT, asking, SPELLINGS.router),
    asking?.('x-session-id'),
    asking?.('x-anthropic-beta'),
  ];
}

/** The names that are looked up. */
function namesLookedUp(): readonly string[] {
  const names = new Set<string>();
  askedBy((name) => {
    names.add(name);
    return undefined;
  });
  return [...names];
}

describe('headers that ask for something', () => {
  it('are the same whether the host tells the names of all headers or not', () => {
    const name = fc.constantFrom(...namesLookedUp(), 'content-type', 'x-api-key', 'x-stainless-lang');
    const value = fc.constantFrom('enabled', 'true', 'false', '60', 'other');
    fc.assert(
      fc.property(fc.dictionary(name, value, { maxKeys: 3 }), (headers) => {
        const header: HeaderLookup = (asked) => headers[asked];
        const told = askingHeaders({ header, headerNames: () => Object.keys(headers) });
        expect(askedBy(told)).toEqual(askedBy(askingHeaders({ header })));
      }),
      runs(200),
    );
  });

  it.each(namesLookedUp())('are found when only this one is there: %s', (name) => {
    const header: HeaderLookup = (asked) => (asked === name ? 'true' : undefined);
    expect(askingHeaders({ header, headerNames: () => ['host', name] })?.(name)).toBe('true');
  });
});
