import { type Account, createRouter, type Router, RouterError, simulated } from 'signalbox';
import { inspector } from 'signalbox/inspector';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningBrowser, startBrowser } from '../../support/browser.ts';
import { MOUNTS } from '../../support/mounts.ts';

/** Text that becomes an element, a script or an attribute wherever it is put into a page as it is. */
const HOSTILE =
  '</script><img src=x onerror="window.broken=1"><svg onload="window.broken=1"><b class="hostile">\'"`${1}';

let browser: RunningBrowser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser[Symbol.asyncDispose]());

describe('hostile text', () => {
  it('in a model, an account, a tag, a prompt, an answer or an error never becomes markup', async () => {
    const router: Router = createRouter({
      providers: [
        simulated({
          slug: 'acme',
          name: `Acme ${HOSTILE}`,
          models: { [`acme/${HOSTILE}`]: { price: { prompt: 1, completion: 1 } } },
          answer: () => HOSTILE,
          firstTokenMs: 0,
          tokensPerSecond: 0,
        }),
        simulated({ slug: 'bad', models: { 'bad/one': {} }, failureRate: 1, firstTokenMs: 0 }),
      ],
      catalog: [],
      inspector: inspector(),
      ledger: { tags: ['feature', HOSTILE.slice(0, 60)] },
      aliases: { [`alias ${HOSTILE}`]: { split: [{ model: `acme/${HOSTILE}`, weight: 1 }] } },
      rules: [{ id: HOSTILE, when: { models: ['bad/one'] }, preferences: { allow_fallbacks: true } }],
      on: { warning: () => {} },
    });
    const account: Account = { id: HOSTILE };
    const ask = (model: string): Promise<unknown> =>
      router
        .chat(
          {
            model,
            messages: [{ role: 'user', content: HOSTILE }],
            metadata: { feature: HOSTILE },
            provider: { order: [HOSTILE] },
          },
          { account },
        )
        .catch((error: unknown) => {
          if (!RouterError.isInstance(error)) throw error;
        });
    await ask(`acme/${HOSTILE}`);
    await ask('bad/one');
    await ask(`alias ${HOSTILE}`);
    // Refused before it begins.
    await ask(`nobody/${HOSTILE}`);
    await router.batches.create(
      {
        endpoint: '/v1/chat/completions',
        model: `acme/${HOSTILE}`,
        requests: [{ custom_id: 'one', body: { messages: [{ role: 'user', content: HOSTILE }] } }],
      },
      { account },
    );
    const records = (await router.ledger?.read())?.records ?? [];
    expect(records.map(({ refused }) => refused)).toEqual([undefined, undefined, undefined, true]);
    expect(records[1]?.applied?.rules).toEqual([HOSTILE]);
    expect(records[2]?.applied?.splits).toHaveLength(1);

    const mount = MOUNTS['node'];
    if (mount === undefined) throw new Error('no mount');
    await using mounted = await mount(router);
    await using opened = await browser.open();
    const { page } = opened;
    const views = [
      'overview',
      'live',
      'requests',
      `requests?account=${encodeURIComponent(HOSTILE)}`,
      ...records.map(({ id }) => `requests/${id}`),
      `requests/${encodeURIComponent(HOSTILE)}`,
      `endpoints?plan=${encodeURIComponent(`acme/${HOSTILE}`)}`,
      'cost?by=account',
      'cost?by=model',
      'cost?by=tag&tag=feature',
      'batches',
      `try?model=${encodeURIComponent(`acme/${HOSTILE}`)}`,
    ];
    for (const view of views) {
      await page.goto(`${mounted.baseURL}/inspector/${view}`);
      await page.locator('h1').first().waitFor();
      if (view.startsWith('try')) {
        await page.getByLabel('message').fill(HOSTILE);
        await page.getByRole('button', { name: 'Send' }).click();
        await page.getByRole('link', { name: 'Everything about this request' }).waitFor();
      } else if (view === 'overview') await page.getByText('invalid request').first().waitFor();
      else await page.getByText('onerror').first().waitFor();
      expect([view, await page.locator('img, b.hostile, svg[onload], [onerror]').count()]).toEqual([view, 0]);
      expect(await page.evaluate('window.broken')).toBeUndefined();
    }
    expect(opened.complaints.filter((text) => !text.includes('status of 40'))).toEqual([]);
    await router.close();
  });
});
