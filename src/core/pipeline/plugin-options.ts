/** Checks the options that a request gives to a plugin or a server tool. */
import { echo } from '../../protocol/fault.ts';
import type { JsonObject } from '../../protocol/json.ts';
import type { OptionsCheck, OptionsParser } from '../../protocol/options.ts';

/** Checks options with the parser of their owner; an owner without one has no options and refuses any. */
export function checkOptions(parser: OptionsParser<unknown> | undefined, value: JsonObject): OptionsCheck<unknown> {
  if (parser !== undefined) return parser(value);
  const unknown = Object.keys(value).find((name) => value[name] != null);
  if (unknown === undefined) return { ok: true, options: {} };
  return { ok: false, path: '', problem: `takes no options, but has ${echo(unknown)}` };
}

/** The path of an option below the place of its owner. */
export function pathBelow(place: string, path: string): string {
  if (path === '') return place;
  return path.startsWith('[') ? `${place}${path}` : `${place}.${path}`;
}
