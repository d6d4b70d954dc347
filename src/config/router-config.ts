import type { OptionsOf } from './option.ts';
import type { ROUTER } from './router.ts';
import type { Provider } from '../contracts/provider.ts';

export type { Brand, Cors, KeepAlive } from './tables/http.ts';

/** Options of `createRouter`. */
export interface RouterConfig<Providers extends readonly Provider[] = readonly Provider[]> extends OptionsOf<
  typeof ROUTER
> {
  /**
   * What serves models. At least one. Default: the providers whose keys are in the environment, and the simulated
   * provider when there are none; the router then says so in a `warning` with the code `simulated`.
   */
  readonly providers?: Providers | undefined;
}
