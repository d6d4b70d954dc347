import type { FactChanges, PriceDifference } from '../catalog/compare-facts.ts';
import type { Price } from '../catalog/price.ts';

/** Lines of a kind that are printed; the rest is counted. */
const MOST_LINES = 20;

/** What changed in a catalog, in lines for people. */
export function describeChanges({ added, removed, prices }: FactChanges): readonly string[] {
  const lines = [
    ...limited(added.map((model) => `+ ${model}`)),
    ...limited(removed.map((model) => `- ${model}`)),
    ...limited(prices.map(describePrice)),
  ];
  const summary = `${added.length} added, ${removed.length} removed, ${prices.length} with other prices`;
  return [...lines, summary];
}

function limited(lines: readonly string[]): readonly string[] {
  if (lines.length <= MOST_LINES) return lines;
  return [...lines.slice(0, MOST_LINES), `  … and ${lines.length - MOST_LINES} more`];
}

function describePrice({ model, before, after, fields }: PriceDifference): string {
  if (before === undefined || after === undefined) {
    return `~ ${model}: price ${before === undefined ? 'unknown' : 'known'} → ${after === undefined ? 'unknown' : 'known'}`;
  }
  const parts = fields.map((field) => `${field} ${amount(before[field])} → ${amount(after[field])}`);
  return `~ ${model}: ${parts.join(', ')}`;
}

function amount(value: Price[keyof Price]): string {
  if (value === undefined) return 'none';
  return typeof value === 'number' ? `$${value}` : JSON.stringify(value);
}
