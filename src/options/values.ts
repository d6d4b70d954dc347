/**
 * Values that options of tables, plugins, providers and storages have in common, with the words of their errors. What was
 * given is not repeated in them: it may be a secret.
 */
import type { AnySchema, Schema, Shape } from '../schema/form.ts';
import { optional, refine } from '../schema/modifiers.ts';
import { strictObject } from '../schema/object.ts';
import { custom, number, string } from '../schema/scalars.ts';

/** The options of a type and their schemas: one that is missing, or that the type does not have, does not compile. */
export type OptionShape<Options> = { readonly [Name in keyof Options]-?: AnySchema };

/** A text that is not empty. */
export const nonEmptyString: Schema<string> = string({
  least: 1,
  pattern: [/\S/, 'must be a non-empty string'],
  says: 'must be a non-empty string',
});
/** A text, whatever it says. */
export const anyString: Schema<string> = string({ says: 'must be a string' });
/** A number that is not negative. */
export const amount: Schema<number> = number({ least: 0, says: 'must be a non-negative number' });
/** A time in milliseconds. */
export const milliseconds: Schema<number> = number({ least: 0, says: 'must be a non-negative number of milliseconds' });

/** A whole number from `least` on. */
export function wholeNumber(least: number): Schema<number> {
  return number({ least, multipleOf: 1, says: `must be a whole number from ${least} on` });
}

/** A value for which a test holds; `right` says what would be right, after "must be". */
export function valueThat<Value = unknown>(right: string, isRight: (value: unknown) => boolean): Schema<Value> {
  return custom(isRight, `must be ${right}`);
}

/** A text of some form. Nothing of a text that does not have it is shown. */
export function stringThat(right: string, isRight: RegExp | ((text: string) => boolean)): Schema<string> {
  const says = `must be ${right}`;
  if (isRight instanceof RegExp) return string({ pattern: [isRight, says], says });
  return refine(string({ says }), { test: isRight, says });
}

/** A key, or something else that is in a header. */
export const headerText = stringThat('one line of visible characters, without spaces', /^[\x21-\x7e]+$/);
/** An address that is called over HTTP. */
export const httpAddress = stringThat(
  'an http(s) address',
  (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
);

/** A function. */
export const callable: Schema<unknown> = valueThat('a function', (value) => typeof value === 'function');

/** An object with functions of these names: something that implements a contract. */
export function withFunctions<Value = unknown>(right: string, ...names: readonly string[]): Schema<Value> {
  return valueThat(right, (value) => {
    const members = Object(value) as Readonly<Record<string, unknown>>;
    return typeof value === 'object' && names.every((name) => typeof members[name] === 'function');
  });
}

/** A transport: what sends the calls of a provider or a service. */
export const sender: Schema<unknown> = withFunctions('a transport', 'send', 'close');

/**
 * An object with the options of a type, and no others.
 *
 * @param required - Options that must be there; all others may be left out.
 */
export function group<Options>(
  shape: OptionShape<Options>,
  required: readonly (keyof Options & string)[] = [],
): AnySchema {
  const needed: readonly string[] = required;
  const members = Object.entries<AnySchema>(shape).map(([name, schema]) => [
    name,
    needed.includes(name) ? schema : optional(schema),
  ]);
  return strictObject(Object.fromEntries(members) as Shape);
}
