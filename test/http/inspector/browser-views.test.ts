import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { createRouter, type Router, simulated } from 'signalbox';
import { inspector } from 'signalbox/inspector';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type RunningBrowser, startBrowser, type WatchedPage } from '../../support/browser.ts';
import { batchOf, inspectedRouter, KEYS, sendTraffic, WITH_KEYS } from '../../support/inspected.ts';
import { type Mounted, MOUNTS } from '../../support/mounts.ts';
import { someOf, STORMS_ARE_FULL } from '../../support/storms.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Views by their link, what tells that one is there, and where it is. */
const VIEWS = [
  {
    link: 'Overview',
    address: '/overview',
    ready: async (page: Page) => {
      await page.getByRole('heading', { name: 'Errors of the last hour' }).waitFor();
      await page.getByRole('link', { name: 'its requests' }).first().waitFor();
      await page.locator('.chart rect').first().waitFor();
    },
  },
  { link: 'Live', address: '/live', ready: (page: Page) => page.locator('table.live a').first().waitFor() },
  { link: 'Requests', address: '/requests', ready: (page: Page) => page.locator('table.live a').first().waitFor() },
  {
    link: 'Endpoints',
    address: '/endpoints',
    ready: async (page: Page) => {
      await page.getByRole('link', { name: 'delta', exact: true }).first().waitFor();
      await page.getByRole('button', { name: 'Plan right now' }).first().click();
      await page.getByText('What a plain request').waitFor();
    },
  },
  {
    link: 'Cost',
    address: '/cost',
    ready: (page: Page) => page.getByRole('link', { name: 'acme/writer' }).first().waitFor(),
  },
  {
    link: 'Budgets',
    address: '/budgets',
    ready: (page: Page) => page.getByRole('heading', { name: 'Keys', exact: true }).waitFor(),
  },
  {
    link: 'Batches',
    address: '/batches',
    ready: async (page: Page) => {
      await page.getByText('Errors by kind').first().click();
      await page.getByRole('cell', { name: 'not found' }).waitFor();
    },
  },
  {
    link: 'Try it',
    address: '/try',
    ready: async (page: Page) => {
      await page.getByLabel('model').fill('acme/writer');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByRole('link', { name: 'Everything about this request' }).waitFor();
    },
  },
] as const;

let browser: RunningBrowser;
let router: Router;

beforeAll(async () => {
  browser = await startBrowser();
  router = inspectedRouter(WITH_KEYS);
  await sendTraffic(router, 24);
  await router.batches.start();
  const { id } = await router.batches.create(batchOf(4, 'acme/quick', 2), { account: { id: 'operator' } });
  await vi.waitFor(async () => {
    const { status } = await router.batches.retrieve(id, { account: { id: 'operator' } });
    if (status !== 'completed') throw new Error(`The batch is ${status}`);
  }, 20_000);
});

afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await router.close();
});

/** Opens the page and signs in. */
async function open(mounted: Mounted, colorScheme: 'light' | 'dark' = 'light'): Promise<WatchedPage> {
  const opened = await browser.open({ colorScheme });
  await opened.page.goto(`${mounted.baseURL}/inspector`);
  await opened.page.getByLabel('API key').fill(KEYS.management);
  await opened.page.keyboard.press('Enter');
  await opened.page.getByRole('heading', { name: 'Overview' }).waitFor();
  return opened;
}

/** Keeps the list of models from a page until the function that it gives is called. */
async function withoutModels(page: Page): Promise<() => Promise<void>> {
  let answer: (() => Promise<void>) | undefined;
  await page.route('**/api/facts', (route) => {
    answer = () => route.continue();
  });
  return async () => {
    await vi.waitFor(() => answer?.() ?? Promise.reject(new Error('Nobody asked for the models')), 20_000);
    await page.locator('#models option').first().waitFor({ state: 'attached' });
  };
}

/** Waits for a view. Where it does not come, the error says what there is instead. */
async function shown({ page, requests, complaints }: WatchedPage, ready: (page: Page) => Promise<void>): Promise<void> {
  try {
    await ready(page);
  } catch (error) {
    const there = { text: await page.locator('body').innerText(), requests: requests.slice(-10), complaints };
    throw new Error(`The page is not as expected: ${JSON.stringify(there)}`, { cause: error });
  }
}

