import type { CDPSession, Page } from 'playwright-core';
import { createRouter, simulated } from 'signalbox';
import { inspector } from 'signalbox/inspector';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningBrowser, startBrowser } from '../support/browser.ts';
import { MOUNTS } from '../support/mounts.ts';
import { STORMS_ARE_FULL } from '../support/storms.ts';

/** 10,000 requests in a minute; elsewhere as many a second for a few seconds. */
const SECONDS = STORMS_ARE_FULL ? 60 : 8;
const PER_SECOND = 10_000 / 60;
const REQUESTS = Math.floor(SECONDS * PER_SECOND);

/**
 * Rows that one frame may draw, however many come: eight that ended, as many that leave the list at its end, and twice
 * twelve that run, those of the update before and those of this one.
 */
const MOST_ROWS_OF_A_FRAME = 8 + 8 + 2 * 12;

const MOST_BYTES = 100_000_000;
/**
 * CPU of the page for one frame, with everything that comes between two: a key or a click waits for a frame that is
 * being drawn, and is answered by the next, so both together stay below 100 ms. Wall time would be that of the machine.
 */
const MOST_CPU_MS = 50;

let browser: RunningBrowser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser[Symbol.asyncDispose]());

describe('10,000 requests in a minute', () => {
  it(
    'leave the live view small and quick',
    async () => {
      const router = createRouter({
        providers: [
          simulated({
            slug: 'acme',
            models: { 'acme/one': { price: { prompt: 1, completion: 2 } } },
            answer: () => 'Yes.',
          }),
        ],
        catalog: [],
        inspector: inspector(),
      });
      const mount = MOUNTS['node'];
      if (mount === undefined) throw new Error('no mount');
      await using mounted = await mount(router);
      await using opened = await browser.open();
      const { page } = opened;
      await page.goto(`${mounted.baseURL}/inspector/live`);
      await page.getByText('● Live.').waitFor();
      const debugging = await page.context().newCDPSession(page);
      await debugging.send('Performance.enable', { timeDomain: 'threadTicks' });
      // How long the page takes from a key or a click until it has painted what follows from it.
      await page.evaluate(`window.delays = [];
        new PerformanceObserver((list) => {
          for (const { interactionId, duration } of list.getEntries()) if (interactionId) delays.push(duration);
        }).observe({ type: 'event', durationThreshold: 16 })`);
      // Rows of the list that were drawn in each frame: made, moved, removed or changed.
      await page.evaluate(`window.drawn = [];
        let rows = new Set();
        new MutationObserver((changes) => {
          for (const { target, addedNodes, removedNodes } of changes) {
            for (const node of [target, ...addedNodes, ...removedNodes]) {
              const row = (node.nodeType === 1 ? node : node.parentElement)?.closest('tbody tr');
              if (row) rows.add(row);
            }
          }
        }).observe(document.querySelector('table.live tbody'),
          { childList: true, subtree: true, characterData: true, attributes: true });
        const frame = () => { drawn.push(rows.size); rows = new Set(); requestAnimationFrame(frame); };
        requestAnimationFrame(frame);`);

      const cpuBefore = await metricOf(debugging, 'TaskDuration');
      const under: Promise<unknown>[] = [];
      const began = performance.now();
      const storm = setInterval(() => {
        const due = Math.min(REQUESTS, ((performance.now() - began) / 1_000) * PER_SECOND);
        while (under.length < due) {
          under.push(router.chat({ model: 'acme/one', messages: [{ role: 'user', content: 'Question' }] }));
        }
      }, 20);
      let bytes = 0;
      while (under.length < REQUESTS) {
        await page.getByRole('button', { name: /Pause|Continue/ }).click();
        await page.keyboard.press('p');
        bytes = Math.max(bytes, await heapOf(debugging));
      }
      clearInterval(storm);
      await Promise.all(under);
      const seconds = (performance.now() - began) / 1_000;
      expect(seconds).toBeLessThan(SECONDS * 1.5);

      const drawn = (await page.evaluate<number[]>('window.drawn')).sort((left, right) => left - right);
      const most = drawn.at(-1) ?? 0;
      console.info(
        `${drawn.length} frames: ${drawn.filter((count) => count > 0).length} drew rows, ${most} rows at most`,
      );
      expect(drawn.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(REQUESTS / 100);
      expect(most).toBeLessThanOrEqual(MOST_ROWS_OF_A_FRAME);
      const cpuMs = (1_000 * ((await metricOf(debugging, 'TaskDuration')) - cpuBefore)) / drawn.length;
      expect(cpuMs).toBeGreaterThan(0);
      expect(cpuMs).toBeLessThanOrEqual(MOST_CPU_MS);
      const delays = await delaysOf(page);
      console.info(
        `${REQUESTS} requests in ${seconds.toFixed(0)} s: the page took ${(bytes / 1e6).toFixed(0)} MB at most; of ${delays.length} interactions that took ` +
          `16 ms or more, half took up to ${delays[Math.floor(delays.length / 2)] ?? 0} ms, the longest ${delays.at(-1) ?? 0} ms; ` +
          `${cpuMs.toFixed(1)} ms of CPU for a frame`,
      );
      expect(bytes).toBeLessThan(MOST_BYTES);
      expect(await page.locator('table.live tbody tr').count()).toBeLessThan(250);
      await page.getByText('Too many to show them all').waitFor();
      expect(opened.complaints).toEqual([]);
      await router.close();
    },
    (SECONDS + 30) * 1_000,
  );
});

function heapOf(debugging: CDPSession): Promise<number> {
  return metricOf(debugging, 'JSHeapTotalSize');
}

/** What the browser counts of the page; durations in seconds of CPU of its main thread. */
async function metricOf(debugging: CDPSession, wanted: string): Promise<number> {
  const { metrics } = await debugging.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === wanted)?.value ?? Infinity;
}

async function delaysOf(page: Page): Promise<readonly number[]> {
  const delays = await page.evaluate<number[]>('window.delays');
  return delays.sort((left, right) => left - right);
}
