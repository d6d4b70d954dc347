/** Folds the record of what a vendor accepts for each endpoint, once. */
import type { Endpoint } from '../catalog/endpoint.ts';
import { type Accepts, acceptsOf, type FamilyAccepts, type VendorAccepts, withDifferences } from '../core/accepts.ts';

/** What an endpoint accepts. */
export type AcceptsOfEndpoint = (endpoint: Endpoint) => Accepts;

/**
 * Folds the record of a vendor for each endpoint once: for the model behind it, and with what the program says of its
 * server.
 */
export function foldAccepts(vendor: VendorAccepts, differences: FamilyAccepts['accepts'] = {}): AcceptsOfEndpoint {
  const folded = new WeakMap<Endpoint, Accepts>();
  return (endpoint) => {
    const known = folded.get(endpoint);
    if (known !== undefined) return known;
    const accepts = withoutWords(
      withDifferences(acceptsOf(vendor, endpoint.upstreamModel, nameIn(endpoint.model)), differences),
      endpoint.refusedSchemaWords,
    );
    folded.set(endpoint, accepts);
    return accepts;
  };
}

/** The name of a model in its id of this router: `gpt-5` of `openai/gpt-5:free`. */
function nameIn(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1).replace(/:.*$/, '');
}

/** A record without words of schemas that the provider has refused. */
function withoutWords(accepts: Accepts, refused: ReadonlySet<string> | undefined): Accepts {
  if (refused === undefined) return accepts;
  const { tools, strictTools, formats, looseFormats } = accepts.schemas;
  return withDifferences(accepts, {
    schemas: {
      tools: { ...tools, refused },
      strictTools: strictTools && { ...strictTools, refused },
      formats: typeof formats === 'object' ? { ...formats, refused } : formats,
      looseFormats: { ...looseFormats, refused },
    },
  });
}
