/** Public surface: the router as a provider of the AI SDK. Types come from the optional package `@ai-sdk/provider`. */
export { aiSdkProvider } from '../router/ai-sdk-provider.ts';
export type {
  AiSdkProvider,
  AiSdkProviderOptions,
  EmbeddingModels,
  LanguageModels,
  SignalboxProviderOptions,
} from '../router/ai-sdk-provider.ts';
export type { SpecVersion } from '../formats/ai-sdk/spec.ts';
