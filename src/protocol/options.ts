import { read } from './accept/schema.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import type { Schema } from './accept/form.ts';

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
