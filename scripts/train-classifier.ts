/**
 * Trains the task classifier of the auto-router and writes `src/plugins/auto-router/weights.ts`.
 *
 * A linear model over hashed features (softmax regression, AdaGrad), on prompts that are made from the templates in
 * `scripts/classifier`. The same seed gives the same file. Small weights are dropped and the others kept in one byte,
 * so that the file stays below 100 KB. `scripts/classifier/tuning.tsv` was there to choose the constants below;
 * `test/fixtures/classifier/held-back.tsv` is only measured.
 *
 * Run with `npm run train:classifier`.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { seededRandom } from '../src/core/seeded-random.ts';
import { predict } from '../src/plugins/auto-router/classifier.ts';
import { BUCKETS, type Features, featuresOf } from '../src/plugins/auto-router/features.ts';
import { TASK_TYPES, type TaskType } from '../src/plugins/auto-router/task-types.ts';
import { decodeWeights, encodeWeights, type StoredWeights } from '../src/plugins/auto-router/weight-table.ts';
import { type Example, generateExamples, readExamples } from './classifier/templates.ts';

const SEED = Number(process.env['SEED'] ?? 7);
const PROMPTS_PER_TASK = Number(process.env['PER'] ?? 700);
const LEX = Number(process.env['LEX'] ?? 900);
const ROUNDS = Number(process.env['ROUNDS'] ?? 12);
const RATE = Number(process.env['RATE'] ?? 0.5);
/** Pulls weights towards zero. */
const DECAY = Number(process.env['DECAY'] ?? 0.00002);
/** Share of features that are hidden in each round, so that no prompt hangs on one word. */
const DROPPED = Number(process.env['DROP'] ?? 0.3);
/** Weights that are kept. */
const KEPT = Number(process.env['KEPT'] ?? 26_000);
/** How much every prompt of the target counts towards the right task; the rest is shared by all. */
const CERTAINTY = Number(process.env['CERT'] ?? 0.92);

const random = seededRandom(SEED);
const examples = generateExamples({ fromTemplates: PROMPTS_PER_TASK, fromLexicon: LEX }, random);
const tasks = TASK_TYPES.filter((task) => examples.some((example) => example.task === task));
const unknown = examples.find((example) => !tasks.includes(example.task as TaskType));
if (unknown !== undefined) throw new RangeError(`no task "${unknown.task}"`);

const weights = new Float64Array(BUCKETS * tasks.length);
const bias = new Float64Array(tasks.length);
train();
const stored = pruned();
write(stored);
report('training prompts', examples.slice(0, 0).concat(examples.filter((_, index) => index % 10 === 0)));
report('tuning prompts', readExamples(fileURLToPath(new URL('classifier/tuning.tsv', import.meta.url))));
report(
  'held-back prompts',
  readExamples(fileURLToPath(new URL('../test/fixtures/classifier/held-back.tsv', import.meta.url))),
);

function train(): void {
  const squares = new Float64Array(weights.length).fill(1e-3);
  const biasSquares = new Float64Array(tasks.length).fill(1e-3);
  const prepared = examples.map(({ task, text }) => ({
    target: tasks.indexOf(task as TaskType),
    features: featuresOf(text),
  }));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { target, features } of shuffled(prepared)) {
      const seen = thinned(features);
      const wrong = errorsOf(seen, target);
      for (const [task, error] of wrong.entries()) {
        biasSquares[task] = (biasSquares[task] ?? 0) + error * error;
        bias[task] = (bias[task] ?? 0) - (RATE * 0.1 * error) / Math.sqrt(biasSquares[task] ?? 1);
        if (Math.abs(error) < 1e-3) continue;
        for (const [index, bucket] of seen.buckets.entries()) {
          const at = bucket * tasks.length + task;
          const slope = error * (seen.weights[index] ?? 0) + DECAY * (weights[at] ?? 0);
          squares[at] = (squares[at] ?? 0) + slope * slope;
          weights[at] = (weights[at] ?? 0) - (RATE * slope) / Math.sqrt(squares[at] ?? 1);
        }
      }
    }
  }
}

/** By how much each task's probability is off. */
function errorsOf({ buckets, weights: factors }: Features, target: number): readonly number[] {
  const sums = [...bias];
  for (const [index, bucket] of buckets.entries()) {
    const factor = factors[index] ?? 0;
    for (let task = 0; task < sums.length; task += 1) {
      sums[task] = (sums[task] ?? 0) + factor * (weights[bucket * tasks.length + task] ?? 0);
    }
  }
  const highest = Math.max(...sums);
  const powers = sums.map((sum) => Math.exp(sum - highest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  const rest = (1 - CERTAINTY) / tasks.length;
  return powers.map((power, task) => power / total - rest - (task === target ? CERTAINTY : 0));
}

/** Hides some features of a prompt. */
function thinned({ buckets, weights: factors }: Features): Features {
  const kept = buckets.map(() => random() >= DROPPED);
  return { buckets: buckets.filter((_, index) => kept[index]), weights: factors.filter((_, index) => kept[index]) };
}

function shuffled<Item>(items: readonly Item[]): readonly Item[] {
  const order = items.map((item) => ({ item, place: random() }));
  return order.sort((left, right) => left.place - right.place).map(({ item }) => item);
}

/** Keeps the largest weights, in one byte each. */
function pruned(): StoredWeights {
  const sizes = weights.map(Math.abs).sort();
  const least = sizes[Math.max(0, sizes.length - KEPT)] ?? 0;
  // Few weights are larger than that; cutting them off costs less than coarse steps for all others.
  const largest = sizes[sizes.length - Math.ceil(KEPT / 500)] ?? 1;
  const scale = largest / 127;
  const values = Int8Array.from(weights, (weight) =>
    Math.abs(weight) < least ? 0 : Math.max(-127, Math.min(127, Math.round(weight / scale))),
  );
  return encodeWeights(
    tasks,
    [...bias].map((one) => Math.round(one * 1e4) / 1e4),
    Math.round(scale * 1e6) / 1e6,
    values,
  );
}

function write({ tasks: names, bias: biases, scale, data }: StoredWeights): void {
  const text = `import type { StoredWeights } from './weight-table.ts';

/** Written by \`scripts/train-classifier.ts\` with seed ${SEED}; not to be changed by hand. */
export const WEIGHTS: StoredWeights = {
  tasks: ${JSON.stringify(names)},
  bias: ${JSON.stringify(biases)},
  scale: ${scale},
  data: '${data}',
};
`;
  writeFileSync(new URL('../src/plugins/auto-router/weights.ts', import.meta.url), text);
  console.log(
    `weights.ts: ${text.length.toLocaleString('en')} bytes, ${examples.length} prompts of ${names.length} tasks`,
  );
}

function report(name: string, tested: readonly Example[]): void {
  const table = decodeWeights(stored, BUCKETS);
  const wrong = tested.flatMap((example) => {
    const guess = predict(table, example.text);
    return guess.task === example.task ? [] : [{ ...example, guess }];
  });
  const groups = wrong.filter(({ task, guess }) => task.split(':')[0] !== guess.task.split(':')[0]);
  const share = (count: number): string =>
    `${tested.length - count} of ${tested.length} (${(100 - (100 * count) / tested.length).toFixed(1)} %)`;
  console.log(`${name}: task ${share(wrong.length)}, group ${share(groups.length)}`);
  if (process.argv.includes('--wrong') && name.startsWith('tuning')) {
    for (const { task, text, guess } of wrong) {
      console.log(`  ${task} -> ${guess.task} ${guess.confidence.toFixed(2)}: ${JSON.stringify(text.slice(0, 90))}`);
    }
  }
}
