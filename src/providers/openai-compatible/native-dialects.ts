import type { DialectName } from '../../protocol/dialect.ts';
import type { Codec } from '../codec.ts';
import { responsesCodec } from '../openai-responses/codec.ts';
import type { Dialect } from './dialect.ts';

/** Shapes besides chat completions that servers of this family speak. */
export type NativeDialect = Extract<DialectName, 'responses'>;

const CODECS: Readonly<Record<NativeDialect, (dialect: Dialect) => Codec>> = { responses: responsesCodec };

/** Every {@link NativeDialect}. */
export const NATIVE_DIALECTS = Object.keys(CODECS) as readonly NativeDialect[];

/** The codecs of the shapes that a server speaks. */
export function nativeCodecs(
  names: readonly NativeDialect[],
  dialect: Dialect,
): Readonly<Partial<Record<DialectName, Codec>>> {
  // Names that nobody knows are told by the check of the options.
  const known = names.filter((name) => NATIVE_DIALECTS.includes(name));
  return Object.fromEntries(known.map((name) => [name, CODECS[name](dialect)]));
}
