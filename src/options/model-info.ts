import { option, type OptionsOf, type OptionTable } from './option.ts';

/** What is known about a model, whichever provider serves it. */
export const MODEL_INFO = {
  /** Display name. Default: the id. */
  name: option.string(),
  /** What the model is, as `GET /models` shows it. */
  description: option.union(option.stringThat('an empty string', /^$/), option.string()),
  /** Unix seconds. Decides which model of a family is the latest. */
  created: option.amount({ unit: 'seconds' }),
  /** Family for `~author/family-latest`. Default: guessed from the slug's beginning. */
  family: option.string(),
  /** Last day, or month, of the model's training data: `YYYY-MM-DD` or `YYYY-MM`. */
  knowledgeCutoff: option.string(),
  /** Day from which it is served no more, as `GET /models` shows it: `YYYY-MM-DD`. */
  expirationDate: option.string(),
  /** Stage of its life. A deprecated model is never the latest of its family. */
  status: option.enum(['alpha', 'beta', 'deprecated']),
  /** Family of its tokenizer, as `GET /models` shows it. */
  tokenizer: option.string(),
  /** Format of its instructions, as `GET /models` shows it. */
  instructType: option.string(),
  /** Other ids that mean this model. Default: none. */
  aliases: option.array(option.string()),
  /** Permanent id when `id` is a moving name. Default: the id. */
  canonicalSlug: option.string(),
  /** Benchmark scores from 0 to 1, by task; the default of its endpoints' scores. */
  scores: option.record(option.amount()),
  /** How many prompts each of the scores was measured on: model routers follow well-founded differences alone. */
  scoreCounts: option.record(option.amount()),
  /** Parameters this model is usually called with, as `GET /models` shows them. */
  defaultParameters: option.record(option.unknown<unknown>('unknown')),
} satisfies OptionTable;

/** What is known about a model, whichever provider serves it. Everything is optional. */
export interface ModelInfo extends OptionsOf<typeof MODEL_INFO> {}
