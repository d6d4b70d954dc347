/** Which JSON Schema a provider takes: the form in which records of vendors say it, and what is rewritten by it. */

/** Which JSON Schema a provider takes. Data only. */
export interface SchemaRules {
  /** Words that may be anywhere. Default: all. */
  readonly words?: ReadonlySet<string> | undefined;
  /** Words that may not be anywhere, whatever `words` says. Default: none. */
  readonly refused?: ReadonlySet<string> | undefined;
  /** Words that may not be at the root, which must be one object. Default: none. */
  readonly notAtRoot?: ReadonlySet<string> | undefined;
  /** Values of `format`. Default: all. */
  readonly formats?: ReadonlySet<string> | undefined;
  /** Patterns that are refused. Default: none. */
  readonly refusedPatterns?: RegExp | undefined;
  /** Largest `minItems`. Default: any. */
  readonly mostMinItems?: number | undefined;
  /** Whether an object must have `properties`, and an array `items`. Default false. */
  readonly complete?: boolean | undefined;
  /** Whether an object that may have any property must say so: otherwise it may have none. Default false. */
  readonly saysOpen?: boolean | undefined;
  /** Whether a `$ref` must be alone. Default false. */
  readonly lonelyReferences?: boolean | undefined;
  /** What more is demanded where answers are held to the schema. Absent: they are not, so any object may be open. */
  readonly held?: HeldRules | undefined;
}

/** Whether a word may be written. */
export function takesWord({ words, refused }: SchemaRules, word: string): boolean {
  return words?.has(word) !== false && refused?.has(word) !== true;
}

/** Rules of a provider that holds answers to schemas. */
export interface HeldSchemaRules extends SchemaRules {
  readonly held: HeldRules;
}

/** What more is demanded of a schema to which answers are held. Objects are closed. */
export interface HeldRules {
  /** Whether all properties must be required. Default false. */
  readonly allRequired?: boolean | undefined;
  /** Whether a schema may refer to itself. Default false. */
  readonly recursion?: boolean | undefined;
  /** Whether each schema must say of what type its values are. Default false. */
  readonly typed?: boolean | undefined;
  /** Whether objects must have properties, and no list of types names objects or lists. Default false. */
  readonly fullObjects?: boolean | undefined;
  /** Optional properties in one request. Default: any number. */
  readonly mostOptional?: number | undefined;
  /** Properties with several types, and unions, in one request. Default: any number. */
  readonly mostUnions?: number | undefined;
  /** Levels of nesting. */
  readonly mostDepth: number;
}
