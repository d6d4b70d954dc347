import { fileURLToPath } from 'node:url';
import { sourceFiles } from '../../test/support/source-files.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Modules that are in one file of the build. */
interface Layer {
  readonly name: string;
  readonly has: (id: string) => boolean;
}

/**
 * Sorts modules into layers: a module is in the layer of the first of these entry points that loads it with itself. What
 * is loaded on first use is in none, and neither is what cannot be loaded without Node: other entry points load the whole
 * layer, also on runtimes that have no such modules.
 */
export function layers(entryPoints: readonly string[]): readonly Layer[] {
  const files = new Map(sourceFiles('src', 'adapters').map((file) => [file.path, file]));
  const taken = new Set<string>();
  const known = new Map<string, boolean>();
  const needsNode = (path: string): boolean => {
    const before = known.get(path);
    if (before !== undefined) return before;
    known.set(path, false);
    const loaded = (files.get(path)?.imports ?? []).filter(({ typeOnly, isDynamic }) => !typeOnly && !isDynamic);
    const needs = loaded.some(({ target }) => target.startsWith('node:') || (files.has(target) && needsNode(target)));
    known.set(path, needs);
    return needs;
  };
  return entryPoints.map((entryPoint) => {
    const reached = new Set([entryPoint]);
    for (const path of reached) {
      for (const { target, typeOnly, isDynamic } of files.get(path)?.imports ?? []) {
        if (!typeOnly && !isDynamic && files.has(target)) reached.add(target);
      }
    }
    const own = [...reached].filter((path) => !taken.has(path) && !needsNode(path));
    for (const path of own) taken.add(path);
    const members = new Set(own.map((path) => ROOT + path));
    const [, name = ''] = /([\w-]+)\.ts$/.exec(entryPoint) ?? [];
    return { name, has: (id) => members.has(id) };
  });
}
