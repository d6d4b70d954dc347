import type { EndpointDeclaration, EndpointOwner } from './endpoint.ts';

/** A provider as the catalog sees it. */
export interface CatalogProvider extends EndpointOwner {
  readonly models: Readonly<Record<string, EndpointDeclaration | readonly EndpointDeclaration[]>>;
  /** True when any model under the provider's own slug may be asked for, declared or not. */
  readonly acceptsAnyModel?: boolean | undefined;
}
