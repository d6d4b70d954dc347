/** Schemas of fields that several requests have. */
import type { Shape, Schema } from '../schema/form.ts';
import { type Members, strictObject } from '../schema/object.ts';
import { string } from '../schema/scalars.ts';
import { echo } from './fault.ts';
import { MAX_NAME_LENGTH } from './limits.ts';
import { nearName } from './near-name.ts';

/** Text in which a NUL byte is refused: ids, slugs and names end up in keys, headers and databases. */
export function identifier(least: number, most: number): Schema<string> {
  return string({ least, most, withoutNul: true });
}

/** Name of a function or of a JSON schema, as the field's providers agree on it. */
export const functionName = string({
  least: 1,
  most: MAX_NAME_LENGTH,
  pattern: [/^[a-zA-Z0-9_-]+$/, 'may hold only letters, digits, "_" and "-"'],
});

/** An object that takes no members but these. A misspelt one is answered with the name that was probably meant. */
export function closed<Of extends Shape>(shape: Of): Schema<Members<Of>> {
  const known = Object.keys(shape);
  return strictObject(shape, (name) => unknownMember(name, known));
}

function unknownMember(name: string, known: readonly string[]): string {
  const near = nearName(name, known);
  const hint = near === undefined ? `known are ${known.join(', ')}` : `did you mean "${near}"?`;
  return `has a member that is not known here: ${echo(name)}; ${hint}`;
}
