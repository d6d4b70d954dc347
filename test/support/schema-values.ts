import * as fc from 'fast-check';
import type { AnySchema, Form } from '../../src/schema/form.ts';
import { isMisplaced } from '../../src/schema/choices.ts';

/** Texts that satisfy one pattern or rule or another of the schemas. */
const TEXTS = [
  'a',
  'get_weather',
  'https://files.example/a.png',
  'data:image/png;base64,iVBORw0KGgo=',
  'image/png',
  '0.5',
  '2026-11-22',
  'function',
  'router:web_search',
  'router:fusion',
  'web_search',
  ' Ada ',
  'bad*word*',
  '😀',
  'a\0b',
  '',
];

/** Types that narrowed objects know. */
const TYPES = [
  'text',
  'image',
  'document',
  'search_result',
  'tool_result',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'server_tool_use',
  'mcp_tool_use',
  'web_search_tool_result',
  'custom',
  'function',
  'web_search_20250305',
  '',
];

/** How deep schemas that contain themselves are followed. */
const DEPTH = 3;

/** Values that a schema accepts, nearly always: what patterns and rules want is guessed. */
export function valuesOf({ form }: AnySchema, depth = 0): fc.Arbitrary<unknown> {
  switch (form.kind) {
    case 'string':
      return textsOf(form);
    case 'number':
      return numbersOf(form);
    case 'boolean':
      return fc.boolean();
    case 'unknown':
      return fc.jsonValue({ maxDepth: 1 });
    case 'enum':
      return fc.constantFrom(...form.words);
    case 'literal':
      return fc.constant(form.value);
    case 'array':
      return fc.array(valuesOf(form.item, depth), { minLength: form.least ?? 0, maxLength: (form.least ?? 0) + 2 });
    case 'object':
      return objectsOf(form, depth);
    case 'record':
    case 'boundedRecord': {
      const keys = form.kind === 'record' ? form.keys : undefined;
      const key = keys === undefined ? fc.constantFrom('a', 'b', '1', 'k'.repeat(65)) : fc.constantFrom(...keys);
      return fc.dictionary(key, valuesOf(form.value, depth), { maxKeys: 3 });
    }
    case 'union':
    case 'discriminatedUnion':
      return fc.oneof(...form.options.map((option) => valuesOf(option, depth)));
    case 'refine':
      return valuesOf(form.inner, depth);
    case 'narrowed':
      return narrowedOf(form, depth);
    case 'nullable':
      return fc.option(valuesOf(form.inner(), depth), { freq: 5 });
    case 'check':
      return valuesOf(form.inner, depth);
    case 'custom':
      return fc.anything().filter(form.test);
    case 'optional':
    case 'default':
      return valuesOf(form.inner(), depth);
    case 'lazy':
      return depth >= DEPTH ? fc.constant(1) : fc.constant(null).chain(() => valuesOf(form.inner(), depth + 1));
  }
}

function textsOf({ least = 0, most = Infinity, pattern }: Extract<Form, { kind: 'string' }>): fc.Arbitrary<string> {
  const fitting = TEXTS.filter((text) => text.length >= least && pattern?.[0].test(text.trim()) !== false);
  const limits = [least, most].flatMap((length) =>
    length > 0 && length < 600 ? ['x'.repeat(length), '😀'.repeat(length)] : [],
  );
  const known = fc.constantFrom(...fitting, ...limits, 'x');
  return pattern === undefined ? fc.oneof(known, fc.string({ minLength: least, maxLength: least + 8 })) : known;
}

function numbersOf({ isInteger, least, most, above }: Extract<Form, { kind: 'number' }>): fc.Arbitrary<number> {
  const low = least ?? (above === undefined ? -1_000 : above + 0.5);
  const high = most ?? low + 1_000;
  const within = isInteger ? fc.integer({ min: low, max: high }) : fc.double({ min: low, max: high, noNaN: true });
  return fc.oneof(within, fc.constantFrom(low, high));
}

