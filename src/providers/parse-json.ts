/** Levels of nesting in what a provider sends. Deeper values parse, but overflow the stack of whoever walks them. */
const MAX_DEPTH = 64;

/** Parses what a provider sent; undefined for what is not JSON, or is nested deeper than any answer. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isDeeper(value, MAX_DEPTH) ? undefined : value;
  } catch {
    return undefined;
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return (Array.isArray(value) ? value : Object.values(value)).some((member) => isDeeper(member, levels - 1));
}
