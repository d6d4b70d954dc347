import { seededRandom } from '../../src/providers/simulated/chance.ts';
import { type Features, featuresOf } from '../../src/plugins/auto-router/features.ts';
import { TASK_TYPES, type TaskType } from '../../src/plugins/auto-router/task-types.ts';
import { packWeight, type StoredWeights, encodeWeights } from '../../src/plugins/auto-router/weight-table.ts';

import { type Example, type Random, generateExamples } from './templates.ts';
import { varied, type WordNeighbours } from './word-neighbours.ts';

/** What decides how a classifier is trained. */
export interface TrainingSettings {
  /** The same seed and prompts give the same weights. */
  readonly seed: number;
  /** Prompts made for each task. */
  readonly fromTemplates: number;
  readonly fromAssignments: number;
  readonly fromLexicon: number;
  /** How often each natural prompt is shown: they are fewer than the others and say more. */
  readonly naturalWeight: number;
  readonly rounds: number;
  /** Of these, the last ones whose weights are averaged. */
  readonly averaged: number;
  readonly rate: number;
  /** Pulls weights towards zero. */
  readonly decay: number;
  /** Share of features that are hidden in each round, so that no prompt hangs on one word. */
  readonly hidden: number;
  /** How much a prompt counts towards its task; the rest is shared by all, so that nothing is ever quite certain. */
  readonly certainty: number;
  /** Features of fewer prompts than this are not learned. */
  readonly fewestPrompts: number;
  /** Weights that are kept. */
  readonly kept: number;
  /** Size of a clearly large weight, in units of the stored scale. */
  readonly large: number;
}

/** Chosen by `npm run train:classifier -- --folds`, and by how often prompts of a set that is not trained on are right. */
export const SETTINGS: TrainingSettings = {
  seed: 7,
  fromTemplates: 300,
  fromAssignments: 1_000,
  fromLexicon: 600,
  naturalWeight: 8,
  rounds: 6,
  averaged: 3,
  rate: 0.5,
  decay: 0.0003,
  hidden: 0.6,
  certainty: 0.92,
  fewestPrompts: 6,
  kept: 60_000,
  large: 8,
};

/** What is learned: for each feature of the vocabulary a weight of each task. */
interface Learned {
  readonly tasks: readonly TaskType[];
  /** Features that are learned, by hash: their row, and in how many prompts they are. */
  readonly vocabulary: ReadonlyMap<number, { readonly row: number; readonly count: number }>;
  /** Row by row. */
  readonly weights: Float64Array;
  readonly bias: Float64Array;
}

/**
 * Trains a classifier on natural prompts and on those that the templates and the lexicon make.
 *
 * @param neighbours - For words of nearly the same meaning: with them, half of the prompts that are made and all but
 *   the first copy of the natural ones are varied.
 */
export function trained(
  natural: readonly Example[],
  settings: TrainingSettings,
  neighbours?: WordNeighbours,
): StoredWeights {
  const random = seededRandom(settings.seed);
  const vary = ({ task, text }: Example): Example =>
    neighbours === undefined ? { task, text } : { task, text: varied(text, neighbours, random) };
  const examples = [
    ...generateExamples(settings, random).map((example) => (random() < 0.5 ? vary(example) : example)),
    ...natural,
    ...Array.from({ length: settings.naturalWeight - 1 }, () => natural.map(vary)).flat(),
  ];
  const learned = emptyTable(examples, settings);
  train(learned, examples, settings, random);
  centre(learned);
  return compressed(learned, settings);
}

function emptyTable(examples: readonly Example[], { fewestPrompts }: TrainingSettings): Learned {
  const tasks = TASK_TYPES.filter((task) => examples.some((example) => example.task === task));
  const unknown = examples.find((example) => !tasks.includes(example.task as TaskType));
  if (unknown !== undefined) throw new RangeError(`no task "${unknown.task}"`);
  const counts = new Map<number, number>();
  for (const { text } of examples) {
    for (const hash of featuresOf(text).hashes) counts.set(hash, (counts.get(hash) ?? 0) + 1);
  }
  const frequent = [...counts].filter(([, count]) => count >= fewestPrompts);
  return {
    tasks,
    vocabulary: new Map(frequent.map(([hash, count], row) => [hash, { row, count }])),
    weights: new Float64Array(frequent.length * tasks.length),
    bias: new Float64Array(tasks.length),
  };
}

/** Features of the vocabulary: their rows, and how much each counts. */
interface Known {
  readonly rows: readonly number[];
  readonly factors: readonly number[];
}

function known({ hashes, weights }: Features, vocabulary: Learned['vocabulary']): Known {
  const found = hashes.map((hash) => vocabulary.get(hash)?.row);
  return {
    rows: found.filter((row) => row !== undefined),
    factors: weights.filter((_, index) => found[index] !== undefined),
  };
}

/**
 * Softmax regression with AdaGrad. The weights are the mean of those after each of the last rounds: what only the order
 * of the last prompts made of them cancels out.
 */
