/** Classifies prompts by the kind of task. */
import { decodeWeights, LEVELS, type WeightTable } from './weight-table.ts';
import { featuresOf } from './features.ts';
import type { TaskType } from './task-types.ts';
import type { Awaitable } from '../../contracts/plugin-context.ts';
import type { Message } from '../../protocol/message.ts';

/** What a classifier makes of a prompt. */
export interface Classification {
  /** A {@link TaskType}, or a name of your own for which models have scores. At most 64 characters. */
  readonly task: string;
  /** How sure it is, from 0 to 1. */
  readonly confidence: number;
  /**
   * How likely each task is, for a classifier that weighs several: models are then compared by their scores for all of
   * them, each as much as it is likely. Shares of their sum count, so they need not add up to 1. Default: `task` alone.
   */
  readonly probabilities?: readonly TaskProbability[] | undefined;
}

/** How likely a task is. */
export interface TaskProbability {
  readonly task: string;
  /** From 0 to 1. */
  readonly probability: number;
}

/**
 * Classifies the task of a prompt. It is called while a route is planned, so it must answer at once, and the same for
 * the same prompt; nothing can be waited for. A plain function is a classifier.
 */
export interface TaskClassifier {
  (prompt: Prompt): Classification;
  /** Gets what the classifier needs; `autoRouter` awaits it before the first prompt. Default: it needs nothing. */
  readonly load?: (() => Awaitable<void>) | undefined;
}

/** The {@link TaskClassifier} that {@link localClassifier} makes. */
export interface LocalClassifier extends TaskClassifier {
  readonly load: () => Promise<void>;
}

/** Features of a text that have to be known, to tell more than its length: the rest is words that nobody trained on. */
const LEAST_KNOWN = 4;

/**
 * The default {@link TaskClassifier}: rules and hashed words under a linear model, trained by
 * `scripts/train-classifier.ts` on prompts that were written for it. It calls nobody and takes some ten microseconds.
 *
 * Its weights are a module of their own, which is imported by `load`. `autoRouter({ classify: localClassifier() })`
 * does that by itself; a classifier of yours that asks this one hands the load on:
 *
 * ```ts
 * const local = localClassifier();
 * autoRouter({ classify: Object.assign((prompt: Prompt) => local(prompt), { load: local.load }) });
 * ```
 *
 * @throws Error when it is called before `load` has succeeded: guesses that change once the weights are there would not
 * be the same for the same prompt.
 */
export function localClassifier(): LocalClassifier {
  return Object.assign(classifyLocally, { load: loadWeights });
}

function classifyLocally({ text, hasImage, hasTools }: Prompt): Classification {
  if (hasImage) return { task: 'vision', confidence: 1 };
  if (text.trim() === '') return { task: hasTools ? 'agent' : 'general', confidence: 1 };
  const { words, known } = readWords(text);
  const [best] = words;
  if (best === undefined || known < LEAST_KNOWN) return { task: hasTools ? 'agent' : 'general', confidence: 0 };
  const confidence = best.probability;
  // Where tools are offered, what the words do not tell is work with them.
  if (!hasTools) return { task: best.task, confidence, probabilities: words };
  const shared = words.map(({ task, probability }) => ({ task, probability: probability * confidence }));
  const agent = { task: 'agent', probability: 1 - confidence };
  const isWork = agent.probability > confidence;
  return {
    task: isWork ? 'agent' : best.task,
    confidence: Math.max(confidence, 1 - confidence),
    probabilities: [agent, ...shared],
  };
}

/** The most likely task of a text by its words alone. The weights must be loaded. */
export function mostLikely(text: string): { readonly task: TaskType; readonly confidence: number } {
  return predict(loadedTable(), text);
}

/** Imports the weights and makes them ready for use; once, however often it is called. */
export async function loadWeights(): Promise<void> {
  if (loaded !== undefined) return;
  const { WEIGHTS } = await import('./weights.ts');
  loaded ??= decodeWeights(WEIGHTS);
}

/** Decoded when it is first needed: most processes never use a router model. */
let loaded: WeightTable | undefined;

function loadedTable(): WeightTable {
  if (loaded !== undefined) return loaded;
  throw new Error('localClassifier() was called before its weights were loaded: await its load() first');
}

/** Tasks that are less likely than this are left out of a classification. */
const LEAST_PROBABILITY = 0.02;

/** Tasks that a text may be, the likeliest first, and how many of its features were known. */
function readWords(text: string): {
  readonly words: readonly { readonly task: TaskType; readonly probability: number }[];
  readonly known: number;
} {
  const { tasks } = loadedTable();
  const { probabilities, known } = weigh(loadedTable(), text);
  const words = probabilities.flatMap((probability, index) => {
    const task = tasks[index];
    return task === undefined || probability < LEAST_PROBABILITY ? [] : [{ task, probability }];
  });
  return { words: words.sort((left, right) => right.probability - left.probability), known };
}

