import { describe, expect, it } from 'vitest';
import { sourceFiles } from './support/source-files.ts';

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

/** Texts that say such a word for another reason. */
const EXCEPTIONS: readonly string[] = [
  // Dutch, to recognise the language of a prompt.
  'src/core/normalize/token-scan.ts: door',
];

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
