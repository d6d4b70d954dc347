/** Names that sources have for a vendor. */
export interface VendorIds {
  /** Key in the `api.json` of models.dev. */
  readonly modelsDev?: string;
  /** Provider id in genai-prices. */
  readonly genaiPrices?: string;
}

/** Sources whose names for vendors differ from ours. */
export type NamingSource = keyof VendorIds;

/** What sources call the vendors that this package knows, by our slug. */
export const VENDOR_IDS: Readonly<Record<string, VendorIds>> = {
  openai: { modelsDev: 'openai', genaiPrices: 'openai' },
  anthropic: { modelsDev: 'anthropic', genaiPrices: 'anthropic' },
  google: { modelsDev: 'google', genaiPrices: 'google' },
  groq: { modelsDev: 'groq', genaiPrices: 'groq' },
  together: { modelsDev: 'togetherai', genaiPrices: 'together' },
  fireworks: { modelsDev: 'fireworks-ai', genaiPrices: 'fireworks' },
  deepinfra: { modelsDev: 'deepinfra' },
  deepseek: { modelsDev: 'deepseek', genaiPrices: 'deepseek' },
  mistral: { modelsDev: 'mistral', genaiPrices: 'mistral' },
  xai: { modelsDev: 'xai', genaiPrices: 'x-ai' },
  openrouter: { modelsDev: 'openrouter', genaiPrices: 'openrouter' },
  azure: { modelsDev: 'azure', genaiPrices: 'azure' },
};

/** What a source calls a vendor; vendors that are not listed are called by their slug. */
export function vendorIdOf(slug: string, source: NamingSource): string | undefined {
  return Object.hasOwn(VENDOR_IDS, slug) ? VENDOR_IDS[slug]?.[source] : slug;
}
