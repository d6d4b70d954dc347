import type { ConfigProblem } from '../errors.ts';

/** Aliases that lead back to themselves, each loop told once. */
export function* aliasLoops(aliases: Readonly<Record<string, string | readonly string[]>>): Generator<ConfigProblem> {
  const done = new Set<string>();

  function* visit(name: string, trail: readonly string[]): Generator<ConfigProblem> {
    const start = trail.indexOf(name);
    if (start >= 0) {
      const loop = [...trail.slice(start), name].map((one) => JSON.stringify(one)).join(' → ');
      yield { path: `aliases[${JSON.stringify(name)}]`, problem: `must not lead back to itself: ${loop}` };
      return;
    }
    if (done.has(name) || !Object.hasOwn(aliases, name)) return;
    for (const target of [aliases[name] ?? []].flat()) yield* visit(target, [...trail, name]);
    done.add(name);
  }

  for (const name of Object.keys(aliases)) yield* visit(name, []);
}
