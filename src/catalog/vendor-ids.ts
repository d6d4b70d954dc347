/** The names under which sources of prices list the vendors that this package knows. */

/** Names that sources have for a vendor. */
interface VendorIds {
  /** Key in the `api.json` of models.dev. */
  readonly modelsDev?: string;
  /** Provider id in genai-prices. */
  readonly genaiPrices?: string;
  /** `litellm_provider` in LiteLLM's cost map. */
  readonly liteLlm?: string;
}

/** Sources whose names for vendors differ from ours. */
type NamingSource = keyof VendorIds;

/** What sources call the vendors that this package knows, by our slug. */
export const VENDOR_IDS: Readonly<Record<string, VendorIds>> = {
  openai: { modelsDev: 'openai', genaiPrices: 'openai', liteLlm: 'openai' },
  anthropic: { modelsDev: 'anthropic', genaiPrices: 'anthropic', liteLlm: 'anthropic' },
  google: { modelsDev: 'google', genaiPrices: 'google', liteLlm: 'gemini' },
  groq: { modelsDev: 'groq', genaiPrices: 'groq', liteLlm: 'groq' },
  together: { modelsDev: 'togetherai', genaiPrices: 'together', liteLlm: 'together_ai' },
  fireworks: { modelsDev: 'fireworks-ai', genaiPrices: 'fireworks', liteLlm: 'fireworks_ai' },
  deepinfra: { modelsDev: 'deepinfra', liteLlm: 'deepinfra' },
  deepseek: { modelsDev: 'deepseek', genaiPrices: 'deepseek', liteLlm: 'deepseek' },
  mistral: { modelsDev: 'mistral', genaiPrices: 'mistral', liteLlm: 'mistral' },
  xai: { modelsDev: 'xai', genaiPrices: 'x-ai', liteLlm: 'xai' },
  openrouter: { modelsDev: 'openrouter', genaiPrices: 'openrouter', liteLlm: 'openrouter' },
  azure: { modelsDev: 'azure', genaiPrices: 'azure', liteLlm: 'azure' },
  bedrock: { modelsDev: 'amazon-bedrock', genaiPrices: 'aws', liteLlm: 'bedrock_converse' },
  github: { modelsDev: 'github-models', liteLlm: 'github' },
  cloudflare: { modelsDev: 'cloudflare-workers-ai', liteLlm: 'cloudflare' },
  moonshot: { modelsDev: 'moonshotai', genaiPrices: 'moonshotai', liteLlm: 'moonshot' },
  qwen: { modelsDev: 'alibaba', liteLlm: 'dashscope' },
  zhipu: { modelsDev: 'zhipuai', liteLlm: 'zai' },
};

/** What a source calls a vendor; vendors that are not listed are called by their slug. */
export function vendorIdOf(slug: string, source: NamingSource): string | undefined {
  return Object.hasOwn(VENDOR_IDS, slug) ? VENDOR_IDS[slug]?.[source] : slug;
}
