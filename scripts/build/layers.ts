import type { Plugin } from 'esbuild';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type SourceFile, sourceFiles } from '../../test/support/source-files.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Makes esbuild write a layer into one file: what is loaded with the first of these groups of modules, then what the
 * second loads beside that, and so on. By itself, esbuild makes a file for every set of entry points that share something, and
 * finding and reading a hundred small files costs Node more than what is in them.
 *
 * It has no option for that. But modules that the same entry points load are in one file, so here each entry point that
 * loads something of a layer loads all of it. What is loaded on first use is an entry point, too, as esbuild sees it.
 *
 * In no layer is what cannot be loaded without Node: other entry points load the whole layer, also on runtimes that have
 * no such modules.
 */
export function wholeLayers(groups: readonly (readonly string[])[]): Plugin {
  const files = new Map(sourceFiles('src', 'adapters').map((file) => [file.path, file]));
  const layers = layersOf(files, groups);

  /** What takes the place of an entry point: all that it exports, and the layers that it needs. */
  const doorTo = (path: string): string => {
    const [hashbang = ''] = /^#!.*\n/.exec(files.get(path)?.text ?? '') ?? [];
    const lines = layersNeededBy(files, layers, path).map((layer) => `import 'layer:${layer}';`);
    return [`${hashbang}export * from ${JSON.stringify(ROOT + path)};`, ...lines].join('\n');
  };
  /** A list of names, if an empty one: esbuild takes an import without one for a mistake where files do nothing by themselves. */
  const allOf = (layer: readonly string[] = []): string =>
    layer.map((path) => `import {} from ${JSON.stringify(ROOT + path)};`).join('\n');

  return {
    name: 'whole-layers',
    setup(build) {
      build.onResolve({ filter: /\.ts$/, namespace: 'file' }, ({ path, kind, resolveDir }) =>
        kind === 'entry-point' || kind === 'dynamic-import'
          ? { path: relative(ROOT, resolve(resolveDir, path)).replaceAll('\\', '/'), namespace: 'door' }
          : undefined,
      );
      build.onLoad({ filter: /^/, namespace: 'door' }, ({ path }) => ({ contents: doorTo(path), resolveDir: ROOT }));
      // Not as package.json has it of our files: a program is started for what it does.
      build.onResolve({ filter: /\.ts$/, namespace: 'door' }, ({ path }) => ({ path, sideEffects: true }));
      build.onResolve({ filter: /^layer:/ }, ({ path }) => ({ path, namespace: 'layer' }));
      build.onLoad({ filter: /^/, namespace: 'layer' }, ({ path }) => ({
        contents: allOf(layers[Number(path.replace('layer:', ''))]),
        resolveDir: ROOT,
      }));
    },
  };
}

type Files = ReadonlyMap<string, SourceFile>;

/** Paths of the modules of each layer. */
function layersOf(files: Files, groups: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const taken = new Set<string>();
  const known = new Map<string, boolean>();
  const needsNode = (path: string): boolean => {
    const before = known.get(path);
    if (before !== undefined) return before;
    known.set(path, false);
    const loaded = loadedWith(files, path);
    const needs = loaded.some((target) => target.startsWith('node:') || (files.has(target) && needsNode(target)));
    known.set(path, needs);
    return needs;
  };
  return groups.map((group) => {
    const reached = new Set(group);
    for (const path of reached)
      for (const target of loadedWith(files, path)) if (files.has(target)) reached.add(target);
    const own = [...reached].filter((path) => !taken.has(path) && !needsNode(path));
    for (const path of own) taken.add(path);
    return own;
  });
}

/** Numbers of the layers that are loaded with a module. */
function layersNeededBy(files: Files, layers: readonly (readonly string[])[], entryPoint: string): readonly number[] {
  const reached = new Set([entryPoint]);
  const needed = new Set<number>();
  for (const path of reached) {
    for (const target of loadedWith(files, path)) if (files.has(target)) reached.add(target);
    const layer = layers.findIndex((paths) => paths.includes(path));
    if (layer >= 0 && !needed.has(layer)) for (const other of layers[layer] ?? []) reached.add(other);
    if (layer >= 0) needed.add(layer);
  }
  return [...needed];
}

/** What a module imports, but for what it imports on first use. */
function loadedWith(files: Files, path: string): readonly string[] {
  const imports = files.get(path)?.imports ?? [];
  return imports.filter(({ typeOnly, isDynamic }) => !typeOnly && !isDynamic).map(({ target }) => target);
}
