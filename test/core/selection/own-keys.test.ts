import { describe, expect, it } from 'vitest';
import type { AccountProviderKey } from '../../../src/contracts/account.ts';
import type { ChatRequest } from '../../../src/protocol/chat-request.ts';
import { recordAfter, recordMeasured, times } from '../../support/records.ts';
import { type Circumstances, costing, sceneOf, serving } from '../../support/requests.ts';

const scene = serving({ cheap: costing(1), middle: costing(5), dear: costing(9) });

/** Who would be tried, with the account's own keys marked. */
function tried(
  providerKeys: Readonly<Record<string, AccountProviderKey>>,
  body: Partial<ChatRequest> = {},
  circumstances: Circumstances = {},
): readonly string[] {
  return scene
    .plan(body, circumstances, { account: { id: 'tester', providerKeys } })
    .steps.map(({ endpoint }) => (endpoint.byok === undefined ? endpoint.tag : `own ${endpoint.tag}`));
}

const KEY: AccountProviderKey = { apiKey: 'secret' };
const RESERVE: AccountProviderKey = { apiKey: 'secret', fallback: true };

describe("an account's own provider keys", () => {
  it('come before the shared capacity', () => {
    expect(tried({ dear: KEY })).toEqual(['own dear', 'cheap', 'middle', 'dear']);
  });

  it('are balanced by price among themselves', () => {
    expect(tried({ dear: KEY, middle: KEY })).toEqual(['own middle', 'own dear', 'cheap', 'middle', 'dear']);
  });

  it('come after it when they are marked as fallback', () => {
    expect(tried({ cheap: RESERVE })).toEqual(['cheap', 'middle', 'dear', 'own cheap']);
    expect(tried({ cheap: RESERVE, dear: KEY })).toEqual(['own dear', 'cheap', 'middle', 'dear', 'own cheap']);
  });

  it.each([null, {}, { apiKey: '' }, { apiKey: null }, { key: 'secret' }, 'secret'])(
    'do not count when they are not there: %j',
    (entry) => {
      expect(tried({ dear: entry as unknown as AccountProviderKey })).toEqual(['cheap', 'middle', 'dear']);
    },
  );

  it('come before order, and follow it among themselves', () => {
    expect(tried({ cheap: KEY, dear: KEY }, { provider: { order: ['dear', 'middle'] } })).toEqual([
      'own dear',
      'own cheap',
      'dear',
      'middle',
      'cheap',
    ]);
  });

  it('follow a sort among themselves', () => {
    expect(tried({ cheap: KEY, dear: KEY }, { provider: { sort: 'price' } }).slice(0, 2)).toEqual([
      'own cheap',
      'own dear',
    ]);
  });

  it('come before a sticky session, which is about the shared capacity', () => {
    const sticky = 'middle#acme/one';
    expect(tried({ dear: KEY }, {}, { sticky })).toEqual(['own dear', 'middle', 'cheap', 'dear']);
  });

  it('obey the same lists as the shared capacity', () => {
    expect(tried({ dear: KEY }, { provider: { ignore: ['dear'] } })).toEqual(['cheap', 'middle']);
    expect(tried({ dear: KEY }, { provider: { only: ['dear'] } })).toEqual(['own dear', 'dear']);
  });

  it('are the only candidate when fallbacks are not allowed', () => {
    expect(tried({ dear: KEY }, { provider: { allow_fallbacks: false } })).toEqual(['own dear']);
  });

  it('stay in an order without fallbacks', () => {
    const provider = { order: ['dear'], allow_fallbacks: false };
    expect(tried({ dear: KEY, cheap: KEY }, { provider })).toEqual(['own dear', 'dear']);
  });

  it('keep their places where the others come in random order', () => {
    const free = serving({ a: costing(0), b: costing(0), c: costing(0) });
    const account = { id: 'tester', providerKeys: { b: KEY, c: RESERVE } };
    for (const roll of [0, 0.3, 0.6, 0.9]) {
      const { steps } = free.plan({ model: 'router/free' }, { roll }, { account });
      expect([steps[0]?.endpoint.id, steps.at(-1)?.endpoint.id]).toEqual(['b#acme/one@tester', 'c#acme/one@tester']);
      expect(steps).toHaveLength(5);
    }
  });

  it('keep their places where thresholds reach over several models', () => {
    const two = sceneOf({
      providers: { alpha: { 'acme/one': {}, 'acme/two': {} }, beta: { 'acme/one': {} } },
    });
    const quick = recordMeasured(times(9, { latencyMs: 100 }));
    const slow = recordMeasured(times(9, { latencyMs: 9_000 }));
    const idsWith = (key: AccountProviderKey, records: NonNullable<Circumstances['records']>): readonly string[] =>
      two
        .plan(
          { model: 'acme/one', models: ['acme/two'], provider: { preferred_max_latency: 1 } },
          { records },
          { account: { id: 'tester', providerKeys: { beta: key } } },
        )
        .steps.map(({ endpoint }) => endpoint.id);
    const shared = { 'alpha#acme/one': quick, 'alpha#acme/two': quick, 'beta#acme/one': slow };
    const others = ['alpha#acme/one', 'alpha#acme/two', 'beta#acme/one'];
    expect(idsWith(KEY, { ...shared, 'beta#acme/one@tester': slow })).toEqual(['beta#acme/one@tester', ...others]);
    expect(idsWith(RESERVE, { ...shared, 'beta#acme/one@tester': quick })).toEqual([...others, 'beta#acme/one@tester']);
  });

  it('do nothing for a provider that does not serve the model', () => {
    expect(tried({ nobody: KEY, constructor: KEY })).toEqual(['cheap', 'middle', 'dear']);
  });

  it('have a health of their own', () => {
    const account = { id: 'tester', providerKeys: { cheap: KEY, middle: KEY } };
    const failing = { 'cheap#acme/one@tester': recordAfter(['server', 'server']) };
    const ids = scene.plan({}, { records: failing }, { account }).steps.map(({ endpoint }) => endpoint.id);
    expect(ids).toEqual([
      'middle#acme/one@tester',
      'cheap#acme/one@tester',
      'cheap#acme/one',
      'middle#acme/one',
      'dear#acme/one',
    ]);
  });

  it('are told apart from those of another account', () => {
    const idsOf = (id: string): readonly string[] =>
      scene.plan({}, {}, { account: { id, providerKeys: { cheap: KEY } } }).steps.map(({ endpoint }) => endpoint.id);
    expect(idsOf('one')[0]).not.toBe(idsOf('two')[0]);
  });

  it('do not put a fallback model before the primary one', () => {
    const two = sceneOf({ providers: { alpha: { 'acme/one': {} }, beta: { 'acme/two': {} } } });
    const { steps } = two.plan(
      { model: 'acme/one', models: ['acme/two'] },
      {},
      { account: { id: 'tester', providerKeys: { beta: KEY } } },
    );
    expect(steps.map(({ endpoint }) => endpoint.model)).toEqual(['acme/one', 'acme/two', 'acme/two']);
  });
});
