import type { Provider } from '../contracts/provider.ts';

/** Ids of the models that a list of providers serves. */
export type ModelOf<Providers extends readonly Provider[]> =
  Providers[number] extends Provider<infer Model> ? Model : never;

/** Names of the aliases of a configuration. */
export type AliasOf<Aliases> = Extract<keyof Aliases, string>;

/** Endings that change how endpoints are chosen. */
type RoutingVariant = 'nitro' | 'floor' | 'exacto' | 'online' | 'free' | 'extended' | 'thinking';

/**
 * What `model` may be for a TypeScript caller: a declared id with or without a variant, an alias, a router model, the
 * latest of a family, or a preset. Any text, as soon as one provider takes any model.
 */
export type RequestModel<Model extends string, Alias extends string = never> = string extends Model
  ? string
  :
      | Model
      | `${Model}:${RoutingVariant}`
      | Alias
      | `router/${string}`
      | `~${string}/${string}-latest`
      | `@preset/${string}`;
