/** Makes schemas of objects that the router writes, checked against their types. */
import * as z from 'zod';
import type { JsonObject, JsonValue } from '../../../protocol/json.ts';

/** Names of the members that are always there. */
type RequiredName<Type> = { [Name in keyof Type]-?: {} extends Pick<Type, Name> ? never : Name }[keyof Type];

/** A schema for each of some members: one that is missing, or is not that of its member, does not compile. */
type ShapeOf<Type, Names extends keyof Type> = {
  readonly [Name in Names]-?: z.ZodType<Exclude<Type[Name], undefined>>;
};

/**
 * The schema of an object that the router writes, held to its type: every member stands among the required or the
 * optional ones, as in the type. These schemas describe answers and are never used to check what comes in.
 */
export function wireObject<Type extends object>(
  required: ShapeOf<Type, RequiredName<Type>>,
  optional: ShapeOf<Type, Exclude<keyof Type, RequiredName<Type>>>,
): z.ZodType<Type> {
  const shape: Record<string, z.ZodType> = { ...(required as Record<string, z.ZodType>) };
  for (const [name, schema] of Object.entries<z.ZodType>(optional)) shape[name] = z.exactOptional(schema);
  return z.object(shape) as unknown as z.ZodType<Type>;
}

/** The schema of one of some words; none of them can be left out. */
export function words<Word extends string>(all: Readonly<Record<Word, true>>): z.ZodType<Word> {
  return z.enum(Object.keys(all)) as unknown as z.ZodType<Word>;
}

/** Anything that JSON can say. */
export const anyJson: z.ZodType<JsonValue> = z.unknown() as z.ZodType<JsonValue>;

/** An object whose members nobody here looks at. */
export const anyObject: z.ZodType<JsonObject> = z.record(z.string(), anyJson);

/** A whole number that is not negative. */
export const countSchema = z.int().min(0);

/** Unix seconds. */
export const secondsSchema = z.int().min(0);
