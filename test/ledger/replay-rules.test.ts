import { createRouter, type Router, type RouterConfig, simulated } from 'signalbox';
import { type LedgerRecord, replay, replayTable } from 'signalbox/replay';
import { fakeEnvironment } from 'signalbox/testing';
import { describe, expect, it } from 'vitest';

const models = {
  'acme/one': { price: { prompt: 1, completion: 2 } },
  'acme/two': { price: { prompt: 2, completion: 4 } },
};
const CONFIG: RouterConfig = {
  providers: ['a', 'b'].map((slug) =>
    simulated({
      slug,
      models,
      firstTokenMs: 0,
      tokensPerSecond: 0,
      answer: () => 'Hi',
      environment: fakeEnvironment(),
    }),
  ),
  catalog: [],
  aliases: { fast: ['acme/one'] },
};
const messages = [{ role: 'user' as const, content: 'Hello' }];

/** What a ledger keeps of requests, as it comes from a file. */
async function recorded(
  send: (router: Router) => Promise<unknown>,
  tags: readonly string[] = [],
): Promise<readonly LedgerRecord[]> {
  const router = createRouter({ ...CONFIG, environment: fakeEnvironment(), ledger: { tags } });
  await send(router);
  const { records = [] } = (await router.ledger?.read({ limit: 1_000 })) ?? {};
  await router.close();
  return records.map((record) => JSON.parse(JSON.stringify(record)) as LedgerRecord);
}

const byRegion = async (router: Router): Promise<void> => {
  for (const region of ['eu', 'us', 'eu']) await router.chat({ model: 'acme/one', messages, metadata: { region } });
};
const MOVED: RouterConfig = {
  ...CONFIG,
  rules: [{ id: 'move', when: { models: ['acme/one'], metadata: { region: ['eu'] } }, rewrite: 'acme/two' }],
};

describe('rules of a new configuration in a replay', () => {
  it('rewrite models of requests whose tags they look at', async () => {
    const report = await replay(await recorded(byRegion, ['region']), MOVED);
    expect(report).toMatchObject({ decided: 3, differing: 2, undecided_rules: [] });
    expect(report.changes.map(({ to }) => to?.split('#')[1])).toEqual(report.changes.map(() => 'acme/two'));
  });

  it('are not applied, and told, where no record has the metadata that they look at', async () => {
    const report = await replay(await recorded(byRegion), MOVED);
    expect(report).toMatchObject({ decided: 3, identical: true, undecided_rules: ['move'] });
    expect(replayTable(report)).toContain('were not applied: move.');
  });

  it('give preferences that a request did not set itself', async () => {
    const records = await recorded(async (router) => {
      await router.chat({ model: 'acme/one', messages, provider: { only: ['a'] } });
      await router.chat({ model: 'acme/one', messages, provider: { order: ['a'] } });
    });
    const report = await replay(records, { ...CONFIG, rules: [{ id: 'b', preferences: { only: ['b'] } }] });
    expect(report.changes).toEqual([{ from: 'a#acme/one', to: 'b#acme/one', requests: 1 }]);
  });

  it('refuse requests, and keep them from models', async () => {
    const records = await recorded(async (router) => {
      await router.chat({ model: 'acme/one', messages }, { account: { id: 'ada' } });
      await router.chat({ models: ['acme/one', 'acme/two'], messages }, { account: { id: 'bob' } });
    });
    const report = await replay(records, {
      ...CONFIG,
      rules: [
        { id: 'no-ada', when: { accounts: ['ada'] }, deny: 'Not today' },
        { id: 'no-one', when: { models: ['acme/one'] }, deny: 'It is gone' },
      ],
    });
    expect(report).toMatchObject({ unroutable: 1, differing: 2 });
    expect(new Set(report.changes.map(({ to }) => to?.split('#')[1]))).toEqual(new Set(['acme/two', undefined]));
  });

  it('divide the requests of an alias by their sessions', async () => {
    const sessions = Array.from({ length: 40 }, (_, index) => `session ${index}`);
    const records = await recorded(async (router) => {
      for (const id of [...sessions, ...sessions]) await router.chat({ model: 'fast', messages, session_id: id });
    });
    const split = (one: number, two: number): RouterConfig => ({
      ...CONFIG,
      aliases: {
        fast: {
          split: [
            { model: 'acme/one', weight: one },
            { model: 'acme/two', weight: two },
          ],
        },
      },
    });
    const requests = async (config: RouterConfig): Promise<number> => {
      const { changes } = await replay(records, config);
      return changes.reduce((sum, change) => sum + (change.to?.endsWith('acme/two') === true ? change.requests : 0), 0);
    };
    expect(await requests(split(1, 0))).toBe(0);
    expect(await requests(split(0, 1))).toBe(80);
    const half = await requests(split(1, 1));
    expect(half % 2).toBe(0);
    expect(half).toBeGreaterThan(20);
    expect(half).toBeLessThan(60);
  });

  it.each(['session', 'account', 'request'] as const)('keep what was divided by %s before', async (by) => {
    const split = (one: number, two: number): RouterConfig => ({
      ...CONFIG,
      aliases: {
        fast: {
          split: [
            { model: 'acme/one', weight: one },
            { model: 'acme/two', weight: two },
          ],
          by,
        },
      },
    });
    const router = createRouter({ ...split(1, 1), environment: fakeEnvironment(), ledger: true });
    for (let index = 0; index < 30; index += 1) {
      const account = { id: `account ${index % 10}` };
      await router.chat({ model: 'fast', messages, session_id: `session ${index % 15}` }, { account });
    }
    const { records = [] } = (await router.ledger?.read({ limit: 100 })) ?? {};
    const before = records.filter(({ model }) => model === 'acme/two').length;
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(30);
    expect(await replay(records, split(1, 1))).toMatchObject({ identical: true });
    expect(await replay(records, split(1, 0))).toMatchObject({ differing: before });
  });
});
