import type { Alias } from './options/rules.ts';
import type { Provider } from './contracts/provider.ts';
import { NO_LISTS } from './config/resolve-config.ts';
import { type ConfigWith, type RouterFor, routerWith } from './router/create-router.ts';

/**
 * Makes a router that has only what its configuration names: no plugin, server tool or provider by default, and no
 * simulated responses. The rest is as in `signalbox`. For programs whose size matters; pass `providers` at least, made
 * by the factories of `signalbox/providers`.
 *
 * @example
 * ```ts
 * import { createRouter } from 'signalbox/minimal';
 * import { openai } from 'signalbox/providers';
 *
 * const router = createRouter({ providers: [openai()] });
 * ```
 * @throws {@link ConfigError} with everything that is wrong with the options at once.
 */
export function createRouter<
  const Providers extends readonly Provider[] = readonly Provider[],
  const Aliases extends Readonly<Record<string, Alias>> = {},
>(config: ConfigWith<Providers, Aliases>): RouterFor<Providers, Aliases> {
  return routerWith(NO_LISTS, config);
}

export * from './entries/router.ts';
export * from './entries/mount.ts';