function train(
  { tasks, vocabulary, weights, bias }: Learned,
  examples: readonly Example[],
  { rounds, averaged, rate, decay, hidden, certainty }: TrainingSettings,
  random: Random,
): void {
  const size = tasks.length;
  const squares = new Float64Array(weights.length).fill(1e-3);
  const biasSquares = new Float64Array(size).fill(1e-3);
  const sum = new Float64Array(weights.length);
  const biasSum = new Float64Array(size);
  const prepared = examples.map(({ task, text }) => ({
    target: tasks.indexOf(task as TaskType),
    features: known(featuresOf(text), vocabulary),
  }));
  const rest = (1 - certainty) / size;
  const guess = new Float64Array(size);
  for (let round = 0; round < rounds; round += 1) {
    for (const { target, features } of shuffled(prepared, random)) {
      const { rows, factors } = thinned(features, hidden, random);
      guessInto(guess, { rows, factors }, weights, bias);
      for (let task = 0; task < size; task += 1) {
        const error = (guess[task] ?? 0) - rest - (task === target ? certainty : 0);
        biasSquares[task] = (biasSquares[task] ?? 0) + error * error;
        bias[task] = (bias[task] ?? 0) - (rate * 0.1 * error) / Math.sqrt(biasSquares[task] ?? 1);
        for (let index = 0; index < rows.length; index += 1) {
          const at = (rows[index] ?? 0) * size + task;
          const slope = error * (factors[index] ?? 0) + decay * (weights[at] ?? 0);
          squares[at] = (squares[at] ?? 0) + slope * slope;
          weights[at] = (weights[at] ?? 0) - (rate * slope) / Math.sqrt(squares[at] ?? 1);
        }
      }
    }
    if (round < rounds - averaged) continue;
    for (let at = 0; at < weights.length; at += 1) sum[at] = (sum[at] ?? 0) + (weights[at] ?? 0) / averaged;
    for (let task = 0; task < size; task += 1) biasSum[task] = (biasSum[task] ?? 0) + (bias[task] ?? 0) / averaged;
  }
  weights.set(sum);
  bias.set(biasSum);
}

/** Writes how likely each task is. */
function guessInto(sums: Float64Array, { rows, factors }: Known, weights: Float64Array, bias: Float64Array): void {
  const size = sums.length;
  sums.set(bias);
  for (let index = 0; index < rows.length; index += 1) {
    const factor = factors[index] ?? 0;
    const start = (rows[index] ?? 0) * size;
    for (let task = 0; task < size; task += 1) sums[task] = (sums[task] ?? 0) + factor * (weights[start + task] ?? 0);
  }
  const highest = Math.max(...sums);
  let total = 0;
  for (let task = 0; task < size; task += 1) total += sums[task] = Math.exp((sums[task] ?? 0) - highest);
  for (let task = 0; task < size; task += 1) sums[task] = (sums[task] ?? 0) / total;
}

/** Hides some features of a prompt. */
function thinned({ rows, factors }: Known, hidden: number, random: Random): Known {
  const shown = rows.map(() => random() >= hidden);
  return { rows: rows.filter((_, index) => shown[index]), factors: factors.filter((_, index) => shown[index]) };
}

function shuffled<Item>(items: readonly Item[], random: Random): readonly Item[] {
  const order = items.map((item) => ({ item, place: random() }));
  return order.sort((left, right) => left.place - right.place).map(({ item }) => item);
}

/** Only differences between tasks matter. Measured from the middle one, most weights of a feature are close to zero. */
function centre({ tasks: { length: size }, weights }: Learned): void {
  for (let start = 0; start < weights.length; start += size) {
    const own = weights.slice(start, start + size).sort();
    const middle = own[Math.floor(own.length / 2)] ?? 0;
    for (let task = 0; task < size; task += 1) weights[start + task] = (weights[start + task] ?? 0) - middle;
  }
}

/** Keeps the weights that matter most, a byte each. Those of features that many prompts have matter more. */
function compressed({ tasks, vocabulary, weights, bias }: Learned, { kept, large }: TrainingSettings): StoredWeights {
  const importance = new Float64Array(weights.length);
  for (const { row, count } of vocabulary.values()) {
    for (let at = row * tasks.length; at < (row + 1) * tasks.length; at += 1) {
      importance[at] = Math.abs(weights[at] ?? 0) * Math.sqrt(count);
    }
  }
  const least = importance.slice().sort().at(-kept) ?? 0;
  const sizes = weights.map(Math.abs).sort();
  const scale = Math.round(((sizes.at(-Math.ceil(kept / 100)) ?? 1) / large) * 1e6) / 1e6;
  const features = new Map<number, Uint8Array>();
  for (const [hash, { row }] of vocabulary) {
    const own = tasks.flatMap((_, task) => {
      const at = row * tasks.length + task;
      return (importance[at] ?? 0) < least ? [] : (packWeight(task, weights[at] ?? 0, scale) ?? []);
    });
    if (own.length > 0) features.set(hash, Uint8Array.from(own));
  }
  return encodeWeights({ tasks, bias: [...bias].map((one) => Math.round(one * 1e4)), scale, features });
}
