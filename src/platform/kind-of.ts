import type { NumberRange, Option, OptionTable } from '../config/option.ts';
import {
  anything,
  callable,
  either,
  flag,
  group,
  kind,
  listOf,
  mapOf,
  oneOf,
  type OptionKind,
  text,
  textThat,
  withFunctions,
} from './option-kinds.ts';

/** What finds the faults in the options of a table, by the names of the options. */
type Kinds<Table extends OptionTable> = { readonly [Name in keyof Table]: OptionKind };

/** What finds the faults in each option of a table. */
export function kindsOf<Table extends OptionTable>(table: Table): Kinds<Table> {
  return Object.fromEntries(Object.entries(table).map(([name, one]) => [name, kindOf(one)])) as Kinds<Table>;
}

/** What finds the faults in an object whose options are those of a table. */
export function groupOf(table: OptionTable): OptionKind {
  const names = Object.keys(table).filter((name) => table[name]?.when === 'required');
  return group<Readonly<Record<string, unknown>>>(kindsOf(table), names);
}

/** What finds the faults in an option that is set. */
export function kindOf({ kind: one }: Option): OptionKind {
  switch (one.is) {
    case 'number':
      return kind(one.right, (value) => isInRange(one, value));
    case 'flag':
      return flag;
    case 'anything':
      return anything;
    case 'text':
      return text;
    case 'pattern':
      return textThat(one.right, (value) => one.pattern.test(value));
    case 'word':
      return oneOf(Object.fromEntries(one.words.map((word) => [word, true])));
    case 'list':
      return listOf(kindOf(one.of));
    case 'map':
      return mapOf(kindOf(one.of));
    case 'either':
      return either(kindOf(one.one), kindOf(one.other));
    case 'section':
    case 'object':
      return groupOf(one.options);
    case 'function':
      return one.right === 'a function' ? callable : kind(one.right, (value) => typeof value === 'function');
    case 'contract':
      return withFunctions(one.right, ...one.functions);
    case 'checked':
      return one.check;
  }
}

function isInRange({ least, most = Infinity, whole = false, endless = false }: NumberRange, value: unknown): boolean {
  if (typeof value !== 'number' || Number.isNaN(value) || (!endless && !Number.isFinite(value))) return false;
  return value >= least && value <= most && (!whole || Number.isInteger(value));
}
