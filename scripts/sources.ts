import { readFileSync } from 'node:fs';
import { type ResolveHookContext, registerHooks } from 'node:module';

/**
 * Makes this process run the sources instead of the built package: names such as `signalbox/node` and `#transport` mean
 * what `paths` in tsconfig.json says. Modules imported afterwards, with `import()`, find them; Node strips the types.
 */
export function useSources(): void {
  const paths = Object.entries(readPaths());
  registerHooks({
    resolve(specifier: string, context: ResolveHookContext, nextResolve) {
      for (const [pattern, [target = ''] = []] of paths) {
        const path = pathFor(specifier, pattern, target);
        if (path !== undefined) return nextResolve(new URL(`../${path}`, import.meta.url).href, context);
      }
      return nextResolve(specifier, context);
    },
  });
}

function readPaths(): Readonly<Record<string, readonly string[]>> {
  const text = readFileSync(new URL('../tsconfig.json', import.meta.url), 'utf8');
  const { compilerOptions } = JSON.parse(text) as {
    readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly string[]>> };
  };
  return compilerOptions.paths;
}

function pathFor(specifier: string, pattern: string, target: string): string | undefined {
  if (!pattern.endsWith('*')) return specifier === pattern ? target : undefined;
  const prefix = pattern.slice(0, -1);
  return specifier.startsWith(prefix) ? target.replace('*', specifier.slice(prefix.length)) : undefined;
}
