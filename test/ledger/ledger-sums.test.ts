import { describe, expect, it } from 'vitest';
import {
  type ChatRequest,
  createRouter,
  definePlugin,
  type LedgerContent,
  memoryStorage,
  type Router,
  type RouterListeners,
  simulated,
  type WarningEvent,
  web,
} from 'signalbox';
import { fakeEnvironment, simulateTraffic } from 'signalbox/testing';
import type { BudgetClaim } from '../../src/contracts/account-limits.ts';
import { seededRandom } from '../../src/providers/simulated/chance.ts';
import { caller, fusionBench } from '../support/fusion.ts';
import { ledgerRecord } from '../support/ledger-records.ts';
import { pluginBench } from '../support/plugins.ts';
import { startSearchServer } from '../support/search-server.ts';
import { ask, instant } from '../support/simulated.ts';
import { someOf } from '../support/storms.ts';
import { call, echoTool, turns } from '../support/tools.ts';

/** A keeper that grants everything and adds up what was spent. */
function addingKeeper() {
  const spent = { nanoUsd: 0n };
  return {
    spent,
    reserve: ({ nanoUsd }: BudgetClaim) => ({ granted: true as const, ticket: { nanoUsd, holds: [] } as never }),
    settle: (_: unknown, nanoUsd: number) => void (spent.nanoUsd += BigInt(nanoUsd)),
  };
}

describe('the sums of a ledger', () => {
  it.each(someOf([2, 3, 4], { every: 3 }))(
    'are those of the events and of the budgets, with hedges, fallbacks and streams that are left: %i',
    async (seed) => {
      const keeper = addingKeeper();
      let told = 0n;
      let hedges = 0;
      let router: Router | undefined;
      const chance = seededRandom(seed);
      await simulateTraffic(
        {
          seed,
          endpoints: [
            { name: 'a', price: { prompt: 0.2, completion: 0.8 }, latency: { medianMs: 500 }, tokensPerSecond: 50 },
            { name: 'b', price: { prompt: 0.3, completion: 1.2 }, latency: { medianMs: 400 }, tokensPerSecond: 50 },
          ],
          outages: { share: 0.2, meanMs: 20_000 },
          traffic: { requests: 500, streaming: 0.7 },
        },
        (setup) => {
          const made = createRouter({
            ...setup,
            budgets: { default: { limitUsd: 1e6 }, keeper },
            ledger: { keep: 5_000 },
            on: {
              attempt: ({ costNanoUsd = 0, hedge }) => {
                told += BigInt(costNanoUsd);
                if (hedge === true) hedges += 1;
              },
            },
          });
          router = made;
          return {
            chat: (body, options) => made.chat(body, options),
            async *stream(body, options) {
              const leaves = chance() < 0.2;
              for await (const chunk of made.stream(body, options)) {
                yield chunk;
                if (leaves && chunk.choices[0]?.delta.content) return;
              }
            },
          };
        },
      );
      const { records = [] } = (await router?.ledger?.read({ limit: 5_000 })) ?? {};
      const kept = records.reduce((sum, record) => sum + BigInt(record.cost_nano_usd ?? 0), 0n);
      expect(records.some(({ status }) => status === 499)).toBe(true);
      expect(records.some(({ attempts }) => attempts.length > 1)).toBe(true);
      expect(hedges).toBeGreaterThan(0);
      expect([kept, told]).toEqual([keeper.spent.nanoUsd, keeper.spent.nanoUsd]);
      expect(kept).toBeGreaterThan(0n);
      const costs = (await router?.ledger?.costs({ by: 'endpoint' })) ?? [];
      expect(costs.reduce((sum, { cost_nano_usd: cost }) => sum + BigInt(cost), 0n)).toBe(kept);
    },
  );
});

