/** Providers that the semantic conventions call otherwise than we do. */
const CONVENTIONAL: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  xai: 'x_ai',
};

/** A provider as `gen_ai.provider.name` has it. */
export function conventionalProvider(slug: string): string {
  return Object.hasOwn(CONVENTIONAL, slug) ? (CONVENTIONAL[slug] ?? slug) : slug;
}
