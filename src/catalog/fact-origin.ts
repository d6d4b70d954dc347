/** Where a fact about a model comes from. */
export interface FactOrigin {
  /** Name of the source, for example `models.dev`. */
  readonly source: string;
  /** Day on which the source said so, `YYYY-MM-DD`. */
  readonly date: string;
  /** Licence of the source's data, for example `MIT`. */
  readonly licence: string;
}

/** Where facts come from, by the name of the field. */
export type FactOrigins = Readonly<Record<string, FactOrigin>>;
