import type { FunctionTool } from '../../protocol/tools.ts';

const MAX_LENGTH = 64;

/**
 * The name of a function as Google accepts it: it must begin with a letter or an underscore. Names that come from
 * another vendor's history may hold more than that.
 */
export function wireName(name: string): string {
  const plain = name.replace(/[^\w.:-]/g, '_');
  return (/^[A-Za-z_]/.test(plain) ? plain : `_${plain}`).slice(0, MAX_LENGTH);
}

/** The caller's name of the function that Google's model calls. */
export function originalName(wire: string, tools: readonly FunctionTool[]): string {
  const named =
    tools.find((tool) => tool.function.name === wire) ?? tools.find((tool) => wireName(tool.function.name) === wire);
  return named?.function.name ?? wire;
}