function objectsOf({ shape }: Extract<Form, { kind: 'object' }>, depth: number): fc.Arbitrary<unknown> {
  const names = Object.keys(shape);
  const required = names.filter((name) => shape[name]?.isOptional === false);
  const values = Object.fromEntries(names.map((name) => [name, valuesOf(shape[name] as AnySchema, depth)]));
  // Of many optional members only a few are set at once, as requests do.
  const optional = names.filter((name) => !required.includes(name));
  return fc.subarray(optional, { maxLength: Math.min(6, optional.length) }).chain((some) => {
    const chosen = [...required, ...some].map((name) => [name, values[name] as fc.Arbitrary<unknown>] as const);
    return fc.record(Object.fromEntries(chosen));
  });
}

function narrowedOf({ base, narrow }: Extract<Form, { kind: 'narrowed' }>, depth: number): fc.Arbitrary<unknown> {
  return fc.constantFrom(...TYPES, undefined).chain((type) => {
    const known = type === undefined ? {} : { type };
    const further = narrow(known);
    const members = further === undefined || isMisplaced(further) ? fc.constant({}) : valuesOf(further, depth);
    return fc
      .tuple(valuesOf(base, depth), members)
      .map(([own, more]) => ({ ...(own as object), ...(more as object), ...known }));
  });
}

/** Names of the members that an object may have. */
export function membersOf({ form }: AnySchema): readonly string[] {
  return form.kind === 'object' ? Object.keys(form.shape) : [];
}

/** One way to break a value. */
export interface Change {
  readonly at: number;
  readonly how: 'replace' | 'remove' | 'add' | 'lengthen' | 'proto' | 'reverse';
  readonly by: unknown;
}

const SAMPLES = [
  null,
  undefined,
  true,
  false,
  0,
  1,
  -1,
  1.5,
  1e16,
  -1e16,
  Number.NaN,
  Infinity,
  '',
  'text',
  'function',
  'a\0b',
  'x'.repeat(70),
  'x'.repeat(600),
  '😀'.repeat(70),
  'router:datetime',
  [],
  [1],
  [''],
  [{}],
  ['x', 1],
  {},
  { type: 'text' },
  { type: 'nothing' },
  { text: '' },
  { a: 1, b: '' },
];

/** Up to three changes. */
export const changes: fc.Arbitrary<readonly Change[]> = fc.array(
  fc.record({
    at: fc.nat(),
    how: fc.constantFrom('replace', 'replace', 'remove', 'add', 'lengthen', 'proto', 'reverse'),
    by: fc.constantFrom(...SAMPLES),
  }),
  { maxLength: 3 },
);

/** A copy of a value with changes at places that their numbers choose. */
export function changed(value: unknown, list: readonly Change[]): unknown {
  const root: Holder = { value: structuredClone(value) };
  for (const { at, how, by } of list) {
    const places = placesIn(root);
    const [holder, key] = places[at % places.length] ?? [root, 'value'];
    const one = holder[key];
    if (how === 'replace') holder[key] = structuredClone(by);
    else if (how === 'remove' && holder !== root) Reflect.deleteProperty(holder, key);
    else if (how === 'lengthen' && Array.isArray(one)) holder[key] = Array(4).fill(one).flat();
    else if (how === 'lengthen' && typeof one === 'string') holder[key] = one.repeat(100);
    else if (typeof one !== 'object' || one === null || Array.isArray(one)) continue;
    else if (how === 'add') Object.assign(one, { stranger: structuredClone(by) });
    else if (how === 'proto')
      Object.defineProperty(one, '__proto__', { value: 1, enumerable: true, configurable: true, writable: true });
    else if (how === 'reverse') holder[key] = Object.fromEntries(Object.entries(one).toReversed());
  }
  return root.value;
}

type Holder = Record<string, unknown>;

function placesIn(holder: object): [Holder, string][] {
  return Object.keys(holder).flatMap((key) => {
    const one = (holder as Holder)[key];
    const own: [Holder, string] = [holder as Holder, key];
    return typeof one === 'object' && one !== null ? [own, ...placesIn(one)] : [own];
  });
}
