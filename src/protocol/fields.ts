import * as z from 'zod';
import { MAX_NAME_LENGTH } from './limits.ts';

/** A field that may be left out or null; both mean "not set". */
export function nullish<Schema extends z.ZodType>(schema: Schema): z.ZodOptional<z.ZodNullable<Schema>> {
  return schema.nullable().optional();
}

/** Text in which a NUL byte is refused: ids, slugs and names end up in keys, headers and databases. */
export const identifier = z.string().refine((text) => !text.includes('\0'), 'must not contain a NUL character');

/** Name of a function or of a JSON schema, as the field's providers agree on it. */
export const functionName = z
  .string()
  .min(1)
  .max(MAX_NAME_LENGTH)
  .regex(/^[a-zA-Z0-9_-]+$/, 'may hold only letters, digits, "_" and "-"');

/** A JSON object whose members nobody here looks at. */
export const jsonObject = z.record(z.string(), z.unknown());
