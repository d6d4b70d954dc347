import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readHtml } from '../../../../src/plugins/services/pages/html-text.ts';
import { htmlTokens } from '../../../../src/plugins/services/pages/html-tokens.ts';
import { cpuClock } from '../../../support/cpu-clock.ts';
import { leastOf, watchTurns, withNoise } from '../../../support/longest-turn.ts';
import { STORMS_ARE_FULL } from '../../../support/storms.ts';

const read = async (html: string): Promise<string> => (await readHtml(html, 'https://example.com/a/b')).content;

/** Milliseconds of the processor in one turn. */
const LONGEST_TURN_MS = withNoise(100);

const PARTS = [
  ...'<p> </p> <a href=" "> \' " <!-- --> <script> </script> <pre> <li> <td> & &# <main> </main> <nav> </nav> <h1> < > /'.split(
    ' ',
  ),
  'text',
  ' ',
  '\n',
  '\u0000',
  '\ud800',
];

describe('the simple reader of HTML', () => {
  it('makes Markdown of headings, lists, links, tables, code and line breaks', async () => {
    const html = `<html><head><title> A  &amp; B </title></head><body><h1>Top</h1><p>One <b>two</b>
      three<br>four</p><ul><li>first</li><li>second <a href="../c?x=1&amp;y=2">link</a></li></ul>
      <table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><pre>  if (a &lt; b) {
    c
  }</pre><p><img src=x alt="A picture"> after</p></body></html>`;
    expect(await readHtml(html, 'https://example.com/a/b')).toEqual({
      title: 'A & B',
      content: [
        '# Top',
        '',
        'One two three\nfour',
        '',
        '- first',
        '- second [link](https://example.com/c?x=1&y=2)',
        '',
        'a | b',
        '',
        '1 | 2',
        '',
        '```\n  if (a < b) {\n    c\n  }\n```',
        '',
        'A picture after',
      ].join('\n'),
    });
  });

  it('leaves out scripts, styles, comments and what stands around the content', async () => {
    const html = `<header>Header</header><nav><ul><li>Menu</li></ul></nav><p>Content</p><script>if (a<b) "</p>"</script>
      <style>p{}</style><!-- <p>hidden</p> --><template><p>hidden</p></template><noscript>hidden</noscript>
      <svg><text>hidden</text></svg><aside>Ad</aside><footer>Footer</footer>`;
    expect(await read(html)).toBe('Content');
  });

  it('reads the one part that says it is the content', async () => {
    expect(await read('<div>Around</div><main><header>Title</header><p>Inside</p></main><div>Around</div>')).toBe(
      'Inside',
    );
    expect(await read('<article>One</article><article>Two</article>')).toBe('One\n\nTwo');
    expect(await read('<div>Around</div><main>never closed')).toBe('Around\n\nnever closed');
  });

  it('reads a page that is all frame as a whole', async () => {
    expect(await read('<form><p>All <b>in</b> a form</p></form>')).toBe('All in a form');
  });

  it('keeps links that lead to pages, and only those', async () => {
    expect(await read('<a href="#x">a</a> <a href="javascript:x()">b</a> <a href="mailto:c@d.e">c</a> <a>d</a>')).toBe(
      'a b c d',
    );
    expect(await read('<a href=/x>one <p>two</a>')).toBe('[one](https://example.com/x)\n\ntwo');
  });

  it.each([
    ['&eacute;&Ouml;&euro;&#8364;&#x20AC;&amp;lt;', 'éÖ€€€&lt;'],
    ['&beta;&Ccaron;&hellip;hy&shy;phen &lt;p&gt;', 'βČ…hyphen <p>'],
    ['<a href="/?a=1&amp;b=2" href=/x>x</a>', '[x](https://example.com/?a=1&b=2)'],
    [`<p title="never closed>x</p><p title='nor this>y`, 'x\n\ny'],
    ['<svg><title>no</title></svg>x<template><template></template>y', 'xy'],
    ['&unknown; &amp &#0; &#xD800; &#99999999;', '&unknown; & \ufffd \ufffd \ufffd'],
    ['1 < 2 > 0 & <3', '1 < 2 > 0 & <3'],
    ['<p title="a > b">x</p>', 'x'],
    ['<p title="never closed>x</p><p>y', 'x\n\ny'],
    ['<P>x</P\n><p>y', 'x\n\ny'],
    ['<!doctype html><?xml version="1.0"?>x<![CDATA[y]]>', 'x'],
    ['', ''],
    ['<', '<'],
    ['</', '</'],
    ['<!--', ''],
    ['<script>', ''],
  ])('reads %j as %j', async (html, text) => {
    expect(await read(html)).toBe(text);
  });

  it('does not throw and shows no tags, whatever it gets', async () => {
    const part = fc.constantFrom(...PARTS);
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 60 }), async (parts) => {
        const { content, title = '' } = await readHtml(parts.join(''), 'https://example.com/');
        expect(content).not.toMatch(/<\/?(?:p|script|pre|li|td|main|nav)>/);
        expect(title.length).toBeLessThanOrEqual(300);
      }),
      { numRuns: 500 },
    );
  });

  it('loses no text between tags', async () => {
    const words = fc.array(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(words, fc.constantFrom('p', 'div', 'li', 'td', 'span', 'h2'), async (said, name) => {
        const html = said.map((word) => `<${name}>${word}</${name}>`).join(' ');
        expect((await read(html)).match(/[a-z]+/g)).toEqual(said);
      }),
    );
  });

  it('takes time in proportion to the length of a page, however it is made', async () => {
    const traps = [
      '<div>',
      '<a href=x>',
      '<p "',
      "<p '",
      '<',
      '&',
      '&#',
      '<!',
      '<svg',
      '</',
      '<title>',
      '<pre>',
      '<main>',
      ' ',
      '<td>',
    ];
    for (const trap of traps) {
      const html = trap.repeat(Math.ceil(500_000 / trap.length));
      const cpuMs = cpuClock();
      await read(html);
      expect([trap, cpuMs() < 2_000]).toEqual([trap, true]);
    }
  });
});

