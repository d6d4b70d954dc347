/** Turns the schemas of requests into schemas of zod, which write the OpenAPI document. */
import * as z from 'zod';
import {
  type AnySchema,
  type Form,
  HAS_NUL,
  type ArrayLimits,
  type NumberLimits,
  type StringLimits,
  type Refinement,
} from '../../schema/form.ts';
import { isMisplaced } from '../../schema/choices.ts';
import { echoKey } from '../../schema/form.ts';

type FormOf<Kind> = Extract<Form, { kind: Kind }>;

const written = new WeakMap<AnySchema, z.ZodType>();

/**
 * A schema as a schema of zod: for the OpenAPI document, which zod writes, and for tests, which hold the two to the same
 * verdicts, values and words. Nothing that serves requests imports this.
 */
export function zodOf(schema: AnySchema): z.ZodType {
  const known = written.get(schema);
  if (known !== undefined) return known;
  const made = make(schema.form);
  written.set(schema, made);
  return made;
}

function make(form: Form): z.ZodType {
  switch (form.kind) {
    case 'string':
      return textOf(form);
    case 'number':
      return numberOf(form.isInteger ? z.int() : z.number(), form);
    case 'boolean':
      return z.boolean();
    case 'unknown':
      return z.unknown();
    case 'enum':
      return z.enum(form.words);
    case 'literal':
      return z.literal(form.value, form.says);
    case 'array':
      return listOf(zodOf(form.item), form);
    case 'object':
      return objectOf(form);
    case 'record':
      return form.keys === undefined
        ? z.record(z.string(), zodOf(form.value))
        : z.partialRecord(z.enum(form.keys), zodOf(form.value));
    case 'boundedRecord':
      return mapOf(form);
    case 'union':
      return z.union(form.options.map(zodOf));
    case 'discriminatedUnion':
      return z.discriminatedUnion(form.tag, form.options.map(zodOf) as [z.ZodObject, ...z.ZodObject[]]);
    case 'refine':
      return ruledOf(zodOf(form.inner), form.rule);
    case 'narrowed':
      return narrowedOf(form);
    case 'custom':
      return z.custom(form.test, form.says);
    case 'check':
      return zodOf(form.inner).refine((value) => [...form.check(value, '')].length === 0);
    case 'optional':
      return zodOf(form.inner()).optional();
    case 'nullable':
      return zodOf(form.inner()).nullable();
    case 'default':
      return zodOf(form.inner()).default(form.missing);
    case 'lazy':
      return z.lazy(() => zodOf(form.inner()));
  }
}

function textOf({ least, most, pattern, isTrimmed = false, withoutNul = false, says }: StringLimits): z.ZodType {
  let made = z.string(says);
  if (isTrimmed) made = made.trim();
  if (least !== undefined) made = made.min(least);
  if (most !== undefined) made = made.max(most);
  if (withoutNul) made = made.refine((value) => !value.includes('\0'), HAS_NUL);
  return pattern === undefined ? made : made.regex(pattern[0], pattern[1]);
}

function numberOf(bare: z.ZodNumber, { least, most, above, multipleOf, isEndless }: NumberLimits): z.ZodType {
  let made = bare;
  if (multipleOf !== undefined) made = made.multipleOf(multipleOf);
  if (least !== undefined) made = made.min(least);
  if (above !== undefined) made = made.gt(above);
  if (most !== undefined) made = made.max(most);
  return isEndless === true ? z.union([made, z.literal(Infinity)]) : made;
}

function listOf(item: z.ZodType, { least, most, says }: ArrayLimits): z.ZodType {
  let made = z.array(item);
  if (least !== undefined) made = made.min(least);
  return most === undefined ? made : made.max(most, says);
}

function objectOf({ shape, unknownKeys, says }: FormOf<'object'>): z.ZodType {
  const members = Object.fromEntries(Object.entries(shape).map(([name, member]) => [name, zodOf(member)]));
  if (unknownKeys === 'kept') return z.looseObject(members);
  if (unknownKeys === 'dropped') return z.object(members);
  return z.strictObject(members, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? says?.(issue.keys[0] ?? '') : undefined),
  });
}

function mapOf({ value, pairs = Infinity, keyLength = Infinity, key: wanted }: FormOf<'boundedRecord'>): z.ZodType {
  const member = zodOf(value);
  return z.record(z.string(), z.unknown()).check((context) => {
    const entries = Object.entries(context.value);
    const report = (message: string): void => {
      context.issues.push({ code: 'custom', message, input: context.value });
    };
    if (entries.length > pairs) return report(`must have at most ${pairs} pairs, not ${entries.length}`);
    for (const [key, one] of entries) {
      if (key.length > keyLength) return report(`has a key of more than ${keyLength} characters: "${echoKey(key)}"`);
      if (wanted?.[0].test(key) === false) return report(`must have ${wanted[1]} as its keys, not "${echoKey(key)}"`);
      const [first] = member.safeParse(one).error?.issues ?? [];
      if (first === undefined) continue;
      context.issues.push({ ...first, path: [key, ...first.path], input: one } as z.core.$ZodRawIssue);
      return;
    }
  });
}

function ruledOf(inner: z.ZodType, { test, says, path = [], decides = false }: Refinement<never>): z.ZodType {
  return inner.refine((value) => test(value as never), {
    error: (issue) => (typeof says === 'string' ? says : says(issue.input as never)),
    path: [...path],
    abort: decides,
  });
}

function narrowedOf({ base, narrow }: FormOf<'narrowed'>): z.ZodType {
  return zodOf(base).check((context) => {
    const further = narrow(context.value as Readonly<Record<string, unknown>>);
    if (further === undefined) return;
    const input = context.value;
    const found = isMisplaced(further)
      ? { code: 'custom', message: further.says, path: [...further.path] }
      : zodOf(further).safeParse(input).error?.issues[0];
    if (found !== undefined) context.issues.push({ ...found, input } as z.core.$ZodRawIssue);
  });
}
