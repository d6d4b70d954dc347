import type { SourceFile } from './source-files.ts';

/**
 * The floors of the house, from the ground up: each may import its own room, and lower floors only. Rooms of one floor
 * stand side by side and do not see each other. What counts is every import: of values and of types, at once and lazily.
 */
export const FLOORS: readonly (readonly string[])[] = [
  ['src/schema'],
  ['src/options'],
  ['src/protocol'],
  ['src/platform'],
  ['src/catalog'],
  ['src/contracts'],
  ['src/core', 'src/net', 'src/observe'],
  ['src/formats', 'src/plugins', 'src/storage'],
  ['src/runtime', 'src/providers', 'src/queue'],
  ['src/config'],
  ['src/router'],
  ['src/http'],
  ['src/testing'],
  ['src/entries'],
  ['src/index.ts', 'src/minimal.ts', 'adapters'],
  ['src/cli'],
];

/** An import from one file to another. */
export interface Arrow {
  readonly from: string;
  readonly to: string;
}

/** The room that a file is in; undefined where it is in none. */
export function roomOf(path: string): string | undefined {
  return FLOORS.flat().find((room) => path === room || path.startsWith(`${room}/`));
}

/** All imports among the files, each once. */
export function arrowsOf(files: readonly SourceFile[]): readonly Arrow[] {
  const known = new Set(files.map(({ path }) => path));
  return files.flatMap(({ path, imports }) =>
    [...new Set(imports.map(({ target }) => target))]
      .filter((target) => known.has(target))
      .map((target) => ({ from: path, to: target })),
  );
}

/** Imports from a room that is not below: climbing arrows. */
export function climbingArrows(arrows: readonly Arrow[]): readonly Arrow[] {
  const floorOf = new Map(FLOORS.flatMap((rooms, floor) => rooms.map((room) => [room, floor])));
  return arrows.filter(({ from, to }) => {
    const [own, other] = [roomOf(from), roomOf(to)];
    if (own === undefined || other === undefined) return true;
    return own !== other && (floorOf.get(other) ?? 0) >= (floorOf.get(own) ?? 0);
  });
}

/** Groups of files that import each other in a circle, by Tarjan's algorithm for strongly connected components. */
export function circlesOf(arrows: readonly Arrow[]): readonly (readonly string[])[] {
  const targets = new Map<string, string[]>();
  for (const { from, to } of arrows) targets.set(from, [...(targets.get(from) ?? []), to]);
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  const visit = (path: string): void => {
    order.set(path, order.size);
    lowest.set(path, order.size - 1);
    stack.push(path);
    for (const target of targets.get(path) ?? []) {
      if (!order.has(target)) visit(target);
      if (stack.includes(target)) lowest.set(path, Math.min(lowest.get(path) ?? 0, lowest.get(target) ?? 0));
    }
    if (lowest.get(path) !== order.get(path)) return;
    const circle = stack.splice(stack.indexOf(path));
    if (circle.length > 1) circles.push(circle);
  };
  for (const path of targets.keys()) if (!order.has(path)) visit(path);
  return circles;
}
