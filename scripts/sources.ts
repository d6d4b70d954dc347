import { type ResolveHookContext, registerHooks } from 'node:module';
import { ENTRY_POINTS } from './entry-points.ts';

/** What package.json means by its `imports` on Node, and what it exports, as source files. */
const SOURCES: ReadonlyMap<string, string> = new Map([
  ...ENTRY_POINTS.map(({ specifier, source }) => [specifier, source] as const),
  ['#transport', 'src/net/undici.ts'],
  ['#pdf-runner', 'src/plugins/services/pdf/runner-node.ts'],
]);

/**
 * Makes this process run the sources instead of the built package, for names such as `signalbox/node` and `#transport`.
 * Modules imported afterwards, with `import()`, find them; Node strips the types.
 */
export function useSources(): void {
  registerHooks({
    resolve(specifier: string, context: ResolveHookContext, nextResolve) {
      const source = SOURCES.get(specifier);
      return nextResolve(source === undefined ? specifier : new URL(`../${source}`, import.meta.url).href, context);
    },
  });
}
