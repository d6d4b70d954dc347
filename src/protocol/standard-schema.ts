/**
 * Standard Schema (https://standardschema.dev), version 1, as far as it is used here: what schemas of zod, valibot, arktype
 * and others have in common. Types alone, so that users write what they know and this package depends on none of them.
 */

/**
 * A schema of any library that implements Standard Schema.
 *
 * @typeParam Output - What it makes of a value that it accepts.
 */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    /** Name of the library. */
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | PromiseLike<StandardResult<Output>>;
    /** Only for the compiler. */
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

/** What a {@link StandardSchema} says of a value: what it made of it, or what is wrong with it. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** One thing that is wrong with a value. */
export interface StandardIssue {
  readonly message: string;
  /** The members that lead to it. Absent: the value as a whole. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** True for a value that implements Standard Schema; those of some libraries are functions. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const { '~standard': standard } = value as { readonly '~standard'?: Partial<StandardSchema['~standard']> };
  return typeof standard === 'object' && standard.version === 1 && typeof standard.validate === 'function';
}
