/** Schemas of objects with known members. */
import {
  type Form,
  type Issue,
  type Shape,
  type UnknownKeys,
  below,
  isObject,
  hasMajor,
  wrongKind,
  NOT_ACCEPTED,
  type OutputOf,
  type Schema,
} from './form.ts';

type Flat<Value> = { [Name in keyof Value]: Value[Name] };

/** The type of an object with members of these schemas. */
export type Members<Of extends Shape> = Flat<
  { [Name in keyof Of as undefined extends OutputOf<Of[Name]> ? never : Name]: OutputOf<Of[Name]> } & {
    [Name in keyof Of as undefined extends OutputOf<Of[Name]> ? Name : never]?: OutputOf<Of[Name]>;
  }
>;

type Given = Readonly<Record<string, unknown>>;

/**
 * An object that may have other members as well, and keeps them.
 *
 * @param saysOfOthers - What is said of a value that is no object.
 */
export function looseObject<Of extends Shape>(shape: Of, saysOfOthers?: string): Schema<Members<Of>> {
  return objectOf(shape, 'kept', undefined, saysOfOthers);
}

/** An object whose other members are taken out. */
export function object<Of extends Shape>(shape: Of): Schema<Members<Of>> {
  return objectOf(shape, 'dropped', undefined);
}

/** An object that takes no other members. `says` gets the name of one that there is. */
export function strictObject<Of extends Shape>(shape: Of, says?: (name: string) => string): Schema<Members<Of>> {
  return objectOf(shape, 'refused', says);
}

function objectOf<Of extends Shape>(
  shape: Of,
  unknownKeys: UnknownKeys,
  says: ((name: string) => string) | undefined,
  saysOfOthers?: string,
): Schema<Members<Of>> {
  const members = new Map(Object.entries(shape).map(([name, schema], place) => [name, { name, schema, place }]));
  const schemas = Object.values(shape);
  const required = schemas.filter((member) => !member.isOptional).length;
  // What adds or takes out members is left to the other reading, which looks at all that may be there.
  const isRebuilt = unknownKeys === 'dropped' || schemas.some(({ form }) => form.kind === 'default');

  /** Looks at the members that are there, which are few of those that may be. */
  function acceptMembers(value: unknown): Members<Of> | typeof NOT_ACCEPTED {
    if (!isObject(value)) return NOT_ACCEPTED;
    let missing = required;
    let result: Given = value;
    let reached = 0;
    let isOrdered = true;
    for (const name in value) {
      const member = members.get(name);
      if (member === undefined) {
        if (unknownKeys === 'refused' || name === '__proto__') return NOT_ACCEPTED;
        reached = Infinity;
        continue;
      }
      const { schema, place } = member;
      if (place < reached) isOrdered = false;
      else reached = place;
      const given = value[name];
      const accepted = schema.accept(given);
      if (accepted === NOT_ACCEPTED) return NOT_ACCEPTED;
      if (accepted !== given) result = { ...result, [name]: accepted };
      if (!schema.isOptional) missing -= 1;
    }
    if (missing > 0) return NOT_ACCEPTED;
    return (isOrdered ? result : inOrderOf(members, result)) as Members<Of>;
  }

  const form = { kind: 'object', shape, unknownKeys, says, saysOfOthers } as const;
  return {
    form,
    isOptional: false,
    accept: isRebuilt ? () => NOT_ACCEPTED : acceptMembers,
    parse: (value, issues) => parseMembers(form, members, value, issues) as Members<Of>,
  };
}

/** The members of an object, in the order of its schema. */
type KnownMembers = ReadonlyMap<string, { readonly name: string; readonly schema: Schema<unknown> }>;

/** The members in the order of the schema: what is hashed or sent must not depend on how a caller wrote it. */
function inOrderOf(members: KnownMembers, given: Given): Given {
  const result: Record<string, unknown> = {};
  for (const name of members.keys()) if (name in given) result[name] = given[name];
  for (const name in given) if (!members.has(name)) result[name] = given[name];
  return result;
}

/** Looks at the members in the order of the schema, so that the first issue is always the same. */
function parseMembers(
  form: Extract<Form, { kind: 'object' }>,
  members: KnownMembers,
  value: unknown,
  issues: Issue[],
): Given {
  if (!isObject(value)) {
    wrongKind('object', issues, form.saysOfOthers);
    return {};
  }
  const result: Record<string, unknown> = {};
  for (const { name, schema } of members.values()) {
    const from = issues.length;
    const read = schema.parse(value[name], issues);
    if (issues.length > from) below(name, issues, from);
    else if (!(name in value) && !schema.isOptional) {
      issues.push({ code: 'invalid_type', expected: 'nonoptional', path: [name] });
    } else if (name in value || read !== undefined) result[name] = read;
    if (issues.length > from && hasMajor(issues, from)) return result;
  }
  for (const name in value) {
    if (members.has(name)) continue;
    if (form.unknownKeys === 'refused') {
      issues.push({ code: 'custom', message: form.says?.(name) ?? 'has a member too many', path: [], isMinor: true });
      return result;
    }
    if (form.unknownKeys === 'kept' && name !== '__proto__') result[name] = value[name];
  }
  return result;
}
