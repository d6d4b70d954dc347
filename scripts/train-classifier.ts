/**
 * Trains the task classifier of the auto-router and writes `src/plugins/auto-router/weights.ts`.
 *
 * A linear model over hashed features (softmax regression with AdaGrad), on prompts that were written for it: natural
 * ones, templates, and a lexicon strewn over sentences that are the same for all tasks. The same seed gives the same
 * file. Small weights are dropped and the others kept in one byte, so that the file stays below 100 KB.
 *
 * `test/fixtures/classifier/hard.tsv` was there to choose the constants below; `held-back.tsv` beside it was not.
 *
 * Run with `npm run train:classifier`; with `-- --wrong` it lists the hard prompts that it gets wrong.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { seededRandom } from '../src/core/seeded-random.ts';
import { predict } from '../src/plugins/auto-router/classifier.ts';
import { type Features, featuresOf } from '../src/plugins/auto-router/features.ts';
import { TASK_TYPES, type TaskType } from '../src/plugins/auto-router/task-types.ts';
import {
  type StoredWeights,
  decodeWeights,
  encodeWeights,
  packWeight,
} from '../src/plugins/auto-router/weight-table.ts';
import { type Example, generateExamples, readExamples } from './classifier/templates.ts';

const SEED = 7;
const PROMPTS_PER_TASK = { fromTemplates: 300, fromLexicon: 1_200 };
/** How often each natural prompt is shown: they are fewer than the others and say more. */
const NATURAL_WEIGHT = 10;
const ROUNDS = 5;
const RATE = 0.5;
/** Pulls weights towards zero. */
const DECAY = 0.003;
/** Share of features that are hidden in each round, so that no prompt hangs on one word. */
const HIDDEN = 0.3;
/** How much a prompt counts towards its task; the rest is shared by all, so that nothing is ever quite certain. */
const CERTAINTY = 0.92;
/** Features of fewer prompts than this are not learned. */
const FEWEST_PROMPTS = 10;
/** Weights that are kept. */
const KEPT = 32_000;
/** Size of a clearly large weight, in units of the stored scale. */
const LARGE = 14;

const random = seededRandom(SEED);
const natural = readExamples(fileURLToPath(new URL('classifier/natural.tsv', import.meta.url)));
const examples = [
  ...generateExamples(PROMPTS_PER_TASK, random),
  ...Array.from({ length: NATURAL_WEIGHT }, () => natural).flat(),
];
const tasks = TASK_TYPES.filter((task) => examples.some((example) => example.task === task));
const unknown = examples.find((example) => !tasks.includes(example.task as TaskType));
if (unknown !== undefined) throw new RangeError(`no task "${unknown.task}"`);

/** In how many prompts each feature is. */
const counts = countFeatures();
/** Features that are learned, by hash, and their numbers. */
const vocabulary = new Map(
  [...counts].filter(([, count]) => count >= FEWEST_PROMPTS).map(([hash], index) => [hash, index]),
);
const weights = new Float64Array(vocabulary.size * tasks.length);
const bias = new Float64Array(tasks.length);
train();
const stored = compressed();
write(stored);
for (const name of ['hard', 'held-back']) {
  report(name, readExamples(fileURLToPath(new URL(`../test/fixtures/classifier/${name}.tsv`, import.meta.url))));
}

function countFeatures(): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  for (const { text } of examples) {
    for (const hash of featuresOf(text).hashes) found.set(hash, (found.get(hash) ?? 0) + 1);
  }
  return found;
}

/** Features of the vocabulary: their numbers, and how much each counts. */
interface Known {
  readonly numbers: readonly number[];
  readonly factors: readonly number[];
}

function known({ hashes, weights: factors }: Features): Known {
  const found = hashes.map((hash) => vocabulary.get(hash));
  return {
    numbers: found.filter((number) => number !== undefined),
    factors: factors.filter((_, index) => found[index] !== undefined),
  };
}

function train(): void {
  const squares = new Float64Array(weights.length).fill(1e-3);
  const biasSquares = new Float64Array(tasks.length).fill(1e-3);
  const prepared = examples.map(({ task, text }) => ({
    target: tasks.indexOf(task as TaskType),
    features: known(featuresOf(text)),
  }));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { target, features } of shuffled(prepared)) {
      const { numbers, factors } = thinned(features);
      for (const [task, error] of errorsOf({ numbers, factors }, target).entries()) {
        biasSquares[task] = (biasSquares[task] ?? 0) + error * error;
        bias[task] = (bias[task] ?? 0) - (RATE * 0.1 * error) / Math.sqrt(biasSquares[task] ?? 1);
        for (const [index, number] of numbers.entries()) {
          const at = number * tasks.length + task;
          const slope = error * (factors[index] ?? 0) + DECAY * (weights[at] ?? 0);
          squares[at] = (squares[at] ?? 0) + slope * slope;
          weights[at] = (weights[at] ?? 0) - (RATE * slope) / Math.sqrt(squares[at] ?? 1);
        }
      }
    }
  }
}

