import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { likelyTokens } from '../../../../src/core/tokens/token-estimate.ts';
import { cutToTokens, decodeText, pageKindOf, plainText } from '../../../../src/plugins/services/pages/page-text.ts';
import { htmlReader } from '../../../../src/plugins/services/pages/guarded-fetcher.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const NEVER = new AbortController().signal;

describe('what a page is', () => {
  it.each([
    ['text/html; charset=utf-8', 'x', 'html'],
    ['application/xhtml+xml', 'x', 'html'],
    ['TEXT/Plain', 'x', 'text'],
    ['text/csv', 'x', 'text'],
    ['application/json', 'x', 'text'],
    ['application/ld+json;x=y', 'x', 'text'],
    ['application/atom+xml', 'x', 'text'],
    ['application/pdf', 'x', 'pdf'],
    ['text/html', '%PDF-1.4', 'pdf'],
    [undefined, '  <!DOCTYPE html>', 'html'],
    ['application/octet-stream', '<html lang=de>', 'html'],
    [undefined, 'plain', 'text'],
    [undefined, 'bin\0ary', undefined],
    ['text/plain', 'bin\0ary', undefined],
    ['text/plain', '\u00ff\u00fea\0b\0', 'text'],
    ['image/svg+xml', 'x', undefined],
    ['video/mp4', 'x', undefined],
  ])('%s with %j is %s', (type, body, kind) => {
    expect(pageKindOf(type, bytes(body))).toBe(kind);
  });
});

describe('how a page is written', () => {
  it.each([
    ['text/html; charset="ISO-8859-1"', 'Gr\u00fc\u00dfe', 'Grüße'],
    ['text/html', '<meta charset=windows-1252>\u0080', '<meta charset=windows-1252>€'],
    [
      'text/html',
      '<meta http-equiv=x content="text/html; charset=koi8-r">\u00d0',
      '<meta http-equiv=x content="text/html; charset=koi8-r">п',
    ],
    ['text/xml', '<?xml version="1.0" encoding="iso-8859-15"?>\u00a4', '<?xml version="1.0" encoding="iso-8859-15"?>€'],
    ['text/html', '<meta charset=utf-16>\u00c3\u00bc', '<meta charset=utf-16>ü'],
    ['text/html; charset=latin1', '\u00ef\u00bb\u00bf\u00c3\u00bc', 'ü'],
    ['text/plain', '\u00ff\u00fea\0b\0', 'ab'],
    ['text/plain', '\u00fe\u00ff\0a\0b', 'ab'],
    ['text/plain; charset=no-such', '\u00c3\u00bc', 'ü'],
    ['text/plain', '\u00fc', 'ü'],
    ['text/plain', 'cut off \u00e2\u0082', 'cut off \ufffd'],
  ])('%s %j is %j', (type, body, text) => {
    expect(decodeText(bytes(body), type)).toBe(text);
  });
});

describe('text from outside', () => {
  it('has no characters that are no text', () => {
    expect(plainText(' a\r\nb\rc\u0000\u001b[1m\ud800\u0085d 😀\t ')).toBe('a\nb\nc  [1m  d 😀');
    fc.assert(
      fc.property(fc.string({ unit: fc.nat(0xff_ff).map((code) => String.fromCharCode(code)) }), (text) => {
        const plain = plainText(text);
        expect(plain).toBe(plainText(plain));
        expect(plain).not.toMatch(/\p{Surrogate}/u);
      }),
    );
  });
});

describe('cutting to tokens', () => {
  it('keeps as much as fits, and says when it took something away', () => {
    const texts = fc.oneof(fc.lorem({ maxCount: 200 }), fc.string({ unit: 'grapheme', maxLength: 300 }));
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 100 }), (text, most) => {
        const cut = cutToTokens(text, most);
        expect(likelyTokens(cut.text)).toBeLessThanOrEqual(most);
        expect(text.startsWith(cut.text)).toBe(true);
        expect(cut.truncated).toBe(likelyTokens(text) > most);
        if (!cut.truncated) expect(cut.text).toBe(text);
      }),
    );
  });

  it('ends at a word, and counts scripts without spaces by character', () => {
    expect(cutToTokens('one two three four five six seven eight nine ten', 10).text).toBe(
      'one two three four five six seven eight',
    );
    expect(cutToTokens('漢字'.repeat(50), 10)).toEqual({ text: '漢字'.repeat(5), truncated: true });
  });
});

describe('the reader in a thread', () => {
  // A thread that is new takes long for its first page on a busy machine.
  const patient = htmlReader(15_000);
  const reader = htmlReader(1_500);
  afterAll(() => Promise.all([patient.close(), reader.close()]));

  const page = (body: string): string => `<html><head><title>Sky</title></head><body>${body}</body></html>`;
  const article = `<nav>Menu</nav><article><h1>Comet</h1><p>${'It was a bright and very long evening. '.repeat(30)}</p>
    <p>See <a href="/x">this</a>.</p><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></article>`;

  it('finds the content of a page, with links that are complete and tables that are tables', async () => {
    const { title, content } = await patient.read(page(article), 'https://example.com/a', { signal: NEVER });
    expect(title).toBe('Sky');
    expect(content).toContain('[this](https://example.com/x)');
    expect(content).toMatch(/\| a \| b \|\n\| --- \| --- \|\n\| 1 \| 2 \|/);
    expect(content).not.toContain('Menu');
  }, 20_000);

  it('reads several pages at a time, each its own', async () => {
    const pages = ['One', 'Two', 'Three'].map((name) => page(article.replace('Comet', name).replace('bright', name)));
    const read = await Promise.all(pages.map((html) => patient.read(html, 'https://example.com/', { signal: NEVER })));
    expect(read.map(({ content }) => /It was a (\w+) and/.exec(content)?.[1])).toEqual(['One', 'Two', 'Three']);
  }, 20_000);

  it('is stopped when a page is made to take long; the simple reader reads it, and the next page is read again', async () => {
    const trap = page(`${'<div>'.repeat(20_000)}trapped${'</div>'.repeat(20_000)}`);
    const startedAt = performance.now();
    const [trapped, next] = await Promise.all([
      reader.read(trap, 'https://example.com/', { signal: NEVER }),
      reader.read(page(article), 'https://example.com/', { signal: NEVER }),
    ]);
    expect(trapped.content).toBe('trapped');
    expect(next.content).toContain('It was a bright');
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    // On a busy machine the new thread may begin so late that the simple reader reads the first page after the trap, too.
    const again = async (): Promise<string> =>
      (await reader.read(page(article), 'https://example.com/', { signal: NEVER })).content;
    await expect.poll(again, { timeout: 20_000 }).toContain('| a | b |');
  }, 45_000);

  it('leaves a page to the simple reader when it is over, and when a page is too long for it', async () => {
    const long = page(`<p>${'word '.repeat(400_000)}</p>`);
    expect((await reader.read(long, 'https://example.com/', { signal: NEVER })).content.length).toBeGreaterThan(
      1_900_000,
    );
    const gone = AbortSignal.abort(new Error('gone'));
    const asked = reader.read(page(article), 'https://example.com/', { signal: gone });
    await expect(asked).rejects.toThrow('gone');
  });
});
