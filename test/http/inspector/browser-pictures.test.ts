import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Router } from 'signalbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemEnvironment } from '../../../src/platform/environment.ts';
import { type RunningBrowser, startBrowser, type WatchedPage } from '../../support/browser.ts';
import { batchOf, inspectedRouter, sendTraffic } from '../../support/inspected.ts';
import { listen, type Mounted } from '../../support/mounts.ts';
import { createServer } from 'node:http';
import { nodeRouter } from 'signalbox/node';
import { STORMS_ARE_FULL } from '../../support/storms.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** `DOCS_IMAGES=write` puts the pictures where the documentation shows them; otherwise they are made and thrown away. */
const isWritten = process.env['DOCS_IMAGES'] === 'write';
const folder = isWritten ? fileURLToPath(new URL('../../../docs/images/', import.meta.url)) : temporaryFolder().path;

let browser: RunningBrowser;
let router: Router;
let mounted: Mounted;
/** A request that took more than one attempt. */
let eventful: string;

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  // As if it had been running for a quarter of an hour: charts need some history.
  const real = systemEnvironment();
  let behind = 900_000;
  const environment = { ...real, now: () => real.now() - behind, wallClock: () => real.wallClock() - behind };
  router = inspectedRouter({ environment });
  mounted = await listen(createServer(nodeRouter(router)));
  browser = await startBrowser();
  for (; behind > 0; behind -= 50_000) await sendTraffic(router, 8);
  await sendTraffic(router, 40);
  const { records } = (await router.ledger?.read({ limit: 500 })) ?? { records: [] };
  const sorted = records.toSorted((left, right) => right.attempts.length - left.attempts.length);
  eventful = sorted.find(({ status }) => status === 200)?.id ?? '';
  expect(eventful).toMatch(/^gen-/);
  await router.batches.start();
  await router.batches.create(batchOf(40, 'acme/quick', 8));
  await router.batches.create(batchOf(12, 'acme/broken'));
});

afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await mounted[Symbol.asyncDispose]();
  await router.close();
});

describe.each(isWritten || STORMS_ARE_FULL ? (['light', 'dark'] as const) : (['light'] as const))(
  'pictures in %s',
  (colorScheme) => {
    const picture = async (view: string, ready: (opened: WatchedPage) => Promise<unknown>): Promise<void> => {
      await using opened = await browser.open({ colorScheme });
      await opened.page.goto(`${mounted.baseURL}/inspector/${view}`);
      await ready(opened);
      const name = view.replace(/[/?].*/, '').replace('requests', 'request');
      await opened.page.screenshot({ path: `${folder}/inspector-${name}-${colorScheme}.png` });
      expect(opened.complaints).toEqual([]);
    };

    it('shows what is wrong now', () =>
      picture('overview', ({ page }) => page.locator('.chart rect').first().waitFor()));

    it('shows requests as they come', () =>
      picture('live', async ({ page }) => {
        await page.getByText('● Live.').waitFor();
        const traffic = sendTraffic(router, 60);
        await page.waitForTimeout(2_500);
        void traffic;
      }));

    it('shows one request', () =>
      picture(`requests/${eventful}`, ({ page }) => page.getByRole('heading', { name: 'Facts' }).waitFor()));

    it('shows how endpoints stand', () =>
      picture('endpoints', async ({ page }) => {
        await page.getByRole('link', { name: 'gamma/eu' }).waitFor();
        // Every endpoint that answered for a while has its two charts.
        await expect.poll(() => page.locator('.endpoints .sparkline polyline').count()).toBeGreaterThanOrEqual(4);
      }));

    it('shows what requests cost', () =>
      picture('cost', ({ page }) => page.getByRole('link', { name: 'acme/writer' }).first().waitFor()));

    it('shows batches', () => picture('batches', ({ page }) => page.getByText('Errors by kind').first().click()));

    it('shows an answer and its decision', () =>
      picture('try?model=acme%2Fwriter', async ({ page }) => {
        await page.getByLabel('most tokens').fill('200');
        await page.getByRole('button', { name: 'Send' }).click();
        await page.getByRole('heading', { name: 'Why this endpoint' }).waitFor();
      }));
  },
);
