import { readFileSync } from 'node:fs';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { likelyTextTokens } from '../src/core/tokens/likely-tokens.ts';
import { countReported, errorsOf, readReported, type CountedRequest } from '../test/support/reported-counts.ts';

/**
 * How near estimates of texts come to a count, by language and format, and `count_tokens` to what providers report, where
 * it does not ask them: with gpt-tokenizer, and by the estimate. Without a file it takes recorded requests that none of its constants were made from
 * (`test/fixtures/tokens/README.md` says from where, and in which form a file of yours has to be).
 * Usage: npm run bench:tokens [-- path/to/pairs.jsonl] [-- --worst]
 */
const [file, ...flags] = process.argv.slice(2).toSorted((left) => (left.startsWith('--') ? 1 : -1));
const hasFile = file !== undefined && !file.startsWith('--');
const fixture = new URL('../test/fixtures/tokens/reported.jsonl', import.meta.url);
const { counted, refused } = await countReported(readReported(hasFile ? file : fixture));

const percent = (share: number): string => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;

function rowOf(group: readonly CountedRequest[]): object {
  const exact = errorsOf(group, 'counted');
  const estimate = errorsOf(group, 'estimated');
  return {
    pairs: group.length,
    'gpt-tokenizer: median error': percent(exact.median),
    'within 10 %': percent(exact.within),
    'estimate: median error': percent(estimate.median),
    'estimate within 10 %': percent(estimate.within),
  };
}

function printBy(nameOf: (one: CountedRequest) => string, group = counted): void {
  const names = [...new Set(group.map(nameOf))].toSorted((left, right) => left.localeCompare(right));
  const rows = names.map((name) => [name, rowOf(group.filter((one) => nameOf(one) === name))] as const);
  console.table(Object.fromEntries(rows));
}

/** The likely estimate of texts by themselves, by language or format, beside the count of OpenAI's vocabulary. */
function printTexts(): void {
  const texts = readFileSync(new URL('../test/fixtures/tokens/likely.txt', import.meta.url), 'utf8').split(/^=== /m);
  const ratios = new Map<string, number[]>();
  for (const text of texts.slice(1)) {
    const [kind = '', ...lines] = text.split('\n');
    const content = lines.join('\n');
    const ratio = likelyTextTokens([content]) / countTokens(content, { disallowedSpecial: new Set() });
    ratios.set(kind, [...(ratios.get(kind) ?? []), ratio]);
  }
  const rows = [...ratios].map(([kind, all]) => {
    const middle = all.toSorted((left, right) => left - right)[all.length >> 1] ?? 0;
    return [kind, { texts: all.length, 'estimate: median error': `${(100 * (middle - 1)).toFixed(1)} %` }] as const;
  });
  console.table(Object.fromEntries(rows));
}

printTexts();
printBy(({ reported: { vendor, kind } }) => `${kind}: ${vendor}`);
printBy(({ reported: { kind } }) => kind);
const known = counted.filter(({ isGuess }) => !isGuess);
console.log('Without those whose size the request does not tell, which are reported as estimates:');
printBy(({ reported: { vendor } }) => vendor, known);
console.table({ all: rowOf(known) });
console.log(
  `${counted.length} pairs, ${known.length} of them without guesses; ${refused.length} more that this router refuses.`,
);

if (flags.includes('--worst') || file === '--worst') {
  for (const line of refused) console.log(line);
  const off = (one: CountedRequest): number => Math.abs(Math.log(one.counted / one.reported.input_tokens));
  for (const one of counted.toSorted((left, right) => off(right) - off(left)).slice(0, 60)) {
    const { reported } = one;
    const { input_tokens: tokens, kind, model, source } = reported;
    console.log(`${tokens} reported, ${one.counted} counted, ${one.estimated} estimated: ${kind} ${model} ${source}`);
  }
}
