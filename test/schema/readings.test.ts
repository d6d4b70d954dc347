import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type * as z from 'zod';
import { type Issue, NOT_ACCEPTED } from '../../src/schema/form.ts';
import { describeIssues } from '../../src/protocol/issues.ts';
import { zodOf } from '../../src/http/openapi/zod-of.ts';
import { runs } from '../support/properties.ts';
import { changed, changes, valuesOf } from '../support/schema-values.ts';
import { WIRE_SCHEMAS } from '../support/wire-schemas.ts';

/** zod stops at the first problem of a kind then, as the readings do. */
const FIRST_PROBLEM: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true };

/** Words that zod uses where a schema has none of its own. */
const DEFAULT_WORDS = /^(?:Invalid input|Too (?:big|small)|Invalid option)/;

/** Issues of zod as ours. */
function issuesOf(issues: readonly z.core.$ZodIssue[]): Issue[] {
  return issues.map((issue) => {
    const errors = issue.code === 'invalid_union' ? { errors: issue.errors.map(issuesOf) } : {};
    const isOurs = ['invalid_type', 'invalid_value', 'too_small', 'too_big', 'invalid_union'].includes(issue.code);
    const message = isOurs && DEFAULT_WORDS.test(issue.message) ? undefined : issue.message;
    return { ...issue, ...errors, code: isOurs ? issue.code : 'custom', message } as unknown as Issue;
  });
}

describe.each(Object.entries(WIRE_SCHEMAS))('the schema of %s', (_name, schema) => {
  const twin = zodOf(schema);

  it('gives the verdicts, values and words of zod', () => {
    let accepted = 0;
    let refused = 0;
    fc.assert(
      fc.property(valuesOf(schema), changes, (valid, list) => {
        const value = changed(valid, list);
        const quick = schema.accept(value);
        const issues: Issue[] = [];
        const parsed = schema.parse(value, issues);
        const expected = twin.safeParse(value, FIRST_PROBLEM);
        if (expected.success) {
          accepted += 1;
          expect(issues).toEqual([]);
          expect(parsed).toEqual(expected.data);
          // The order of members is that of the schema: requests are hashed and sent as text.
          expect(JSON.stringify(parsed)).toBe(JSON.stringify(expected.data));
          if (quick !== NOT_ACCEPTED) expect(JSON.stringify(quick)).toBe(JSON.stringify(expected.data));
          if (quick !== NOT_ACCEPTED) expect(quick).toEqual(expected.data);
          return;
        }
        refused += 1;
        expect(quick).toBe(NOT_ACCEPTED);
        expect(describeIssues(issues, value)).toEqual(describeIssues(issuesOf(expected.error.issues), value));
      }),
      runs(1_000),
    );
    expect(accepted).toBeGreaterThan(50);
    expect(refused).toBeGreaterThan(50);
  });
});
