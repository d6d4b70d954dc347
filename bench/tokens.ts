import { readFileSync } from 'node:fs';
import { createRouter, simulated } from '../src/index.ts';
import { inVocabularyOf, promptParts } from '../src/core/normalize/prompt-parts.ts';
import { likelyTextTokens } from '../src/core/normalize/likely-tokens.ts';
import type { DialectName } from '../src/protocol/dialect.ts';
import { ChatService } from '../src/router/chat.ts';
import { countable, countPrepared } from '../src/runtime/chat/count-tokens.ts';

/**
 * How near `count_tokens` comes to what providers report, where it does not ask them: with gpt-tokenizer, and by the
 * estimate. Takes recorded requests as lines of JSON, each with `vendor`, `kind` (of content), `model` (with its author),
 * `dialect` (`chat`, `messages` or `responses`), `body` and `input_tokens`, as the provider reported them.
 * Usage: npm run bench:tokens -- path/to/pairs.jsonl [--worst]
 */
interface Pair {
  readonly vendor: string;
  readonly kind: string;
  readonly model: string;
  readonly dialect: 'chat' | DialectName;
  readonly body: object;
  readonly input_tokens: number;
  readonly source?: string;
}

interface Counted {
  readonly pair: Pair;
  readonly counted: number;
  readonly estimated: number;
}

const [file, ...flags] = process.argv.slice(2);
if (file === undefined) throw new Error('Usage: npm run bench:tokens -- path/to/pairs.jsonl [--worst]');
const pairs = readFileSync(file, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Pair);

const models = Object.fromEntries(pairs.map(({ model }) => [model, {}]));
const router = createRouter({
  providers: [simulated({ models })],
  limits: { bodyBytes: 100_000_000, bytesInHand: 400_000_000 },
});
const { services } = router.internals;
const chat = new ChatService(services);

const all: Counted[] = [];
let refused = 0;
for (const pair of pairs) {
  const dialect = pair.dialect === 'chat' ? undefined : pair.dialect;
  try {
    const body = countable({ ...pair.body, model: pair.model }, dialect);
    const prepared = await chat.prepare(body, { dialect }, false);
    const { texts, fixedTokens } = promptParts(prepared.request, pair.model);
    const estimated = inVocabularyOf(pair.model, likelyTextTokens(texts), fixedTokens);
    const { input_tokens: counted } = await countPrepared(services, prepared);
    all.push({ pair, counted, estimated });
  } catch (error) {
    refused += 1;
    if (flags.includes('--worst')) console.log(`${pair.source ?? ''}: ${error instanceof Error ? error.message : ''}`);
  }
}

/** A share of the reported count by which a count may be wrong. */
const NEAR = 0.1;
const isNear = (pair: Pair, counted: number): boolean =>
  Math.abs(counted - pair.input_tokens) <= Math.max(1, pair.input_tokens * NEAR);

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((left, right) => left - right);
  return sorted[sorted.length >> 1] ?? 0;
}

function rowOf(group: readonly Counted[]): object {
  const share = (of: (one: Counted) => number): string =>
    `${Math.round((100 * group.filter((one) => isNear(one.pair, of(one))).length) / group.length)} %`;
  const middle = (of: (one: Counted) => number): string =>
    median(group.map((one) => of(one) / one.pair.input_tokens)).toFixed(2);
  return {
    pairs: group.length,
    'tokens, median': median(group.map(({ pair }) => pair.input_tokens)),
    'gpt-tokenizer: median ratio': middle((one) => one.counted),
    'within 10 %': share((one) => one.counted),
    'estimate: median ratio': middle((one) => one.estimated),
    'estimate within 10 %': share((one) => one.estimated),
  };
}

function printBy(nameOf: (pair: Pair) => string): void {
  const names = [...new Set(all.map(({ pair }) => nameOf(pair)))].toSorted((left, right) => left.localeCompare(right));
  const rows = names.map((name) => [name, rowOf(all.filter(({ pair }) => nameOf(pair) === name))] as const);
  console.table(Object.fromEntries(rows));
}

printBy(({ vendor, kind }) => `${vendor}: ${kind}`);
printBy(({ kind }) => kind);
console.log(`${all.length} pairs; ${refused} more that this router refuses.`);

if (flags.includes('--worst')) {
  const off = ({ pair, counted }: Counted): number => Math.abs(Math.log(counted / pair.input_tokens));
  for (const one of all.toSorted((left, right) => off(right) - off(left)).slice(0, 60)) {
    const { pair, counted, estimated } = one;
    console.log(
      `${pair.input_tokens} ${counted} ${estimated} ${pair.vendor}: ${pair.kind} ${pair.model} ${pair.source ?? ''}`,
    );
  }
}
await router.close();