/** As large as a page may be; elsewhere enough to show that a turn does not grow with it. */
const PAGE_BYTES = STORMS_ARE_FULL ? 5_000_000 : 1_000_000;

describe('megabytes of a page', () => {
  it.each([
    '<',
    '</',
    '<div>',
    '<p>a',
    '<a ">"',
    '<a \'>\'<b ">"',
    '<li><a href=/x>y</a>',
    '&lt;',
    'a  b ',
    '<b>a',
    '<td>',
    '<title>',
    '<br>',
  ])('hold nobody up, whatever is in them: %j', async (trap) => {
    const html = trap.repeat(Math.ceil(PAGE_BYTES / trap.length));
    const turn = await leastOf(LONGEST_TURN_MS, async () => {
      const watch = watchTurns();
      await read(html);
      return watch.stop();
    });
    expect(turn).toBeLessThanOrEqual(LONGEST_TURN_MS);
  });

  it.each(['<pre>', '<p>'])('hold nobody up when they are white space and an end: %s', async (tag) => {
    const turn = await leastOf(LONGEST_TURN_MS, async () => {
      const watch = watchTurns();
      expect(await read(`${tag}${' '.repeat(PAGE_BYTES)}x`)).toContain('x');
      return watch.stop();
    });
    expect(turn).toBeLessThanOrEqual(LONGEST_TURN_MS);
  });
});

describe('tokens of HTML', () => {
  it('together make the page, apart from comments and declarations', async () => {
    const tokens = [...htmlTokens('a<b c=d>e</b><script>x</script><title>t</title>')];
    expect(tokens).toEqual([
      { type: 'text', text: 'a' },
      { type: 'open', name: 'b', attributes: {} },
      { type: 'text', text: 'e' },
      { type: 'close', name: 'b' },
      { type: 'open', name: 'script', attributes: {} },
      { type: 'close', name: 'script' },
      { type: 'open', name: 'title', attributes: {} },
      { type: 'text', text: 't' },
      { type: 'close', name: 'title' },
    ]);
  });
});
