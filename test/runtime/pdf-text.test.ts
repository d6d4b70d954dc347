import { deflateSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { guessedPdf } from '../../src/core/tokens/pdf-pages.ts';
import { pdfContent } from '../../src/runtime/chat/pdf-text.ts';
import { pdf } from '../support/reported-counts.ts';

/** A file of streams, each with what is said about it. */
function fileOf(...streams: readonly (readonly [about: string, content: Buffer | string])[]): string {
  const parts = streams.map(([about, content], index) => {
    const bytes = Buffer.isBuffer(content) ? content.toString('latin1') : content;
    return `${index + 1} 0 obj\n<< ${about} /Length ${bytes.length} >>\nstream\r\n${bytes}\nendstream\nendobj\n`;
  });
  return Buffer.from(`%PDF-1.7\n${parts.join('')}`, 'latin1').toString('base64');
}
const packed = (content: string): Buffer => deflateSync(Buffer.from(content, 'latin1'));
const shown = (strings: string): string => `BT /F1 12 Tf ${strings} ET`;

describe('what a PDF is counted by', () => {
  it('is its pages and the characters that they show', async () => {
    expect(await pdfContent(pdf(3, 1_200))).toEqual({ pages: 3, characters: 1_200 });
    expect(await pdfContent(pdf(1, 0))).toEqual({ pages: 1, characters: 0 });
  });

  it.each([
    ['strings with brackets and signs of their own', '(a\\)b (c) \\101)Tj', 9],
    ['strings in hexadecimal digits, and marks that are none', '/Span << /MCID 0 >> BDC <48656c6c6f>Tj', 5],
    ['strings that do not end', '[(one)] TJ (two', 8],
    ['gaps that stand for spaces, and those that do not', '[(one) -300 (two) 20 (three) -90 (four)]TJ', 16],
  ])('knows %s', async (_, strings, characters) => {
    const content = await pdfContent(fileOf(['/Filter /FlateDecode', packed(shown(strings))]));
    expect(content.characters).toBe(characters + 1);
  });

  it('knows that glyphs of wide fonts have four digits', async () => {
    const font = ['/Type /Font /Encoding /Identity-H', ''] as const;
    const content = await pdfContent(fileOf(font, ['/Filter /FlateDecode', packed(shown('<00480065006c>Tj'))]));
    expect(content.characters).toBe(4);
  });

  it('finds pages in packed objects, and the count of the page tree, not that of outlines', async () => {
    const objects = packed('<< /Type /Page >> << /Type /Page >>');
    const first = await pdfContent(fileOf(['/Type /ObjStm /N 2 /First 9 /Filter /FlateDecode', objects]));
    expect(first.pages).toBe(2);
    const tree = Buffer.from('<< /Type /Outlines /Count 90 >> << /Count 7 /Type /Pages >>').toString('base64');
    expect(guessedPdf(tree).pages).toBe(7);
  });

  it('does not take fonts and pictures for text', async () => {
    const noise = packed(shown('(not shown)Tj'));
    const file = fileOf(
      ['/Length1 40 /Filter /FlateDecode', noise],
      ['/Subtype /Image /Width 4 /Filter /FlateDecode', noise],
      ['/Filter /DCTDecode', noise],
    );
    expect((await pdfContent(file)).characters).toBe(0);
  });

  it('takes long files to go on as they begin', async () => {
    const page = ['/Filter /FlateDecode', packed(shown(`(${'x'.repeat(499)})Tj`))] as const;
    const pages = Array.from({ length: 200 }, () => ['/Type /Page', ''] as const);
    const content = await pdfContent(fileOf(...pages, ...Array.from({ length: 200 }, () => page)));
    expect(content).toEqual({ pages: 200, characters: 100_000 });
  });

  it('is its pages alone where the runtime does not unpack', async () => {
    vi.stubGlobal('DecompressionStream', undefined);
    onTestFinished(() => void vi.unstubAllGlobals());
    expect(await pdfContent(pdf(3, 1_200))).toEqual({ pages: 3, characters: 0 });
  });

  it('stops where little is much, and is no failure where it is broken', async () => {
    const bomb = packed(shown(`(${'x'.repeat(40_000_000)})Tj`));
    const before = process.cpuUsage();
    const content = await pdfContent(fileOf(['/Filter /FlateDecode', bomb]));
    expect(content.characters).toBeLessThan(1_000_000);
    const traps = [
      '<< /Type /Pages '.repeat(40_000),
      'BT Tf Tj ('.repeat(60_000),
      `BT Tf Tj ${'(\\'.repeat(120_000)}`,
      'BT Tf '.repeat(100_000) + 'Tj',
    ];
    for (const trap of traps) await pdfContent(fileOf(['', trap]));
    const objects = ['/Type /ObjStm /Filter /FlateDecode', packed('<<>>'.repeat(60_000))] as const;
    await pdfContent(fileOf(...Array.from({ length: 400 }, () => objects)));
    await pdfContent(fileOf(['/Filter /FlateDecode', 'not packed at all']));
    await pdfContent('?');
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000);
  });
});
