/** Checks the options that a request gives to a plugin or a server tool. */
import { echo } from '../../protocol/fault.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { checkBySchema, type OptionsCheck, type OptionsParser } from '../../protocol/options.ts';
import type { StandardSchema } from '../../protocol/standard-schema.ts';

/** What has options: a plugin or a server tool. */
interface OptionsOwner {
  readonly parseOptions?: OptionsParser<unknown> | undefined;
  readonly options?: StandardSchema | undefined;
}

/** Checks options with the parser or the schema of their owner; an owner without either has none and refuses any. */
export function checkPluginOptions({ parseOptions, options }: OptionsOwner, value: JsonObject): OptionsCheck<unknown> {
  if (parseOptions !== undefined) return parseOptions(value);
  if (options !== undefined) return checkBySchema(options, value);
  const unknown = Object.keys(value).find((name) => value[name] != null);
  if (unknown === undefined) return { ok: true, options: {} };
  return { ok: false, path: '', problem: `takes no options, but has ${echo(unknown)}` };
}

/** The path of an option below the place of its owner. */
export function pathBelow(place: string, path: string): string {
  if (path === '') return place;
  return path.startsWith('[') ? `${place}${path}` : `${place}.${path}`;
}

/** What is wrong with the way in which a plugin or a server tool checks its options, as the end of a sentence. */
export function problemOfOwner({ parseOptions, options }: OptionsOwner): string | undefined {
  if (options === undefined) return undefined;
  if (parseOptions !== undefined) return 'must not be there beside parseOptions: one of them checks the options';
  try {
    checkBySchema(options, {});
    return undefined;
  } catch {
    return 'must be a schema that validates without a promise and does not throw';
  }
}