/** Whether the views on a mount are looked through for accessibility: the page and its answers are the same on all. */
const isSearched = (mount: string): boolean => STORMS_ARE_FULL || mount === 'node';

/** What axe-core finds wrong with the page as it is; by one of its rules, or by all. */
async function findings(page: Page, rule?: string): Promise<readonly string[]> {
  // By the debugger, as the page itself runs nothing but its own script. Views share a page, which reads it once.
  if (await page.evaluate('typeof axe === "undefined"')) await page.evaluate(AXE);
  const options = rule === undefined ? {} : { runOnly: [rule] };
  return page.evaluate<readonly string[]>(`axe.run(${JSON.stringify(options)}).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes[0].html + ' ' + nodes[0].failureSummary))`);
}

describe.each(someOf(Object.entries(MOUNTS), { every: 4 }))('every view on %s', (name, mount) => {
  const faults = (page: Page): Promise<readonly string[]> | readonly string[] =>
    isSearched(name) ? findings(page) : [];

  it('is there, accessible, asks nobody else for anything, and keeps its policy', async () => {
    await using mounted = await mount(router);
    await using opened = await open(mounted);
    const { page, requests, complaints } = opened;
    for (const { link, address, ready } of VIEWS) {
      await page.getByRole('navigation').getByRole('link', { name: link }).click();
      await shown(opened, ready);
      expect(new URL(page.url()).pathname).toBe(`/v1/inspector${address}`);
      expect([link, await faults(page)]).toEqual([link, []]);
    }
    await page.getByRole('link', { name: 'Everything about this request' }).click();
    await page.getByRole('heading', { name: 'Facts' }).waitFor();
    expect(new URL(page.url()).pathname).toMatch(/^\/v1\/inspector\/requests\/gen-/);
    expect(await faults(page)).toEqual([]);
    const { origin } = new URL(mounted.baseURL);
    expect(requests.filter((address) => !address.startsWith(`${origin}/`) && address !== 'data:,')).toEqual([]);
    // What the browser itself says about the answer before the key was entered.
    expect(complaints.filter((text) => !text.includes('status of 401'))).toEqual([]);
  }, 90_000);
});

