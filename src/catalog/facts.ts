import { defined } from './defined.ts';
import type { EndpointDeclaration } from './endpoint.ts';
import type { FactOrigin } from './fact-origin.ts';
import type { ModelInfo } from './model.ts';

/** Fields of an endpoint that a source may know. */
export type EndpointFacts = Pick<
  EndpointDeclaration,
  | 'price'
  | 'contextLength'
  | 'maxPromptTokens'
  | 'maxOutputTokens'
  | 'abilities'
  | 'inputModalities'
  | 'outputModalities'
  | 'reasoning'
>;

/** Fields of a model that a source may know. */
export type KnownInfo = Pick<ModelInfo, 'name' | 'description' | 'created' | 'family' | 'knowledgeCutoff' | 'status'>;

/** Name of a fact. */
export type FactName = keyof EndpointFacts | keyof KnownInfo;

/** What is known of one vendor's offer of one model. Fields that nobody knows are absent. */
export interface ModelFacts {
  readonly info?: KnownInfo | undefined;
  readonly endpoint?: EndpointFacts | undefined;
  /** For each field of the two, the position of its origin in {@link CatalogFacts.origins}. */
  readonly from: Readonly<Partial<Record<FactName, number>>>;
}

/**
 * What sources know of the models of vendors: the content of a lock file, and what every source of facts gives.
 * Plain data, so that it can be stored, compared and merged.
 */
export interface CatalogFacts {
  /** Version of this form. */
  readonly version: 1;
  readonly origins: readonly FactOrigin[];
  /** By slug of the vendor, then by what the vendor calls the model. */
  readonly vendors: Readonly<Record<string, Readonly<Record<string, ModelFacts>>>>;
}

/** Nothing is known. */
export const NO_FACTS: CatalogFacts = { version: 1, origins: [], vendors: {} };

/** What one source knows of a model, before it is put under the source's name. */
export type SourcedFacts = Pick<ModelFacts, 'info' | 'endpoint'>;

/** Puts the models of one source under its name. What is empty is left out: fields, and vendors without models. */
export function factsOf(
  origin: FactOrigin,
  vendors: Iterable<readonly [string, Iterable<readonly [string, SourcedFacts]>]>,
): CatalogFacts {
  const entries = [...vendors].map(([slug, models]) => {
    const named = [...models].map(([name, facts]) => [name, factsOfFirst(facts)] as const);
    return [slug, Object.fromEntries(named)] as const;
  });
  const known = entries.filter(([, models]) => Object.keys(models).length > 0);
  return { version: 1, origins: [origin], vendors: Object.fromEntries(known) };
}

/** The facts that are there, all from the first origin. */
function factsOfFirst(facts: SourcedFacts): ModelFacts {
  const [info, endpoint] = [defined(facts.info), defined(facts.endpoint)];
  const names = [...Object.keys(info), ...Object.keys(endpoint)];
  return {
    ...(Object.keys(info).length > 0 ? { info } : {}),
    ...(Object.keys(endpoint).length > 0 ? { endpoint } : {}),
    from: Object.fromEntries(names.map((name) => [name, 0])),
  };
}
