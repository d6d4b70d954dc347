/** How options of plugins and server tools are checked. */
import type { Schema } from '../schema/form.ts';
import { shortened } from './fault.ts';
import { read, formatPath } from './issues.ts';
import type { StandardIssue, StandardSchema } from './standard-schema.ts';
import { isJsonObject, type JsonObject } from './json.ts';

/** Options of a plugin or server tool after checking, or the one problem to report. */
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

/**
 * Checks options by a schema of the author's own library. Null means "not set", as everywhere in a request, so the schema
 * does not see it.
 *
 * @throws Error when the schema answers later: a request is understood without waiting.
 */
export function checkBySchema<Options>(schema: StandardSchema<Options>, value: JsonObject): OptionsCheck<Options> {
  const result = schema['~standard'].validate(withoutNulls(value));
  if ('then' in result) throw new Error(`A schema of ${schema['~standard'].vendor} answers later`);
  if (result.issues === undefined) return { ok: true, options: result.value };
  const [{ message, path = [] }] = [...result.issues, NO_REASON] as [StandardIssue];
  const steps = path.map((step) => (typeof step === 'object' ? step.key : step));
  return { ok: false, path: formatPath(steps), problem: `is not valid: ${shortened(message)}` };
}

/** What is said of a value that a schema refuses without a word. */
const NO_REASON: StandardIssue = { message: 'the schema gives no reason' };

/** Makes an {@link OptionsParser} from a schema. Null means "not set", as everywhere in a request. */
export function optionsParser<Options>(schema: Schema<Options>): OptionsParser<Options> {
  return (value) => {
    const parsed = read(schema, withoutNulls(value), value);
    return parsed.ok ? { ok: true, options: parsed.value } : parsed;
  };
}

function withoutNulls(value: JsonObject): JsonObject {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
}
