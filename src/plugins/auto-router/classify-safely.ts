import type { Classification, TaskClassifier } from './classifier.ts';
import type { Prompt } from './prompt-text.ts';

/** A classification, and whether it stands in for one that failed. */
export type SafeClassification = Classification & { readonly failed: boolean };

/** Asks a classifier. One that throws or gives back something else is one that knows nothing (gaps 5.1: never an error). */
export function classifySafely(classify: TaskClassifier, prompt: Prompt): SafeClassification {
  try {
    const { task, confidence } = classify(prompt);
    if (typeof task === 'string' && /^[\w:.-]{1,64}$/.test(task) && confidence >= 0 && confidence <= 1) {
      return { task, confidence, failed: false };
    }
  } catch {
    // What it threw may repeat the prompt, so it is told to nobody; that it threw stands in the stage.
  }
  return { task: 'general', confidence: 0, failed: true };
}
