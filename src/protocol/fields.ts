import * as z from 'zod';
import { echo, echoKey } from './fault.ts';
import { MAX_NAME_LENGTH } from './limits.ts';
import { nearName } from './near-name.ts';

/** One problem is told, so none is looked for behind it: a body of nothing but mistakes would block the process. */
export const FIRST_PROBLEM: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true };

/** A field that may be left out or null; both mean "not set". */
export function nullish<Schema extends z.ZodType>(schema: Schema): z.ZodOptional<z.ZodNullable<Schema>> {
  return schema.nullable().optional();
}

/** Text in which a NUL byte is refused: ids, slugs and names end up in keys, headers and databases. */
export function identifier(minimum: number, maximum: number): z.ZodString {
  return z
    .string()
    .min(minimum)
    .max(maximum)
    .refine((text) => !text.includes('\0'), 'must not contain a NUL character');
}

/** Name of a function or of a JSON schema, as the field's providers agree on it. */
export const functionName = z
  .string()
  .min(1)
  .max(MAX_NAME_LENGTH)
  .regex(/^[a-zA-Z0-9_-]+$/, 'may hold only letters, digits, "_" and "-"');

/** A JSON object whose members nobody here looks at. */
export const jsonObject = z.record(z.string(), z.unknown());

/** An object that takes no members but these. A misspelt one is answered with the name that was probably meant. */
export function closed<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? unknownMember(issue.keys[0] ?? '', known) : undefined),
  });
}

function unknownMember(name: string, known: readonly string[]): string {
  const near = nearName(name, known);
  const hint = near === undefined ? `known are ${known.join(', ')}` : `did you mean "${near}"?`;
  return `has a member that is not known here: ${echo(name)}; ${hint}`;
}

/** Bounds of {@link mapOf}. */
interface MapLimits {
  readonly pairs?: number;
  readonly keyLength?: number;
  /** What keys look like, and what they are, in words. */
  readonly key?: RegExp;
  readonly keys?: string;
}

/**
 * An object whose keys are the caller's own. Nothing behind the first wrong member is looked at, so that an object with
 * a hundred thousand of them costs no more than one.
 */
export function mapOf(
  value: z.ZodType,
  { pairs = Infinity, keyLength = Infinity, key: form, keys = '' }: MapLimits = {},
): typeof jsonObject {
  return jsonObject.check((context) => {
    const entries = Object.entries(context.value);
    const report = (message: string): void => {
      context.issues.push({ code: 'custom', message, input: context.value });
    };
    if (entries.length > pairs) return report(`must have at most ${pairs} pairs, not ${entries.length}`);
    for (const [key, member] of entries) {
      if (key.length > keyLength) return report(`has a key of more than ${keyLength} characters: "${echoKey(key)}"`);
      if (form?.test(key) === false) return report(`must have ${keys} as its keys, not "${echoKey(key)}"`);
      const { error } = value.safeParse(member);
      const [first] = error?.issues ?? [];
      if (first === undefined) continue;
      context.issues.push({ ...first, path: [key, ...first.path], input: member } as z.core.$ZodRawIssue);
      return;
    }
  });
}
