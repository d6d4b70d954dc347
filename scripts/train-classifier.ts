/**
 * Trains the task classifier of the auto-router and writes `src/plugins/auto-router/weights.ts`.
 *
 * A linear model over hashed features, on prompts that were written for it: natural ones, templates, and a lexicon
 * strewn over sentences that are the same for all tasks. The same seed gives the same file. Small weights are dropped
 * and the others kept in one byte, so that the file stays below 140 kB.
 *
 * `test/fixtures/classifier/held-back.tsv` is for the tests alone: nothing here reads it, and nothing was chosen by it.
 *
 * The weights of this project were trained on public prompts as well, of which copies have to be given
 * (`scripts/classifier/public-prompts.ts` and `labelled-sets.ts` name their sources and licences), and with words of
 * nearly the same meaning (`scripts/classifier/word-neighbours.ts`): `npm run train:classifier -- gsm8k=… seeds=… …
 * neighbours=…`. Without any it trains on its own prompts alone.
 *
 * With `-- --folds` it writes nothing: five times it trains without a fifth of the natural prompts and tells how many of
 * those it gets right. Settings can be tried there: `-- --folds decay=0.001`.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { predict, promptOf } from '../src/plugins/auto-router/classifier.ts';
import { decodeWeights, type StoredWeights } from '../src/plugins/auto-router/weight-table.ts';
import { type Example, readExamples } from './classifier/templates.ts';
import { LABELLED_SETS } from './classifier/labelled-sets.ts';
import { READ_SETS, readPublicPrompts } from './classifier/public-prompts.ts';
import { SETTINGS, type TrainingSettings, trained } from './classifier/training.ts';
import { readWordNeighbours } from './classifier/word-neighbours.ts';

const FOLDS = 5;
const natural = readExamples(fileURLToPath(new URL('classifier/natural.tsv', import.meta.url)));
const words = process.argv.slice(2);

const given = words.filter((word) => word.includes('=')).map((word) => word.split('=') as [string, string]);
const neighboursPath = given.find(([name]) => name === 'neighbours')?.[1];
const neighbours = neighboursPath === undefined ? undefined : readWordNeighbours(neighboursPath);

if (words.includes('--folds')) tellFolds({ ...SETTINGS, ...settingsIn(words) });
else {
  const read = publicExamples(READ_SETS);
  // There are fewer of them than natural ones of ours, and they are what others ask. Sets that say themselves what their
  // prompts are have many that are alike.
  const all = [...natural, ...read, ...read, ...read, ...publicExamples(Object.keys(LABELLED_SETS))];
  write(trained(all, SETTINGS, neighbours), SETTINGS.seed);
}

/** Public prompts, as the classifier reads them. */
function publicExamples(names: readonly string[]): readonly Example[] {
  return readPublicPrompts(given.filter(([name]) => names.includes(name))).map(({ task, text }) => ({
    task,
    text: promptOf([{ role: 'user', content: text }], { hasTools: false }).text,
  }));
}

function settingsIn(options: readonly string[]): Partial<TrainingSettings> {
  const pairs = options.filter((word) => word.includes('=')).map((word) => word.split('='));
  const unknown = pairs.find(([name = '', value]) => !(name in SETTINGS) || !Number.isFinite(Number(value)));
  if (unknown !== undefined) {
    throw new RangeError(`${unknown.join('=')} is not a setting; there are ${Object.keys(SETTINGS).join(', ')}`);
  }
  return Object.fromEntries(pairs.map(([name, value]) => [name, Number(value)]));
}

function tellFolds(settings: TrainingSettings): void {
  let right = 0;
  let largest = 0;
  for (let fold = 0; fold < FOLDS; fold += 1) {
    const kept = natural.filter((_, index) => index % FOLDS !== fold);
    const stored = trained(kept, settings);
    const table = decodeWeights(stored);
    const tested = natural.filter((_, index) => index % FOLDS === fold);
    right += tested.filter(({ task, text }) => predict(table, text).task === task).length;
    largest = Math.max(largest, fileOf(stored, settings.seed).length);
  }
  const share = ((100 * right) / natural.length).toFixed(1);
  console.log(`${right} of ${natural.length} right (${share} %), up to ${largest.toLocaleString('en')} bytes`);
}

function write(stored: StoredWeights, seed: number): void {
  const text = fileOf(stored, seed);
  writeFileSync(new URL('../src/plugins/auto-router/weights.ts', import.meta.url), text);
  console.log(`${natural.length} natural prompts; weights.ts: ${text.length.toLocaleString('en')} bytes`);
}

function fileOf({ tasks, bias, scale, data }: StoredWeights, seed: number): string {
  return `import type { StoredWeights } from './weight-table.ts';

/** Written by \`scripts/train-classifier.ts\` with seed ${seed}; not to be changed by hand. */
export const WEIGHTS: StoredWeights = {
  tasks: [
${tasks.map((name) => `    '${name}',\n`).join('')}  ],
  bias: [
${filled(bias)}  ],
  scale: ${scale},
  data: '${data}',
};
`;
}

/** Numbers in lines as the formatter breaks them. */
function filled(numbers: readonly number[]): string {
  const lines = [''];
  for (const one of numbers) {
    const last = lines.at(-1) ?? '';
    if (last.length + `${one}, `.length > 117) lines.push(`${one}, `);
    else lines[lines.length - 1] = `${last}${one}, `;
  }
  return lines.map((line) => `    ${line.trimEnd()}\n`).join('');
}
