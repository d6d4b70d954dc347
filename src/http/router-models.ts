import type { Catalog } from '../catalog/catalog.ts';
import { declareEndpoint, type Endpoint } from '../catalog/endpoint.ts';
import { type Model, serves } from '../catalog/model.ts';

/** What a list of models is made of. */
export interface ListedFacts {
  readonly catalog: Catalog;
  /** Router models that plugins resolve. */
  readonly routerModels: ReadonlySet<string>;
  /** Which models are listed. Router models are, whatever they may choose. Default: all. */
  readonly mayUse?: ((model: string) => boolean) | undefined;
}

/** A router model as lists show it. */
export interface ListedRouterModel {
  readonly model: Model;
  /** One that stands for all that it may choose: it reads what any of them reads, and its price is not known before. */
  readonly endpoints: readonly [Endpoint];
}

const OWNER = { slug: 'router', name: 'Router' };

/** The router models that the plugins of this router resolve (gaps 10). */
export function listedRouterModels({ catalog, routerModels }: ListedFacts): readonly ListedRouterModel[] {
  if (routerModels.size === 0) return [];
  const chat = [...catalog.models.keys()]
    .flatMap((model) => catalog.endpoints(model))
    .filter((endpoint) => serves(endpoint, 'chat') !== 'no');
  const inputModalities = [...new Set(['text' as const, ...chat.flatMap((one) => [...(one.inputModalities ?? [])])])];
  return [...routerModels].map((id) => ({
    model: { id, description: 'Chooses the model that answers, for each request.' },
    endpoints: [declareEndpoint(OWNER, id, { inputModalities, outputModalities: ['text'] })],
  }));
}
