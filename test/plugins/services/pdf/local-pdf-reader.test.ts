/** Runs in a process of its own: it measures memory. */
import { describe, expect, it } from 'vitest';
import { type LocalPdfReaderOptions, localPdfReader } from '../../../../src/plugins/services/pdf/local-pdf-reader.ts';
import { createPdfRunner as createInlineRunner } from '../../../../src/plugins/services/pdf/runner-inline.ts';
import type { PdfText } from '../../../../src/contracts/pdf-reader.ts';
import { encryptedPdf, endlessPdf, pdfBomb, pdfOfPages, pdfWith } from '../../../support/pdf.ts';

const signal = new AbortController().signal;

async function problemOf(reading: Promise<unknown>): Promise<unknown> {
  const error: unknown = await reading.catch((thrown: unknown) => thrown);
  const { name, problem, message } = error as { name?: string; problem?: string; message?: string };
  return [name, problem, message];
}

const RUNNERS = [
  ['in a thread', {}],
  ['in place', { run: createInlineRunner() }],
] as const satisfies readonly (readonly [string, LocalPdfReaderOptions])[];

describe.each(RUNNERS)('a PDF that is read %s', (_where, options) => {
  const reader = localPdfReader(options);

  it('gives the text of its pages, their number and its title', async () => {
    const data = pdfWith(['First page (really)', '', 'Third'], { title: 'A report' });
    expect(await reader.read({ data, signal })).toEqual({
      pages: ['First page (really)', '', 'Third'],
      totalPages: 3,
      title: 'A report',
    });
    expect(data.byteLength).toBeGreaterThan(0);
  });

  it('says so when it is encrypted', async () => {
    expect(await problemOf(reader.read({ data: encryptedPdf(), signal }))).toEqual([
      'PdfError',
      'encrypted',
      'The PDF is encrypted and needs a password',
    ]);
  });

  it('is given up when its time is over or its reader leaves', async () => {
    const hasty = localPdfReader({ ...options, timeoutMs: 1 });
    expect(await problemOf(hasty.read({ data: pdfOfPages(1_000), signal }))).toEqual([
      'PdfError',
      'timeout',
      'Reading the PDF takes longer than 0.001 s, which is not allowed',
    ]);
    const controller = new AbortController();
    const reading = reader.read({ data: pdfOfPages(1_000), signal: controller.signal });
    controller.abort(new Error('gone'));
    await expect(reading).rejects.toThrow('gone');
  });
});

describe('a PDF', () => {
  const reader = localPdfReader({ run: createInlineRunner() });

  it('is read in part when only so many pages are wanted', async () => {
    const { pages, totalPages } = await reader.read({ data: pdfOfPages(10_000), maxPages: 2, signal });
    expect([pages, totalPages]).toEqual([['Same', 'Same'], 10_000]);
  });

  it.each([
    ['is none', Uint8Array.of(1, 2, 3), 'invalid', 'The file is no PDF'],
    ['is broken', new TextEncoder().encode('%PDF-1.7\nnothing else'), 'invalid', 'The PDF is broken, or is no PDF'],
    ['is cut off', pdfWith(['Hello']).slice(0, 200), 'invalid', 'The PDF is broken, or is no PDF'],
    ['has too many pages', pdfOfPages(10_000), 'too_large', 'The PDF has 10000 pages; at most 1000 are read'],
    ['has too many bytes', new Uint8Array(50_000_001), 'too_large', 'The PDF is larger than 50 MB'],
  ])('says so when it %s', async (_what, data, problem, message) => {
    expect(await problemOf(reader.read({ data, signal }))).toEqual(['PdfError', problem, message]);
  });

  it('is not followed in circles', async () => {
    expect((await reader.read({ data: endlessPdf(), signal })).pages).toEqual(['Once']);
  });

  it('is refused when it holds more text than is allowed', async () => {
    const small = localPdfReader({ run: createInlineRunner(), maxCharacters: 9 });
    expect((await small.read({ data: pdfWith(['12345', '6789']), signal })).pages).toHaveLength(2);
    expect(await problemOf(small.read({ data: pdfWith(['12345', '67890']), signal }))).toEqual([
      'PdfError',
      'too_large',
      'The PDF holds more than 9 characters of text',
    ]);
  });
});

describe('a PDF bomb', () => {
  it('is stopped in its thread before it takes the memory, and the next file is read', async () => {
    const reader = localPdfReader({ memoryMb: 64 });
    const data = pdfBomb(150_000_000);
    const before = process.memoryUsage.rss();
    expect(await problemOf(reader.read({ data, signal }))).toEqual([
      'PdfError',
      'too_large',
      'Reading the PDF takes more than 64 MB of memory, which is not allowed',
    ]);
    expect(process.memoryUsage.rss() - before).toBeLessThan(150_000_000);
    expect((await reader.read({ data: pdfWith(['Still here']), signal })).pages).toEqual(['Still here']);
  });
});

describe('many PDFs at once', () => {
  it('wait for their turn, and those whose reader leaves are never begun', async () => {
    let running = 0;
    let most = 0;
    const begun: number[] = [];
    const text: PdfText = { pages: [], totalPages: 0 };
    const releases: (() => void)[] = [];
    const reader = localPdfReader({
      concurrency: 2,
      async run(job) {
        begun.push(job.maxPages);
        running += 1;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => releases.push(resolve));
        running -= 1;
        return text;
      },
    });
    const data = pdfWith(['x']);
    const leaving = new AbortController();
    const readings = [1, 2, 3, 4, 5].map((maxPages) =>
      reader.read({ data, maxPages, signal: maxPages === 3 ? leaving.signal : signal }),
    );
    const outcomes = Promise.allSettled(readings);
    await new Promise(setImmediate);
    expect(begun).toEqual([1, 2]);
    leaving.abort(new Error('gone'));
    for (let left = 4; left > 0; left -= 1) {
      releases.shift()?.();
      await new Promise(setImmediate);
    }
    expect((await outcomes).map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect([most, begun]).toEqual([2, [1, 2, 4, 5]]);
  });
});
