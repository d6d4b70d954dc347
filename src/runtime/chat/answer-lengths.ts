import type { RecordMap } from './endpoint-records.ts';

/** Weight of a new answer in the mean. */
const GAIN = 0.05;

/** How long the answers usually are that an account gets from a model. */
export class AnswerLengths {
  readonly #means: RecordMap<{ readonly tokens: number }>;

  constructor(means: RecordMap<{ readonly tokens: number }>) {
    this.#means = means;
  }

  /** Mean tokens of an answer; undefined where there was none yet. */
  usual(account: string, model: string | undefined): number | undefined {
    return model === undefined ? undefined : this.#means.get(`${account}\n${model}`)?.tokens;
  }

  note(account: string, model: string, tokens: number): void {
    const key = `${account}\n${model}`;
    const mean = this.#means.get(key)?.tokens;
    this.#means.set(key, { tokens: mean === undefined ? tokens : mean + GAIN * (tokens - mean) });
  }
}