/** By how much each task's probability is off. */
function errorsOf({ numbers, factors }: Known, target: number): readonly number[] {
  const sums = [...bias];
  for (const [index, number] of numbers.entries()) {
    const factor = factors[index] ?? 0;
    for (let task = 0; task < sums.length; task += 1) {
      sums[task] = (sums[task] ?? 0) + factor * (weights[number * tasks.length + task] ?? 0);
    }
  }
  const highest = Math.max(...sums);
  const powers = sums.map((sum) => Math.exp(sum - highest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  const rest = (1 - CERTAINTY) / tasks.length;
  return powers.map((power, task) => power / total - rest - (task === target ? CERTAINTY : 0));
}

/** Hides some features of a prompt. */
function thinned({ numbers, factors }: Known): Known {
  const shown = numbers.map(() => random() >= HIDDEN);
  return { numbers: numbers.filter((_, index) => shown[index]), factors: factors.filter((_, index) => shown[index]) };
}

function shuffled<Item>(items: readonly Item[]): readonly Item[] {
  const order = items.map((item) => ({ item, place: random() }));
  return order.sort((left, right) => left.place - right.place).map(({ item }) => item);
}

/** Only differences between tasks matter. Measured from the middle one, most weights of a feature are close to zero. */
function centre(): void {
  for (let start = 0; start < weights.length; start += tasks.length) {
    const own = weights.slice(start, start + tasks.length).sort();
    const middle = own[Math.floor(own.length / 2)] ?? 0;
    for (let task = 0; task < tasks.length; task += 1) weights[start + task] = (weights[start + task] ?? 0) - middle;
  }
}

/** Keeps the weights that matter most, a byte each. Those of features that many prompts have matter more. */
function compressed(): StoredWeights {
  centre();
  const importance = new Float64Array(weights.length);
  for (const [hash, number] of vocabulary) {
    const spread = Math.sqrt(counts.get(hash) ?? 0);
    for (let at = number * tasks.length; at < (number + 1) * tasks.length; at += 1) {
      importance[at] = Math.abs(weights[at] ?? 0) * spread;
    }
  }
  const least = importance.slice().sort().at(-KEPT) ?? 0;
  const large =
    weights
      .map(Math.abs)
      .sort()
      .at(-Math.ceil(KEPT / 100)) ?? 1;
  const scale = Math.round((large / LARGE) * 1e6) / 1e6;
  const features = new Map<number, Uint8Array>();
  for (const [hash, number] of vocabulary) {
    const own = tasks.flatMap((_, task) => {
      const at = number * tasks.length + task;
      return (importance[at] ?? 0) < least ? [] : (packWeight(task, weights[at] ?? 0, scale) ?? []);
    });
    if (own.length > 0) features.set(hash, Uint8Array.from(own));
  }
  console.log(
    `${examples.length} prompts of ${tasks.length} tasks, ${vocabulary.size} features, ${features.size} kept`,
  );
  return encodeWeights({ tasks, bias: [...bias].map((one) => Math.round(one * 1e4)), scale, features });
}

function write({ tasks: names, bias: biases, scale, data }: StoredWeights): void {
  const text = `import type { StoredWeights } from './weight-table.ts';

/** Written by \`scripts/train-classifier.ts\` with seed ${SEED}; not to be changed by hand. */
export const WEIGHTS: StoredWeights = {
  tasks: [
${names.map((name) => `    '${name}',\n`).join('')}  ],
  bias: [
${filled(biases)}  ],
  scale: ${scale},
  data: '${data}',
};
`;
  writeFileSync(new URL('../src/plugins/auto-router/weights.ts', import.meta.url), text);
  console.log(`weights.ts: ${text.length.toLocaleString('en')} bytes`);
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

function report(name: string, tested: readonly Example[]): void {
  const table = decodeWeights(stored);
  const guesses = tested.map((example) => ({ ...example, guess: predict(table, example.text) }));
  const wrong = guesses.filter(({ task, guess }) => guess.task !== task);
  const right = tested.length - wrong.length;
  console.log(`${name}: ${right} of ${tested.length} right (${((100 * right) / tested.length).toFixed(1)} %)`);
  if (name !== 'hard' || !process.argv.includes('--wrong')) return;
  for (const { task, text, guess } of wrong) {
    console.log(`  ${task} -> ${guess.task} ${guess.confidence.toFixed(2)}: ${JSON.stringify(text.slice(0, 90))}`);
  }
}