describe('the sums of a ledger, with everything that costs', () => {
  it.each(someOf([1, 2, 3, 4], { every: 2 }))(
    'are those of the events and of the budgets: plugins, tools, calls within, batches, failures, disconnects: %i',
    async (seed) => {
      const chance = seededRandom(seed);
      const keeper = addingKeeper();
      const environment = fakeEnvironment();
      let told = 0n;
      const kinds = new Set<string>();
      const noted = (kind: string, nanoUsd = 0): void => {
        told += BigInt(nanoUsd);
        if (nanoUsd > 0) kinds.add(kind);
      };
      const search = echoTool('router:echo', {
        execute: ({ text }) => {
          if (chance() < 0.2) throw new Error('broken');
          return { result: `echo of ${JSON.stringify(text)}`, used: { cost: 0.005 * Math.ceil(3 * chance()) } };
        },
      });
      const advisor = definePlugin<object>({
        id: 'advisor',
        whenItThrows: 'skip',
        parseOptions: (options) => ({ ok: true, options }),
        async onRequest(_request, _options, context) {
          context.used({ cost: 0.001 });
          if (context.depth === 0 && chance() < 0.5) {
            await context.call({ model: 'acme/two', messages: [{ role: 'user', content: 'Advice?' }] });
          }
          if (chance() < 0.2) throw new Error('broken');
          return { type: 'continue' };
        },
      });
      const models = {
        'acme/one': { price: { prompt: 1, completion: 2 } },
        'acme/two': { price: { prompt: 3, completion: 9 } },
      };
      const script = turns({ toolCalls: [call('echo', { text: 'a' })] }, 'And so it is.');
      const router = createRouter({
        environment,
        providers: ['a', 'b'].map((slug) =>
          simulated({
            slug,
            models,
            environment,
            failureRate: 0.15,
            seed,
            answer: script.script,
            firstTokenMs: 20,
            tokensPerSecond: 500,
          }),
        ),
        catalog: [],
        budgets: { default: { limitUsd: 1e6 }, keeper },
        ledger: { keep: 10_000 },
        plugins: [advisor],
        serverTools: [search],
        batches: { storage: memoryStorage({ now: environment.wallClock }) },
        on: {
          attempt: ({ costNanoUsd }) => noted('attempt', costNanoUsd),
          plugin: ({ serviceNanoUsd }) => noted('plugin', serviceNanoUsd),
          tool: ({ serviceNanoUsd }) => noted('tool', serviceNanoUsd),
          warning: () => {},
        },
      });
      const request = (): ChatRequest<'acme/one' | 'acme/two'> => ({
        model: chance() < 0.5 ? 'acme/one' : 'acme/two',
        messages: [{ role: 'user', content: 'Hello '.repeat(1 + Math.floor(20 * chance())) }],
        ...(chance() < 0.5 ? { plugins: [{ id: 'advisor' }] } : {}),
        ...(chance() < 0.5 ? { tools: [{ type: 'router:echo' }] } : {}),
      });
      const one = async (): Promise<void> => {
        const controller = new AbortController();
        if (chance() < 0.3) environment.setTimer(() => controller.abort(), 100 * chance());
        try {
          if (chance() < 0.5) return void (await router.chat(request(), { signal: controller.signal }));
          for await (const _ of router.stream(request(), { signal: controller.signal })) if (chance() < 0.05) return;
        } catch {
          // Some fail, some are left.
        }
      };
      let left = 120;
      const lane = async (): Promise<void> => {
        while (left > 0) {
          left -= 1;
          await one();
        }
      };
      const { id } = await router.batches.create({
        endpoint: '/v1/chat/completions',
        model: 'acme/one',
        requests: Array.from({ length: 20 }, (_, index) => ({
          custom_id: `r${index}`,
          body: { messages: [{ role: 'user', content: 'Hi' }] },
        })),
      });
      await router.batches.start();
      const traffic = { isOver: false };
      const all = Promise.all([lane(), lane(), lane()]).then(() => (traffic.isOver = true));
      // What is loaded on first use takes time of the real clock, so no number of steps is enough.
      while (!traffic.isOver || (await router.batches.retrieve(id)).finalized_at === null)
        await environment.advance(50);
      await all;
      await router.batches.stop({ graceMs: 0 });
      for (let turn = 0; turn < 10; turn += 1) await environment.advance(1_000);
      const { records = [] } = (await router.ledger?.read({ limit: 10_000 })) ?? {};
      const kept = records.reduce((sum, record) => sum + BigInt(record.cost_nano_usd ?? 0), 0n);
      expect([...kinds].toSorted()).toEqual(['attempt', 'plugin', 'tool']);
      expect(records.filter(({ batch }) => batch === true).length).toBeGreaterThanOrEqual(20);
      expect(records.some(({ parent }) => parent !== undefined)).toBe(true);
      expect(records.some(({ status }) => status === 499)).toBe(true);
      expect(records.some(({ attempts }) => attempts.some(({ outcome }) => outcome === 'aborted'))).toBe(true);
      expect(records.some(({ attempts }) => attempts.length > 1)).toBe(true);
      expect([kept, told]).toEqual([keeper.spent.nanoUsd, keeper.spent.nanoUsd]);
      for (const by of ['endpoint', 'model', 'account', 'day'] as const) {
        const costs = (await router.ledger?.costs({ by })) ?? [];
        expect(costs.reduce((sum, { cost_nano_usd: cost }) => sum + BigInt(cost), 0n)).toBe(kept);
      }
      await router.close();
    },
    60_000,
  );
});