describe('the page', () => {
  it('is accessible in the dark, too', async () => {
    await using mounted = await mountNode();
    await using opened = await open(mounted, 'dark');
    for (const { link, ready } of VIEWS) {
      await opened.page.getByRole('navigation').getByRole('link', { name: link }).click();
      await shown(opened, ready);
      // Nothing but colours differs: without storms, they alone are looked at.
      const faults = await findings(opened.page, STORMS_ARE_FULL ? undefined : 'color-contrast');
      expect([link, faults]).toEqual([link, []]);
    }
  });

  it('fits into a narrow window: nothing but tables is pushed sideways', async () => {
    const local = inspectedRouter();
    await sendTraffic(local, 12);
    await local.batches.create(batchOf(2, 'acme/quick'));
    const { records = [] } = (await local.ledger?.read()) ?? {};
    const tried = records.toSorted((left, right) => right.attempts.length - left.attempts.length)[0]?.id;
    await using mounted = await mountNode(local);
    await using opened = await browser.open({ width: 390 });
    const { page } = opened;
    for (const view of [
      'overview',
      'live',
      'requests',
      `requests/${tried}`,
      'endpoints',
      'cost',
      'budgets',
      'batches',
      'try',
    ]) {
      await page.goto(`${mounted.baseURL}/inspector/${view}`);
      await page.locator('table, .card, form, h2').first().waitFor();
      const beyond = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect([view, beyond]).toEqual([view, 0]);
      // Whether a request was answered can be seen without moving anything.
      for (const status of await page.locator('table.live td.c-status').all()) {
        const box = await status.boundingBox();
        expect(box?.width).toBeGreaterThan(60);
        expect((box?.x ?? 999) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
      }
    }
    await local.close();
  });

  it('shows a view and its filters again after a reload', async () => {
    const local = inspectedRouter();
    await sendTraffic(local, 12);
    await using mounted = await mountNode(local);
    await using opened = await browser.open();
    const { page } = opened;
    await page.goto(`${mounted.baseURL}/inspector/live`);
    await page.getByLabel('account').fill('team-b');
    await page.keyboard.press('Enter');
    await page.waitForURL(/account=team-b/);
    await page.reload();
    await page.locator('table.live a').first().waitFor();
    expect(await page.getByLabel('account').inputValue()).toBe('team-b');
    const accounts = await page.locator('td.c-account').allTextContents();
    expect(new Set(accounts)).toEqual(new Set(['team-b']));
    await page.goBack();
    await local.close();
  });

  it('forgets the key when it is loaded anew, and says why it shows nothing', async () => {
    await using mounted = await mountNode();
    await using opened = await open(mounted);
    await opened.page.reload();
    await opened.page.getByText('Missing Authentication header').waitFor();
    await opened.page.getByLabel('API key').fill(KEYS.inference);
    await opened.page.keyboard.press('Enter');
    await opened.page.getByText('Only operator keys may do this').waitFor();
    expect(await opened.page.evaluate('localStorage.length + sessionStorage.length + document.cookie.length')).toBe(0);
  });

  it('can be used with the keyboard alone: from Try it to the request', async () => {
    const local = inspectedRouter();
    await using mounted = await mountNode(local);
    await using opened = await browser.open();
    const { page } = opened;
    await page.goto(`${mounted.baseURL}/inspector/live`);
    await page.getByText('No requests yet').waitFor();
    await page.keyboard.press('8');
    await page.getByRole('heading', { name: 'Try it' }).waitFor();
    await page.getByRole('button', { name: 'Send' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Why this endpoint' }).waitFor();
    await page.locator('h1').click();
    await page.keyboard.press('2');
    const row = page.locator('table.live a').first();
    await row.waitFor();
    await row.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'What happened, and when' }).waitFor();
    expect(await page.locator('.summary').textContent()).toMatch(/^✓ answered by /);
    await local.close();
  });

  it('keeps the model that was typed before the list of models was there', async () => {
    const local = inspectedRouter();
    await using mounted = await mountNode(local);
    await using opened = await browser.open();
    const { page } = opened;
    const tellModels = await withoutModels(page);
    await page.goto(`${mounted.baseURL}/inspector/try`);
    await page.getByLabel('model').focus();
    await page.keyboard.type('acme/');
    await tellModels();
    await page.keyboard.type('quick');
    expect(await page.getByLabel('model').inputValue()).toBe('acme/quick');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.summary').waitFor();
    expect(await page.locator('.summary').textContent()).toMatch(/^✓ answered by alpha/);
    await local.close();
  });

  it('writes no model into the field that somebody has entered', async () => {
    const local = inspectedRouter();
    await using mounted = await mountNode(local);
    await using opened = await browser.open();
    const { page } = opened;
    const tellModels = await withoutModels(page);
    await page.goto(`${mounted.baseURL}/inspector/try`);
    await page.getByLabel('model').focus();
    await tellModels();
    expect(await page.getByLabel('model').inputValue()).toBe('');
    await page.getByLabel('message').focus();
    await expect.poll(() => page.getByLabel('model').inputValue()).toMatch(/^acme\//);
    await local.close();
  });

  it('shows the decision on a request that nobody answered', async () => {
    const local = inspectedRouter();
    await using mounted = await mountNode(local);
    await using opened = await browser.open();
    const { page } = opened;
    await page.goto(`${mounted.baseURL}/inspector/try?model=acme/broken`);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('link', { name: 'Everything about this request' }).waitFor();
    expect(await page.locator('.summary').textContent()).toMatch(/^✕ 502/);
    await local.close();
  });

  it('shows a draw where one decided, and none where an order did', async () => {
    const local = inspectedRouter();
    await using mounted = await mountNode(local);
    await using opened = await browser.open();
    const { page } = opened;
    const messages = [{ role: 'user', content: 'Hello' }] as const;
    for (const [order, figures] of [
      [[], 1],
      [['alpha'], 0],
      [['alpha', 'beta'], 0],
    ] as const) {
      const provider = { order, ignore: ['gamma', 'delta'] };
      const { id } = await local.chat({ model: 'acme/writer', messages, max_tokens: 5, provider });
      await page.goto(`${mounted.baseURL}/inspector/requests/${id}`);
      await page.getByRole('heading', { name: 'Why this endpoint' }).waitFor();
      expect([order, await page.locator('figure.roll').count()]).toEqual([order, figures]);
    }
    await local.close();
  });

  it('leads from an error to its requests, and from those to why they were refused', async () => {
    const local = inspectedRouter();
    await sendTraffic(local, 9);
    const refused = { model: 'nobody/nothing', messages: [{ role: 'user' as const, content: 'Hi' }] };
    await local.chat(refused).catch(() => {});
    await using mounted = await mountNode(local);
    await using opened = await browser.open();
    const { page } = opened;
    await page.goto(`${mounted.baseURL}/inspector`);
    await page
      .getByRole('row', { name: /invalid request/ })
      .getByRole('link')
      .click();
    await page.waitForURL(/requests\?error=invalid_request/);
    await page.getByRole('link', { name: 'nobody/nothing' }).click();
    await page.locator('.summary').waitFor();
    expect(await page.locator('.summary').textContent()).toContain('nobody/nothing is not a valid model ID');
    const text = await page.locator('main').innerText();
    expect(text).toContain('Nothing was planned: the request was refused before that.');
    expect(text).not.toMatch(/a plugin or the response cache answered|model that answered/);
    await local.close();
  });

  it('counts from when it was opened, and says nothing of failures where nothing was counted', async () => {
    const local = inspectedRouter();
    await using mounted = await mountNode(local);
    await using first = await browser.open();
    await first.page.goto(`${mounted.baseURL}/inspector/live`);
    await first.page.getByText('● Live.').waitFor();
    const sum = (page: Page, title: string) => page.locator('.sum', { hasText: title }).locator('.sum-value');
    expect(await sum(first.page, 'failing, in the last minute').textContent()).toBe('–');
    await sendTraffic(local, 8);
    await expect.poll(() => sum(first.page, 'since this page opened').textContent()).toBe('8');
    await using second = await browser.open();
    await second.page.goto(`${mounted.baseURL}/inspector/live`);
    await second.page.getByText('● Live.').waitFor();
    await second.page.locator('table.live a').nth(7).waitFor();
    expect(await sum(second.page, 'since this page opened').textContent()).toBe('0');
    // The rows above which it stands are of the last minute.
    const failed = await second.page.locator('table.live tr.failed').count();
    const share = `${Math.round((failed / 8) * 100)} %`;
    await expect.poll(() => sum(second.page, 'failing, in the last minute').textContent()).toBe(share);
    await local.close();
  });

  it('says that a price is unknown, and never that it is $0', async () => {
    const local = createRouter({
      providers: [simulated({ slug: 'up', models: { 'up/unknown': {} }, answer: () => 'Hi' })],
      catalog: [],
      inspector: inspector(),
      ledger: { tags: ['feature'] },
      on: { warning: () => {} },
    });
    const say = {
      model: 'up/unknown' as const,
      messages: [{ role: 'user' as const, content: 'Hi' }],
      metadata: { feature: 'x' },
    };
    const { id } = await local.chat(say);
    await local.chat(say);
    await using mounted = await mountNode(local);
    await using opened = await browser.open();
    const { page } = opened;
    for (const [view, text] of [
      ['overview', '2 of unknown price'],
      ['live', 'price unknown'],
      ['requests', 'price unknown'],
      [`requests/${id}`, 'for an unknown price'],
      ['cost?by=model', '2 of unknown price'],
      ['cost?by=tag', '2 of unknown price'],
    ] as const) {
      await page.goto(`${mounted.baseURL}/inspector/${view}`);
      await page.getByText(text).first().waitFor();
      if (!view.startsWith('live') && !view.startsWith('requests/'))
        expect([view, await page.locator('main').innerText()]).toEqual([
          view,
          expect.not.stringMatching(/\$0(?![.\d])/),
        ]);
    }
    await local.close();
  });

  it('says of a batch that all of it failed', async () => {
    const local = inspectedRouter();
    await local.batches.start();
    const { id } = await local.batches.create(batchOf(2, 'acme/quick', 1));
    await expect.poll(async () => (await local.batches.retrieve(id)).status, { timeout: 10_000 }).toBe('completed');
    await using mounted = await mountNode(local);
    await using opened = await browser.open();
    await opened.page.goto(`${mounted.baseURL}/inspector/batches`);
    await opened.page.getByText('✕ completed, all failed').waitFor();
    await local.close();
  });

  it('goes back page by page over everything that is kept', async () => {
    const local = inspectedRouter({ ledger: { keep: 500 } });
    for (let sent = 0; sent < 130; sent += 1) {
      await local.chat({ model: 'nobody/nothing', messages: [{ role: 'user', content: 'Hi' }] }).catch(() => {});
    }
    await using mounted = await mountNode(local);
    await using opened = await browser.open();
    const { page } = opened;
    await page.goto(`${mounted.baseURL}/inspector/requests`);
    const rows = page.locator('table.live tbody tr');
    await rows.nth(99).waitFor();
    await page.getByRole('link', { name: 'Earlier' }).click();
    await expect.poll(() => rows.count()).toBe(30);
    await page.getByLabel('error').fill('not_there');
    await page.keyboard.press('Enter');
    await page.getByText('No request that is kept fits these filters.').waitFor();
    await local.close();
  });

  it('shows a prompt and its answer where the router was told to keep them', async () => {
    const local = inspectedRouter({ inspector: inspector({ content: true }) });
    const messages = [{ role: 'user', content: 'How do <b>lighthouses</b> help?' }] as const;
    const { id, choices } = await local.chat({ model: 'acme/quick', messages });
    await using mounted = await mountNode(local);
    await using opened = await browser.open();
    const { page } = opened;
    await page.goto(`${mounted.baseURL}/inspector/requests/${id}`);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText('How do <b>lighthouses</b> help?').waitFor();
    const answer = String(choices[0]?.message.content).slice(0, 20);
    expect(await page.locator('.said').last().innerText()).toContain(answer);
    expect(await findings(page)).toEqual([]);
    await local.close();
  });

  it('finds a request by its generation id', async () => {
    const local = inspectedRouter();
    const { id } = await local.chat({ model: 'acme/quick', messages: [{ role: 'user', content: 'Hi' }] });
    await using mounted = await mountNode(local);
    await using opened = await browser.open();
    await opened.page.goto(`${mounted.baseURL}/inspector/live`);
    await opened.page.keyboard.press('/');
    await opened.page.keyboard.type(id);
    await opened.page.keyboard.press('Enter');
    await opened.page.getByRole('heading', { name: id }).waitFor();
    await local.close();
  });

  it('holds the list still while it is paused, and shows what came when it goes on', async () => {
    const local = inspectedRouter();
    await sendTraffic(local, 4);
    await using mounted = await mountNode(local);
    await using opened = await browser.open();
    const { page } = opened;
    await page.goto(`${mounted.baseURL}/inspector/live`);
    await page.getByText('● Live.').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    const before = await page.locator('table.live tbody tr').count();
    await sendTraffic(local, 4);
    await page.getByRole('button', { name: '4 new' }).waitFor();
    expect(await page.locator('table.live tbody tr').count()).toBe(before);
    await page.getByRole('button', { name: 'Continue' }).click();
    await expect.poll(() => page.locator('table.live tbody tr').count()).toBe(before + 4);
    await local.close();
  });

  it('cancels a batch when that was confirmed', async () => {
    const local = inspectedRouter();
    const { id } = await local.batches.create(batchOf(3, 'acme/quick'));
    await using mounted = await mountNode(local);
    await using opened = await browser.open();
    const { page } = opened;
    await page.goto(`${mounted.baseURL}/inspector/batches`);
    await page.getByRole('button', { name: 'Cancel this batch' }).click();
    await page.getByRole('button', { name: 'No, let it run' }).click();
    expect((await local.batches.retrieve(id)).status).toBe('validating');
    await page.getByRole('button', { name: 'Cancel this batch' }).click();
    await page.getByRole('button', { name: 'Yes, cancel it' }).click();
    await page.getByText('⊘ cancel').first().waitFor();
    expect((await local.batches.retrieve(id)).status).toMatch(/^cancel/);
    await local.close();
  });
});

function mountNode(one: Router = router): Promise<Mounted> {
  const { node } = MOUNTS;
  if (node === undefined) throw new Error('no mount for Node');
  return node(one);
}
