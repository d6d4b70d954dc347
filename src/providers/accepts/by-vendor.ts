/** The record of each vendor of the chat completions API, loaded with the first call of that vendor. */
import type { VendorAccepts } from '../../core/accepts.ts';
import type { HostedVendor } from './hosted.ts';
import type { PresetVendor } from '../openai-compatible/presets.ts';

const RECORDS: Readonly<Record<Exclude<PresetVendor, HostedVendor>, () => Promise<VendorAccepts>>> = {
  openai: async () => (await import('./openai.ts')).OPENAI,
  groq: async () => (await import('./groq.ts')).GROQ,
  together: async () => (await import('./together.ts')).TOGETHER,
  fireworks: async () => (await import('./fireworks.ts')).FIREWORKS,
  deepinfra: async () => (await import('./deepinfra.ts')).DEEPINFRA,
  deepseek: async () => (await import('./deepseek.ts')).DEEPSEEK,
  mistral: async () => (await import('./mistral.ts')).MISTRAL,
  xai: async () => (await import('./xai.ts')).XAI,
  openrouter: async () => (await import('./openrouter.ts')).OPENROUTER,
  ollama: async () => (await import('./local-servers.ts')).OLLAMA,
  vllm: async () => (await import('./local-servers.ts')).VLLM,
  lmstudio: async () => (await import('./local-servers.ts')).LM_STUDIO,
};

/** The record of a vendor. */
export async function presetAccepts(slug: PresetVendor): Promise<VendorAccepts> {
  const load = (RECORDS as Readonly<Partial<Record<PresetVendor, () => Promise<VendorAccepts>>>>)[slug];
  return load === undefined ? (await import('./hosted.ts')).HOSTED[slug as HostedVendor] : load();
}
