import { describe, expect, it } from 'vitest';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readProjectFile, sourceFiles } from './support/source-files.ts';

/**
 * Words of our own where the field has others, and what to write. They cost every reader a second look. Looked for in
 * comments and in texts: error messages, descriptions in the OpenAPI document, help.
 */
const WORDS: readonly (readonly [found: RegExp, instead: string])[] = [
  [/\bwhole answers?\b/i, 'a response, non-streaming'],
  [/\bwhole (?:and|or) streamed\b/i, 'streaming and non-streaming'],
  [/\bkeys of (?:the )?callers\b/i, 'API keys'],
  [/\bkeys of (?:the )?providers\b/i, 'provider credentials'],
  [/\bwho would be asked\b/i, 'the endpoints it would try'],
  [/\bwho has no price\b/i, 'endpoints without a price'],
  // To stand in for something is English.
  [/\b(?:stands?|stood) (?:in(?! for)|before|beside|below|under|here|there)\b/i, 'is in, comes before'],
  [/\btold as\b/i, 'sent as'],
  [/\bcomes? too soon\b/i, 'exceeds the rate limit'],
  [/\bin their own time\b/i, 'asynchronously'],
  [/\b(?<!Front )doors?\b/i, 'entry point'],
  [/\bown wire\b/i, 'native API'],
  [/\b(?:goes|went|gone|go) away\b|\bcallers? (?:left|leaves|who left)\b/i, 'the client disconnected'],
  [/\b(?:guardrails?|limits?) holds?\b/i, 'apply, enforce'],
  [/\bnobody (?:knows|said|says|knew)\b/i, 'unknown'],
  [/\bbounds (?:the|what|how)\b/i, 'limits'],
  [/\bbills?\b|\bmoney\b/i, 'cost, cost breakdown, charges'],
  [/\b(?:breaks?|broke|broken|breaking) off\b/i, 'the stream ends early'],
  [/\basks what it would do\b/i, 'a dry run of the routing decision'],
  [/\btwins?\b|\bstubborn\b|\bpolish\b/i, 'what it is'],
];

/** The same in names: a part of an identifier, and what to write. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['bite', 'chunk'],
  ['crowd', 'concurrencyLimit'],
  ['desk', 'sharedBuffer'],
  ['dialect', 'apiFormat, quirks'],
  ['flight', 'runningAttempt, sharedRequest'],
  ['purse', 'hedgeBudget'],
  ['scatter', 'piecesOf'],
  ['stubborn', 'fixedByPlugin'],
  ['tell', 'notify'],
  ['told', 'notified'],
  ['twin', 'existingJob'],
  ['unheard', 'firstResponse'],
  ['unwell', 'degraded'],
  ['wellness', 'healthScore'],
  ['wish', 'requested, requestedOptions'],
  ['wishes', 'requestedOptions'],
]);

/** Texts that say such a word for another reason. */
const EXCEPTIONS: readonly string[] = [
  // Dutch, to recognise the language of a prompt.
  'src/core/tokens/token-scan.ts: door',
];

/** Phrases of pages which readers had to read twice. In comments, where the code is beside them, some are clear. */
const PHRASES: readonly (readonly [found: RegExp, instead: string])[] = [
  [/\bstands?\b(?! for)/i, 'is in, is at'],
  [/\btells? (?:the end|who|how)\b/i, 'sends an event, shows'],
  [/\bwhole nano-dollars\b/i, 'nano-dollars (10⁻⁹ USD), as integers'],
  [/\b(?:CPU|words?|sentences?|messages?|bounds?) of ours\b/i, 'of the router'],
  [/\bthe ratios count\b/i, 'compare the ratios'],
  [/\bwhat you and callers\b/i, 'events and errors'],
  [/\bwhere they belong\b/i, 'the name of the page'],
  [/\bread answers whole\b/i, 'buffer the response'],
  [/\bno endpoint for a request\b/i, 'the request excludes endpoints'],
  [/\bleaves? (?:anybody|nobody) out\b/i, 'exclude no endpoint'],
  [/\bwho (?:was not measured|sends slowly|would find none)\b/i, 'an endpoint, a client'],
  [/\bswitches off \d/i, 'steps … do not apply'],
  [/\bonce round\b/i, 'each endpoint once'],
  [/\bonly wakes\b/i, 'only notifies'],
];

