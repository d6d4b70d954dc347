/** Schemas of alternatives: unions, and objects that a member distinguishes. */
import {
  type AnySchema,
  type Issue,
  type Misplaced,
  type Narrowing,
  hasMajor,
  isObject,
  wrongKind,
  NOT_ACCEPTED,
  type OutputOf,
  type Schema,
} from './form.ts';

/** A value that satisfies one of several schemas; the first that accepts it is taken. */
export function union<const Options extends readonly AnySchema[]>(options: Options): Schema<OutputOf<Options[number]>> {
  type Output = OutputOf<Options[number]>;
  return {
    form: { kind: 'union', options },
    isOptional: options.some((option) => option.isOptional),
    accept: (value) => {
      for (const option of options) {
        const accepted = option.accept(value);
        if (accepted !== NOT_ACCEPTED) return accepted as Output;
      }
      return NOT_ACCEPTED;
    },
    parse: (value, issues) => {
      const errors: Issue[][] = [];
      for (const option of options) {
        const found: Issue[] = [];
        const read = option.parse(value, found);
        if (found.length === 0) return read as Output;
        errors.push(found);
      }
      const [meant, ...others] = errors.filter((found) => !hasMajor(found, 0));
      if (meant !== undefined && others.length === 0) issues.push(...meant);
      else issues.push({ code: 'invalid_union', errors, path: [] });
      return value as Output;
    },
  };
}

/** An object of one of several kinds, distinguished by a member. */
export function discriminatedUnion<const Options extends readonly AnySchema[]>(
  tag: string,
  options: Options,
): Schema<OutputOf<Options[number]>> {
  type Output = OutputOf<Options[number]>;
  const byWord = new Map<unknown, AnySchema>(options.map((option) => [wordOf(option, tag), option]));
  return {
    form: { kind: 'discriminatedUnion', tag, options },
    isOptional: false,
    accept: (value) => {
      if (!isObject(value)) return NOT_ACCEPTED;
      return (byWord.get(value[tag])?.accept(value) ?? NOT_ACCEPTED) as Output | typeof NOT_ACCEPTED;
    },
    parse: (value, issues) => {
      const option = isObject(value) ? byWord.get(value[tag]) : undefined;
      if (option !== undefined) return option.parse(value, issues) as Output;
      if (!isObject(value)) wrongKind('object', issues);
      else issues.push({ code: 'invalid_union', errors: [], options: [...byWord.keys()], path: [tag] });
      return value as Output;
    },
  };
}

function wordOf({ form }: AnySchema, tag: string): unknown {
  if (form.kind === 'refine') return wordOf(form.inner, tag);
  const member = form.kind === 'object' ? form.shape[tag]?.form : undefined;
  if (member?.kind !== 'literal') throw new TypeError(`an alternative has no constant member "${tag}"`);
  return member.value;
}

/** An object whose own members say which further schema holds for it. Values come back as the base gives them. */
export function narrowed<Base>(base: Schema<Base>, narrow: Narrowing): Schema<Base> {
  return {
    form: { kind: 'narrowed', base, narrow },
    isOptional: false,
    accept: (value) => {
      const accepted = base.accept(value);
      if (accepted === NOT_ACCEPTED) return NOT_ACCEPTED;
      const further = narrow(accepted as Readonly<Record<string, unknown>>);
      if (further === undefined) return accepted;
      return isMisplaced(further) || further.accept(accepted) === NOT_ACCEPTED ? NOT_ACCEPTED : accepted;
    },
    parse: (value, issues) => {
      const from = issues.length;
      const read = base.parse(value, issues);
      if (issues.length > from) return read;
      const further = narrow(read as Readonly<Record<string, unknown>>);
      if (further === undefined) return read;
      if (isMisplaced(further)) {
        issues.push({ code: 'custom', message: further.says, path: [...further.path] });
        return read;
      }
      const found: Issue[] = [];
      further.parse(read, found);
      const [first] = found;
      if (first !== undefined) issues.push({ ...first, isMinor: false });
      return read;
    },
  };
}

/** True for the answer of a {@link Narrowing} that says what is wrong. */
export function isMisplaced(further: AnySchema | Misplaced): further is Misplaced {
  return 'says' in further;
}