/** The most likely task of a text under some weights. */
export function predict(weights: WeightTable, text: string): { readonly task: TaskType; readonly confidence: number } {
  const { probabilities } = weigh(weights, text);
  let best = 0;
  for (const [index, one] of probabilities.entries()) if (one > (probabilities[best] ?? 0)) best = index;
  return { task: weights.tasks[best] ?? 'general', confidence: probabilities[best] ?? 0 };
}

/**
 * Adds up the weights of a text's features for every task, and makes the sums probabilities. `known` is how many of
 * its features have weights.
 */
function weigh(
  { bias, features: table, scale }: WeightTable,
  text: string,
): { readonly probabilities: readonly number[]; readonly known: number } {
  const sums = Float64Array.from(bias, (one) => one / 10_000);
  const features = featuresOf(text);
  let known = 0;
  for (const [index, hash] of features.hashes.entries()) {
    const own = table.get(hash);
    if (own === undefined) continue;
    known += 1;
    const factor = (features.weights[index] ?? 0) * scale;
    for (const packed of own) {
      const task = packed >> 3;
      sums[task] = (sums[task] ?? 0) + factor * (LEVELS[packed & 7] ?? 0);
    }
  }
  const highest = Math.max(...sums);
  const powers = Array.from(sums, (sum) => Math.exp(sum - highest));
  const total = powers.reduce((whole, power) => whole + power, 0);
  return { probabilities: powers.map((power) => power / total), known };
}

/** A classification that was checked: shares of tasks that add up to 1, the likeliest first. */
export interface SafeClassification {
  readonly task: string;
  readonly confidence: number;
  readonly shares: readonly TaskProbability[];
  /** True when it stands in for one that failed. */
  readonly failed: boolean;
}

/** Tasks that models are compared by. Each costs a question per model, and the rest says next to nothing. */
const MOST_TASKS = 8;

/**
 * Calls a classifier. One that throws or gives back something else is one that knows nothing (gaps 5.1: never an
 * error).
 */
export function classifySafely(classify: TaskClassifier, prompt: Prompt): SafeClassification {
  try {
    const { task, confidence, probabilities: given } = classify(prompt);
    if (isTaskName(task) && confidence >= 0 && confidence <= 1) {
      const shares = given === undefined ? [{ task, probability: 1 }] : sharesOf(given);
      if (shares.length > 0) return { task, confidence, shares, failed: false };
    }
  } catch {
    // What it threw may repeat the prompt, so it is told to nobody; that it threw is in the stage.
  }
  return { task: 'general', confidence: 0, shares: [{ task: 'general', probability: 1 }], failed: true };
}

function isTaskName(task: unknown): task is string {
  return typeof task === 'string' && /^[\w:.-]{1,64}$/.test(task);
}

/** The likeliest tasks, with probabilities that add up to 1; none when one of them is no probability. */
function sharesOf(given: readonly TaskProbability[]): readonly TaskProbability[] {
  if (given.some(({ task, probability }) => !isTaskName(task) || !(probability >= 0 && probability <= 1))) return [];
  const likely = given
    .filter(({ probability }) => probability > 0)
    .toSorted((left, right) => right.probability - left.probability)
    .slice(0, MOST_TASKS);
  const total = likely.reduce((sum, { probability }) => sum + probability, 0);
  return likely.map(({ task, probability }) => ({ task, probability: probability / total }));
}

/** The input of a classifier. */
export interface Prompt {
  /** What the user asked last, and what before when that is short; long texts without their middle. */
  readonly text: string;
  /** Whether the last user message shows an image. */
  readonly hasImage: boolean;
  /** Whether the model may call tools. */
  readonly hasTools: boolean;
}

/** Characters of one message that are looked at: its beginning and its end, where requests stand. */
const HEAD = 800;
const TAIL = 400;
/** A question shorter than this is read together with the one before. */
const SHORT = 40;

/** Finds what the user wants in a conversation. Answers, tool results and instructions are not looked at. */
export function promptOf(messages: readonly Message[], { hasTools }: { readonly hasTools: boolean }): Prompt {
  const requested = messages.filter((message) => message.role === 'user').slice(-2);
  const last = requested.at(-1);
  const text = textOf(last);
  const before = requested.length > 1 && text.length < SHORT ? textOf(requested[0]) : '';
  const parts = Array.isArray(last?.content) ? last.content : [];
  return {
    text: before === '' ? text : `${text}\n${before}`,
    hasImage: parts.some((part) => part.type === 'image_url'),
    hasTools,
  };
}

function textOf(message: Message | undefined): string {
  const content = message?.content ?? '';
  if (typeof content === 'string') return shortened(content);
  return shortened(content.flatMap((part) => (part.type === 'text' ? [shortened(part.text)] : [])).join('\n'));
}

function shortened(text: string): string {
  return text.length <= HEAD + TAIL ? text : `${text.slice(0, HEAD)}\n${text.slice(-TAIL)}`;
}
