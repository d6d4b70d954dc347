import type * as z from 'zod';
import { FIRST_PROBLEM } from './fields.ts';
import { describeIssues } from './issues.ts';
import { isJsonObject, type JsonObject } from './json.ts';

/** Options of a plugin or server tool after checking, or the one problem worth telling. */
export type OptionsCheck<Options> =
  | { readonly ok: true; readonly options: Options }
  | {
      readonly ok: false;
      /** Which option, for example `allowed_models[2]`; empty for the options as a whole. */
      readonly path: string;
      /** What would be right, as the end of a sentence that begins with the path: `must be at most 25, not 40`. */
      readonly problem: string;
    };

/** Checks the options of a plugin or server tool. */
export type OptionsParser<Options> = (value: JsonObject) => OptionsCheck<Options>;

/** Makes an {@link OptionsParser} from a schema. Null means "not set", as everywhere in a request. */
export function optionsParser<Schema extends z.ZodType>(schema: Schema): OptionsParser<z.output<Schema>> {
  return (value) => {
    const parsed = schema.safeParse(withoutNulls(value), FIRST_PROBLEM);
    return parsed.success
      ? { ok: true, options: parsed.data }
      : { ok: false, ...describeIssues(parsed.error.issues, value) };
  };
}

function withoutNulls(value: JsonObject): JsonObject {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
}