/** Prose of a page: without code, and with a table's cells as they are. */
function proseOf(page: string): string {
  return readProjectFile(page)
    .replaceAll(/```[\s\S]*?```/g, '')
    .replaceAll(/`[^`\n]*`/g, 'x');
}

const root = fileURLToPath(new URL('..', import.meta.url));
const pages = [
  'README.md',
  'llms.txt',
  ...readdirSync(`${root}docs`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** Words in a table of a page which are not of the page's own making. */
const PAGE_EXCEPTIONS: readonly string[] = [];

/** Lengths of the sentences of a page, in words. Tables, headings and code have no sentences. */
function sentenceLengths(page: string): readonly number[] {
  const lines = proseOf(page)
    .split('\n')
    .filter((line) => !/^(?:\||#|!|\s*$)/.test(line));
  return lines
    .map((line) => line.replaceAll(/\]\([^)]*\)/g, ']').replace(/^\s*(?:[-*]|\d+\.)\s+/, ''))
    .flatMap((line) => line.split(/(?<=[.!?](?:\*\*|\))?)\s+(?=["'(*[]*[A-Zx])/))
    .map((sentence) => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length)
    .filter((length) => length > 1);
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}

const TEXTS = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g;

const findings = sourceFiles('src', 'adapters').flatMap(({ path, text }) =>
  [...text.matchAll(TEXTS)].flatMap(([written]) =>
    WORDS.flatMap(([pattern, instead]) => {
      // A phrase may be on two lines of a comment.
      const found = pattern.exec(written.replace(/\s*\n\s*(?:\*|\/\/)?\s*/g, ' '))?.[0];
      return found === undefined ? [] : [{ place: `${path}: ${found}`, instead }];
    }),
  ),
);

describe('comments and messages', () => {
  it('say things as the field says them', () => {
    const wrong = findings.filter(({ place }) => !EXCEPTIONS.includes(place));
    expect(wrong.map(({ place, instead }) => `${place} (write: ${instead})`)).toEqual([]);
  });

  it('have no exception that is needed no more', () => {
    expect(EXCEPTIONS.filter((one) => !findings.some(({ place }) => place === one))).toEqual([]);
  });
});

describe('names in code', () => {
  it('are the terms of the field', () => {
    const code = sourceFiles('src', 'adapters').map(({ path, text }) => ({ path, text: text.replaceAll(TEXTS, ' ') }));
    const wrong = code.flatMap(({ path, text }) =>
      [...new Set(text.match(/[A-Za-z_$][\w$]*/g))].flatMap((name) => {
        const parts = name
          .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
          .toLowerCase()
          .split(/[ _]+/);
        const instead = parts.map((part) => NAMES.get(part)).find((one) => one !== undefined);
        return instead === undefined ? [] : [`${path}: ${name} (write: ${instead})`];
      }),
    );
    expect(code.length).toBeGreaterThan(700);
    expect(wrong).toEqual([]);
  });
});

describe('pages', () => {
  const inPages = pages.flatMap((page) =>
    [...WORDS, ...PHRASES].flatMap(([pattern, instead]) =>
      [...proseOf(page).matchAll(new RegExp(pattern, 'gi'))].map(([found]) => ({
        place: `${page}: ${found}`,
        instead,
      })),
    ),
  );

  it('say things as the field says them', () => {
    expect(pages.length).toBeGreaterThan(20);
    const wrong = inPages.filter(({ place }) => !PAGE_EXCEPTIONS.includes(place));
    expect(wrong.map(({ place, instead }) => `${place} (write: ${instead})`)).toEqual([]);
  });

  it('have no exception that is needed no more', () => {
    expect(PAGE_EXCEPTIONS.filter((one) => !inPages.some(({ place }) => place === one))).toEqual([]);
  });

  it('have short sentences: half of them have at most 18 words, on each page', () => {
    const long = pages
      .map((page) => ({ page, words: median(sentenceLengths(page)) }))
      .filter(({ words }) => words > 18);
    expect(pages.flatMap(sentenceLengths).length).toBeGreaterThan(500);
    expect(long).toEqual([]);
  });
});
