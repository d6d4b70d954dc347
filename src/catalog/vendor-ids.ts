/** Names that sources have for a vendor. */
interface VendorIds {
  /** Key in the `api.json` of models.dev. */
  readonly modelsDev?: string;
  /** Provider id in genai-prices. */
  readonly genaiPrices?: string;
  /** `litellm_provider` in LiteLLM's cost map. */
  readonly liteLlm?: string;
  /** Environment variable in which its provider looks for a key first. */
  readonly key?: string;
}

/** Sources whose names for vendors differ from ours. */
type NamingSource = 'modelsDev' | 'genaiPrices' | 'liteLlm';

/** What sources call the vendors that this package knows, by our slug. */
export const VENDOR_IDS: Readonly<Record<string, VendorIds>> = {
  openai: { modelsDev: 'openai', genaiPrices: 'openai', liteLlm: 'openai', key: 'OPENAI_API_KEY' },
  anthropic: { modelsDev: 'anthropic', genaiPrices: 'anthropic', liteLlm: 'anthropic', key: 'ANTHROPIC_API_KEY' },
  google: { modelsDev: 'google', genaiPrices: 'google', liteLlm: 'gemini', key: 'GEMINI_API_KEY' },
  groq: { modelsDev: 'groq', genaiPrices: 'groq', liteLlm: 'groq', key: 'GROQ_API_KEY' },
  together: { modelsDev: 'togetherai', genaiPrices: 'together', liteLlm: 'together_ai', key: 'TOGETHER_API_KEY' },
  fireworks: { modelsDev: 'fireworks-ai', genaiPrices: 'fireworks', liteLlm: 'fireworks_ai', key: 'FIREWORKS_API_KEY' },
  deepinfra: { modelsDev: 'deepinfra', liteLlm: 'deepinfra', key: 'DEEPINFRA_API_KEY' },
  deepseek: { modelsDev: 'deepseek', genaiPrices: 'deepseek', liteLlm: 'deepseek', key: 'DEEPSEEK_API_KEY' },
  mistral: { modelsDev: 'mistral', genaiPrices: 'mistral', liteLlm: 'mistral', key: 'MISTRAL_API_KEY' },
  xai: { modelsDev: 'xai', genaiPrices: 'x-ai', liteLlm: 'xai', key: 'XAI_API_KEY' },
  openrouter: { modelsDev: 'openrouter', genaiPrices: 'openrouter', liteLlm: 'openrouter', key: 'OPENROUTER_API_KEY' },
  azure: { modelsDev: 'azure', genaiPrices: 'azure', liteLlm: 'azure' },
};

/** What a source calls a vendor; vendors that are not listed are called by their slug. */
export function vendorIdOf(slug: string, source: NamingSource): string | undefined {
  return Object.hasOwn(VENDOR_IDS, slug) ? VENDOR_IDS[slug]?.[source] : slug;
}

/** The environment variable for the key of a vendor that this package knows. */
export function keyVariableOf(slug: string): string | undefined {
  return Object.hasOwn(VENDOR_IDS, slug) ? VENDOR_IDS[slug]?.key : undefined;
}
