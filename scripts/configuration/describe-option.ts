import type { NumberRange, Option } from '../../src/options/option.ts';

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
  if (one.when === 'computed' && told === undefined && one.kind.is !== 'object') {
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
  return one.kind.is === 'number' ? `\`number\`${rangeOf(one.kind)}` : `\`${typeName(one).replaceAll('|', '\\|')}\``;
}

function rangeOf({ least, most, integer: whole = false, endless = false }: NumberRange): string {
  const range =
    most === undefined ? `≥ ${least.toLocaleString('en-US')}` : `${least} to ${most.toLocaleString('en-US')}`;
  return `${whole ? ', whole' : ''}, ${range}${endless ? ' or `Infinity`' : ''}`;
}

function typeName({ kind, type }: Option): string {
  switch (kind.is) {
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'string':
    case 'pattern':
      return 'string';
    case 'enum':
      return kind.words.map((word) => `'${word}'`).join(' | ');
    case 'array':
      return kind.of.kind.is === 'enum' ? `(${typeName(kind.of)})[]` : `${typeName(kind.of)}[]`;
    case 'record':
      return `Record<string, ${typeName(kind.of)}>`;
    case 'union':
      return [...new Set([typeName(kind.one), typeName(kind.other)])].join(' | ');
    case 'section':
    case 'object':
      return 'object';
    case 'function':
    case 'contract':
    case 'checked':
    case 'unknown':
      return type ?? 'unknown';
  }
}
