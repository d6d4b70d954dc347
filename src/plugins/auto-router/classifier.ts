import { featuresOf } from './features.ts';
import type { Prompt } from './prompt-text.ts';
import type { TaskType } from './task-types.ts';
import { WEIGHTS } from './weights.ts';
import { LEVELS, type WeightTable, decodeWeights } from './weight-table.ts';

/** What a classifier makes of a prompt. */
export interface Classification {
  /** A {@link TaskType}, or a name of your own for which models have scores. At most 64 characters. */
  readonly task: string;
  /** How sure it is, from 0 to 1. */
  readonly confidence: number;
}

/**
 * Tells what kind of task a prompt is. It is asked while a route is planned, so it must answer at once, and the same
 * for the same prompt; nothing can be waited for.
 */
export type TaskClassifier = (prompt: Prompt) => Classification;

/** A guess below this is none: about one of four is right there, and three of four above. */
const LEAST_CONFIDENCE = 0.3;
/** A guess below this gives way to `agent` where tools are offered. */
const CLEAR_CONFIDENCE = 0.5;

/**
 * The default {@link TaskClassifier}: rules and hashed words under a linear model, trained by
 * `scripts/train-classifier.ts` on prompts that were written for it. It calls nobody and takes some ten microseconds.
 */
export function localClassifier(): TaskClassifier {
  return ({ text, hasImage, hasTools }) => {
    if (hasImage) return { task: 'vision', confidence: 1 };
    if (text.trim() === '') return { task: hasTools ? 'agent' : 'general', confidence: 1 };
    const { task, confidence } = mostLikely(text);
    if (hasTools && confidence < CLEAR_CONFIDENCE) return { task: 'agent', confidence: 1 - confidence };
    return confidence < LEAST_CONFIDENCE ? { task: 'general', confidence: 1 - confidence } : { task, confidence };
  };
}

/** The most likely task of a text by its words alone. */
export function mostLikely(text: string): { readonly task: TaskType; readonly confidence: number } {
  table ??= decodeWeights(WEIGHTS);
  return predict(table, text);
}

/** Decoded when it is first needed: most processes never ask for a router model. */
let table: WeightTable | undefined;

/** Adds up the weights of a text's features for every task and compares the sums. */
export function predict(weights: WeightTable, text: string): { readonly task: TaskType; readonly confidence: number } {
  const { tasks, bias, features: known, scale } = weights;
  const sums = Float64Array.from(bias, (one) => one / 10_000);
  const features = featuresOf(text);
  for (const [index, hash] of features.hashes.entries()) {
    const own = known.get(hash);
    if (own === undefined) continue;
    const factor = (features.weights[index] ?? 0) * scale;
    for (const packed of own) {
      const task = packed >> 3;
      sums[task] = (sums[task] ?? 0) + factor * (LEVELS[packed & 7] ?? 0);
    }
  }
  let best = 0;
  for (const [index, sum] of sums.entries()) if (sum > (sums[best] ?? 0)) best = index;
  const highest = sums[best] ?? 0;
  const total = sums.reduce((whole, sum) => whole + Math.exp(sum - highest), 0);
  return { task: tasks[best] ?? 'general', confidence: 1 / total };
}
