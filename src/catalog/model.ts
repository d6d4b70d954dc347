/** What is known about a model apart from who serves it. Everything is optional. */
export interface ModelInfo {
  /** Display name. Default: the id. */
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** Unix seconds. Decides which model of a family is the latest. */
  readonly created?: number | undefined;
  /** Family for `~author/family-latest`. Default: guessed from the slug's beginning. */
  readonly family?: string | undefined;
  /** Last day, or month, that the model's training knows of: `YYYY-MM-DD` or `YYYY-MM`. */
  readonly knowledgeCutoff?: string | undefined;
  /** Stage of its life. A deprecated model is never the latest of its family. */
  readonly status?: 'alpha' | 'beta' | 'deprecated' | undefined;
  readonly tokenizer?: string | undefined;
  readonly instructType?: string | undefined;
  /** Other ids that mean this model. */
  readonly aliases?: readonly string[] | undefined;
  /** Permanent id when `id` is a moving name. Default: the id. */
  readonly canonicalSlug?: string | undefined;
  /** Benchmark scores from 0 to 1, by task; the default of its endpoints' scores. */
  readonly scores?: Readonly<Record<string, number>> | undefined;
  /** Parameters this model is usually called with, as `GET /models` shows them. */
  readonly defaultParameters?: Readonly<Record<string, unknown>> | undefined;
}

/** A model and its info, under its id. */
export interface Model extends ModelInfo {
  readonly id: string;
}