describe('the sums of a ledger, with plugins of the router', () => {
  it('are those of the events: a search that is paid for, and a panel of models', async () => {
    await using server = await startSearchServer();
    let told = 0;
    const on: RouterListeners = {
      attempt: ({ costNanoUsd = 0 }) => void (told += costNanoUsd),
      plugin: ({ serviceNanoUsd = 0 }) => void (told += serviceNanoUsd),
      tool: ({ serviceNanoUsd = 0 }) => void (told += serviceNanoUsd),
    };
    const searching = pluginBench('Found.', {
      plugins: [web({ engines: [server.engines.exa] })],
      ledger: true,
      on,
    }).router;
    await searching.chat({ ...ask('Where?'), model: 'acme/one', plugins: [{ id: 'web' }] });
    const panel = fusionBench({ 'ant/large': caller('fusion', { prompt: 'Why?' }) }, { ledger: true, on }).router;
    const parameters = { analysis_models: ['ant/small', 'cat/small'], model: 'dog/large', tools: [] };
    for await (const _ of panel.stream({
      ...ask('Why?'),
      model: 'ant/large',
      tools: [{ type: 'router:fusion', parameters }],
    }));
    const pages = await Promise.all([searching.ledger?.read(), panel.ledger?.read()]);
    const [searched = [], fused = []] = pages.map((page) => page?.records);
    expect(searched).toHaveLength(1);
    expect(searched[0]?.plugins).toMatchObject([{ id: 'web', cost_nano_usd: 7_000_000 }]);
    const outer = fused.find(({ parent }) => parent === undefined);
    expect(outer?.tools).toMatchObject([{ type: 'router:fusion', outcome: 'ok' }]);
    // The panel and the one that compares.
    expect(fused.filter(({ parent }) => parent === outer?.id)).toHaveLength(3);
    const kept = [...searched, ...fused].reduce((sum, { cost_nano_usd: cost = 0 }) => sum + cost, 0);
    expect(kept).toBeGreaterThan(7_000_000);
    expect(kept).toBe(told);
  });
});

describe('a store that is slow or away', () => {
  it('neither delays nor fails a request, gets its records later, and what is beyond the buffer is told once', async () => {
    const environment = fakeEnvironment();
    const warnings: WarningEvent[] = [];
    const kept: string[] = [];
    let isAway = true;
    const store = {
      append(records: readonly { readonly id: string }[]) {
        if (isAway) throw new Error('away');
        kept.push(...records.map(({ id }) => id));
      },
      read: () => ({ records: [] }),
      one: () => ledgerRecord({ id: 'gen-1' }),
      costs: () => [],
    };
    const router = createRouter({
      providers: [instant()],
      environment,
      ledger: { store },
      on: { warning: (warning) => warnings.push(warning) },
    });
    const ids: string[] = [];
    // Two more than wait to be written.
    for (let index = 0; index < 10_002; index += 1) ids.push((await router.chat(ask('Hi'))).id);
    expect(warnings.map(({ code }) => code)).toEqual(['ledger_dropped']);
    await router.ledger?.one('gen-1');
    expect(warnings.map(({ code }) => code)).toEqual(['ledger_dropped', 'ledger']);
    isAway = false;
    await router.close();
    expect(kept).toEqual(ids.slice(0, 10_000));
  });
});

describe('prompts and answers', () => {
  it('are given to a program that opted in, redacted, and to nobody else', async () => {
    const kept: LedgerContent[] = [];
    const router = createRouter({
      providers: [instant({ answer: () => 'An answer' })],
      environment: fakeEnvironment(),
      ledger: {
        content: (content) => void kept.push(content),
        redact: (content) => ({ ...content, messages: [{ role: 'user', content: 'redacted' }] }),
      },
    });
    const { id } = await router.chat(ask('A secret'));
    for await (const _ of router.stream(ask('A secret'))) continue;
    expect(kept.map(({ choices, messages }) => [choices[0]?.message.content, messages])).toEqual([
      ['An answer', [{ role: 'user', content: 'redacted' }]],
      ['An answer', [{ role: 'user', content: 'redacted' }]],
    ]);
    expect(kept[0]?.id).toBe(id);
    expect(JSON.stringify(await router.ledger?.read())).not.toMatch(/secret|An answer/);
    expect(() => createRouter({ providers: [instant()], ledger: { content: () => {} } })).toThrow('ledger.redact');
  });
});
