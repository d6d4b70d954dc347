interface Located {
  /** Steps from the value that was checked to the one that is wrong. */
  readonly path: PropertyKey[];
  /** Words of the schema's own; without them the code speaks. */
  readonly message?: string | undefined;
  /**
   * True when the value is of the right kind and breaks a limit or a rule. Of several alternatives the one whose issues
   * are all minor was meant, and checking an object goes on behind a minor issue.
   */
  readonly isMinor?: boolean | undefined;
}

interface Bound {
  readonly origin: 'string' | 'array' | 'number' | 'int';
  readonly inclusive: boolean;
}

/** One thing that is wrong with a value. */
export type Issue = Located &
  (
    | { readonly code: 'invalid_type'; readonly expected: string }
    | { readonly code: 'invalid_value'; readonly values: readonly unknown[] }
    | ({ readonly code: 'too_small'; readonly minimum: number } & Bound)
    | ({ readonly code: 'too_big'; readonly maximum: number } & Bound)
    | {
        readonly code: 'invalid_union';
        /** The issues of each alternative. */
        readonly errors: readonly (readonly Issue[])[];
        /** The words that tell the alternatives apart, when that is what is wrong. */
        readonly options?: readonly unknown[];
      }
    | { readonly code: 'custom'; readonly message: string }
  );

/** Adds the issue of a value that is of another kind. */
export function wrongKind(expected: string, issues: Issue[], message?: string): void {
  issues.push({ code: 'invalid_type', expected, path: [], message });
}

/** Puts a step in front of the paths of all issues from an index on. */
export function below(step: PropertyKey, issues: readonly Issue[], from: number): void {
  for (let index = from; index < issues.length; index += 1) issues[index]?.path.unshift(step);
}

/** True when one of the issues from an index on is more than a broken limit. */
export function hasMajor(issues: readonly Issue[], from: number): boolean {
  for (let index = from; index < issues.length; index += 1) if (issues[index]?.isMinor !== true) return true;
  return false;
}
