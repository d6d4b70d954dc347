import { decodeWeights, LEVELS, type WeightTable } from './weight-table.ts';
import { WEIGHTS } from './weights.ts';
import { featuresOf } from './features.ts';
import type { TaskType } from './task-types.ts';
import type { Message } from '../../protocol/message.ts';

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

/** A classification, and whether it replaces one that failed. */
export type SafeClassification = Classification & { readonly failed: boolean };

/** Asks a classifier. One that throws or gives back something else is one that knows nothing (gaps 5.1: never an error). */
export function classifySafely(classify: TaskClassifier, prompt: Prompt): SafeClassification {
  try {
    const { task, confidence } = classify(prompt);
    if (typeof task === 'string' && /^[\w:.-]{1,64}$/.test(task) && confidence >= 0 && confidence <= 1) {
      return { task, confidence, failed: false };
    }
  } catch {
    // What it threw may repeat the prompt, so it is told to nobody; that it threw is in the stage.
  }
  return { task: 'general', confidence: 0, failed: true };
}

/** What a classifier is told about a request. */
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
export function promptOf(messages: readonly Message[], hasTools: boolean): Prompt {
  const asked = messages.filter((message) => message.role === 'user').slice(-2);
  const last = asked.at(-1);
  const text = textOf(last);
  const before = asked.length > 1 && text.length < SHORT ? textOf(asked[0]) : '';
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
