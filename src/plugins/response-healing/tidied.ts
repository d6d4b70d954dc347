/** What a reader made of an object or array that is almost JSON. */
export interface Tidied {
  /** JSON. */
  readonly json: string;
  /** First position behind it in the source. */
  readonly end: number;
  /** False when the source ended before the outermost bracket was closed. */
  readonly closed: boolean;
  /** What had to be done, in order of first use. */
  readonly repairs: readonly string[];
  /** True when it could have been meant otherwise just as well. */
  readonly doubtful: boolean;
  /** True when texts had no quotes at all. */
  readonly bareTexts: boolean;
}

/** What a reader gave up on. */
export interface NotTidied {
  readonly json?: undefined;
  readonly bareTexts?: undefined;
  /** How far it had come. */
  readonly end: number;
}
