import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Router } from 'signalbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningBrowser, startBrowser } from '../support/browser.ts';
import { inspectedRouter, sendTraffic } from '../support/inspected.ts';
import { type Mounted, MOUNTS } from '../support/mounts.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** `DOCS_IMAGES=write` puts the pictures where the documentation shows them; otherwise they are made and thrown away. */
const folder =
  process.env['DOCS_IMAGES'] === 'write'
    ? fileURLToPath(new URL('../../docs/images/', import.meta.url))
    : temporaryFolder();

let browser: RunningBrowser;
let router: Router;
let mounted: Mounted;
let failed: string;

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  router = inspectedRouter();
  mounted = await (MOUNTS['express'] ?? MOUNTS['node'])!(router);
  browser = await startBrowser();
  await sendTraffic(router, 40);
  const { data } = await router.batches.list();
  expect(data).toEqual([]);
  failed = '';
});

afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await mounted[Symbol.asyncDispose]();
  await router.close();
});

describe.each(['light', 'dark'] as const)('pictures in %s', (colorScheme) => {
  it('shows requests as they come', async () => {
    await using opened = await browser.open({ colorScheme });
    await opened.page.goto(`${mounted.baseURL}/inspector/live`);
    await opened.page.getByText('Live.').waitFor();
    const traffic = sendTraffic(router, 24);
    await opened.page.waitForTimeout(2_500);
    await opened.page.screenshot({ path: `${folder}/inspector-live-${colorScheme}.png` });
    await traffic;
  });
});
