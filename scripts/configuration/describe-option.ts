import type { Option } from '../../src/options/option.ts';
import type { AnySchema, NumberLimits } from '../../src/schema/form.ts';

/** An option as the page shows it. */
interface DescribedOption {
  readonly type: string;
  readonly usual: string;
  readonly unit: string;
  /** What its comment says, without the default. */
  readonly words: string;
}

/** The last sentence of a comment: `Default 30,000.`, `Default 3,600,000 (1 hour).` or `Default: the id.` */
const USUAL = /\s*\bDefault(?:: (?<told>.+?)| (?<value>.+?)(?<meaning> \(.+?\))?)\.$/;
/** Where the contract says it: of no use on the page. */
const REFERENCE = / \((?:contract|gaps)[^)]*\)/g;

/**
 * Describes an option.
 *
 * @param path - Where it is, for the error.
 * @param comment - What stands above it in its table.
 * @throws Error when the comment is missing, or names another default than the table.
 */
export function describeOption(path: string, one: Option, comment: string): DescribedOption {
  if (comment === '') throw new Error(`${path} has no comment in its table: say in a sentence what it does`);
  const { told, value, meaning = '' } = USUAL.exec(comment)?.groups ?? {};
  const real = valueText(one.default);
  if (real !== undefined && value !== real) {
    throw new Error(`${path} has the default ${real}: its comment must end with "Default ${real}."`);
  }
  if (real === undefined && value !== undefined) {
    throw new Error(`${path} has no fixed default: its comment must say "Default: ${value}." or nothing`);
  }
  if (one.when === 'computed' && told === undefined && one.form.kind !== 'object') {
    throw new Error(`${path} has a computed default: its comment must end with "Default: …." that says which`);
  }
  return {
    type: typeOf(one),
    usual: real === undefined ? (one.when === 'required' ? 'required' : (told ?? '')) : `${real}${meaning}`,
    unit: one.unit ?? '',
    words: comment.replace(USUAL, '').replaceAll(REFERENCE, ''),
  };
}

/** A default as it is written; undefined for none and for what is empty. */
function valueText(value: unknown): string | undefined {
  if (typeof value === 'number') return value.toLocaleString('en-US');
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return `\`${value}\``;
  if (Array.isArray(value) && value.length > 0) return value.map(String).join(', ');
  return undefined;
}

function typeOf(one: Option): string {
  return one.form.kind === 'number' ? `\`number\`${rangeOf(one.form)}` : `\`${typeName(one).replaceAll('|', '\\|')}\``;
}

function rangeOf({ least = -Infinity, most, multipleOf, isEndless = false }: NumberLimits): string {
  const range =
    most === undefined ? `≥ ${least.toLocaleString('en-US')}` : `${least} to ${most.toLocaleString('en-US')}`;
  return `${multipleOf === 1 ? ', whole' : ''}, ${range}${isEndless ? ' or `Infinity`' : ''}`;
}

/** The TypeScript type of a value, which an option may name itself. */
function typeName({ form, type }: AnySchema & Pick<Option, 'type'>): string {
  if (type !== undefined) return type;
  switch (form.kind) {
    case 'number':
    case 'boolean':
    case 'string':
    case 'object':
      return form.kind;
    case 'enum':
      return form.words.map((word) => `'${word}'`).join(' | ');
    case 'array':
      return form.item.form.kind === 'enum' ? `(${typeName(form.item)})[]` : `${typeName(form.item)}[]`;
    case 'record':
      return `Record<string, ${typeName(form.value)}>`;
    case 'union':
      return [...new Set(form.options.map(typeName))].join(' | ');
    default:
      return 'unknown';
  }
}
